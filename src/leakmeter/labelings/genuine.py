"""A classifier's real scores on held-out records of data sets that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leakmeter.labelings.guesses import check_labels, ranking_order
from leakmeter.runtime import UserError


@dataclass(frozen=True)
class _Source:
    """Loader in ``sklearn.datasets``, the rule that makes labels of its targets, test size."""

    loader: str
    label: Callable[[np.ndarray], np.ndarray]
    test_size: int


# 512 is the size of the contest test set the paper speaks of.
_SOURCES = {
    "breast_cancer": _Source("load_breast_cancer", lambda y: y == 1, 512),
    "digits_odd": _Source("load_digits", lambda y: y % 2 == 1, 512),
    "diabetes_high": _Source("load_diabetes", lambda y: y > np.median(y), 300),
    "wine": _Source("load_wine", lambda y: y == 1, 100),
}


def genuine_names() -> list[str]:
    """Names that :func:`genuine_scores` knows."""
    return list(_SOURCES)


def genuine_scores(
    name: str, seed: int, test_size: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Logistic-regression scores on held-out records, with their true labels.

    Parameters
    ----------
    name : ``breast_cancer`` (benign), ``digits_odd`` (odd digit), ``diabetes_high`` (disease
        progression above its median) or ``wine`` (second cultivar).
    seed : of the split.
    test_size : held-out records, stratified by class; by default 512 (``diabetes_high`` 300, ``wine``
        100).

    Returns
    -------
    scores : (test_size,) float64, the decision function, without ties.
    labels : (test_size,) uint8.

    Raises
    ------
    UserError
        For an unknown name, a size that leaves too few records to train on, or tied scores.
    """
    from sklearn import datasets
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name not in _SOURCES:
        raise UserError(f"data set {name!r}: expected one of {', '.join(_SOURCES)}")
    source = _SOURCES[name]
    features, target = getattr(datasets, source.loader)(return_X_y=True)
    labels = source.label(target).astype(np.uint8)
    size = source.test_size if test_size is None else test_size
    if not 2 <= size <= len(labels) - 20:
        raise UserError(
            f"test_size={size}: expected 2 to {len(labels) - 20} for {name} ({len(labels)} records)"
        )
    train_x, test_x, train_y, test_y = train_test_split(
        features, labels, test_size=size, random_state=seed % 2**32, stratify=labels
    )
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    scores = model.fit(train_x, train_y).decision_function(test_x)
    ranking_order(scores)
    return scores, check_labels(test_y)
