from leakmeter.labelings.experiments.genuine_set import measure
from leakmeter.reporting.measurements import write_frame
from leakmeter.runtime import script

with script(snakemake):
    record, curves = measure(
        snakemake.wildcards.test_set,
        snakemake.input.published,
        snakemake.params.settings,
        scale=snakemake.params.scale,
        seed=snakemake.params.seed,
    )
    record.write(snakemake.output.measurements, snakemake.output.draws)
    write_frame(snakemake.output.curves, curves)
