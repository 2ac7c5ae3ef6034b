# SHAPr: records -> models -> attacks and scores -> measurements -> claims, tables and figures.
SHAPR = f"results/{SCALE}/shapr"
SHAPR_SETS = conf("shapr.sets")
SHAPR_META = [f"{SHAPR}/data/{name}.json" for name in SHAPR_SETS]
SHAPR_PUBLISHED = published_of("shapr")
# Experiments on some of the sets.
SHAPR_INFLUENCE = shapr_some("influence")
SHAPR_BACKDOORS = shapr_some("backdoors")
SHAPR_STEMS = [
    f"{SHAPR}/measurements/{kind}/{name}"
    for kind in ("scores", "removal")
    for name in SHAPR_SETS
]
SHAPR_STEMS += [f"{SHAPR}/measurements/influence/{name}" for name in SHAPR_INFLUENCE]
SHAPR_STEMS += [f"{SHAPR}/measurements/backdoors/{name}" for name in SHAPR_BACKDOORS]
SHAPR_TABLES = [f"table{number}" for number in range(1, 9)]
SHAPR_TABLES += ["attacks", "roc", "spaces", "typicality", "removal", "valuation"]
SHAPR_TABLES += ["backdoors", "axioms", "statements"]
SHAPR_FIGURES = ["effectiveness", "roc", "l2", "removal", "valuation"]
SHAPR_FIGURES += ["subgroups", "backdoors", "mean_score"]


rule shapr_data:
    input:
        user=lambda wildcards: user_files(wildcards.set),
    output:
        pool=f"{SHAPR}/data/{{set}}.npz",
        meta=f"{SHAPR}/data/{{set}}.json",
    log:
        f"results/{SCALE}/logs/shapr_data/{{set}}.log",
    benchmark:
        f"results/{SCALE}/timings/shapr_data/{{set}}.jsonl"
    wildcard_constraints:
        set="|".join(SHAPR_SETS),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(conf("jobs.shapr.memory")),
        runtime=grow(60),
    params:
        code=code("shapr/data"),
        settings=shapr_pool,
        mode=conf("data.mode"),
        cache=conf("data.cache"),
        timeout=conf("data.timeout"),
        data_dirs=data_dirs(),
        seed=conf("seed"),
    message:
        "records of {wildcards.set} and their splits, data mode {params.mode}"
    script:
        "../scripts/shapr/data.py"


rule shapr_train:
    input:
        pool=rules.shapr_data.output.pool,
        meta=rules.shapr_data.output.meta,
    output:
        predictions=f"{SHAPR}/predictions/{{set}}/{{chunk}}.npz",
    log:
        f"results/{SCALE}/logs/shapr_train/{{set}}/{{chunk}}.log",
    benchmark:
        f"results/{SCALE}/timings/shapr_train/{{set}}/{{chunk}}.jsonl"
    wildcard_constraints:
        set="|".join(SHAPR_SETS),
        chunk=r"\d+",
    conda:
        "../../environment.yml"
    threads: conf("shapr.threads")
    resources:
        mem_mb=grow(conf("jobs.shapr.memory")),
        runtime=grow(conf("jobs.shapr.minutes")),
        gpu=conf("jobs.shapr.gpus"),
    params:
        code=code("shapr/train"),
        threads_fixed=conf("shapr.threads"),
        model=conf("shapr.model"),
        targets=conf("shapr.targets"),
        l2=conf("shapr.l2"),
        chunks=conf("shapr.chunks"),
        seed=conf("seed"),
    message:
        "train the models of {wildcards.set}, part {wildcards.chunk}"
    script:
        "../scripts/shapr/train.py"


rule shapr_score:
    input:
        pool=rules.shapr_data.output.pool,
        meta=rules.shapr_data.output.meta,
        predictions=shapr_predictions,
    output:
        measurements=f"{SHAPR}/measurements/scores/{{set}}.csv",
        draws=f"{SHAPR}/measurements/scores/{{set}}.parquet",
        scores=f"{SHAPR}/scores/{{set}}.npz",
        curves=f"{SHAPR}/scores/{{set}}_roc.csv",
    log:
        f"results/{SCALE}/logs/shapr_score/{{set}}.log",
    benchmark:
        f"results/{SCALE}/timings/shapr_score/{{set}}.jsonl"
    wildcard_constraints:
        set="|".join(SHAPR_SETS),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(conf("jobs.shapr.memory")),
        runtime=grow(240),
    params:
        code=code("shapr/score"),
        settings={key: conf("shapr")[key] for key in ("targets", "neighbours", "l2")},
        scale=SCALE,
        seed=conf("seed"),
    message:
        "attack the models of {wildcards.set} and score their records"
    script:
        "../scripts/shapr/score.py"


