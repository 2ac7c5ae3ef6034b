# Beyond the papers: our own experiments, which no published number is compared with.
BEYOND = f"results/{SCALE}/beyond"
# Each rule of the chain adds its measurement files here: <stem>.csv and <stem>.parquet.
BEYOND_STEMS = [f"{BEYOND}/measurements/exact/composition"]
BEYOND_STEMS += [f"{BEYOND}/measurements/{origin}/mechanisms" for origin in ORIGINS]
BEYOND_TABLES = ["methods", "mechanisms", "utility", "thresholds", "theory", "bins"]
BEYOND_TABLES += ["planning", "composition", "evaluations"]
BEYOND_FIGURES = ["utility", "thresholds", "bins", "evaluations"]


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
        mem_mb=2000,
        runtime=60,
    params:
        code=code("beyond/mechanisms"),
        settings=conf("beyond.mechanisms"),
        scale=SCALE,
        seed=conf("seed"),
    message:
        "mechanisms for a private AUC on the scores of {wildcards.origin}"
    script:
        "../scripts/beyond/mechanisms.py"


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
