from leakmeter.audit.pools import POOLS
from leakmeter.datasets.resolve import Resolution
from leakmeter.runtime import script

with script(snakemake):
    make = POOLS[snakemake.wildcards.dataset]
    resolution = Resolution.read(snakemake.input.resolution)
    make(resolution, snakemake.params.settings, seed=snakemake.params.seed).save(
        snakemake.output.pool
    )
