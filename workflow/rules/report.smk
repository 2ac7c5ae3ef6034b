# Published beside replicated: claims over all chains.
MEASUREMENTS = [
    rules.dpauc_gather.output.measurements,
    rules.labelings_gather.output.measurements,
    rules.audit_gather.output.measurements,
    rules.shapr_gather.output.measurements,
    rules.beyond_gather.output.measurements,
]


rule tables:
    """Every LaTeX table of every chain."""
    input:
        expand(f"{DPAUC}/tables/{{table}}.tex", table=DPAUC_TABLES),
        rules.labelings_tables.output,
        rules.audit_tables.output,
        rules.shapr_tables.output,
        rules.beyond_tables.output,
        OWN_TABLE_FILES,
    localrule: True


rule figures:
    """Every figure of every chain, PDF and PNG."""
    input:
        expand(
            f"{DPAUC}/figures/{{figure}}.{{suffix}}",
            figure=DPAUC_FIGURES,
            suffix=["png", "pdf"],
        ),
        rules.labelings_figures.output,
        rules.audit_figures.output,
        rules.shapr_figures.output,
        rules.beyond_figures.output,
        OWN_FIGURE_FILES,
    localrule: True


rule claims:
    """Published beside replicated: the verdicts of all chains."""
    input:
        claims=expand(f"results/{SCALE}/{{chain}}/claims.csv", chain=CLAIMED),
        errata=expand(f"results/{SCALE}/{{chain}}/errata.csv", chain=CLAIMED),
    output:
        claims=report(
            f"results/{SCALE}/claims.csv",
            category="Claims",
            labels={"table": "all claims"},
            caption="../report/claims.rst",
        ),
        errata=f"results/{SCALE}/errata.csv",
        verdicts=f"results/{SCALE}/verdicts.csv",
    log:
        f"results/{SCALE}/logs/claims.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        code=code("report/all_claims"),
    message:
        "published beside replicated, all chains: {output.claims}"
    script:
        "../scripts/report/all_claims.py"


rule provenance:
    input:
        data=[
            rules.criteo_source.output.resolution,
            *expand(rules.audit_source.output.resolution, dataset=AUDIT_DATASETS),
            *SHAPR_META,
        ],
        measurements=MEASUREMENTS,
    output:
        provenance=f"results/{SCALE}/provenance/provenance.json",
    log:
        f"results/{SCALE}/logs/provenance.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code("report/provenance"),
        config=CONFIG,
        configured=config_options(
            workflow.overwrite_configfiles, workflow.config_settings.config_args, REPO
        ),
    message:
        "configuration, versions, code and data behind the results"
    script:
        "../scripts/report/provenance.py"


rule other_scale:
    input:
        refuse_scale,
    output:
        "results/{other}/{rest}",
    log:
        "results/{other}/{rest}.log",
    wildcard_constraints:
        other=f"(?!{SCALE}/|prepared/)[a-z][a-z0-9_]*",
        rest=".+",
    localrule: True
    conda:
        "../../environment.yml"
    message:
        "refused"
    shell:
        "false"


onsuccess:
    name_standins()
