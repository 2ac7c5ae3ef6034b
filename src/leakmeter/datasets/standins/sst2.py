"""Stand-in for SST-2: word salads of a made-up vocabulary, some of whose words carry sentiment.

Frequencies follow Zipf's law, phrases have the lengths of the real set (2 to about 40 words, mean
10), and the label depends on which sentiment words a phrase holds. Nothing else about language is
imitated, and how hard the labels are to learn is not that of the real set.
"""

from __future__ import annotations

import numpy as np

from leakmeter.runtime import UserError, generator

_VOCABULARY = 8000
_SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "po", "ri", "su", "ta", "ve", "wo", "za")
#: Share of the vocabulary that carries sentiment, and the weight of one such word on the logit.
_LOADED, _WEIGHT = 0.15, 2.0


def _words() -> list[str]:
    """Distinct words of two to four syllables, frequent ones shorter."""
    base, words = len(_SYLLABLES), []
    for rank in range(_VOCABULARY):
        number, parts = rank + base, []
        while number:
            number, digit = divmod(number, base)
            parts.append(_SYLLABLES[digit])
        words.append("".join(parts))
    return words


def generate(rows: int, *, seed: int) -> tuple[list[str], np.ndarray]:
    """Phrases (space-separated words) and labels (rows,), 0 negative and 1 positive.

    Raises
    ------
    UserError
        no rows asked for.
    """
    if rows < 1:
        raise UserError(f"rows is {rows}; expected at least 1")
    rng = generator(seed, "standin_sst2", rows=rows)
    words = np.array(_words())
    frequency = 1 / (np.arange(_VOCABULARY) + 2.7)
    loaded = rng.random(_VOCABULARY) < _LOADED
    effect = np.where(loaded, rng.normal(0, _WEIGHT, _VOCABULARY), 0.0)
    lengths = np.clip(np.rint(rng.lognormal(np.log(8), 0.7, rows)), 2, 40).astype(int)
    cumulative = np.cumsum(frequency / frequency.sum())
    drawn = np.searchsorted(cumulative, rng.random(lengths.sum()) * cumulative[-1])
    ends = np.cumsum(lengths)
    phrases = [" ".join(words[part]) for part in np.split(drawn, ends[:-1])]
    logit = np.add.reduceat(effect[drawn], ends - lengths) + 0.2
    labels = (rng.random(rows) < 1 / (1 + np.exp(-logit))).astype(np.int64)
    return phrases, labels
