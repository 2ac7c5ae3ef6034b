"""Packed series against plain lists."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.labelings.packed import PackedSeries

values = st.lists(st.integers(0, 10**6), min_size=1, max_size=30)


def ring(length: int) -> PackedSeries:
    # Quotients of 30 coefficients below 10^6 stay far below 2^64.
    return PackedSeries.for_values_up_to(2**64 - 1, length)


@settings(deadline=None)
@given(values)
def test_packing_round_trip(series):
    ours = ring(len(series))
    assert ours.unpack(ours.pack(series), 0, len(series) - 1) == series
    middle = len(series) // 2
    assert ours.unpack(ours.pack(series), middle, middle) == [series[middle]]


@settings(deadline=None)
@given(values, st.integers(1, 35))
def test_division_is_a_running_sum(series, exponent):
    ours = ring(len(series))
    expected = [sum(series[t % exponent : t + 1 : exponent]) for t in range(len(series))]
    quotient = ours.over_one_minus(ours.pack(series), exponent)
    assert ours.unpack(quotient, 0, len(series) - 1) == expected
    assert ours.times_one_minus(quotient, exponent) == ours.pack(series)


@settings(deadline=None)
@given(values, st.integers(0, 35))
def test_power_and_difference(series, exponent):
    ours = ring(len(series))
    shifted = ours.times_power(ours.pack(series), exponent)
    expected = ([0] * exponent + series)[: len(series)]
    assert ours.unpack(shifted, 0, len(series) - 1) == expected
    # Negative intermediate coefficients come out right once they are added back.
    difference = ours.minus(ours.pack([0] * len(series)), shifted)
    assert ours.minus(0, difference) == shifted


def test_slots_are_the_narrowest():
    assert PackedSeries.for_values_up_to(255, 1).width == 1
    assert PackedSeries.for_values_up_to(256, 1).width == 2
    assert PackedSeries.for_values_up_to(0, 1).width == 1
