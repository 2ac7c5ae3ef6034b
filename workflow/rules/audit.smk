# Bayesian audit: intervals, simulations and games -> measurements -> claims, tables and figures.
AUDIT = f"results/{SCALE}/audit"
AUDIT_PUBLISHED = published_of("bayes")
# Settings that every experiment reads, and those of single ones.
AUDIT_SHARED = ["alpha", "delta"]
AUDIT_STEMS = [f"{AUDIT}/measurements/exact/{n}" for n in ("intervals", "simulations")]
AUDIT_TABLES = ["perfect", "example", "released", "references"]
AUDIT_TABLES += ["coverage", "widths", "accounting"]
AUDIT_FIGURES = ["figure2", "figure3", "coverage", "widths"]


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
        mem_mb=1000,
        runtime=10,
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
        mem_mb=1000,
        runtime=30,
    params:
        code=code("audit/simulations"),
        settings={key: conf("audit")[key] for key in [*AUDIT_SHARED, "coverage"]},
        scale=SCALE,
        seed=conf("seed"),
    message:
        "coverage of the intervals; privacy of the authors' noise"
    script:
        "../scripts/audit/simulations.py"


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


# The chain's own claims, for the marks in its tables: those of all chains wait for all chains.
rule audit_claims:
    input:
        claims=repo("config/claims.yaml"),
        errata=repo("resources/errata.yaml"),
        published=AUDIT_PUBLISHED,
        measurements=[rules.audit_gather.output.measurements],
        draws=[rules.audit_gather.output.draws],
    output:
        claims=f"{AUDIT}/claims.csv",
        errata=f"{AUDIT}/errata.csv",
        verdicts=f"{AUDIT}/verdicts.csv",
    log:
        f"results/{SCALE}/logs/audit_claims.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("report/claims"),
        papers=["audit"],
        config={key: CONFIG[key] for key in ("scale", "seed", "claims", "audit")},
    message:
        "verdicts on the audit: {output.claims}"
    script:
        "../scripts/report/claims.py"


# One process for all tables and one for all figures: each takes less than its start.
rule audit_tables:
    input:
        measurements=rules.audit_gather.output.measurements,
        claims=rules.audit_claims.output.claims,
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
    input:
        rules.audit_tables.output,
        rules.audit_figures.output,
        rules.audit_claims.output,
    localrule: True
    params:
        scale=SCALE,
    message:
        "Bayesian audit: tables and figures are in results/{params.scale}/audit"


# One target per figure and table of the paper, e.g. audit_figure3.
for _figure in ["figure2", "figure3"]:

    rule:
        name:
            f"audit_{_figure}"
        input:
            expand(f"{AUDIT}/figures/{_figure}.{{suffix}}", suffix=["pdf", "png"]),
        localrule: True


for _table in ["perfect", "example"]:

    rule:
        name:
            f"audit_table_{_table}"
        input:
            f"{AUDIT}/tables/{_table}.tex",
        localrule: True
