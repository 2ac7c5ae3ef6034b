from leakmeter.audit.experiments.chance import measure
from leakmeter.audit.experiments.recording import Recorder
from leakmeter.reporting.measurements import write_draws, write_measurements
from leakmeter.runtime import script

with script(snakemake):
    record = Recorder(snakemake.params.scale, snakemake.params.seed)
    measure(record, snakemake.input.published, snakemake.params.settings)
    write_measurements(snakemake.output.measurements, record.rows)
    write_draws(snakemake.output.draws, record.draws)
