from leakmeter.datasets.resolve import resolve
from leakmeter.runtime import script

with script(snakemake):
    resolve(
        snakemake.wildcards.dataset,
        mode=snakemake.params.mode,
        data_dirs=snakemake.params.data_dirs,
        cache_dir=snakemake.params.cache,
        timeout=snakemake.params.timeout,
    ).write(snakemake.output.resolution)
