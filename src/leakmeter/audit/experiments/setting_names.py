"""The settings of the games by name: which data, with or without privacy."""

from __future__ import annotations

from dataclasses import dataclass

POINTS = ("average", "worst")


@dataclass(frozen=True)
class Setting:
    """One of the paper's trainings.

    Attributes
    ----------
    name : as in file names. dataset : of the registry. private : whether noise is added.
    title : as in tables and in the published files.
    """

    name: str
    dataset: str
    private: bool
    title: str


SETTINGS = {
    s.name: s
    for s in (
        Setting("cifar10_dp", "cifar10", True, "CIFAR-10 DP"),
        Setting("sst2_dp", "sst2", True, "SST-2 DP"),
        Setting("sst2_nodp", "sst2", False, "SST-2 without DP"),
    )
}
