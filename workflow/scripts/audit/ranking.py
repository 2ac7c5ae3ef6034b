from leakmeter.audit.challenge_ranking import rank_candidates
from leakmeter.audit.experiments.settings import family_of, schedule_of
from leakmeter.audit.pools import Pool
from leakmeter.runtime import derive_seed, script, write_json

with script(snakemake, tensorflow=True):
    setting, games = snakemake.wildcards.setting, snakemake.params.games
    pool = Pool.load(snakemake.input.pool)
    schedule, epsilons = schedule_of(setting, games, snakemake.params.delta)
    gaps = rank_candidates(
        pool,
        family_of(setting, pool, schedule.without_noise(), games),
        models=games["ranking_models"],
        size=games["ranking_size"],
        train_size=len(pool.base),
        seed=derive_seed(snakemake.params.seed, "audit_ranking", setting=setting),
    )
    finite = {name: value for name, value in epsilons.items() if schedule.private}
    record = {"gaps": [float(g) for g in gaps], "noise": schedule.noise, "epsilons": finite}
    write_json(snakemake.output.ranking, record)
