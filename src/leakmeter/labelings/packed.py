"""Truncated power series packed into one Python integer, one slot of bits per coefficient.

``sum_k c_k x^k`` is stored as ``sum_k c_k 2^(slot k)`` modulo ``2^(slot length)``. That map is a
ring homomorphism, so intermediate coefficients may be negative or overflow their slots; only the
final ones must lie in ``[0, 2^slot)`` to be read off. Shifts and additions of long integers run at
memory speed, and slots are whole bytes so that packing and unpacking are byte copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class PackedSeries:
    """Arithmetic of packed series of one slot width and one truncation.

    Attributes
    ----------
    width : bytes per slot.
    length : number of coefficients kept, ``x^0 .. x^(length - 1)``.
    """

    width: int
    length: int

    @classmethod
    def for_values_up_to(cls, largest: int, length: int) -> PackedSeries:
        """The narrowest slots that hold ``0 .. largest``."""
        return cls(-(-max(largest, 1).bit_length() // 8), length)

    @cached_property
    def _mask(self) -> int:
        return (1 << (8 * self.width * self.length)) - 1

    def pack(self, values: Sequence[int]) -> int:
        """Pack non-negative integers, lowest coefficient first."""
        raw = b"".join(value.to_bytes(self.width, "little") for value in values)
        return int.from_bytes(raw, "little") & self._mask

    def unpack(self, packed: int, low: int, high: int) -> list[int]:
        """Coefficients ``low .. high`` (inclusive)."""
        size = self.width * (high - low + 1)
        part = (packed >> (8 * self.width * low)) & ((1 << (8 * size)) - 1)
        raw = part.to_bytes(size, "little")
        return [
            int.from_bytes(raw[at : at + self.width], "little") for at in range(0, size, self.width)
        ]

    def times_power(self, packed: int, exponent: int) -> int:
        """Multiply by ``x^exponent``."""
        if exponent >= self.length:
            return 0
        return (packed << (8 * self.width * exponent)) & self._mask

    def times_one_minus(self, packed: int, exponent: int) -> int:
        """Multiply by ``1 - x^exponent``."""
        if exponent >= self.length:
            return packed & self._mask
        return (packed - (packed << (8 * self.width * exponent))) & self._mask

    def over_one_minus(self, packed: int, exponent: int) -> int:
        """Divide by ``1 - x^exponent``, in ``log2(length / exponent)`` additions.

        ``1 / (1 - x^i) = (1 + x^i)(1 + x^2i)(1 + x^4i) ...``
        """
        while exponent < self.length:
            packed = (packed + (packed << (8 * self.width * exponent))) & self._mask
            exponent *= 2
        return packed

    def minus(self, a: int, b: int) -> int:
        """Difference of two series."""
        return (a - b) & self._mask
