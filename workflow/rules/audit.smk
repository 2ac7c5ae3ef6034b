# Bayesian audit: intervals, simulations and games -> measurements -> claims, tables and figures.
AUDIT = f"results/{SCALE}/audit"
AUDIT_PUBLISHED = published_of("bayes")
# Settings that every experiment reads, and those of single ones.
AUDIT_SHARED = ["alpha", "delta"]
# Settings of the games: <data set>_dp or <data set>_nodp.
AUDIT_SETTINGS = ["cifar10_dp", "sst2_dp", "sst2_nodp"]
AUDIT_DATASETS = sorted({setting.split("_")[0] for setting in AUDIT_SETTINGS})
AUDIT_GAMES = expand(f"{AUDIT}/measurements/{{setting}}", setting=AUDIT_SETTINGS)
AUDIT_EXACT = ["intervals", "simulations", "chance"]
AUDIT_STEMS = [f"{AUDIT}/measurements/exact/{name}" for name in AUDIT_EXACT]
AUDIT_STEMS += [f"{game}/games" for game in AUDIT_GAMES]
AUDIT_TABLES = ["perfect", "example", "released", "references"]
AUDIT_TABLES += ["coverage", "widths", "accounting"]
AUDIT_TABLES += ["games", "attacks", "accuracy", "heuristic", "chance"]
AUDIT_FIGURES = [
    "figure2",
    "figure3",
    "coverage",
    "widths",
    "figure5",
    "figure6",
    "games",
]


rule audit_intervals:
    input:
        published=AUDIT_PUBLISHED,
    output:
        measurements=f"{AUDIT}/measurements/exact/intervals.csv",
        draws=f"{AUDIT}/measurements/exact/intervals.parquet",
        curves=f"{AUDIT}/measurements/exact/curves.csv",
    log:
        f"results/{SCALE}/logs/audit_intervals.log",
    benchmark:
        f"results/{SCALE}/timings/audit_intervals.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow(10),
    params:
        code=code("audit/intervals"),
        settings={
            key: conf("audit")[key] for key in [*AUDIT_SHARED, "region", "widths"]
        },
        scale=SCALE,
        seed=conf("seed"),
    message:
        "published intervals for epsilon, again"
    script:
        "../scripts/audit/intervals.py"


rule audit_simulations:
    input:
        published=AUDIT_PUBLISHED,
    output:
        measurements=f"{AUDIT}/measurements/exact/simulations.csv",
        draws=f"{AUDIT}/measurements/exact/simulations.parquet",
    log:
        f"results/{SCALE}/logs/audit_simulations.log",
    benchmark:
        f"results/{SCALE}/timings/audit_simulations.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow(30),
    params:
        code=code("audit/simulations"),
        settings={key: conf("audit")[key] for key in [*AUDIT_SHARED, "coverage"]},
        scale=SCALE,
        seed=conf("seed"),
    message:
        "coverage of the intervals; privacy of the authors' noise"
    script:
        "../scripts/audit/simulations.py"


rule audit_chance:
    input:
        published=AUDIT_PUBLISHED,
    output:
        measurements=f"{AUDIT}/measurements/exact/chance.csv",
        draws=f"{AUDIT}/measurements/exact/chance.parquet",
    log:
        f"results/{SCALE}/logs/audit_chance.log",
    benchmark:
        f"results/{SCALE}/timings/audit_chance.jsonl"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow(30),
    params:
        code=code("audit/chance"),
        settings={key: conf("audit")[key] for key in [*AUDIT_SHARED, "games"]},
        scale=SCALE,
        seed=conf("seed"),
    message:
        "what coin-flip attacks and independent runs show"
    script:
        "../scripts/audit/chance.py"


rule audit_pool:
    input:
        resolution=rules.audit_source.output.resolution,
    output:
        pool=f"{AUDIT}/pools/{{dataset}}.npz",
    log:
        f"results/{SCALE}/logs/audit_pool/{{dataset}}.log",
    benchmark:
        f"results/{SCALE}/timings/audit_pool/{{dataset}}.jsonl"
    wildcard_constraints:
        dataset="|".join(AUDIT_DATASETS),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(conf("jobs.audit.memory")),
        runtime=grow(60),
    params:
        code=code("audit/pool"),
        threads_fixed=1,
        settings=lambda wildcards: conf(f"audit.games.{wildcards.dataset}"),
        seed=conf("seed"),
    message:
        "features of {wildcards.dataset}"
    script:
        "../scripts/audit/pool.py"


rule audit_ranking:
    input:
        pool=audit_pool,
    output:
        losses=f"{AUDIT}/rankings/{{setting}}/{{chunk}}.npz",
    log:
        f"results/{SCALE}/logs/audit_ranking/{{setting}}/{{chunk}}.log",
    benchmark:
        f"results/{SCALE}/timings/audit_ranking/{{setting}}/{{chunk}}.jsonl"
    wildcard_constraints:
        setting="|".join(AUDIT_SETTINGS),
        chunk=r"\d+",
    conda:
        "../../environment.yml"
    threads: conf("threads")
    resources:
        mem_mb=grow(conf("jobs.audit.memory")),
        runtime=grow(conf("jobs.audit.minutes")),
        gpu=conf("jobs.audit.gpus"),
    params:
        code=code("audit/ranking"),
        threads_fixed=conf("threads"),
        games=lambda wildcards: audit_games(wildcards, "ranking"),
        delta=conf("audit.delta"),
        seed=conf("seed"),
    message:
        "losses of the candidates of {wildcards.setting}, part {wildcards.chunk}"
    script:
        "../scripts/audit/ranking.py"


