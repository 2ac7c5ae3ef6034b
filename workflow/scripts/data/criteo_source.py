from leakmeter.dpauc.source import provide
from leakmeter.runtime import script

with script(snakemake):
    provide(
        snakemake.params.dataset,
        raw=snakemake.output.raw,
        resolution=snakemake.output.resolution,
        file=snakemake.params.file,
        mode=snakemake.params.mode,
        data_dirs=snakemake.params.data_dirs,
        cache_dir=snakemake.params.cache,
        timeout=snakemake.params.timeout,
        rows=snakemake.params.rows,
        seed=snakemake.params.seed,
        threads=snakemake.params.threads_fixed,
    )
