# Beyond the papers: our own experiments, which no published number is compared with.
BEYOND = f"results/{SCALE}/beyond"
# Each rule of the chain adds its measurement files here: <stem>.csv and <stem>.parquet.
BEYOND_STEMS = [f"{BEYOND}/measurements/exact/composition"]
BEYOND_STEMS += [f"{BEYOND}/measurements/{origin}/mechanisms" for origin in ORIGINS]
BEYOND_TABLES = ["methods", "mechanisms", "utility", "thresholds", "theory", "bins"]
BEYOND_TABLES += ["planning", "composition", "evaluations"]
BEYOND_FIGURES = ["utility", "thresholds", "bins", "evaluations"]
# Crossed experiments.
BEYOND_STEMS += [f"{BEYOND}/measurements/exact/mechanism_audit"]
BEYOND_STEMS += [
    f"{BEYOND}/measurements/{name}/released_auc"
    for name in conf("beyond.released_auc.sets")
]
BEYOND_STEMS += [f"{BEYOND}/measurements/{name}/record_risk" for name in SHAPR_SETS]
BEYOND_TABLES += ["mechanism_audit", "response_audit", "released_auc", "record_risk"]
BEYOND_FIGURES += ["mechanism_audit", "released_auc", "record_risk"]
# Sets on which many models are trained for the audit of single records.
BEYOND_RECORD_SETS = [n for n in conf("beyond.record_risk.sets") if n in SHAPR_SETS]


rule beyond_composition:
    output:
        measurements=f"{BEYOND}/measurements/exact/composition.csv",
        draws=f"{BEYOND}/measurements/exact/composition.parquet",
    log:
        f"results/{SCALE}/logs/beyond_composition.log",
    benchmark:
        f"results/{SCALE}/timings/beyond_composition.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow(30),
    params:
        code=code("beyond/composition"),
        settings=conf("beyond.composition"),
        scale=SCALE,
        seed=conf("seed"),
    message:
        "what repeated evaluation costs"
    script:
        "../scripts/beyond/composition.py"


rule beyond_mechanisms:
    input:
        scores=beyond_scores,
        meta=dpauc_meta,
    output:
        measurements=f"{BEYOND}/measurements/{{origin}}/mechanisms.csv",
        draws=f"{BEYOND}/measurements/{{origin}}/mechanisms.parquet",
    log:
        f"results/{SCALE}/logs/beyond_mechanisms/{{origin}}.log",
    benchmark:
        f"results/{SCALE}/timings/beyond_mechanisms/{{origin}}.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow(60),
    params:
        code=code("beyond/mechanisms"),
        settings=conf("beyond.mechanisms"),
        scale=SCALE,
        seed=conf("seed"),
    message:
        "mechanisms for a private AUC on the scores of {wildcards.origin}"
    script:
        "../scripts/beyond/mechanisms.py"


rule beyond_mechanism_audit:
    output:
        measurements=f"{BEYOND}/measurements/exact/mechanism_audit.csv",
        draws=f"{BEYOND}/measurements/exact/mechanism_audit.parquet",
    log:
        f"results/{SCALE}/logs/beyond_mechanism_audit.log",
    benchmark:
        f"results/{SCALE}/timings/beyond_mechanism_audit.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow(60),
    params:
        code=code("beyond/mechanism_audit"),
        settings=conf("beyond.mechanism_audit"),
        scale=SCALE,
        seed=conf("seed"),
    message:
        "audit DPAUC, the label histogram and randomised response"
    script:
        "../scripts/beyond/mechanism_audit.py"


rule beyond_released_auc:
    output:
        measurements=f"{BEYOND}/measurements/{{test_set}}/released_auc.csv",
        draws=f"{BEYOND}/measurements/{{test_set}}/released_auc.parquet",
    log:
        f"results/{SCALE}/logs/beyond_released_auc/{{test_set}}.log",
    benchmark:
        f"results/{SCALE}/timings/beyond_released_auc/{{test_set}}.jsonl"
    wildcard_constraints:
        test_set="|".join(conf("beyond.released_auc.sets")),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow(60),
    params:
        code=code("beyond/released_auc"),
        settings=conf("beyond.released_auc"),
        scale=SCALE,
        seed=conf("seed"),
    message:
        "attack the labels of {wildcards.test_set} through released AUCs"
    script:
        "../scripts/beyond/released_auc.py"


