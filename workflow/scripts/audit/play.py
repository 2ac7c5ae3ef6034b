import numpy as np

from leakmeter.audit.experiments.setting_names import POINTS
from leakmeter.audit.experiments.settings import family_of, schedule_of
from leakmeter.audit.game import build_games, chunk_of, models_of, play
from leakmeter.audit.pools import Pool
from leakmeter.runtime import derive_seed, read_json, script

with script(snakemake, tensorflow=True) as logger:
    setting, games = snakemake.wildcards.setting, snakemake.params.games
    chunk = int(snakemake.wildcards.chunk)
    pool = Pool.load(snakemake.input.pool)
    schedule, _ = schedule_of(setting, games, snakemake.params.delta)
    order = np.argsort(-np.array(read_json(snakemake.input.ranking)["gaps"]), kind="stable")
    seed = derive_seed(snakemake.params.seed, "audit_games", setting=setting)
    plan = [g for points in POINTS for g in build_games(points, order, games, seed=seed)]
    part = chunk_of(models_of(plan, games["references"]), chunk, games["chunks"])
    logger.info("%s: %d models", setting, len(part))
    played = play(
        plan,
        part,
        family_of(setting, pool, schedule, games),
        pool,
        train_size=len(pool.base),
        seed=derive_seed(seed, "audit_play"),
    )
    played.write(**dict(snakemake.output.items()))
