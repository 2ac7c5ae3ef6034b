from pathlib import Path

import pandas as pd

from leakmeter.audit.tables import TABLES
from leakmeter.reporting.measurements import read_measurements
from leakmeter.runtime import script, write_text

with script(snakemake):
    measurements = read_measurements([snakemake.input.measurements])
    claims = pd.read_csv(snakemake.input.claims)
    for path in snakemake.output.tex:
        write_text(path, TABLES[Path(path).stem](measurements, claims))
