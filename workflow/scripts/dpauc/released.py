from leakmeter.dpauc.experiments.released import measure
from leakmeter.runtime import script

with script(snakemake):
    tables = dict(zip(("table1", "table4", "table5"), snakemake.input.tables, strict=True))
    record = measure(
        outputs=snakemake.input.outputs,
        tables=tables,
        scale=snakemake.params.scale,
        seed=snakemake.params.seed,
    )
    record.write(snakemake.output.measurements, snakemake.output.draws)
