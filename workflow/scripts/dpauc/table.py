import pandas as pd

from leakmeter.dpauc.tables import TABLES
from leakmeter.reporting.measurements import read_measurements
from leakmeter.reporting.published import read_published
from leakmeter.runtime import script, write_text

with script(snakemake):
    tex = TABLES[snakemake.wildcards.table](
        read_measurements([snakemake.input.measurements]),
        pd.read_csv(snakemake.input.claims),
        read_published(snakemake.input.published),
    )
    write_text(snakemake.output.tex, tex)
