from leakmeter.labelings.experiments.inference import measure
from leakmeter.reporting.measurements import write_draws, write_frame, write_measurements
from leakmeter.runtime import script

with script(snakemake):
    record, curves = measure(
        snakemake.params.settings, scale=snakemake.params.scale, seed=snakemake.params.seed
    )
    write_measurements(snakemake.output.measurements, record.rows)
    write_draws(snakemake.output.draws, record.draws)
    write_frame(snakemake.output.curves, curves)
