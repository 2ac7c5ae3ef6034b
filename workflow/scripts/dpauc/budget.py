from leakmeter.dpauc.experiments.budget import measure
from leakmeter.runtime import script

with script(snakemake):
    record = measure(
        **snakemake.params.settings, scale=snakemake.params.scale, seed=snakemake.params.seed
    )
    record.write(snakemake.output.measurements, snakemake.output.draws)
