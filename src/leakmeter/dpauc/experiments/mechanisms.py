"""Mechanisms for a private AUC side by side at one label-DP guarantee (ours)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import norm

from leakmeter.dpauc.binning import (
    equal_mass_from_totals,
    equal_mass_thresholds,
    optimal_partition,
    private_quantiles,
)
from leakmeter.dpauc.composition import epsilon_per_evaluation, zcdp_sigma
from leakmeter.dpauc.counting import Counts, count
from leakmeter.dpauc.discrete_noise import Noise
from leakmeter.dpauc.exact import exact_auc
from leakmeter.dpauc.experiments.origins import Origin
from leakmeter.dpauc.histogram_release import NoiseError, histogram_error
from leakmeter.dpauc.mechanisms import gaussian_sigma
from leakmeter.dpauc.private_release import (
    METHODS,
    auc_error,
    binned_auc,
    epsilon_for_error,
    simulate_private_auc,
)
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError

EPOCH = 0
#: Where one setting is reported, the paper's: budget and nominal number of thresholds.
EPSILON, THRESHOLDS = 1.0, 100
#: Method and noise of the comparison.
COMPARED = (
    *((name, method.noises[0]) for name, method in METHODS.items()),
    ("histogram", "gaussian"),
)
#: Rules of repeated evaluation that pure-DP noise can use.
REPEATED_RULES = ("basic", "advanced", "optimal", "pld")
#: Share of epsilon that a private choice of thresholds takes, and cells of the finest partition.
CHOICE_SHARE, FINEST = 0.1, 512
LAYOUTS = ("authors", "uniform", "equal_mass", "private", "noisy_totals", "least_tied")


class _Study:
    """One origin's records, counted as each method needs them."""

    def __init__(self, origin: Origin, settings: Mapping[str, Any]) -> None:
        self.origin, self.settings = origin, settings
        self.record = origin.recorder("beyond")
        self.scores, self.labels = origin.records(EPOCH)
        self.exact = exact_auc(self.scores, self.labels)
        self._counts: dict[tuple, Counts] = {}

    def counts(self, method: str, n: int = THRESHOLDS) -> Counts:
        """The paper's counts at its layout; without duplicates and empty ends for histograms."""
        kind = "ranks" if method == "rank_sum" else "paper" if "paper" in method else "bins"
        key = (kind, 0 if kind == "ranks" else n)
        if key not in self._counts:
            grid = thresholds(n)
            if kind == "ranks":
                grid = np.unique(self.scores.astype(np.float64))[:0:-1]
            elif kind == "bins":
                grid = np.unique(grid)[-2:0:-1]
            self._counts[key] = count(self.scores, self.labels, grid)
        return self._counts[key]

    def binned(self, layout: str, bins: int, clients: int) -> Counts:
        """Counts of a layout of bins; only noisy totals depend on the number of clients."""
        key = (layout, bins, clients if layout == "noisy_totals" else 0)
        if key not in self._counts:
            grid = _layout(self, layout, bins, clients)
            self._counts[key] = count(self.scores, self.labels, grid)
        return self._counts[key]

    def add(self, item: str, axes: Mapping[str, Any], metric: str, value, **extra) -> None:
        """Add a row; no test needs the single repeats."""
        self.record.add(item, axes, metric, value, draws=False, **extra)

    def seed(self, **axes: Any) -> int:
        return self.origin.seed_for("beyond", **axes)

    def simulate(self, method, noise, clients, epsilon, n, repeats) -> np.ndarray:
        return simulate_private_auc(
            self.counts(method, n),
            epsilon=epsilon,
            repeats=repeats,
            seed=self.seed(method=method, noise=noise, K=clients, epsilon=epsilon, T=n),
            method=method,
            clients=clients,
            noise=noise,
            delta=self.settings["delta"],
        )

    def predict(self, method, noise, clients, epsilon, n) -> NoiseError:
        return auc_error(
            self.counts(method, n),
            epsilon=epsilon,
            method=method,
            clients=clients,
            noise=noise,
            delta=self.settings["delta"],
        )


