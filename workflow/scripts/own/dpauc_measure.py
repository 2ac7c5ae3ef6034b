from leakmeter.own.scored import DpaucOptions, dpauc_report
from leakmeter.runtime import script

with script(snakemake):
    options = DpaucOptions(**snakemake.params.settings, seed=snakemake.params.seed)
    report = dpauc_report(snakemake.input.scores, options)
    report.write(snakemake.output.summary, snakemake.output.table)
