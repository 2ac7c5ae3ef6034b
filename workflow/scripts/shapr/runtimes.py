import pandas as pd

from leakmeter.membership.drawings import runtimes as draw
from leakmeter.membership.experiments.runtimes import growth, with_leave_one_out
from leakmeter.membership.use_tables import runtimes as tabulate
from leakmeter.reporting.figures import save
from leakmeter.reporting.measurements import write_frame
from leakmeter.runtime import script, write_text

with script(snakemake):
    frames = [pd.read_csv(path) for path in snakemake.input.times]
    frames.append(growth(snakemake.params.settings, seed=snakemake.params.seed))
    times = with_leave_one_out(pd.concat(frames, ignore_index=True))
    write_frame(snakemake.output.times, times)
    write_text(snakemake.output.tex, tabulate(times))
    save(draw(times), snakemake.output.pdf, snakemake.output.png)
