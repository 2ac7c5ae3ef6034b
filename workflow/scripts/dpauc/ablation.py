from leakmeter.dpauc.experiments.ablation import measure
from leakmeter.dpauc.experiments.run import run_experiment

run_experiment(
    snakemake, measure, table4=snakemake.input.published[0], outputs=snakemake.input.published[1]
)
