from leakmeter.dpauc import drawings
from leakmeter.runtime import script

with script(snakemake):
    pass
