from leakmeter.dpauc.experiments.randomized_response import measure
from leakmeter.dpauc.experiments.run import run_experiment

run_experiment(snakemake, measure)
