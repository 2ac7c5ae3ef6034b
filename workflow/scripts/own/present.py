from leakmeter.own.drawings import draw
from leakmeter.own.plain import plain_table
from leakmeter.own.reports import read_report
from leakmeter.reporting.figures import save
from leakmeter.runtime import script

with script(snakemake):
    paths = snakemake.input
    report = read_report(paths.summary, paths.table, paths.records or None)
    figure = draw(report)
    plain_table(report).write(snakemake.output.tex, snakemake.output.json)
    save(figure, snakemake.output.pdf, snakemake.output.png)
