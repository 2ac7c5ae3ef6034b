from leakmeter.dpauc.experiments.author_outputs import measure
from leakmeter.dpauc.experiments.run import run_experiment

run_experiment(snakemake, measure, published=snakemake.input.published[0])
