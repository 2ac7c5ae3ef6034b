from leakmeter.dpauc.experiments.ground_truth import measure
from leakmeter.dpauc.experiments.run import open_origin
from leakmeter.dpauc.wide_deep import keras_auc
from leakmeter.runtime import script

with script(snakemake, tensorflow=True):
    models = snakemake.params.models
    files = list(snakemake.input.predictions)
    predictions = (
        [files[i : i + len(files) // models] for i in range(0, len(files), len(files) // models)]
        if files
        else []
    )
    record = measure(open_origin(snakemake), predictions, keras_auc)
    record.write(snakemake.output.measurements, snakemake.output.draws)
