from leakmeter.reporting.report import stack_claims_reports
from leakmeter.runtime import script

with script(snakemake):
    stack_claims_reports(
        claims=snakemake.input.claims,
        errata=snakemake.input.errata,
        claims_out=snakemake.output.claims,
        errata_out=snakemake.output.errata,
        verdicts_out=snakemake.output.verdicts,
    )
