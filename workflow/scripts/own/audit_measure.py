from leakmeter.own.audited import AuditOptions, audit_report
from leakmeter.runtime import script

with script(snakemake):
    options = AuditOptions(**snakemake.params.settings, seed=snakemake.params.seed)
    report = audit_report(
        tallies=snakemake.input.tallies or None,
        attack_scores=snakemake.input.attack_scores or None,
        options=options,
    )
    report.write(snakemake.output.summary, snakemake.output.table)
