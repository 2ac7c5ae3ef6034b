from leakmeter.membership.experiments.prepared import read_prepared
from leakmeter.membership.experiments.training import train_models, write_arrays
from leakmeter.runtime import script

with script(snakemake, tensorflow=True):
    predictions = train_models(
        read_prepared(snakemake.input.pool, snakemake.input.meta),
        snakemake.params.model,
        targets=snakemake.params.targets,
        l2=snakemake.params.l2,
        seed=snakemake.params.seed,
        chunk=int(snakemake.wildcards.chunk),
        chunks=snakemake.params.chunks,
    )
    write_arrays(snakemake.output.predictions, **vars(predictions))
