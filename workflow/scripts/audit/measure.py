from leakmeter.audit.experiments.played_games import coin_low_of, measure
from leakmeter.audit.experiments.settings import schedule_of
from leakmeter.audit.game import Played, join_parts
from leakmeter.audit.pools import Pool
from leakmeter.reporting.measurements import read_measurements, write_frame
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import script

with script(snakemake):
    setting, settings = snakemake.wildcards.setting, snakemake.params.settings
    pool = Pool.load(snakemake.input.pool)
    kinds = (snakemake.input[k] for k in ("trials", "references", "accuracy"))
    parts = [Played.read(*paths) for paths in zip(*kinds, strict=True)]
    record = Recorder(
        "audit",
        snakemake.params.scale,
        snakemake.params.seed,
        origin=setting,
        data=pool.about["data"],
        m=settings["games"]["trials"],
        note="; ".join(pool.about[k] for k in ("note", "source") if pool.about[k]),
    )
    curves = measure(
        record,
        join_parts(parts),
        settings=settings,
        epsilons=schedule_of(setting, settings["games"], settings["delta"])[1],
        majority=pool.majority,
        coin_low=coin_low_of(read_measurements([snakemake.input.chance])),
    )
    record.write(snakemake.output.measurements, snakemake.output.draws)
    write_frame(snakemake.output.curves, curves)
