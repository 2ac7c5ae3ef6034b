from leakmeter.crossings.experiments.records import measure_set
from leakmeter.membership.experiments.prepared import read_prepared
from leakmeter.membership.experiments.training import read_arrays, read_predictions
from leakmeter.runtime import script

with script(snakemake):
    models = snakemake.input.get("models")
    record = measure_set(
        read_prepared(snakemake.input.pool, snakemake.input.meta),
        read_predictions(snakemake.input.predictions)["logits"],
        read_arrays(snakemake.input.scores),
        read_arrays(models) if models else None,
        snakemake.params.settings,
        neighbours=snakemake.params.neighbours,
        scale=snakemake.params.scale,
        seed=snakemake.params.seed,
    )
    record.write(snakemake.output.measurements, snakemake.output.draws)
