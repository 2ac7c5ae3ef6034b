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
    "curves": ["epsilons", "clients"],
}
MEASURED = [name for name in EXPERIMENTS if name != "curves"] + ["ground_truth"]
ORIGINS = ["wide_deep", "authors"]
DPAUC_TABLES = ["table1", "table2", "table3", "table4", "table5"]
DPAUC_TABLES += ["training", "noise_free", "gaussian", "ablation", "budget", "leaks"]
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
        settings=lambda wildcards: dpauc_settings(wildcards.experiment),
        scale=SCALE,
        seed=conf("seed"),
    script:
        "../scripts/dpauc/{wildcards.experiment}.py"


rule dpauc_ground_truth:
    message:
        "exact and TensorFlow AUC on the scores of {wildcards.origin}"
    input:
        scores=dpauc_all_scores,
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
        settings={},
        scale=SCALE,
        seed=conf("seed"),
    script:
        "../scripts/dpauc/ground_truth.py"


rule dpauc_budget:
    message:
        "what the published budgets really spend"
    output:
        measurements=f"{DPAUC}/measurements/budget.csv",
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
        thresholds=conf("dpauc.sweeps.thresholds"),
        epsilons=conf("dpauc.sweeps.epsilons"),
        delta=conf("dpauc.sweeps.delta"),
        scale=SCALE,
        seed=conf("seed"),
    script:
        "../scripts/dpauc/budget.py"


rule dpauc_table:
    message:
        "LaTeX of {wildcards.table}"
    input:
        measurements=DPAUC_MEASUREMENTS,
        claims=f"results/{SCALE}/claims.csv",
        published=lambda wildcards: DPAUC_PUBLISHED.get(wildcards.table, []),
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
        measurements=DPAUC_MEASUREMENTS,
        curves=expand(f"{DPAUC}/measurements/{{origin}}/curves.csv", origin=ORIGINS),
        densities=expand(f"{DPAUC}/measurements/{{origin}}/densities.csv", origin=ORIGINS),
        published=[published("dpauc_table4_iid_vs_noniid.csv"), published("dpauc_table5_thresholds.csv")],
    output:
        pdf=f"{DPAUC}/figures/{{figure}}.pdf",
        png=report(f"{DPAUC}/figures/{{figure}}.png", category="DPAUC", labels={{"figure": "{figure}"}}, caption="../report/dpauc_figure.rst"),
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
    script:
        "../scripts/dpauc/figure.py"
