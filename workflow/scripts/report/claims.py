from pathlib import Path

from leakmeter.reporting.report import write_claims_report
from leakmeter.runtime import script

with script(snakemake):
    write_claims_report(
        claims=snakemake.input.claims,
        errata=snakemake.input.errata,
        measurements=snakemake.input.measurements,
        draws=snakemake.input.draws,
        published_dir=Path(snakemake.input.published[0]).parent,
        papers=snakemake.params.papers,
        config=snakemake.params.config,
        claims_out=snakemake.output.claims,
        errata_out=snakemake.output.errata,
        verdicts_out=snakemake.output.verdicts,
    )
