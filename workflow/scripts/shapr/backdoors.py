from leakmeter.membership.experiments.batches import backdoors_set
from leakmeter.membership.experiments.prepared import read_prepared
from leakmeter.reporting.measurements import write_frame
from leakmeter.runtime import script

with script(snakemake, tensorflow=True):
    record, records = backdoors_set(
        read_prepared(snakemake.input.pool, snakemake.input.meta),
        snakemake.params.settings,
        model=snakemake.params.model,
        neighbours=snakemake.params.neighbours,
        scale=snakemake.params.scale,
        seed=snakemake.params.seed,
    )
    record.write(snakemake.output.measurements, snakemake.output.draws)
    write_frame(snakemake.output.records, records)
