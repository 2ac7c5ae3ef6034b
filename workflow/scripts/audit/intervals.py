from leakmeter.audit.experiments.interval_numbers import curves, measure
from leakmeter.audit.experiments.recording import Recorder
from leakmeter.reporting.measurements import write_draws, write_frame, write_measurements
from leakmeter.runtime import script

with script(snakemake):
    record = Recorder(snakemake.params.scale, snakemake.params.seed)
    measure(record, snakemake.input.published, snakemake.params.settings)
    write_measurements(snakemake.output.measurements, record.rows)
    write_draws(snakemake.output.draws, record.draws)
    write_frame(
        snakemake.output.curves, curves(snakemake.input.published, snakemake.params.settings)
    )
