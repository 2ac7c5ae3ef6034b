from leakmeter.labelings.drawings import cost_times
from leakmeter.labelings.experiments.cost import timings
from leakmeter.reporting.figures import save
from leakmeter.reporting.measurements import write_frame
from leakmeter.runtime import script

with script(snakemake):
    rows = timings(snakemake.params.settings)
    write_frame(snakemake.output.times, rows)
    save(cost_times(rows), snakemake.output.pdf, snakemake.output.png)
