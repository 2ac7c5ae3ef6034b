from leakmeter.audit.experiments.chance import measure
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import script

with script(snakemake):
    record = Recorder("audit", snakemake.params.scale, snakemake.params.seed)
    measure(record, snakemake.input.published, snakemake.params.settings)
    record.write(snakemake.output.measurements, snakemake.output.draws)
