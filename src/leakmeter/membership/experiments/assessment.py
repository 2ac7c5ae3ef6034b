"""One target model under the attacks and the two metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakmeter.membership.effectiveness import balanced_attack_accuracy
from leakmeter.membership.entropy_attack import (
    EntropyAttack,
    fit_entropy_attack,
    modified_entropy,
)
from leakmeter.membership.lira_attack import lira, scaled_confidence, shadow_models
from leakmeter.membership.shapley import knn_shapley
from leakmeter.membership.sprs_scores import sprs

#: A record is called risky above these values.
SHAPR_THRESHOLD, SPRS_THRESHOLD = 0.0, 0.5


def softmax(logits: np.ndarray) -> np.ndarray:
    """Class probabilities in float64."""
    from scipy.special import softmax as scipy_softmax

    return scipy_softmax(logits.astype(np.float64), axis=1)


@dataclass(frozen=True)
class Target:
    """A model's logits on the pool, the labels, and which records are members.

    logits : (2n, classes). labels : (2n,). members : (2n,) booleans.
    """

    logits: np.ndarray
    labels: np.ndarray
    members: np.ndarray

    @property
    def n_classes(self) -> int:
        """Columns of the logits."""
        return self.logits.shape[1]

    def accuracy(self, members: bool) -> float:
        """Accuracy on the members or on the others."""
        return self.accuracy_on(self.members == members)

    def accuracy_on(self, rows: np.ndarray) -> float:
        """Accuracy on some records, (2n,) booleans."""
        return float((self.logits[rows].argmax(axis=1) == self.labels[rows]).mean())

    def entropy(self) -> np.ndarray:
        """(2n,) modified entropy from the logits."""
        return modified_entropy(self.logits, self.labels, from_logits=True)

    def shapr(self, *, k: int, features: np.ndarray | None = None) -> np.ndarray:
        """(n,) SHAPr scores of the members; ``features`` (2n, d) replaces the model's outputs."""
        x = softmax(self.logits) if features is None else features
        inside, outside = self.members, ~self.members
        return knn_shapley(
            x[inside], self.labels[inside], x[outside], self.labels[outside], k=k, threads=1
        )

    def sprs(self, bins: int) -> np.ndarray:
        """(n,) SPRS of the members, histograms of the target itself."""
        entropy, inside = self.entropy(), self.members
        return sprs(
            entropy[inside],
            self.labels[inside],
            entropy[~inside],
            self.labels[~inside],
            n_classes=self.n_classes,
            bins=bins,
        )

    def entropy_attack(self) -> EntropyAttack:
        """I_ment with the target as its own shadow model, as in the paper."""
        return fit_on([self], shadow="target")

    def attack_accuracy(self, decisions: np.ndarray) -> float:
        """Balanced accuracy of (2n,) "member" decisions."""
        return balanced_attack_accuracy(decisions[self.members], decisions[~self.members])

    def ment_accuracy(self) -> float:
        """Balanced accuracy of I_ment."""
        return self.attack_accuracy(self.entropy_attack().members(self.entropy(), self.labels))


def fit_on(models: Sequence[Target], *, shadow: str) -> EntropyAttack:
    """I_ment's thresholds from the members and non-members of some models."""
    entropies = [model.entropy() for model in models]

    def gather(member: bool) -> tuple[np.ndarray, np.ndarray]:
        rows = [model.members == member for model in models]
        return (
            np.concatenate([e[r] for e, r in zip(entropies, rows, strict=True)]),
            np.concatenate([m.labels[r] for m, r in zip(models, rows, strict=True)]),
        )

    return fit_entropy_attack(
        *gather(True), *gather(False), n_classes=models[0].n_classes, shadow=shadow
    )


def confidences(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(models, 2n) scaled confidences of the true class."""
    return np.stack([scaled_confidence(one, labels, from_logits=True) for one in logits])


def lira_scores(
    values: np.ndarray, splits: np.ndarray, target: int, *, mode: str, variance: str
) -> np.ndarray:
    """(2n,) I_lira scores of one model, the others but its complement as its shadow models.

    ``variance="reference"`` is evaluated as the reference script does: medians, divisor n.
    """
    rest = shadow_models(splits, target)
    style = {"location": "median", "ddof": 0} if variance == "reference" else {}
    return lira(values[rest], splits[rest], values[target], mode=mode, variance=variance, **style)