rule beyond_record_models:
    input:
        pool=rules.shapr_data.output.pool,
        meta=rules.shapr_data.output.meta,
    output:
        models=f"{BEYOND}/models/{{set}}.npz",
    log:
        f"results/{SCALE}/logs/beyond_record_models/{{set}}.log",
    benchmark:
        f"results/{SCALE}/timings/beyond_record_models/{{set}}.jsonl"
    wildcard_constraints:
        set="|".join(BEYOND_RECORD_SETS) or "none",
    conda:
        "../../environment.yml"
    threads: conf("shapr.threads")
    resources:
        mem_mb=grow(conf("jobs.shapr.memory")),
        runtime=grow(conf("jobs.shapr.minutes")),
        gpu=conf("jobs.shapr.gpus"),
    params:
        code=code("beyond/record_models"),
        threads_fixed=conf("shapr.threads"),
        model=conf("shapr.model"),
        settings={
            key: conf("beyond.record_risk")[key]
            for key in ("records", "models", "scoring_models")
        },
        seed=conf("seed"),
    message:
        "train many models of {wildcards.set}"
    script:
        "../scripts/beyond/record_models.py"


rule beyond_record_risk:
    input:
        unpack(many_models),
        pool=rules.shapr_data.output.pool,
        meta=rules.shapr_data.output.meta,
        predictions=shapr_predictions,
        scores=rules.shapr_score.output.scores,
    output:
        measurements=f"{BEYOND}/measurements/{{set}}/record_risk.csv",
        draws=f"{BEYOND}/measurements/{{set}}/record_risk.parquet",
    log:
        f"results/{SCALE}/logs/beyond_record_risk/{{set}}.log",
    benchmark:
        f"results/{SCALE}/timings/beyond_record_risk/{{set}}.jsonl"
    wildcard_constraints:
        set="|".join(SHAPR_SETS),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(conf("jobs.shapr.memory")),
        runtime=grow(60),
    params:
        code=code("beyond/record_risk"),
        settings=conf("beyond.record_risk"),
        neighbours=conf("shapr.neighbours"),
        scale=SCALE,
        seed=conf("seed"),
    message:
        "scores of {wildcards.set} against audits of single records"
    script:
        "../scripts/beyond/record_risk.py"


rule beyond_gather:
    input:
        measurements=[f"{stem}.csv" for stem in BEYOND_STEMS],
        draws=[f"{stem}.parquet" for stem in BEYOND_STEMS],
    output:
        measurements=f"{BEYOND}/measurements.csv",
        draws=f"{BEYOND}/draws.parquet",
    log:
        f"results/{SCALE}/logs/beyond_gather.log",
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
        "gather the measurements beyond the papers"
    script:
        "../scripts/report/gather.py"


rule beyond_tables:
    input:
        measurements=rules.beyond_gather.output.measurements,
    output:
        tex=expand(f"{BEYOND}/tables/{{table}}.tex", table=BEYOND_TABLES),
        json=expand(f"{BEYOND}/tables/{{table}}.json", table=BEYOND_TABLES),
    log:
        f"results/{SCALE}/logs/beyond_tables.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("beyond/tables"),
    message:
        "tables beyond the papers"
    script:
        "../scripts/beyond/tables.py"


rule beyond_figures:
    input:
        measurements=rules.beyond_gather.output.measurements,
    output:
        pdf=expand(f"{BEYOND}/figures/{{figure}}.pdf", figure=BEYOND_FIGURES),
        png=[
            report(
                f"{BEYOND}/figures/{figure}.png",
                category="Beyond the papers",
                labels={"figure": figure},
                caption="../report/beyond_figure.rst",
            )
            for figure in BEYOND_FIGURES
        ],
    log:
        f"results/{SCALE}/logs/beyond_figures.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("beyond/figures"),
    message:
        "draw the figures beyond the papers"
    script:
        "../scripts/beyond/figures.py"


rule beyond:
    input:
        rules.beyond_tables.output,
        rules.beyond_figures.output,
    localrule: True
    params:
        scale=SCALE,
    message:
        "beyond the papers: tables and figures are in results/{params.scale}/beyond"
