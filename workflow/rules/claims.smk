# Published beside replicated, chain by chain: the marks in a chain's tables need its own claims only.
# Chain -> how the names of its files of published numbers begin.
CLAIMED = {
    "dpauc": "dpauc",
    "labelings": "auc_labelings",
    "audit": "bayes",
    "shapr": "shapr",
}


rule chain_claims:
    input:
        claims=repo("config/claims.yaml"),
        errata=repo("resources/errata.yaml"),
        published=lambda wildcards: published_of(CLAIMED[wildcards.chain]),
        measurements=[f"results/{SCALE}/{{chain}}/measurements.csv"],
        draws=[f"results/{SCALE}/{{chain}}/draws.parquet"],
    output:
        claims=f"results/{SCALE}/{{chain}}/claims.csv",
        errata=f"results/{SCALE}/{{chain}}/errata.csv",
        verdicts=f"results/{SCALE}/{{chain}}/verdicts.csv",
    log:
        f"results/{SCALE}/logs/chain_claims/{{chain}}.log",
    wildcard_constraints:
        chain="|".join(CLAIMED),
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("report/claims"),
        papers=lambda wildcards: [wildcards.chain],
        config=lambda wildcards: {
            key: CONFIG[key] for key in ("scale", "seed", "claims", wildcards.chain)
        },
    message:
        "verdicts of {wildcards.chain}: {output.claims}"
    script:
        "../scripts/report/claims.py"


# One target per chain, e.g. audit_claims.
for _chain in CLAIMED:

    rule:
        """The verdicts on one paper."""
        name:
            f"{_chain}_claims"
        input:
            claims_of(_chain),
        localrule: True
