"""SST-2 phrases: the TSV files, and features that need no label and no private record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from leakmeter.audit.image_features import unit_rows
from leakmeter.runtime import UserError

_HEADER = ["sentence", "label"]


def read_phrases(handle: BinaryIO, name: str = "SST-2") -> tuple[list[str], np.ndarray]:
    """Phrases and labels (0 or 1) of a GLUE SST-2 file: a header line, then phrase, tab, label.

    Raises
    ------
    UserError
        another header, a line that has not two fields, or another label.
    """
    lines = handle.read().decode("utf-8").splitlines()
    if not lines or lines[0].split("\t") != _HEADER:
        got = lines[0] if lines else "nothing"
        raise UserError(f"{name}, line 1: {got!r}; expected the header sentence, tab, label")
    phrases, labels = [], []
    for number, line in enumerate(lines[1:], start=2):
        phrase, tab, label = line.rpartition("\t")
        if not tab or label not in ("0", "1"):
            raise UserError(f"{name}, line {number}: {line!r}; expected a phrase, a tab and 0 or 1")
        phrases.append(phrase.strip())
        labels.append(int(label))
    if not phrases:
        raise UserError(f"{name}: a header and nothing else; expected phrases")
    return phrases, np.array(labels, dtype=np.int64)


def distinct_phrases(phrases: Sequence[str], *, words: int) -> np.ndarray:
    """Indices of the first occurrence of each phrase with at least that many words.

    Two phrases are the same if they hold the same words equally often, since no feature here could
    tell them apart.
    """
    seen: set[tuple[str, ...]] = set()
    kept = []
    for index, phrase in enumerate(phrases):
        bag = tuple(sorted(phrase.lower().split()))
        if len(bag) >= words and bag not in seen:
            seen.add(bag)
            kept.append(index)
    return np.array(kept, dtype=np.int64)


@dataclass(frozen=True)
class LatentSemantics:
    """Latent semantic analysis fitted on public phrases: TF-IDF words, truncated SVD.

    Attributes
    ----------
    words : scikit-learn's fitted vectoriser. components : (words, dimensions).
    length : of every projected row.
    """

    words: object
    components: np.ndarray
    length: float

    @classmethod
    def fit(
        cls, phrases: Sequence[str], dimensions: int, length: float, seed: int
    ) -> LatentSemantics:
        """From public phrases; ``seed`` is that of the randomised decomposition.

        Raises
        ------
        UserError
            fewer distinct words than dimensions.
        """
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.utils.extmath import randomized_svd

        words = TfidfVectorizer(token_pattern=r"\S+", min_df=2, sublinear_tf=True)
        matrix = words.fit_transform(phrases)
        if matrix.shape[1] < dimensions:
            raise UserError(
                f"{dimensions} dimensions of {matrix.shape[1]} words that occur twice in "
                f"{len(phrases)} public phrases; expected at most as many dimensions as words"
            )
        _, _, rows = randomized_svd(matrix, dimensions, n_iter=2, random_state=seed % 2**32)
        return cls(words, rows.T, float(length))

    def __call__(self, phrases: Sequence[str]) -> np.ndarray:
        """(n, dimensions) float32; a phrase of unknown words is zero."""
        return unit_rows(np.asarray(self.words.transform(phrases) @ self.components), self.length)
