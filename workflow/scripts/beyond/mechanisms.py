from leakmeter.dpauc.experiments.mechanisms import measure
from leakmeter.dpauc.experiments.run import run_experiment

run_experiment(snakemake, measure)
