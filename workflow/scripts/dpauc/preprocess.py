from pathlib import Path

from leakmeter.dpauc.criteo import check_evaluated, preprocess
from leakmeter.runtime import read_json, script

with script(snakemake):
    summary = preprocess(
        Path(snakemake.input.raw).resolve(),
        Path(snakemake.output.meta).parent,
        seed=snakemake.params.seed,
        data=read_json(snakemake.input.resolution)["label"],
        on_bad_rows=snakemake.params.on_bad_rows,
        threads=snakemake.params.threads_fixed,
        **snakemake.params.settings,
    )
    check_evaluated(summary)
