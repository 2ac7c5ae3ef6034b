"""What trains the models of a setting: its schedule with calibrated noise, and its models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakmeter.audit.dpsgd import Schedule, schedule_for
from leakmeter.audit.experiments.setting_names import SETTINGS
from leakmeter.audit.pools import Pool
from leakmeter.runtime import UserError


def schedule_of(
    setting: str, games: Mapping[str, Any], delta: float
) -> tuple[Schedule, dict[str, float]]:
    """The schedule of a setting with calibrated noise, and its epsilons under both adjacencies.

    Parameters
    ----------
    games : ``audit.games`` of the configuration.
    """
    training = {**games["training"][setting], "private": SETTINGS[setting].private}
    return schedule_for(
        training, epsilon=games["epsilon"], delta=delta, adjacency=games["adjacency"]
    )


def family_of(setting: str, pool: Pool, schedule: Schedule, games: Mapping[str, Any]) -> Any:
    """What trains the models: softmax regressions, or the paper's networks.

    Raises
    ------
    UserError
        models that do not go with the pool's features.
    """
    dataset = SETTINGS[setting].dataset
    wanted = {"small": "projection", "paper": {"cifar10": "pixels", "sst2": "tokens"}[dataset]}
    features = games[dataset]["features"]
    if features != wanted[games["models"]]:
        raise UserError(
            f"audit.games.{dataset}.features is {features!r}; audit.games.models "
            f"{games['models']!r} need {wanted[games['models']]!r}"
        )
    if games["models"] == "small":
        from leakmeter.audit.dense_models import DenseFamily

        return DenseFamily(pool, schedule, chunk=games["batch"])
    from leakmeter.audit.paper_models import cnn_family, roberta_family

    make = cnn_family if dataset == "cifar10" else roberta_family
    return make(pool, schedule, microbatch=games["microbatch"])
