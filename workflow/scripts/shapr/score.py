from leakmeter.membership.experiments.batches import score_set
from leakmeter.membership.experiments.prepared import read_prepared
from leakmeter.membership.experiments.training import read_predictions, write_arrays
from leakmeter.reporting.measurements import write_frame
from leakmeter.runtime import script

with script(snakemake):
    record, scores, curves = score_set(
        read_prepared(snakemake.input.pool, snakemake.input.meta),
        read_predictions(snakemake.input.predictions),
        snakemake.params.settings,
        scale=snakemake.params.scale,
        seed=snakemake.params.seed,
    )
    record.write(snakemake.output.measurements, snakemake.output.draws)
    write_arrays(snakemake.output.scores, **scores)
    write_frame(snakemake.output.curves, curves)
