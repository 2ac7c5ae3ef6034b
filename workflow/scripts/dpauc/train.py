from pathlib import Path

from leakmeter.dpauc.wide_deep import WideDeepConfig
from leakmeter.dpauc.wide_deep_training import train
from leakmeter.runtime import derive_seed, script, sha256_file

settings = {key: value for key, value in snakemake.params.settings.items() if key != "repeats"}
seed = derive_seed(snakemake.params.seed, "dpauc_model", model=snakemake.wildcards.model)

with script(snakemake, tensorflow=True):
    train(
        Path(snakemake.input.meta).parent,
        config=WideDeepConfig(**settings),
        seed=seed,
        checkpoint_dir=Path(snakemake.params.checkpoints),
        predictions=[Path(path) for path in snakemake.output.predictions],
        history=Path(snakemake.output.history),
        fingerprint=f"{snakemake.params.code}-{sha256_file(snakemake.input.meta)}",
    )
