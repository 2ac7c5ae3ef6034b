from leakmeter.membership.experiments.batches import across_sets
from leakmeter.reporting.measurements import read_measurements, write_draws, write_measurements
from leakmeter.runtime import script

with script(snakemake):
    records = across_sets(
        read_measurements(snakemake.input.measurements),
        snakemake.input.published,
        scale=snakemake.params.scale,
        seed=snakemake.params.seed,
    )
    write_measurements(snakemake.output.measurements, [r for part in records for r in part.rows])
    write_draws(snakemake.output.draws, [d for part in records for d in part.draws])
