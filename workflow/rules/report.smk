# Published beside replicated: claims over all chains.
MEASUREMENTS = [
    rules.dpauc_gather.output.measurements,
    rules.labelings_gather.output.measurements,
    rules.audit_gather.output.measurements,
    rules.shapr_gather.output.measurements,
]
DRAWS = [
    rules.dpauc_gather.output.draws,
    rules.labelings_gather.output.draws,
    rules.audit_gather.output.draws,
    rules.shapr_gather.output.draws,
]
PUBLISHED_FILES = [*published_of("dpauc"), *LABELINGS_PUBLISHED, *AUDIT_PUBLISHED]
PUBLISHED_FILES += SHAPR_PUBLISHED


rule tables:
    input:
        expand(f"{DPAUC}/tables/{{table}}.tex", table=DPAUC_TABLES),
        rules.labelings_tables.output,
        rules.audit_tables.output,
        rules.shapr_tables.output,
    localrule: True


rule figures:
    input:
        expand(f"{DPAUC}/figures/{{figure}}.png", figure=DPAUC_FIGURES),
        rules.labelings_figures.output.png,
        rules.audit_figures.output.png,
        rules.shapr_figures.output.png,
    localrule: True


rule claims:
    input:
        claims=repo("config/claims.yaml"),
        errata=repo("resources/errata.yaml"),
        published=PUBLISHED_FILES,
        measurements=MEASUREMENTS,
        draws=DRAWS,
    output:
        claims=report(
            f"results/{SCALE}/claims.csv",
            category="Claims",
            labels={"table": "all claims"},
            caption="../report/claims.rst",
        ),
        errata=f"results/{SCALE}/errata.csv",
        verdicts=f"results/{SCALE}/verdicts.csv",
    log:
        f"results/{SCALE}/logs/claims.log",
    benchmark:
        f"results/{SCALE}/timings/claims.jsonl"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        code=code("report/claims"),
        papers=["dpauc", "labelings", "audit", "shapr"],
        config={
            key: CONFIG[key]
            for key in (
                *("scale", "seed", "claims"),
                *("dpauc", "labelings", "audit", "shapr"),
            )
        },
    message:
        "join published and measured numbers: verdicts in {output.claims}"
    script:
        "../scripts/report/claims.py"


rule provenance:
    input:
        data=[rules.criteo_source.output.resolution, *SHAPR_META],
        measurements=MEASUREMENTS,
    output:
        provenance=f"results/{SCALE}/provenance/provenance.json",
    log:
        f"results/{SCALE}/logs/provenance.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("report/provenance"),
        config=CONFIG,
    message:
        "configuration, versions, code and data behind the results"
    script:
        "../scripts/report/provenance.py"


rule other_scale:
    input:
        refuse_scale,
    output:
        "results/{other}/{rest}",
    log:
        "results/{other}/{rest}.log",
    wildcard_constraints:
        other=f"(?!{SCALE}/|prepared/)[a-z][a-z0-9_]*",
        rest=".+",
    localrule: True
    conda:
        "../../environment.yml"
    message:
        "refused"
    shell:
        "false"
