"""The authors' released result files, setting by setting, on their own epoch-0 counts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from leakmeter.dpauc.experiments.laplace import laplace_draws
from leakmeter.dpauc.experiments.origins import Origin
from leakmeter.dpauc.experiments.randomized_response import release
from leakmeter.reporting.recording import Recorder


def read_settings(path: str | Path, epochs) -> list[dict[str, Any]]:
    """Distinct settings of the released files at the given epochs, in file order."""
    frame = pd.read_csv(path, dtype="str", keep_default_na=False)
    frame = frame[frame["epoch"].astype(int).isin(list(epochs))]
    columns = ["mechanism", "epoch", "partition", "K", "n_thresholds_nominal", "epsilon_arg"]
    settings = []
    for record in frame[columns].drop_duplicates().to_dict("records"):
        settings.append(
            {
                "mechanism": record["mechanism"],
                "epoch": int(record["epoch"]),
                "partition": record["partition"],
                "K": int(record["K"]),
                "thresholds": int(record["n_thresholds_nominal"]),
                "epsilon_arg": float(record["epsilon_arg"]),
            }
        )
    return settings


def measure(origin: Origin, settings: Mapping[str, Any], *, published: str | Path) -> Recorder:
    """Rows and draws of every released setting at the origin's epochs."""
    record = origin.recorder()
    for axes in read_settings(published, origin.epochs):
        source_std = origin.source_std(axes["epoch"], axes["thresholds"])
        if axes["mechanism"] == "None":
            value = origin.noise_free(axes["epoch"], axes["thresholds"])
            record.add("author_outputs", axes, "auc", value, source_std=source_std)
            continue
        values = _draws(origin, axes, settings["repeats"], "author_outputs")
        reference = _draws(origin, axes, settings["reference_repeats"], "author_outputs_reference")
        record.add("author_outputs", axes, "auc", values, source_std=source_std)
        record.draw("author_outputs", axes, "auc_reference", reference)
    return record


def _draws(origin: Origin, axes: Mapping[str, Any], repeats: int, stage: str):
    if axes["mechanism"] == "RR":
        return release(
            origin,
            epoch=axes["epoch"],
            epsilon=axes["epsilon_arg"],
            repeats=repeats,
            flip="per-repeat",
            stage=stage,
        ).auc
    return laplace_draws(
        origin,
        epoch=axes["epoch"],
        thresholds=axes["thresholds"],
        clients=axes["K"],
        partition=axes["partition"],
        epsilon_per_count=axes["epsilon_arg"],
        repeats=repeats,
        stage=stage,
    )
