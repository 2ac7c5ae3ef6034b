from leakmeter.crossings.experiments.records import train
from leakmeter.membership.experiments.prepared import read_prepared
from leakmeter.membership.experiments.training import write_arrays
from leakmeter.runtime import script

with script(snakemake, tensorflow=True):
    arrays = train(
        read_prepared(snakemake.input.pool, snakemake.input.meta),
        snakemake.params.settings,
        snakemake.params.model,
        seed=snakemake.params.seed,
    )
    write_arrays(snakemake.output.models, **arrays)
