from leakmeter.audit.challenge_ranking import Ranked, joined_gaps
from leakmeter.runtime import script, write_json

with script(snakemake):
    gaps = joined_gaps([Ranked.read(path) for path in snakemake.input.parts])
    write_json(snakemake.output.ranking, {"gaps": [float(gap) for gap in gaps]})
