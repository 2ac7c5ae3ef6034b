"""Stand-in for TEXAS: one-hot groups of discharge fields and many rare codes, 100 classes.

The class counts are those of the real set's published labels. Of the 6,169 bits the first are
one-hot groups of fields with few values, the rest are codes that most records do not have. How
informative they are is a choice: levels on it prove nothing.
"""

from __future__ import annotations

import numpy as np

from leakmeter.datasets.standins.mixtures import proportional_labels
from leakmeter.runtime import generator

#: Records of each class in the real set.
COUNTS = (
    *(341, 329, 876, 340, 434, 381, 268, 263, 262, 318, 459, 618, 505, 236, 2488, 256, 525),
    *(244, 845, 546, 334, 1636, 443, 241, 988, 309, 310, 376, 428, 342, 2317, 348, 614, 469),
    *(1508, 342, 989, 551, 385, 559, 414, 452, 510, 552, 273, 1243, 304, 2192, 258, 891),
    *(1013, 1336, 262, 303, 271, 309, 313, 1201, 704, 853, 291, 423, 299, 244, 448, 2686),
    *(1151, 295, 516, 262, 344, 316, 2687, 237, 313, 668, 370, 257, 897, 290, 312, 1072, 357),
    *(367, 432, 274, 299, 340, 276, 319, 421, 1299, 581, 1599, 2345, 726, 270, 2080, 3046, 244),
)
FEATURES = 6_169
#: Values of each one-hot field (age group, sex, type of admission, county, ...).
FIELDS = (22, 2, 5, 9, 3, 5, 2, 8, 4, 254, 6, 20)
#: Codes a record has, and how many of them come from its class's own list.
_CODES, _OWN_CODES, _LIST = 9, 4, 60


def generate(rows: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Bits (rows, 6169) uint8 and labels (rows,) from 0."""
    rng = generator(seed, "standin_texas", rows=rows)
    classes = len(COUNTS)
    labels = proportional_labels(rows, COUNTS, rng)
    bits = np.zeros((rows, FEATURES), np.uint8)
    start = 0
    for values in FIELDS:
        common = rng.dirichlet(np.full(values, 0.5))
        by_class = np.stack([rng.dirichlet(8 * values * common + 0.1) for _ in range(classes)])
        cumulative = by_class.cumsum(axis=1)[labels]
        drawn = (rng.random(rows)[:, None] > cumulative).sum(axis=1).clip(max=values - 1)
        bits[np.arange(rows), start + drawn] = 1
        start += values
    codes = FEATURES - start
    # a code's rank follows a power law; classes prefer codes of their own lists
    weights = (np.arange(codes) + 10.0) ** -1.1
    lists = np.stack([rng.choice(codes, _LIST, replace=False) for _ in range(classes)])
    general = rng.choice(codes, (rows, _CODES - _OWN_CODES), p=weights / weights.sum())
    own = lists[labels[:, None], rng.integers(_LIST, size=(rows, _OWN_CODES))]
    bits[np.arange(rows)[:, None], start + np.concatenate([general, own], axis=1)] = 1
    return bits, labels
