from leakmeter.dpauc.experiments.curves import densities, roc_curves
from leakmeter.dpauc.experiments.run import open_origin
from leakmeter.reporting.measurements import write_frame
from leakmeter.runtime import script

with script(snakemake):
    origin = open_origin(snakemake)
    write_frame(snakemake.output.densities, densities(origin))
    write_frame(snakemake.output.curves, roc_curves(origin, snakemake.params.settings))
