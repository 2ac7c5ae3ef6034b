from leakmeter.reporting.replication import write_replication
from leakmeter.runtime import script

with script(snakemake):
    write_replication(
        snakemake.output.tex,
        snakemake.output.claims,
        claims=snakemake.input.claims,
        provenance=snakemake.input.provenance,
        tables=snakemake.input.tables,
        figures=snakemake.input.figures,
        captions=snakemake.input.captions,
    )
