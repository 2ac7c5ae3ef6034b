"""The limb arithmetic itself, at sizes where carries and growing limbs matter."""

from __future__ import annotations

import math

import pytest

from leakmeter.labelings.gaussian import LIMB_BITS, gaussian_chain, half_gaussian


def pascal(n: int, k: int) -> list[int]:
    """[n; k] by the q-Pascal rule, on plain lists."""
    rows = [[1]]
    for m in range(1, n + 1):
        new = []
        for j in range(min(m, k) + 1):
            size = j * (m - j) + 1
            row = [0] * size
            if j < m:
                for d, value in enumerate(rows[j]):
                    row[d] += value
            if j:
                for d, value in enumerate(rows[j - 1]):
                    row[d + m - j] += value
            new.append(row)
        rows = new
    return rows[k]


@pytest.mark.parametrize(("n0", "n1"), [(1, 1), (7, 1), (13, 13), (40, 37), (33, 60)])
def test_equals_the_pascal_rule(n0, n1):
    expected = pascal(n0 + n1, n1)
    half = half_gaussian(n0, n1, n0 * n1)
    assert half.integers(0, n0 * n1) == expected
    assert half.degree == n0 * n1


def test_coefficients_wider_than_several_limbs():
    """Values beyond 2^128: at least five limbs, several widenings on the way."""
    n0 = n1 = 75
    half = half_gaussian(n0, n1, n0 * n1)
    assert max(half.integers(0, n0 * n1)) > 1 << (4 * LIMB_BITS)
    assert sum(half.integers(0, n0 * n1)) == math.comb(n0 + n1, n1)


def test_chain_serves_each_class_size_once_and_in_order():
    n = 31
    limits = {0: 0, 1: 5, 4: 54, 9: 20, 15: 120}
    seen = []
    for k, half in gaussian_chain(n, limits):
        seen.append(k)
        expected = pascal(n, k)
        top = limits[k]
        assert half.integers(0, min(top, len(expected) - 1)) == expected[: top + 1]
    assert seen == sorted(limits)


def test_chain_that_shrinks_while_its_limbs_grow():
    """Found by hypothesis: the next step keeps one coefficient but needs a second limb."""
    chain = {k: half.integers(0, 0) for k, half in gaussian_chain(53, {1: 1, 8: 0, 9: 0})}
    assert chain == {1: [1], 8: [1], 9: [1]}


def test_empty_chain():
    assert list(gaussian_chain(10, {})) == []
