from leakmeter.own.constrained import LabelingOptions, labelings_report
from leakmeter.runtime import script

with script(snakemake):
    options = LabelingOptions(**snakemake.params.settings)
    report = labelings_report(snakemake.input.guesses, snakemake.params.auc, options)
    report.write(snakemake.output.summary, snakemake.output.table, snakemake.output.records)
