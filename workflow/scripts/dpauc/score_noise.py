from leakmeter.dpauc.experiments.run import run_experiment
from leakmeter.dpauc.experiments.score_noise import measure

run_experiment(snakemake, measure)
