from leakmeter.membership.experiments.batches import removal_set
from leakmeter.membership.experiments.prepared import read_prepared
from leakmeter.membership.experiments.training import read_arrays
from leakmeter.runtime import script

with script(snakemake, tensorflow=True):
    record = removal_set(
        read_prepared(snakemake.input.pool, snakemake.input.meta),
        read_arrays(snakemake.input.scores),
        snakemake.params.settings,
        model=snakemake.params.model,
        neighbours=snakemake.params.neighbours,
        scale=snakemake.params.scale,
        seed=snakemake.params.seed,
    )
    record.write(snakemake.output.measurements, snakemake.output.draws)
