import pandas as pd

from leakmeter.dpauc.drawings import draw
from leakmeter.reporting.figures import save
from leakmeter.reporting.measurements import read_measurements
from leakmeter.reporting.published import read_published
from leakmeter.runtime import script

with script(snakemake):
    figure = draw(
        snakemake.wildcards.figure,
        measurements=read_measurements([snakemake.input.measurements]),
        densities=pd.concat(map(pd.read_csv, snakemake.input.densities)),
        curves=pd.concat(map(pd.read_csv, snakemake.input.curves)),
        table4=read_published([snakemake.input.table4]),
        table5=read_published([snakemake.input.table5]),
    )
    save(figure, snakemake.output.pdf, snakemake.output.png)
