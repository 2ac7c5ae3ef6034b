from pathlib import Path

import pandas as pd

from leakmeter.labelings.drawings import FIGURES
from leakmeter.reporting.figures import save
from leakmeter.reporting.measurements import read_measurements
from leakmeter.runtime import script

with script(snakemake):
    measurements = read_measurements([snakemake.input.measurements])
    attacks = pd.concat(map(pd.read_csv, snakemake.input.attacks), ignore_index=True)
    posterior = pd.read_csv(snakemake.input.posterior, dtype={"auc": "str"})
    for pdf, png in zip(snakemake.output.pdf, snakemake.output.png, strict=True):
        figure = FIGURES[Path(pdf).stem](
            measurements=measurements, attacks=attacks, posterior=posterior
        )
        save(figure, pdf, png)
