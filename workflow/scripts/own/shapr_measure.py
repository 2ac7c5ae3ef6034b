from leakmeter.own.risks import ShaprOptions, shapr_report
from leakmeter.runtime import script

with script(snakemake):
    options = ShaprOptions(**snakemake.params.settings, seed=snakemake.params.seed)
    report = shapr_report(snakemake.input.features, snakemake.input.outputs or None, options)
    report.write(snakemake.output.summary, snakemake.output.table, snakemake.output.records)
