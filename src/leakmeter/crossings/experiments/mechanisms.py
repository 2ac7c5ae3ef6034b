"""Audits of DPAUC, the label histogram and randomised response over budgets, thresholds and releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakmeter.crossings.label_games import evenly_spaced_game
from leakmeter.crossings.mechanism_audits import audit_histogram, audit_laplace, audit_response
from leakmeter.reporting.recording import Recorder

PAPER = "beyond"
ITEM = "mechanism_audit"


def measure(settings: Mapping[str, Any], *, scale: str, seed: int) -> Recorder:
    """Rows of item ``mechanism_audit``, one cell per mechanism and budget.

    Axes ``mechanism`` (laplace, histogram, rr), ``observer`` (server, auc), ``T``, ``budget`` (the paper's
    ``4 T eps'``); for the label histogram ``epsilon``; for randomised response ``flip``, ``releases``, ``epsilon``.
    """
    record = Recorder(
        PAPER,
        scale,
        seed,
        m=settings["trials"],
        note=f"delta = {settings['delta']:g}, alpha = {settings['alpha']:g}",
    )
    common = {key: settings[key] for key in ("trials", "delta", "alpha")}
    game = evenly_spaced_game(settings["records"])
    for n_thresholds in settings["thresholds"]:
        for budget in settings["budgets"]:
            for observer in ("server", "auc"):
                axes = {
                    "mechanism": "laplace",
                    "observer": observer,
                    "T": n_thresholds,
                    "budget": budget,
                }
                found = audit_laplace(
                    game,
                    n_thresholds=n_thresholds,
                    epsilon_per_count=budget / (4 * n_thresholds),
                    observer=observer,
                    seed=record.seed_for(ITEM, **axes),
                    **common,
                )
                record.add_all(ITEM, axes, found)
    for epsilon in settings["budgets"]:
        axes = {"mechanism": "histogram", "epsilon": epsilon}
        found = audit_histogram(epsilon=epsilon, seed=record.seed_for(ITEM, **axes), **common)
        record.add_all(ITEM, axes, found)
    for releases in settings["releases"]:
        for epsilon in settings["response_epsilons"]:
            for flip in ("once", "per-repeat"):
                axes = {"mechanism": "rr", "flip": flip, "releases": releases, "epsilon": epsilon}
                found = audit_response(
                    epsilon=epsilon,
                    releases=releases,
                    flip=flip,
                    seed=record.seed_for(ITEM, **axes),
                    **common,
                )
                record.add_all(ITEM, axes, found)
    return record
