# Bring your own: the user's scores, tallies, features and guesses, where the configuration names files.
OWN = f"results/{SCALE}/own"
# Kind of report -> keys of the files that it is made from; the first one that is set asks for it.
OWN_KEYS = {
    "dpauc": ["dpauc.scores"],
    "audit": ["audit.tallies", "audit.attack_scores"],
    "shapr": ["shapr.features", "shapr.outputs"],
    "labelings": ["labelings.guesses"],
}
OWN_KINDS = own_kinds(OWN_KEYS)
OWN_WITH_RECORDS = ["shapr", "labelings"]


rule own_dpauc_measure:
    """The user's scores: exact AUC, DPAUC, the budget for an error."""
    input:
        scores=lambda wildcards: own_input("dpauc.scores"),
    output:
        summary=f"{OWN}/dpauc/summary.json",
        table=f"{OWN}/dpauc/table.csv",
    log:
        f"results/{SCALE}/logs/own_dpauc_measure.log",
    benchmark:
        f"results/{SCALE}/timings/own_dpauc_measure.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(3000),
        runtime=grow(120),
    params:
        code=code("own/dpauc_measure"),
        settings=conf("dpauc.own"),
        seed=conf("seed"),
    message:
        "exact AUC and DPAUC of {input.scores}"
    script:
        "../scripts/own/dpauc_measure.py"


rule own_audit_measure:
    """The user's tallies and attack scores: intervals for epsilon."""
    input:
        tallies=lambda wildcards: own_file("audit.tallies") or [],
        attack_scores=lambda wildcards: own_file("audit.attack_scores") or [],
    output:
        summary=f"{OWN}/audit/summary.json",
        table=f"{OWN}/audit/table.csv",
    log:
        f"results/{SCALE}/logs/own_audit_measure.log",
    benchmark:
        f"results/{SCALE}/timings/own_audit_measure.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(3000),
        runtime=grow(120),
    params:
        code=code("own/audit_measure"),
        settings=conf("audit.own"),
        seed=conf("seed"),
    message:
        "intervals for the epsilon of the user's attacks"
    script:
        "../scripts/own/audit_measure.py"


rule own_shapr_measure:
    """The user's records: SHAPr scores and attacks."""
    input:
        features=lambda wildcards: own_input("shapr.features"),
        outputs=lambda wildcards: own_file("shapr.outputs") or [],
    output:
        summary=f"{OWN}/shapr/summary.json",
        table=f"{OWN}/shapr/table.csv",
        records=f"{OWN}/shapr/records.csv",
    log:
        f"results/{SCALE}/logs/own_shapr_measure.log",
    benchmark:
        f"results/{SCALE}/timings/own_shapr_measure.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(8000),
        runtime=grow(120),
    params:
        code=code("own/shapr_measure"),
        settings=conf("shapr.own"),
        seed=conf("seed"),
    message:
        "SHAPr scores of {input.features}"
    script:
        "../scripts/own/shapr_measure.py"


rule own_labelings_measure:
    """The user's guesses: labelings that their AUC allows."""
    input:
        guesses=lambda wildcards: own_input("labelings.guesses"),
    output:
        summary=f"{OWN}/labelings/summary.json",
        table=f"{OWN}/labelings/table.csv",
        records=f"{OWN}/labelings/records.csv",
    log:
        f"results/{SCALE}/logs/own_labelings_measure.log",
    benchmark:
        f"results/{SCALE}/timings/own_labelings_measure.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(3000),
        runtime=grow(120),
    params:
        code=code("own/labelings_measure"),
        settings=conf("labelings.own"),
        auc=conf("labelings.auc"),
    message:
        "labelings that agree with the AUC of {input.guesses}"
    script:
        "../scripts/own/labelings_measure.py"


rule own_present:
    """Figure and table of one kind of report on the user's files."""
    input:
        summary=f"{OWN}/{{kind}}/summary.json",
        table=f"{OWN}/{{kind}}/table.csv",
        records=lambda wildcards: (
            f"{OWN}/{wildcards.kind}/records.csv"
            if wildcards.kind in OWN_WITH_RECORDS
            else []
        ),
    output:
        pdf=f"{OWN}/figures/{{kind}}.pdf",
        png=report(
            f"{OWN}/figures/{{kind}}.png",
            category="Your data",
            labels={"figure": "{kind}"},
            caption="../report/own_figure.rst",
        ),
        tex=f"{OWN}/tables/{{kind}}.tex",
        json=f"{OWN}/tables/{{kind}}.json",
    log:
        f"results/{SCALE}/logs/own_present/{{kind}}.log",
    wildcard_constraints:
        kind="|".join(OWN_KEYS),
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("own/present"),
    message:
        "figure and table of the user's {wildcards.kind}"
    script:
        "../scripts/own/present.py"


# One target per kind: own_dpauc, own_audit, own_shapr, own_labelings.
for _kind in OWN_KEYS:

    rule:
        name:
            f"own_{_kind}"
        input:
            figures=[f"{OWN}/figures/{_kind}.{suffix}" for suffix in ("pdf", "png")],
            tables=[f"{OWN}/tables/{_kind}.{suffix}" for suffix in ("tex", "json")],
        localrule: True


OWN_FIGURE_FILES = [
    path for kind in OWN_KINDS for path in getattr(rules, f"own_{kind}").input.figures
]
OWN_TABLE_FILES = [
    path for kind in OWN_KINDS for path in getattr(rules, f"own_{kind}").input.tables
]


rule own:
    """Everything about the user's files that the configuration names."""
    input:
        lambda wildcards: own_asked(OWN_KEYS),
        OWN_FIGURE_FILES,
        OWN_TABLE_FILES,
    localrule: True
    params:
        scale=SCALE,
    message:
        "what the user's files say is in results/{params.scale}/own"
