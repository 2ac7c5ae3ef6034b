from leakmeter.dpauc.experiments.released import measure
from leakmeter.reporting.measurements import write_draws, write_measurements
from leakmeter.runtime import script

with script(snakemake):
    tables = dict(zip(("table1", "table4", "table5"), snakemake.input.tables, strict=True))
    rows = measure(
        outputs=snakemake.input.outputs,
        tables=tables,
        scale=snakemake.params.scale,
        seed=snakemake.params.seed,
    )
    write_measurements(snakemake.output.measurements, rows)
    write_draws(snakemake.output.draws, [])
