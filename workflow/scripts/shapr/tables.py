import csv
from pathlib import Path

import pandas as pd

from leakmeter.membership.table_numbers import ShaprNumbers, statement_values
from leakmeter.membership.tables import TABLES
from leakmeter.reporting.measurements import read_measurements
from leakmeter.runtime import read_json, script, write_text

with script(snakemake):
    measurements = read_measurements([snakemake.input.measurements])
    claims = pd.read_csv(snakemake.input.claims)
    meta = [read_json(path) for path in snakemake.input.meta]
    with open(snakemake.input.published, encoding="utf-8", newline="") as handle:
        published = statement_values(csv.DictReader(handle))
    for path in snakemake.output.tex:
        numbers = ShaprNumbers(measurements, claims, meta, published)
        write_text(path, TABLES[Path(path).stem](numbers))
