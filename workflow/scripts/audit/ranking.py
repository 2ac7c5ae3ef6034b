from leakmeter.audit.challenge_ranking import rank_candidates
from leakmeter.audit.experiments.settings import family_of, schedule_of
from leakmeter.audit.pools import Pool
from leakmeter.runtime import derive_seed, script

with script(snakemake, tensorflow=True):
    setting, games = snakemake.wildcards.setting, snakemake.params.games
    pool = Pool.load(snakemake.input.pool)
    schedule, _ = schedule_of(setting, games, snakemake.params.delta)
    ranked = rank_candidates(
        pool,
        family_of(setting, pool, schedule.without_noise(), games),
        models=games["ranking_models"],
        size=games["ranking_size"],
        train_size=len(pool.base),
        seed=derive_seed(snakemake.params.seed, "audit_ranking", setting=setting),
        chunk=int(snakemake.wildcards.chunk),
        chunks=games["ranking_chunks"],
    )
    ranked.write(snakemake.output.losses)
