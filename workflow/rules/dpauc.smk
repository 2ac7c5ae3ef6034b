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
    "wide_deep": [name for name in EXPERIMENTS if name != "author_outputs"] + ["ground_truth"],
    "authors": [name for name in EXPERIMENTS if name != "leaks"] + ["ground_truth"],
}
MEASURED_STEMS = [f"{DPAUC}/measurements/{origin}/{name}" for origin in ORIGINS for name in MEASURED[origin]]
MEASURED_STEMS += [f"{DPAUC}/measurements/exact/budget", f"{DPAUC}/measurements/released/released"]
DPAUC_TABLES = ["table1", "table2", "table3", "table4", "table5"]
DPAUC_TABLES += ["noisy", "training", "noise_free", "gaussian", "ablation", "budget", "leaks"]
DPAUC_FIGURES = ["figure1", "figure2", "figure3", "roc", "bias_spread"]
DPAUC_PUBLISHED = {
    "table1": published("dpauc_table1_rr.csv"),
    "table2": published("dpauc_table2_topk.csv"),
    "table3": published("dpauc_table3_score_noise.csv"),
    "table4": published("dpauc_table4_iid_vs_noniid.csv"),
    "table5": published("dpauc_table5_thresholds.csv"),
}


def dpauc_scores(wildcards):
    """What the measurements of an origin are made from."""
    if wildcards.origin == "authors":
        return [published("dpauc_roc_epoch0_reconstruction.csv")]
    return expand(f"{DPAUC}/predictions/model0_epoch{{epoch}}.parquet", epoch=EPOCHS)


def dpauc_meta(wildcards):
    """Preprocessing's record, which carries the label of the data."""
    return [] if wildcards.origin == "authors" else f"{DPAUC}/prepared/meta.json"


def dpauc_predictions(wildcards):
    """Predictions of every model, model by model."""
    if wildcards.origin == "authors":
        return []
    return [f"{DPAUC}/predictions/model{m}_epoch{e}.parquet" for m in MODELS for e in EPOCHS]


def dpauc_published(wildcards):
    """Published numbers that an experiment compares with or takes its settings from."""
    files = {
        "ablation": "dpauc_table4_iid_vs_noniid.csv",
        "author_outputs": "dpauc_author_repo_outputs.csv",
    }
    return [published(files[wildcards.experiment])] if wildcards.experiment in files else []


def dpauc_printed(wildcards):
    """The printed tables that a table shows beside our numbers."""
    shown = {"noisy": ["table1"], "training": ["table1", "table3"], "ablation": ["table4"]}
    tables = shown.get(wildcards.table, [wildcards.table])
    return [DPAUC_PUBLISHED[table] for table in tables if table in DPAUC_PUBLISHED]


def dpauc_settings(wildcards):
    """The part of dpauc.sweeps that an experiment reads."""
    sweeps = conf("dpauc.sweeps")
    return {key: sweeps[key] for key in EXPERIMENTS[wildcards.experiment]}


rule dpauc_preprocess:
    message:
        "split, code and scale the click logs"
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
    threads: 2
    conda:
        "../../environment.yml"
    resources:
        mem_mb=3000,
        runtime=240,
    params:
        code=code("dpauc/preprocess"),
        threads_fixed=conf("threads"),
        settings=conf("dpauc.preprocessing"),
        on_bad_rows=conf("dpauc.criteo.on_bad_rows"),
        seed=conf("seed"),
    script:
        "../scripts/dpauc/preprocess.py"


rule dpauc_train:
    message:
        "train Wide & Deep model {wildcards.model}, predict after every epoch"
    input:
        parts=rules.dpauc_preprocess.output.parts,
        meta=rules.dpauc_preprocess.output.meta,
    output:
        predictions=expand(f"{DPAUC}/predictions/model{{{{model}}}}_epoch{{epoch}}.parquet", epoch=EPOCHS),
        history=f"{DPAUC}/predictions/model{{model}}_history.json",
    log:
        f"results/{SCALE}/logs/dpauc_train/model{{model}}.log",
    benchmark:
        f"results/{SCALE}/timings/dpauc_train/model{{model}}.jsonl"
    threads: 2
    conda:
        "../../environment.yml"
    resources:
        mem_mb=8000,
        runtime=480,
    params:
        code=code("dpauc/train"),
        threads_fixed=conf("threads"),
        settings=conf("dpauc.model"),
        checkpoints=f"{DPAUC}/checkpoints/model{{model}}",
        seed=conf("seed"),
    script:
        "../scripts/dpauc/train.py"


rule dpauc_measure:
    message:
        "measure {wildcards.experiment} on the scores of {wildcards.origin}"
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
    threads: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        code=lambda wildcards: code(f"dpauc/{wildcards.experiment}"),
        settings=dpauc_settings,
        scale=SCALE,
        seed=conf("seed"),
    script:
        "../scripts/dpauc/{wildcards.experiment}.py"


