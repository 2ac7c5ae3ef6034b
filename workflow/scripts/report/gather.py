from leakmeter.reporting.measurements import gather
from leakmeter.runtime import script

with script(snakemake):
    gather(
        snakemake.input.measurements,
        snakemake.input.draws,
        measurements_out=snakemake.output.measurements,
        draws_out=snakemake.output.draws,
    )
