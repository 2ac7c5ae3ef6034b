from leakmeter.membership.experiments.prepared import prepare
from leakmeter.runtime import script

with script(snakemake):
    prepare(
        snakemake.wildcards.set,
        pool=snakemake.output.pool,
        meta=snakemake.output.meta,
        mode=snakemake.params.mode,
        data_dirs=snakemake.params.data_dirs,
        cache_dir=snakemake.params.cache,
        timeout=snakemake.params.timeout,
        seed=snakemake.params.seed,
        **snakemake.params.settings,
    )
