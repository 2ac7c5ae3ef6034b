from leakmeter.dpauc.experiments.repeated import measure
from leakmeter.reporting.measurements import write_draws, write_measurements
from leakmeter.runtime import script

with script(snakemake):
    rows = measure(
        snakemake.params.settings, scale=snakemake.params.scale, seed=snakemake.params.seed
    )
    write_measurements(snakemake.output.measurements, rows)
    write_draws(snakemake.output.draws, [])
