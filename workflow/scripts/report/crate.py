from leakmeter.reporting.crate import write_crate
from leakmeter.runtime import script

with script(snakemake):
    write_crate(
        snakemake.output.crate,
        files=snakemake.input.files,
        provenance=snakemake.input.provenance,
    )
