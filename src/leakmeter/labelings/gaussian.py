"""Coefficients of Gaussian binomials, exact, by one truncated one-dimensional pass.

The Gaussian binomial ``[n; k]`` counts the 0/1 sequences with ``k`` ones and ``n - k`` zeros by
their number of misranked pairs (a one standing before a zero). It is a product of factors
``(1 - x^a) / (1 - x^b)``, so each factor costs two passes over the coefficients. Three facts keep
the passes short:

- every intermediate product is itself a Gaussian binomial, hence palindromic: its upper half is a
  mirror image and is never stored;
- coefficients beyond the one asked for are never computed;
- the number of limbs follows the size of the current coefficients, not of the final ones.

Coefficients are stored as rows of base-2^32 limbs in signed 64-bit integers. The 31 spare bits
absorb several additions before a carry has to be propagated, so that the passes are plain vector
additions of contiguous memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

LIMB_BITS = 32
_MASK = (1 << LIMB_BITS) - 1
# Limb magnitudes are kept below this, two bits under the sign bit of int64.
_HEADROOM = 1 << 62
# Carries are propagated in slices of about this many limbs, which stay in the cache.
_SLICE = 1 << 15


class HalfPolynomial:
    """The coefficients ``0 .. size-1`` of a palindromic polynomial, at least up to its middle or
    up to the truncation asked for, whichever is lower.

    Invariants: ``degree`` is the degree of the full polynomial; every stored coefficient is the
    sum of its limbs times ``2^(32 * position)``; no limb exceeds ``_bound`` in magnitude.

    Parameters
    ----------
    capacity : the largest number of limbs (coefficients times limbs each) any step will need.
    """

    def __init__(self, capacity: int) -> None:
        self._buffer = np.zeros(max(capacity, 1), np.int64)
        self._buffer[0] = 1
        self._limbs = 1
        self._bound = 1
        self.size = 1
        self.degree = 0

    def advance(self, numerator: int, denominator: int, size: int, limbs: int) -> None:
        """Multiply by ``(1 - x^numerator) / (1 - x^denominator)``, which must give a polynomial.

        Parameters
        ----------
        numerator, denominator : exponents of the two factors.
        size : number of coefficients to keep; at most one above the middle of the new polynomial,
            and above the old ``size`` only if the old middle was stored.
        limbs : number of limbs that holds every coefficient of the new polynomial.
        """
        self.size = min(self.size, size)
        self._widen(limbs)
        view = self._mirror(size)
        self.degree += numerator - denominator
        rows = -(-size // denominator)
        if 2 * rows * self._bound >= _HEADROOM:
            _carry(view)
            self._bound = (1 << LIMB_BITS) + (self._bound >> LIMB_BITS) + 1
        flat = view.reshape(-1)
        self._subtract_shifted(flat, numerator * limbs)
        _add_running(flat, denominator * limbs)
        self._bound *= rows

    def _widen(self, limbs: int) -> None:
        """Give every stored coefficient ``limbs`` limbs."""
        if limbs == self._limbs:
            return
        old = self._buffer[: self.size * self._limbs].reshape(self.size, self._limbs).copy()
        new = self._buffer[: self.size * limbs].reshape(self.size, limbs)
        new[:, : self._limbs] = old
        new[:, self._limbs :] = 0
        self._limbs = limbs

    def _mirror(self, size: int) -> np.ndarray:
        """The current polynomial cut or extended (by its symmetry) to ``size`` coefficients."""
        view = self._buffer[: size * self._limbs].reshape(size, self._limbs)
        end = min(size, self.degree + 1)
        if end > self.size:
            view[self.size : end] = view[self.degree - end + 1 : self.degree - self.size + 1][::-1]
        view[max(self.size, end) :] = 0
        self.size = size
        return view

    def _subtract_shifted(self, flat: np.ndarray, shift: int) -> None:
        """``flat[t] -= flat[t - shift]`` from the top down, in slices that do not overlap."""
        if shift >= flat.size:
            return
        for low in range((flat.size - 1) // shift * shift, 0, -shift):
            part = flat[low : low + shift]
            part -= flat[low - shift : low - shift + part.size]
        self._bound *= 2

    def integers(self, low: int, high: int) -> list[int]:
        """Coefficients ``low .. high`` (inclusive) as Python integers.

        Indices in the upper half are served by symmetry.
        """
        wanted = np.arange(low, high + 1)
        rows = np.minimum(wanted, self.degree - wanted)
        view = self._buffer[: self.size * self._limbs].reshape(self.size, self._limbs)[rows]
        for limb in range(self._limbs - 1):
            view[:, limb + 1] += view[:, limb] >> LIMB_BITS
            view[:, limb] &= _MASK
        raw = view.astype("<u4").tobytes()
        width = 4 * self._limbs
        return [int.from_bytes(raw[at : at + width], "little") for at in range(0, len(raw), width)]


def _carry(view: np.ndarray) -> None:
    """One parallel carry step: every limb but the top one drops below ``2^32`` plus a carry."""
    step = max(1, _SLICE // view.shape[1])
    for low in range(0, len(view), step):
        part = view[low : low + step]
        carry = part[:, :-1] >> LIMB_BITS
        part[:, :-1] &= _MASK
        part[:, 1:] += carry


def _add_running(flat: np.ndarray, shift: int) -> None:
    """``flat[t] += flat[t - shift]`` from the bottom up: division by ``1 - x^shift``."""
    previous = flat[:shift]
    for low in range(shift, flat.size, shift):
        part = flat[low : low + shift]
        part += previous[: part.size]
        previous = part


def _limbs_for(n: int, k: int) -> int:
    """Limbs that hold any coefficient of ``[n; k]``: none exceeds their sum, ``C(n, k)``."""
    return -(-math.comb(n, k).bit_length() // LIMB_BITS)


def half_gaussian(n0: int, n1: int, limit: int) -> HalfPolynomial:
    """``[n0 + n1; n1]`` up to its middle or up to ``x^limit``, whichever is lower.

    The chain ``[n0; 0], [n0+1; 1], ..., [n0+n1; n1]`` with ``n1 <= n0`` has the shortest
    intermediate products.
    """
    n0, n1 = max(n0, n1), min(n0, n1)
    sizes = [min(limit, n0 * k // 2) + 1 for k in range(n1 + 1)]
    limbs = [_limbs_for(n0 + k, k) for k in range(n1 + 1)]
    half = HalfPolynomial(sizes[-1] * limbs[-1])
    for k in range(1, n1 + 1):
        half.advance(n0 + k, k, sizes[k], limbs[k])
    return half


def gaussian_chain(n: int, limits: Mapping[int, int]) -> Iterator[tuple[int, HalfPolynomial]]:
    """Every ``[n; k]`` asked for, in one chain over ``k``.

    Parameters
    ----------
    n : sequence length.
    limits : for each ``k <= n // 2`` wanted, the highest exponent (at most the middle,
        ``k (n - k) // 2``) wanted of it.

    Yields
    ------
    ``(k, polynomial)`` in ascending ``k``; the polynomial is changed by the next step, so read it
    before advancing the iterator.
    """
    last = max(limits, default=-1)
    # What step k must keep is whatever a later step still needs.
    needed = [0] * (last + 2)
    for k in range(last, -1, -1):
        needed[k] = max(needed[k + 1], limits.get(k, 0))
    sizes = [min(needed[k], k * (n - k) // 2) + 1 for k in range(last + 1)]
    limbs = [_limbs_for(n, k) for k in range(last + 1)]
    capacity = max((s * w for s, w in zip(sizes, limbs, strict=True)), default=1)
    half = HalfPolynomial(capacity)
    for k in range(last + 1):
        if k:
            half.advance(n - k + 1, k, sizes[k], limbs[k])
        if k in limits:
            yield k, half