def measure(origin: Origin, settings: Mapping[str, Any]) -> Recorder:
    """Rows of the items ``mechanisms``, ``theory``, ``bins``, ``evaluations`` and ``planning``."""
    study = _Study(origin, settings)
    for part in (_sweeps, _theory, _bins, _evaluations, _planning):
        part(study)
    return study.record


def _sweeps(study: _Study) -> None:
    """Error of releases over epsilon at 100 thresholds, and over thresholds at epsilon 1.

    ``error``: difference from the exact AUC (ties of the bins included), mean and spread of the
    repeats; ``rmse``: its root mean square; ``theory_std``, ``theory_bias``: the closed form.
    """
    settings = study.settings
    grid = {(e, THRESHOLDS) for e in settings["epsilons"]}
    grid |= {(EPSILON, n) for n in settings["thresholds"]}
    for method, noise in COMPARED:
        for clients in settings["clients"]:
            for epsilon, n in sorted(grid):
                axes = {"method": method, "noise": noise, "K": clients}
                axes |= {"epsilon": epsilon, "thresholds": n}
                aucs = study.simulate(method, noise, clients, epsilon, n, settings["repeats"])
                error = aucs - study.exact
                approximate = method == "paper_pld" or noise == "gaussian"
                note = f"delta = {settings['delta']:g}" if approximate else "delta = 0"
                study.add("mechanisms", axes, "error", error, note=note)
                study.add("mechanisms", axes, "rmse", math.sqrt(np.mean(error**2)), n=len(error))
                if not METHODS[method].closed_form:
                    continue
                found = study.predict(method, noise, clients, epsilon, n)
                if found.reliable:
                    tie = binned_auc(study.counts(method, n)) - study.exact
                    study.add("mechanisms", axes, "theory_bias", found.bias + tie)
                    study.add("mechanisms", axes, "theory_std", found.std)


def _theory(study: _Study) -> None:
    """Closed forms beside simulation, with the p-values of their equality."""
    for method, spec in METHODS.items():
        if not spec.closed_form:
            continue
        for noise in spec.noises:
            for clients in study.settings["clients"]:
                axes = {"method": method, "noise": noise, "K": clients, "epsilon": EPSILON}
                counts = study.counts(method)
                found = study.predict(method, noise, clients, EPSILON, THRESHOLDS)
                aucs = study.simulate(
                    method,
                    noise,
                    clients,
                    EPSILON,
                    THRESHOLDS,
                    study.settings["reference_repeats"],
                )
                error = aucs - binned_auc(counts)
                p_bias, p_std = agreement(error, found)
                study.add("theory", axes, "bias", found.bias)
                study.add("theory", axes, "std", found.std)
                study.add("theory", axes, "simulated", error)
                study.add("theory", axes, "class_noise", found.class_noise)
                study.add("theory", axes, "p_bias", p_bias)
                study.add("theory", axes, "p_std", p_std)


def agreement(error: np.ndarray, found: NoiseError) -> tuple[float, float]:
    """Two-sided p-values that simulated errors have the mean and the spread of a closed form.

    The mean by a z-test; the variance by one whose standard error uses the sample's kurtosis.
    NaN where a simulated release has no AUC.
    """
    if np.isnan(error).any():
        return math.nan, math.nan
    centred = error - error.mean()
    variance = float(np.mean(centred**2))
    kurtosis = float(np.mean(centred**4)) / variance**2
    z_bias = (error.mean() - found.bias) / math.sqrt(variance / error.size)
    z_std = (variance - found.std**2) / (variance * math.sqrt((kurtosis - 1) / error.size))
    return tuple(float(2 * norm.sf(abs(z))) for z in (z_bias, z_std))


# --- where the thresholds lie -------------------------------------------------------------------


def _bins(study: _Study) -> None:
    """Ties and noise of a label histogram at epsilon 1, by layout and number of bins.

    In closed form given the thresholds. ``private`` and ``noisy_totals`` spend a tenth of epsilon
    on choosing them (one draw): by medians of one party that holds all scores, or from noisy totals
    of every client. ``least_tied`` has the least tie losses, but reads the labels: a yardstick.
    """
    for layout in LAYOUTS:
        for bins in study.settings["bins"]:
            for clients in study.settings["clients"]:
                axes = {"layout": layout, "bins": bins, "K": clients, "epsilon": EPSILON}
                counts = study.binned(layout, bins, clients)
                tie = binned_auc(counts) - study.exact
                share = 1 - CHOICE_SHARE if layout in ("private", "noisy_totals") else 1.0
                found = auc_error(
                    counts, epsilon=share * EPSILON, method="histogram", clients=clients
                )
                study.add("bins", axes, "actual", counts.n_thresholds + 1)
                study.add("bins", axes, "tie_bias", tie)
                std = found.std if found.reliable else math.nan
                study.add("bins", axes, "std", std)
                study.add("bins", axes, "rmse", math.hypot(found.bias + tie, std))


