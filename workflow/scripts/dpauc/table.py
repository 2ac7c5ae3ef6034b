import pandas as pd

from leakmeter.dpauc import tables
from leakmeter.reporting.measurements import read_measurements
from leakmeter.runtime import script, write_text

with script(snakemake):
    render = getattr(tables, snakemake.wildcards.table)
    tex = render(
        read_measurements(snakemake.input.measurements),
        pd.read_csv(snakemake.input.claims),
        tables.read_published(snakemake.input.published),
    )
    write_text(snakemake.output.tex, tex)
