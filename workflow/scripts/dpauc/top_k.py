from leakmeter.dpauc.experiments.run import run_experiment
from leakmeter.dpauc.experiments.top_k import measure

run_experiment(snakemake, measure)
