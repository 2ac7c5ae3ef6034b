# DPAUC: click logs -> Wide & Deep -> predictions -> measurements -> tables and figures.
DPAUC = f"results/{SCALE}/dpauc"
MODELS = range(conf("dpauc.model.repeats"))
EPOCHS = range(conf("dpauc.model.epochs"))
PARTS = [
    f"{part}_{kind}.npy"
    for part in ("train", "evaluation")
    for kind in ("categorical", "numeric", "label")
]
# Experiment -> configuration keys below dpauc.sweeps that it reads.
EXPERIMENTS = {
    "laplace": ["repeats", "reference_repeats", "epsilons", "clients", "thresholds"],
    "randomized_response": ["repeats", "reference_repeats", "epsilons", "flip"],
    "score_noise": ["score_noise_repeats", "score_epsilons"],
    "top_k": ["top_k"],
    "gaussian": ["repeats", "epsilons", "clients", "delta"],
    "ablation": ["repeats", "epsilons", "clients"],
    "leaks": ["repeats", "epsilons"],
    "author_outputs": ["repeats", "reference_repeats"],
}
ORIGINS = ["wide_deep", "authors"]
# The authors' released settings need the authors' counts; the leaks need records.
MEASURED = {
    "wide_deep": [name for name in EXPERIMENTS if name != "author_outputs"]
    + ["ground_truth"],
    "authors": [name for name in EXPERIMENTS if name != "leaks"] + ["ground_truth"],
}
MEASURED_STEMS = [
    f"{DPAUC}/measurements/{origin}/{name}"
    for origin in ORIGINS
    for name in MEASURED[origin]
]
MEASURED_STEMS += [
    f"{DPAUC}/measurements/exact/budget",
    f"{DPAUC}/measurements/released/released",
]
DPAUC_TABLES = list(TABLE_SOURCES)
DPAUC_FIGURES = ["figure1", "figure2", "figure3", "roc", "bias_spread"]
PRINTED_TABLES = [f"table{number}" for number in range(1, 6)]
TABLE4, TABLE5 = (published(TABLE_SOURCES[name][0]) for name in ("table4", "table5"))


rule dpauc_preprocess:
    input:
        raw=rules.criteo_source.output.raw,
        resolution=rules.criteo_source.output.resolution,
    output:
        parts=expand(f"{DPAUC}/prepared/{{part}}", part=PARTS),
        vocabulary=f"{DPAUC}/prepared/vocabulary.parquet",
        meta=f"{DPAUC}/prepared/meta.json",
    log:
        f"results/{SCALE}/logs/dpauc_preprocess.log",
    benchmark:
        f"results/{SCALE}/timings/dpauc_preprocess.jsonl"
    conda:
        "../../environment.yml"
    threads: conf("threads")
    resources:
        mem_mb=grow(3000),
        runtime=grow(240),
    params:
        code=code("dpauc/preprocess"),
        threads_fixed=conf("threads"),
        settings=conf("dpauc.preprocessing"),
        on_bad_rows=conf("dpauc.criteo.on_bad_rows"),
        seed=conf("seed"),
    message:
        "split, code and scale the click logs"
    script:
        "../scripts/dpauc/preprocess.py"


rule dpauc_train:
    input:
        parts=rules.dpauc_preprocess.output.parts,
        meta=rules.dpauc_preprocess.output.meta,
    output:
        predictions=expand(
            f"{DPAUC}/predictions/model{{{{model}}}}_epoch{{epoch}}.parquet",
            epoch=EPOCHS,
        ),
        history=f"{DPAUC}/predictions/model{{model}}_history.json",
    log:
        f"results/{SCALE}/logs/dpauc_train/model{{model}}.log",
    benchmark:
        f"results/{SCALE}/timings/dpauc_train/model{{model}}.jsonl"
    conda:
        "../../environment.yml"
    threads: conf("threads")
    resources:
        mem_mb=grow(conf("jobs.dpauc.memory")),
        runtime=grow(conf("jobs.dpauc.minutes")),
        gpu=conf("jobs.dpauc.gpus"),
    params:
        code=code("dpauc/train"),
        threads_fixed=conf("threads"),
        settings=conf("dpauc.model"),
        checkpoints=f"{DPAUC}/checkpoints/model{{model}}",
        seed=conf("seed"),
    message:
        "train Wide & Deep model {wildcards.model}, predict after every epoch"
    script:
        "../scripts/dpauc/train.py"


