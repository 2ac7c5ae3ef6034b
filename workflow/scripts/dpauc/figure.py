from leakmeter.runtime import script

with script(snakemake):
    pass
