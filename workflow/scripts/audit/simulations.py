from leakmeter.audit.experiments import adjacency, coverage_study
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import script

with script(snakemake):
    record = Recorder("audit", snakemake.params.scale, snakemake.params.seed)
    coverage_study.measure(record, snakemake.params.settings)
    adjacency.measure(record, snakemake.input.published, snakemake.params.settings)
    record.write(snakemake.output.measurements, snakemake.output.draws)