rule shapr_removal:
    input:
        pool=rules.shapr_data.output.pool,
        meta=rules.shapr_data.output.meta,
        scores=rules.shapr_score.output.scores,
    output:
        measurements=f"{SHAPR}/measurements/removal/{{set}}.csv",
        draws=f"{SHAPR}/measurements/removal/{{set}}.parquet",
    log:
        f"results/{SCALE}/logs/shapr_removal/{{set}}.log",
    benchmark:
        f"results/{SCALE}/timings/shapr_removal/{{set}}.jsonl"
    wildcard_constraints:
        set="|".join(SHAPR_SETS),
    conda:
        "../../environment.yml"
    threads: conf("shapr.threads")
    resources:
        mem_mb=grow(conf("jobs.shapr.memory")),
        runtime=grow(conf("jobs.shapr.minutes")),
        gpu=conf("jobs.shapr.gpus"),
    params:
        code=code("shapr/removal"),
        threads_fixed=conf("shapr.threads"),
        model=conf("shapr.model"),
        settings=conf("shapr.removal"),
        neighbours=conf("shapr.neighbours"),
        scale=SCALE,
        seed=conf("seed"),
    message:
        "remove records of {wildcards.set} and train anew"
    script:
        "../scripts/shapr/removal.py"


# CPU times differ from run to run: they stay out of the chain's measurements.
rule shapr_influence:
    input:
        pool=rules.shapr_data.output.pool,
        meta=rules.shapr_data.output.meta,
        scores=rules.shapr_score.output.scores,
    output:
        measurements=f"{SHAPR}/measurements/influence/{{set}}.csv",
        draws=f"{SHAPR}/measurements/influence/{{set}}.parquet",
        times=f"results/{SCALE}/timings/shapr_influence_{{set}}.csv",
    log:
        f"results/{SCALE}/logs/shapr_influence/{{set}}.log",
    benchmark:
        f"results/{SCALE}/timings/shapr_influence/{{set}}.jsonl"
    wildcard_constraints:
        set="|".join(SHAPR_SETS),
    conda:
        "../../environment.yml"
    threads: conf("shapr.threads")
    resources:
        mem_mb=grow(conf("jobs.shapr.memory")),
        runtime=grow(conf("jobs.shapr.minutes")),
        gpu=conf("jobs.shapr.gpus"),
    params:
        code=code("shapr/influence"),
        threads_fixed=conf("shapr.threads"),
        model=conf("shapr.model"),
        settings=conf("shapr.influence"),
        neighbours=conf("shapr.neighbours"),
        scale=SCALE,
        seed=conf("seed"),
    message:
        "influence functions on {wildcards.set}"
    script:
        "../scripts/shapr/influence.py"


rule shapr_backdoors:
    input:
        pool=rules.shapr_data.output.pool,
        meta=rules.shapr_data.output.meta,
    output:
        measurements=f"{SHAPR}/measurements/backdoors/{{set}}.csv",
        draws=f"{SHAPR}/measurements/backdoors/{{set}}.parquet",
        records=f"{SHAPR}/scores/{{set}}_backdoors.csv",
    log:
        f"results/{SCALE}/logs/shapr_backdoors/{{set}}.log",
    benchmark:
        f"results/{SCALE}/timings/shapr_backdoors/{{set}}.jsonl"
    wildcard_constraints:
        set="|".join(SHAPR_SETS),
    conda:
        "../../environment.yml"
    threads: conf("shapr.threads")
    resources:
        mem_mb=grow(conf("jobs.shapr.memory")),
        runtime=grow(conf("jobs.shapr.minutes")),
        gpu=conf("jobs.shapr.gpus"),
    params:
        code=code("shapr/backdoors"),
        threads_fixed=conf("shapr.threads"),
        model=conf("shapr.model"),
        settings=conf("shapr.backdoors"),
        neighbours=conf("shapr.neighbours"),
        scale=SCALE,
        seed=conf("seed"),
    message:
        "backdoors in {wildcards.set}: memorisation and scores"
    script:
        "../scripts/shapr/backdoors.py"