rule dpauc_ground_truth:
    message:
        "exact and TensorFlow AUC on the scores of {wildcards.origin}"
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
    threads: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=3000,
        runtime=60,
    params:
        code=code("dpauc/ground_truth"),
        models=len(MODELS),
        scale=SCALE,
        seed=conf("seed"),
    script:
        "../scripts/dpauc/ground_truth.py"


rule dpauc_curves:
    message:
        "densities and ROC curves of {wildcards.origin}"
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
    threads: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code("dpauc/curves"),
        settings={key: conf("dpauc.sweeps")[key] for key in ("epsilons", "clients")},
        scale=SCALE,
        seed=conf("seed"),
    script:
        "../scripts/dpauc/curves.py"


rule dpauc_budget:
    message:
        "what the published budgets really spend"
    output:
        measurements=f"{DPAUC}/measurements/exact/budget.csv",
        draws=f"{DPAUC}/measurements/exact/budget.parquet",
    log:
        f"results/{SCALE}/logs/dpauc_budget.log",
    benchmark:
        f"results/{SCALE}/timings/dpauc_budget.jsonl"
    threads: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        code=code("dpauc/budget"),
        settings={key: conf("dpauc.sweeps")[key] for key in ("thresholds", "epsilons", "delta")},
        scale=SCALE,
        seed=conf("seed"),
    script:
        "../scripts/dpauc/budget.py"


rule dpauc_released:
    message:
        "the authors' released files behind the printed tables"
    input:
        outputs=published("dpauc_author_repo_outputs.csv"),
        tables=[DPAUC_PUBLISHED[table] for table in ("table1", "table4", "table5")],
    output:
        measurements=f"{DPAUC}/measurements/released/released.csv",
        draws=f"{DPAUC}/measurements/released/released.parquet",
    log:
        f"results/{SCALE}/logs/dpauc_released.log",
    benchmark:
        f"results/{SCALE}/timings/dpauc_released.jsonl"
    threads: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("dpauc/released"),
        scale=SCALE,
        seed=conf("seed"),
    script:
        "../scripts/dpauc/released.py"


rule dpauc_gather:
    message:
        "gather the measurements of DPAUC"
    input:
        measurements=[f"{stem}.csv" for stem in MEASURED_STEMS],
        draws=[f"{stem}.parquet" for stem in MEASURED_STEMS],
    output:
        measurements=f"{DPAUC}/measurements.csv",
        draws=f"{DPAUC}/draws.parquet",
    log:
        f"results/{SCALE}/logs/dpauc_gather.log",
    localrule: True
    threads: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("report/gather"),
    script:
        "../scripts/report/gather.py"


rule dpauc_table:
    message:
        "LaTeX of {wildcards.table}"
    input:
        measurements=rules.dpauc_gather.output.measurements,
        claims=f"results/{SCALE}/claims.csv",
        published=dpauc_printed,
    output:
        tex=f"{DPAUC}/tables/{{table}}.tex",
    log:
        f"results/{SCALE}/logs/dpauc_table/{{table}}.log",
    wildcard_constraints:
        table="|".join(DPAUC_TABLES),
    localrule: True
    threads: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("dpauc/table"),
    script:
        "../scripts/dpauc/table.py"


rule dpauc_figure:
    message:
        "draw {wildcards.figure}"
    input:
        measurements=rules.dpauc_gather.output.measurements,
        curves=expand(f"{DPAUC}/measurements/{{origin}}/curves.csv", origin=ORIGINS),
        densities=expand(f"{DPAUC}/measurements/{{origin}}/densities.csv", origin=ORIGINS),
        table4=DPAUC_PUBLISHED["table4"],
        table5=DPAUC_PUBLISHED["table5"],
    output:
        pdf=f"{DPAUC}/figures/{{figure}}.pdf",
        png=report(f"{DPAUC}/figures/{{figure}}.png", category="DPAUC", labels={"figure": "{figure}"}, caption="../report/dpauc_figure.rst"),
    log:
        f"results/{SCALE}/logs/dpauc_figure/{{figure}}.log",
    wildcard_constraints:
        figure="|".join(DPAUC_FIGURES),
    localrule: True
    threads: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("dpauc/figure"),
        published_repeats=50,
    script:
        "../scripts/dpauc/figure.py"


rule dpauc:
    localrule: True
    message:
        "DPAUC: tables and figures are in results/{params.scale}/dpauc"
    input:
        expand(f"{DPAUC}/tables/{{table}}.tex", table=DPAUC_TABLES),
        expand(f"{DPAUC}/figures/{{figure}}.{{suffix}}", figure=DPAUC_FIGURES, suffix=["pdf", "png"]),
    params:
        scale=SCALE,
