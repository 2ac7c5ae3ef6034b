"""Brute force over all labelings, shared by the labelings tests."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest


@cache
def _all_labelings(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All two-class labelings of ``n`` records (rows ascending in rank), their ones, their d."""
    labelings = np.array(list(product((0, 1), repeat=n)), np.uint8)
    ones = labelings.sum(axis=1, dtype=np.int64)
    labelings, ones = labelings[(ones > 0) & (ones < n)], ones[(ones > 0) & (ones < n)]
    # A zero is misranked with every one to its left.
    left_ones = np.cumsum(labelings, axis=1, dtype=np.int64)
    misranked = (left_ones * (labelings == 0)).sum(axis=1)
    return labelings, ones, misranked


@pytest.fixture(scope="session")
def brute_force():
    """``brute_force(n)``: (labelings in ascending rank, ones, misranked pairs), both classes."""
    return _all_labelings