rule shapr_runtimes:
    input:
        times=[
            f"results/{SCALE}/timings/shapr_influence_{name}.csv"
            for name in SHAPR_INFLUENCE
        ],
    output:
        times=f"results/{SCALE}/timings/shapr_runtimes.csv",
        tex=f"results/{SCALE}/timings/shapr_runtimes.tex",
        pdf=f"results/{SCALE}/timings/shapr_runtimes.pdf",
        png=f"results/{SCALE}/timings/shapr_runtimes.png",
    log:
        f"results/{SCALE}/logs/shapr_runtimes.log",
    benchmark:
        f"results/{SCALE}/timings/shapr_runtimes.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow(60),
    params:
        code=code("shapr/runtimes"),
        settings=conf("shapr.timings"),
        seed=conf("seed"),
    message:
        "CPU time of SHAPr, of influence functions and of leave-one-out"
    script:
        "../scripts/shapr/runtimes.py"


rule shapr_across:
    input:
        measurements=[f"{stem}.csv" for stem in SHAPR_STEMS],
        published=published("shapr_table2_datasets.csv"),
    output:
        measurements=f"{SHAPR}/measurements/across.csv",
        draws=f"{SHAPR}/measurements/across.parquet",
    log:
        f"results/{SCALE}/logs/shapr_across.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("shapr/across"),
        scale=SCALE,
        seed=conf("seed"),
    message:
        "means over the data sets"
    script:
        "../scripts/shapr/across.py"


rule shapr_gather:
    input:
        measurements=[
            *(f"{stem}.csv" for stem in SHAPR_STEMS),
            rules.shapr_across.output.measurements,
        ],
        draws=[
            *(f"{stem}.parquet" for stem in SHAPR_STEMS),
            rules.shapr_across.output.draws,
        ],
    output:
        measurements=f"{SHAPR}/measurements.csv",
        draws=f"{SHAPR}/draws.parquet",
    log:
        f"results/{SCALE}/logs/shapr_gather.log",
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
        "gather the measurements of SHAPr"
    script:
        "../scripts/report/gather.py"


# One process for all tables and one for all figures: each takes less than its start.
rule shapr_tables:
    input:
        measurements=rules.shapr_gather.output.measurements,
        claims=claims_of("shapr")[0],
        meta=SHAPR_META,
        published=published("shapr_statements.csv"),
    output:
        tex=expand(f"{SHAPR}/tables/{{table}}.tex", table=SHAPR_TABLES),
    log:
        f"results/{SCALE}/logs/shapr_tables.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("shapr/tables"),
    message:
        "LaTeX of SHAPr"
    script:
        "../scripts/shapr/tables.py"


rule shapr_figures:
    input:
        measurements=rules.shapr_gather.output.measurements,
        curves=expand(f"{SHAPR}/scores/{{set}}_roc.csv", set=SHAPR_SETS),
        records=[f"{SHAPR}/scores/{name}_backdoors.csv" for name in SHAPR_BACKDOORS],
    output:
        pdf=expand(f"{SHAPR}/figures/{{figure}}.pdf", figure=SHAPR_FIGURES),
        png=[
            report(
                f"{SHAPR}/figures/{figure}.png",
                category="SHAPr",
                labels={"figure": figure},
                caption="../report/shapr_figure.rst",
            )
            for figure in SHAPR_FIGURES
        ],
    log:
        f"results/{SCALE}/logs/shapr_figures.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("shapr/figures"),
    message:
        "draw the figures of SHAPr"
    script:
        "../scripts/shapr/figures.py"


rule shapr:
    """SHAPr: claims, Tables I-VIII, figures."""
    input:
        rules.shapr_tables.output,
        rules.shapr_figures.output,
        claims_of("shapr"),
        rules.shapr_runtimes.output,
    localrule: True
    params:
        scale=SCALE,
    message:
        "SHAPr: tables and figures are in results/{params.scale}/shapr"


# One target per printed table, e.g. shapr_table2.
for _table in range(1, 9):

    rule:
        """One table of the paper, published beside replicated."""
        name:
            f"shapr_table{_table}"
        input:
            f"{SHAPR}/tables/table{_table}.tex",
        localrule: True
