from pathlib import Path

import pandas as pd

from leakmeter.audit.drawings import FIGURES
from leakmeter.reporting.figures import save
from leakmeter.reporting.measurements import read_measurements
from leakmeter.runtime import script

with script(snakemake):
    measurements = read_measurements([snakemake.input.measurements])
    curves = pd.read_csv(snakemake.input.curves)
    cdfs = pd.concat(map(pd.read_csv, snakemake.input.cdfs), ignore_index=True)
    for pdf, png in zip(snakemake.output.pdf, snakemake.output.png, strict=True):
        figure = FIGURES[Path(pdf).stem](measurements=measurements, curves=curves, cdfs=cdfs)
        save(figure, pdf, png)
