from pathlib import Path

import pandas as pd

from leakmeter.membership.drawings import FIGURES
from leakmeter.reporting.figures import save
from leakmeter.reporting.measurements import read_measurements
from leakmeter.runtime import script

with script(snakemake):
    measurements = read_measurements([snakemake.input.measurements])
    curves = pd.concat(map(pd.read_csv, snakemake.input.curves), ignore_index=True)
    frames = [pd.read_csv(path) for path in snakemake.input.records]
    records = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    for pdf, png in zip(snakemake.output.pdf, snakemake.output.png, strict=True):
        figure = FIGURES[Path(pdf).stem](measurements=measurements, curves=curves, records=records)
        save(figure, pdf, png)