rule dpauc_measure:
    input:
        scores=dpauc_scores,
        meta=dpauc_meta,
        published=dpauc_published,
    output:
        measurements=f"{DPAUC}/measurements/{{origin}}/{{experiment}}.csv",
        draws=f"{DPAUC}/measurements/{{origin}}/{{experiment}}.parquet",
    log:
        f"results/{SCALE}/logs/dpauc_measure/{{origin}}_{{experiment}}.log",
    benchmark:
        f"results/{SCALE}/timings/dpauc_measure/{{origin}}_{{experiment}}.jsonl"
    wildcard_constraints:
        experiment="|".join(EXPERIMENTS),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow(60),
    params:
        code=lambda wildcards: code(f"dpauc/{wildcards.experiment}"),
        settings=dpauc_settings,
        scale=SCALE,
        seed=conf("seed"),
    message:
        "measure {wildcards.experiment} on the scores of {wildcards.origin}"
    script:
        "../scripts/dpauc/{wildcards.experiment}.py"


rule dpauc_ground_truth:
    input:
        scores=dpauc_scores,
        predictions=dpauc_predictions,
        meta=dpauc_meta,
    output:
        measurements=f"{DPAUC}/measurements/{{origin}}/ground_truth.csv",
        draws=f"{DPAUC}/measurements/{{origin}}/ground_truth.parquet",
    log:
        f"results/{SCALE}/logs/dpauc_ground_truth/{{origin}}.log",
    benchmark:
        f"results/{SCALE}/timings/dpauc_ground_truth/{{origin}}.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(3000),
        runtime=grow(60),
    params:
        code=code("dpauc/ground_truth"),
        models=len(MODELS),
        scale=SCALE,
        seed=conf("seed"),
    message:
        "exact and TensorFlow AUC on the scores of {wildcards.origin}"
    script:
        "../scripts/dpauc/ground_truth.py"


rule dpauc_curves:
    input:
        scores=dpauc_scores,
        meta=dpauc_meta,
    output:
        densities=f"{DPAUC}/measurements/{{origin}}/densities.csv",
        curves=f"{DPAUC}/measurements/{{origin}}/curves.csv",
    log:
        f"results/{SCALE}/logs/dpauc_curves/{{origin}}.log",
    benchmark:
        f"results/{SCALE}/timings/dpauc_curves/{{origin}}.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow(30),
    params:
        code=code("dpauc/curves"),
        settings={key: conf("dpauc.sweeps")[key] for key in ("epsilons", "clients")},
        scale=SCALE,
        seed=conf("seed"),
    message:
        "densities and ROC curves of {wildcards.origin}"
    script:
        "../scripts/dpauc/curves.py"


rule dpauc_budget:
    output:
        measurements=f"{DPAUC}/measurements/exact/budget.csv",
        draws=f"{DPAUC}/measurements/exact/budget.parquet",
    log:
        f"results/{SCALE}/logs/dpauc_budget.log",
    benchmark:
        f"results/{SCALE}/timings/dpauc_budget.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow(30),
    params:
        code=code("dpauc/budget"),
        settings={
            key: conf("dpauc.sweeps")[key]
            for key in ("thresholds", "epsilons", "delta")
        },
        scale=SCALE,
        seed=conf("seed"),
    message:
        "what the published budgets really spend"
    script:
        "../scripts/dpauc/budget.py"


