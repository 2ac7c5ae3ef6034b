from leakmeter.audit.experiments.interval_numbers import curves, measure
from leakmeter.reporting.measurements import write_frame
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import script

with script(snakemake):
    record = Recorder("audit", snakemake.params.scale, snakemake.params.seed)
    measure(record, snakemake.input.published, snakemake.params.settings)
    record.write(snakemake.output.measurements, snakemake.output.draws)
    write_frame(
        snakemake.output.curves, curves(snakemake.input.published, snakemake.params.settings)
    )
