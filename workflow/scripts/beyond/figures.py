from pathlib import Path

from leakmeter.crossings.drawings import FIGURES as CROSSED
from leakmeter.dpauc.beyond_drawings import FIGURES
from leakmeter.reporting.figures import save
from leakmeter.reporting.measurements import read_measurements
from leakmeter.runtime import script

with script(snakemake):
    measurements = read_measurements([snakemake.input.measurements])
    for pdf, png in zip(snakemake.output.pdf, snakemake.output.png, strict=True):
        save((FIGURES | CROSSED)[Path(pdf).stem](measurements), pdf, png)