rule dpauc_released:
    input:
        outputs=published("dpauc_author_repo_outputs.csv"),
        tables=[published(TABLE_SOURCES["table1"][0]), TABLE4, TABLE5],
    output:
        measurements=f"{DPAUC}/measurements/released/released.csv",
        draws=f"{DPAUC}/measurements/released/released.parquet",
    log:
        f"results/{SCALE}/logs/dpauc_released.log",
    benchmark:
        f"results/{SCALE}/timings/dpauc_released.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow(10),
    params:
        code=code("dpauc/released"),
        scale=SCALE,
        seed=conf("seed"),
    message:
        "the authors' released files behind the printed tables"
    script:
        "../scripts/dpauc/released.py"


rule dpauc_gather:
    input:
        measurements=[f"{stem}.csv" for stem in MEASURED_STEMS],
        draws=[f"{stem}.parquet" for stem in MEASURED_STEMS],
    output:
        measurements=f"{DPAUC}/measurements.csv",
        draws=f"{DPAUC}/draws.parquet",
    log:
        f"results/{SCALE}/logs/dpauc_gather.log",
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
        "gather the measurements of DPAUC"
    script:
        "../scripts/report/gather.py"


rule dpauc_table:
    input:
        measurements=rules.dpauc_gather.output.measurements,
        claims=claims_of("dpauc")[0],
        published=dpauc_printed,
    output:
        tex=f"{DPAUC}/tables/{{table}}.tex",
    log:
        f"results/{SCALE}/logs/dpauc_table/{{table}}.log",
    wildcard_constraints:
        table="|".join(DPAUC_TABLES),
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("dpauc/table"),
    message:
        "LaTeX of {wildcards.table}"
    script:
        "../scripts/dpauc/table.py"


rule dpauc_figure:
    input:
        measurements=rules.dpauc_gather.output.measurements,
        curves=expand(f"{DPAUC}/measurements/{{origin}}/curves.csv", origin=ORIGINS),
        densities=expand(
            f"{DPAUC}/measurements/{{origin}}/densities.csv", origin=ORIGINS
        ),
        table4=TABLE4,
        table5=TABLE5,
    output:
        pdf=f"{DPAUC}/figures/{{figure}}.pdf",
        png=report(
            f"{DPAUC}/figures/{{figure}}.png",
            category="DPAUC",
            labels={"figure": "{figure}"},
            caption="../report/dpauc_figure.rst",
        ),
    log:
        f"results/{SCALE}/logs/dpauc_figure/{{figure}}.log",
    wildcard_constraints:
        figure="|".join(DPAUC_FIGURES),
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("dpauc/figure"),
    message:
        "draw {wildcards.figure}"
    script:
        "../scripts/dpauc/figure.py"


rule dpauc:
    """DPAUC: claims, Tables 1-5, Figures 1-3."""
    input:
        claims_of("dpauc"),
        expand(f"{DPAUC}/tables/{{table}}.tex", table=DPAUC_TABLES),
        expand(
            f"{DPAUC}/figures/{{figure}}.{{suffix}}",
            figure=DPAUC_FIGURES,
            suffix=["pdf", "png"],
        ),
    localrule: True
    params:
        scale=SCALE,
    message:
        "DPAUC: tables and figures are in results/{params.scale}/dpauc"


# One target per printed table and figure, e.g. dpauc_table4.
for _table in PRINTED_TABLES:

    rule:
        """One table of the paper, published beside replicated."""
        name:
            f"dpauc_{_table}"
        input:
            f"{DPAUC}/tables/{_table}.tex",
        localrule: True


for _figure in ["figure1", "figure2", "figure3"]:

    rule:
        """One figure of the paper, as PDF and PNG."""
        name:
            f"dpauc_{_figure}"
        input:
            expand(f"{DPAUC}/figures/{_figure}.{{suffix}}", suffix=["pdf", "png"]),
        localrule: True
