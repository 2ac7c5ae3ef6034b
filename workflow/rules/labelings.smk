# AUC labelings: counts, posteriors and attacks -> measurements -> claims, tables and figures.
LABELINGS = f"results/{SCALE}/labelings"
LABELINGS_PUBLISHED = published_of("auc_labelings")
LABELINGS_FACTS = [
    published("auc_labelings_published_facts.csv"),
    published("auc_labelings_statements.csv"),
]
# Experiment without data -> configuration keys below labelings that it reads.
LABELINGS_EXACT = {
    "counting": ["example", "growth", "conjecture", "cost"],
    "inference": ["posterior", "certainty"],
}
LABELINGS_SETS = conf("labelings.test_sets")
LABELINGS_STEMS = [f"{LABELINGS}/measurements/exact/{name}" for name in LABELINGS_EXACT]
LABELINGS_STEMS += [
    f"{LABELINGS}/measurements/{name}/test_set" for name in LABELINGS_SETS
]
LABELINGS_TABLES = ["puzzle", "w", "growth", "conjecture", "counterexamples", "range"]
LABELINGS_TABLES += ["cost", "certainty", "rounding", "posterior", "posterior_sets"]
LABELINGS_TABLES += ["attacks", "contest", "pruning"]
LABELINGS_FIGURES = ["figure1", "figure2", "w", "growth", "cost"]
LABELINGS_FIGURES += ["rounding", "posterior", "attacks", "pruning"]


rule labelings_counting:
    input:
        published=LABELINGS_FACTS,
    output:
        measurements=f"{LABELINGS}/measurements/exact/counting.csv",
        draws=f"{LABELINGS}/measurements/exact/counting.parquet",
    log:
        f"results/{SCALE}/logs/labelings_counting.log",
    benchmark:
        f"results/{SCALE}/timings/labelings_counting.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow(30),
    params:
        code=code("labelings/counting"),
        settings={key: conf("labelings")[key] for key in LABELINGS_EXACT["counting"]},
        scale=SCALE,
        seed=conf("seed"),
    message:
        "count labelings: the example, growth, the conjecture, costs"
    script:
        "../scripts/labelings/counting.py"


rule labelings_inference:
    output:
        measurements=f"{LABELINGS}/measurements/exact/inference.csv",
        draws=f"{LABELINGS}/measurements/exact/inference.parquet",
        curves=f"{LABELINGS}/measurements/exact/posterior_curves.csv",
    log:
        f"results/{SCALE}/logs/labelings_inference.log",
    benchmark:
        f"results/{SCALE}/timings/labelings_inference.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow(60),
    params:
        code=code("labelings/inference"),
        settings={key: conf("labelings")[key] for key in LABELINGS_EXACT["inference"]},
        scale=SCALE,
        seed=conf("seed"),
    message:
        "posteriors given an AUC, attacks on every labeling of a few records"
    script:
        "../scripts/labelings/inference.py"


rule labelings_test_set:
    input:
        published=LABELINGS_FACTS,
    output:
        measurements=f"{LABELINGS}/measurements/{{test_set}}/test_set.csv",
        draws=f"{LABELINGS}/measurements/{{test_set}}/test_set.parquet",
        curves=f"{LABELINGS}/measurements/{{test_set}}/attack_curves.csv",
    log:
        f"results/{SCALE}/logs/labelings_test_set/{{test_set}}.log",
    benchmark:
        f"results/{SCALE}/timings/labelings_test_set/{{test_set}}.jsonl"
    wildcard_constraints:
        test_set="|".join(LABELINGS_SETS),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(3000),
        runtime=grow(60),
    params:
        code=code("labelings/test_set"),
        settings=conf("labelings.genuine"),
        scale=SCALE,
        seed=conf("seed"),
    message:
        "rounding, posteriors and attacks on {wildcards.test_set}"
    script:
        "../scripts/labelings/test_set.py"


# CPU times differ from run to run: they stay out of the chain's measurements.
rule labelings_cost_timings:
    output:
        times=f"results/{SCALE}/timings/labelings_cost.csv",
        pdf=f"results/{SCALE}/timings/labelings_cost.pdf",
        png=f"results/{SCALE}/timings/labelings_cost.png",
    log:
        f"results/{SCALE}/logs/labelings_cost_timings.log",
    benchmark:
        f"results/{SCALE}/timings/labelings_cost_timings.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow(30),
    params:
        code=code("labelings/cost_timings"),
        settings=conf("labelings.timings"),
    message:
        "CPU time of three ways to count"
    script:
        "../scripts/labelings/cost_timings.py"


rule labelings_gather:
    input:
        measurements=[f"{stem}.csv" for stem in LABELINGS_STEMS],
        draws=[f"{stem}.parquet" for stem in LABELINGS_STEMS],
    output:
        measurements=f"{LABELINGS}/measurements.csv",
        draws=f"{LABELINGS}/draws.parquet",
    log:
        f"results/{SCALE}/logs/labelings_gather.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("report/gather"),
    message:
        "gather the measurements of AUC labelings"
    script:
        "../scripts/report/gather.py"


# One process for all tables and one for all figures: each takes less than its start.
rule labelings_tables:
    input:
        measurements=rules.labelings_gather.output.measurements,
        claims=claims_of("labelings")[0],
    output:
        tex=expand(f"{LABELINGS}/tables/{{table}}.tex", table=LABELINGS_TABLES),
    log:
        f"results/{SCALE}/logs/labelings_tables.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("labelings/tables"),
    message:
        "LaTeX of AUC labelings"
    script:
        "../scripts/labelings/tables.py"


rule labelings_figures:
    input:
        measurements=rules.labelings_gather.output.measurements,
        posterior=rules.labelings_inference.output.curves,
        attacks=expand(
            f"{LABELINGS}/measurements/{{test_set}}/attack_curves.csv",
            test_set=LABELINGS_SETS,
        ),
    output:
        pdf=expand(f"{LABELINGS}/figures/{{figure}}.pdf", figure=LABELINGS_FIGURES),
        png=[
            report(
                f"{LABELINGS}/figures/{figure}.png",
                category="AUC labelings",
                labels={"figure": figure},
                caption="../report/labelings_figure.rst",
            )
            for figure in LABELINGS_FIGURES
        ],
    log:
        f"results/{SCALE}/logs/labelings_figures.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("labelings/figures"),
    message:
        "draw the figures of AUC labelings"
    script:
        "../scripts/labelings/figures.py"


rule labelings:
    """AUC labelings: claims, counts, posteriors, attacks."""
    input:
        rules.labelings_tables.output,
        rules.labelings_figures.output,
        claims_of("labelings"),
        rules.labelings_cost_timings.output,
    localrule: True
    params:
        scale=SCALE,
    message:
        "AUC labelings: tables and figures are in results/{params.scale}/labelings"


# One target per item of the paper, e.g. labelings_table_w.
for _table in ["puzzle", "w", "growth", "conjecture"]:

    rule:
        """One table of the paper, published beside replicated."""
        name:
            f"labelings_table_{_table}"
        input:
            f"{LABELINGS}/tables/{_table}.tex",
        localrule: True


for _target, _figure in {
    "figure1": "figure1",
    "figure2": "figure2",
    "figure_w": "w",
    "figure_growth": "growth",
}.items():

    rule:
        """One figure of the paper, as PDF and PNG."""
        name:
            f"labelings_{_target}"
        input:
            expand(f"{LABELINGS}/figures/{_figure}.{{suffix}}", suffix=["pdf", "png"]),
        localrule: True
