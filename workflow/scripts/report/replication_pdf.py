from pathlib import Path

from leakmeter.reporting.latex import compile_pdf
from leakmeter.runtime import script

with script(snakemake) as log:
    for warning in compile_pdf(Path(snakemake.input.tex), Path(snakemake.output.pdf)):
        log.warning("%s", warning)
