from leakmeter.dpauc.experiments.gaussian import measure
from leakmeter.dpauc.experiments.run import run_experiment

run_experiment(snakemake, measure)
