from pathlib import Path

from leakmeter.reporting.page import write_page
from leakmeter.runtime import script

with script(snakemake):
    write_page(
        snakemake.output.page,
        claims=snakemake.input.claims,
        errata=snakemake.input.errata,
        measurements=snakemake.input.measurements,
        provenance=snakemake.input.provenance,
        figures=snakemake.input.figures,
        tables=snakemake.input.tables,
        own_tables=snakemake.input.own_tables,
        captions=snakemake.input.captions,
        # results/<scale>/report/index.html; a module's prefix may stand before it
        results=Path(snakemake.output.page).parents[2],
    )
