import numpy as np
import pytest

from leakmeter.audit.tallies import check_alpha, check_tallies, in_range
from leakmeter.runtime import UserError

GOOD = {"fn": 1, "tp": 2, "fp": 3, "tn": 4, "delta": 0.1}


def test_scalars_stay_scalars():
    t = check_tallies(**GOOD)
    assert t.shape == ()
    assert isinstance(t.restore(t.fn), float)
    assert [a.tolist() for a in (t.fn, t.tp, t.fp, t.tn, t.delta)] == [[1], [2], [3], [4], [0.1]]


def test_broadcasts_tallies_delta_and_extras():
    t = check_tallies(
        fn=[[1], [2]],
        tp=np.array([5, 6, 7], np.uint8),
        fp=3.0,
        tn=4,
        delta=[0.0, 0.1, 0.2],
        extra={"alpha": np.array(0.5)},
    )
    assert t.shape == (2, 3)
    np.testing.assert_array_equal(t.restore(t.fn), [[1, 1, 1], [2, 2, 2]])
    np.testing.assert_array_equal(t.restore(t.tp), [[5, 6, 7], [5, 6, 7]])
    np.testing.assert_array_equal(t.extra[0], np.full(6, 0.5))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fn": -1}, r"fn must count trials \(whole numbers from 0\), got -1$"),
        ({"tp": 2.5}, r"tp must count trials .*, got 2.5$"),
        ({"tp": [1, 2, -3]}, r"tp must count trials .*, got -3 at index 2$"),
        ({"fp": float("nan")}, r"fp must count trials .*, got nan$"),
        ({"tn": float("inf")}, r"tn must count trials .*, got inf$"),
        ({"tn": [[1, 2], [0.5, 4]]}, r"got 0.5 at index \(1, 0\)$"),
        ({"fn": 0, "tp": 0}, r"fn \+ tp must be at least 1, got 0 trials with a member$"),
        ({"fp": [1, 0], "tn": [0, 0]}, r"fp \+ tn must be at least 1.*non-member at index 1$"),
        ({"fn": "3"}, "fn must be a number or an array of numbers, got '3'$"),
        ({"fn": None}, "fn must be a number or an array of numbers, got None$"),
        ({"fn": True}, "fn must be a number or an array of numbers, got True$"),
        ({"fn": ["a", "b"]}, "fn must be a number or an array of numbers, got an array of <U1$"),
        ({"fn": [[1], [2, 3]]}, "fn must be an array of numbers, got a ragged sequence$"),
        ({"fn": []}, r"fn must not be empty, got an array of shape \(0,\)$"),
        ({"delta": 1.0}, r"delta must lie in \[0, 1\), got 1$"),
        ({"delta": -1e-9}, r"delta must lie in \[0, 1\), got -1e-09$"),
        ({"delta": float("nan")}, r"delta must lie in \[0, 1\), got nan$"),
        ({"fn": [1, 2], "tp": [1, 2, 3]}, r"broadcast together, got fn \(2,\), tp \(3,\)"),
    ],
)
def test_bad_tallies_are_one_sentence(change, message):
    with pytest.raises(UserError, match=message) as caught:
        check_tallies(**(GOOD | change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("alpha", [0.0, -0.1, 1.0, 2.0, 1e-13, float("nan")])
def test_alpha_out_of_range(alpha):
    with pytest.raises(UserError, match=r"alpha must lie in \[1e-12, 1\)"):
        check_alpha(alpha)


def test_in_range_names_the_first_offender():
    with pytest.raises(UserError, match=r"rate must lie in \(0, 1\], got 0 at index 1"):
        in_range("rate", [0.5, 0.0, 2.0], 0.0, 1.0, closed_low=False, closed_high=True)
