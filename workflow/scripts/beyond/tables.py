from pathlib import Path

from leakmeter.crossings.tables import TABLES as CROSSED
from leakmeter.dpauc.beyond_tables import TABLES
from leakmeter.reporting.measurements import read_measurements
from leakmeter.runtime import script

with script(snakemake):
    measurements = read_measurements([snakemake.input.measurements])
    for tex, json in zip(snakemake.output.tex, snakemake.output.json, strict=True):
        (TABLES | CROSSED)[Path(tex).stem](measurements).write(tex, json)