def _layout(study: _Study, layout: str, bins: int, clients: int) -> np.ndarray:
    """Inner thresholds, descending, of about ``bins`` bins of [0, 1]."""
    if layout == "authors":
        return np.unique(thresholds(max(bins, 8)))[-2:0:-1]
    if layout == "uniform":
        return np.linspace(0, 1, bins + 1)[-2:0:-1]
    if layout == "equal_mass":
        return equal_mass_thresholds(study.scores, bins)
    if layout == "private":
        return private_quantiles(
            study.scores,
            int(math.log2(bins)),
            epsilon=CHOICE_SHARE * EPSILON,
            low=0.0,
            high=1.0,
            seed=study.seed(layout=layout, bins=bins),
        )
    if layout == "noisy_totals":
        edges = np.linspace(0, 1, FINEST + 1)
        totals = np.histogram(study.scores, edges)[0]
        # a replaced record moves two totals by 1
        noise = Noise("discrete", CHOICE_SHARE * EPSILON / 2, clients)
        rng = np.random.default_rng(study.seed(layout=layout, bins=bins, K=clients))
        return equal_mass_from_totals(totals + noise.summed(rng, totals.shape), edges[1:-1], bins)
    fine = equal_mass_thresholds(study.scores, FINEST)
    p, n = count(study.scores, study.labels, fine).bins()
    return fine[optimal_partition(p, n, min(bins, p.size)) - 1]


# --- repeated evaluation and planning -----------------------------------------------------------


def _evaluations(study: _Study) -> None:
    """Spread of each of E evaluations under one budget (epsilon 1 at delta), by rule.

    The counts of epoch 0 stand for every epoch: their noise is what changes with E.
    """
    settings = study.settings
    delta, counts = settings["delta"], study.counts("histogram")
    p, n = counts.bins()
    for evaluations in settings["evaluations"]:
        for clients in settings["clients"]:
            found, notes = {}, {}
            for rule in REPEATED_RULES:
                each = epsilon_per_evaluation(EPSILON, evaluations, rule=rule, delta=delta)
                found[rule] = auc_error(counts, epsilon=each, method="histogram", clients=clients)
                notes[rule] = f"epsilon of one evaluation {each:.6g}"
            wide = math.sqrt(2.0)
            for rule, sigma in (
                ("zcdp", zcdp_sigma(EPSILON, delta, wide, evaluations)),
                ("gaussian", gaussian_sigma(EPSILON, delta, wide * math.sqrt(evaluations))),
            ):
                found[rule] = histogram_error(p, n, clients * sigma**2)
                notes[rule] = f"standard deviation of a count {sigma:.6g}"
            for rule, error in found.items():
                axes = {"rule": rule, "evaluations": evaluations, "K": clients}
                std = error.std if error.reliable else math.nan
                study.add("evaluations", axes, "std", std, note=notes[rule])


def _planning(study: _Study) -> None:
    """What epsilon an error needs, by method and number of clients."""
    for method, noise in COMPARED:
        if not METHODS[method].closed_form and method != "paper_tight":
            continue
        for clients in study.settings["clients"]:
            for error in study.settings["errors"]:
                axes = {"method": method, "noise": noise, "K": clients, "error": error}
                try:
                    value, note = (
                        epsilon_for_error(
                            study.counts(method),
                            error=error,
                            method=method,
                            clients=clients,
                            noise=noise,
                            delta=study.settings["delta"],
                            exact=study.exact,
                        ),
                        "",
                    )
                except UserError as reason:
                    value, note = math.nan, str(reason)
                study.add("planning", axes, "epsilon", value, note=note)