# Beside Snakemake itself: one file for the many jobs that play.
rule audit_gaps:
    input:
        parts=audit_rankings,
    output:
        ranking=f"{AUDIT}/rankings/{{setting}}.json",
    log:
        f"results/{SCALE}/logs/audit_gaps/{{setting}}.log",
    wildcard_constraints:
        setting="|".join(AUDIT_SETTINGS),
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("audit/gaps"),
    message:
        "loss gaps of the candidates of {wildcards.setting}"
    script:
        "../scripts/audit/gaps.py"


rule audit_play:
    input:
        pool=audit_pool,
        ranking=rules.audit_gaps.output.ranking,
    output:
        trials=f"{AUDIT}/played/{{setting}}/{{chunk}}.trials.parquet",
        references=f"{AUDIT}/played/{{setting}}/{{chunk}}.references.parquet",
        accuracy=f"{AUDIT}/played/{{setting}}/{{chunk}}.accuracy.parquet",
    log:
        f"results/{SCALE}/logs/audit_play/{{setting}}/{{chunk}}.log",
    benchmark:
        f"results/{SCALE}/timings/audit_play/{{setting}}/{{chunk}}.jsonl"
    wildcard_constraints:
        setting="|".join(AUDIT_SETTINGS),
        chunk=r"\d+",
    conda:
        "../../environment.yml"
    threads: conf("threads")
    resources:
        mem_mb=grow(conf("jobs.audit.memory")),
        runtime=grow(conf("jobs.audit.minutes")),
        gpu=conf("jobs.audit.gpus"),
    params:
        code=code("audit/play"),
        threads_fixed=conf("threads"),
        games=lambda wildcards: audit_games(wildcards, "play"),
        delta=conf("audit.delta"),
        seed=conf("seed"),
    message:
        "play {wildcards.setting}, part {wildcards.chunk}"
    script:
        "../scripts/audit/play.py"


rule audit_measure:
    input:
        unpack(audit_parts),
        pool=audit_pool,
        chance=rules.audit_chance.output.measurements,
    output:
        measurements=f"{AUDIT}/measurements/{{setting}}/games.csv",
        draws=f"{AUDIT}/measurements/{{setting}}/games.parquet",
        curves=f"{AUDIT}/measurements/{{setting}}/curves.csv",
    log:
        f"results/{SCALE}/logs/audit_measure/{{setting}}.log",
    benchmark:
        f"results/{SCALE}/timings/audit_measure/{{setting}}.jsonl"
    wildcard_constraints:
        setting="|".join(AUDIT_SETTINGS),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow(30),
    params:
        code=code("audit/measure"),
        settings={key: conf("audit")[key] for key in [*AUDIT_SHARED, "games"]},
        scale=SCALE,
        seed=conf("seed"),
    message:
        "intervals of {wildcards.setting}"
    script:
        "../scripts/audit/measure.py"


rule audit_gather:
    input:
        measurements=[f"{stem}.csv" for stem in AUDIT_STEMS],
        draws=[f"{stem}.parquet" for stem in AUDIT_STEMS],
    output:
        measurements=f"{AUDIT}/measurements.csv",
        draws=f"{AUDIT}/draws.parquet",
    log:
        f"results/{SCALE}/logs/audit_gather.log",
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
        "gather the measurements of the audit"
    script:
        "../scripts/report/gather.py"


# One process for all tables and one for all figures: each takes less than its start.
rule audit_tables:
    input:
        measurements=rules.audit_gather.output.measurements,
        claims=claims_of("audit")[0],
    output:
        tex=expand(f"{AUDIT}/tables/{{table}}.tex", table=AUDIT_TABLES),
    log:
        f"results/{SCALE}/logs/audit_tables.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("audit/tables"),
    message:
        "LaTeX of the audit"
    script:
        "../scripts/audit/tables.py"


rule audit_figures:
    input:
        measurements=rules.audit_gather.output.measurements,
        curves=rules.audit_intervals.output.curves,
        cdfs=[f"{game}/curves.csv" for game in AUDIT_GAMES],
    output:
        pdf=expand(f"{AUDIT}/figures/{{figure}}.pdf", figure=AUDIT_FIGURES),
        png=[
            report(
                f"{AUDIT}/figures/{figure}.png",
                category="Bayesian audit",
                labels={"figure": figure},
                caption="../report/audit_figure.rst",
            )
            for figure in AUDIT_FIGURES
        ],
    log:
        f"results/{SCALE}/logs/audit_figures.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("audit/figures"),
    message:
        "draw the figures of the audit"
    script:
        "../scripts/audit/figures.py"


rule audit:
    """Bayesian estimation of differential privacy: claims, intervals, games, Figures 2, 3, 5, 6."""
    input:
        rules.audit_tables.output,
        rules.audit_figures.output,
        claims_of("audit"),
    localrule: True
    params:
        scale=SCALE,
    message:
        "Bayesian audit: tables and figures are in results/{params.scale}/audit"


# One target per figure and table of the paper, e.g. audit_figure3.
for _figure in ["figure2", "figure3", "figure5", "figure6"]:

    rule:
        """One figure of the paper, as PDF and PNG."""
        name:
            f"audit_{_figure}"
        input:
            expand(f"{AUDIT}/figures/{_figure}.{{suffix}}", suffix=["pdf", "png"]),
        localrule: True


for _table in ["perfect", "example", "games", "heuristic"]:

    rule:
        """One table of the paper, published beside replicated."""
        name:
            f"audit_table_{_table}"
        input:
            f"{AUDIT}/tables/{_table}.tex",
        localrule: True
