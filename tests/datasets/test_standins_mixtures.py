"""Parts of the stand-ins of SHAPr's sets: proportions, bits, images, persons."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakmeter.datasets.standins.location import frequencies
from leakmeter.datasets.standins.mixtures import blurred_images, class_bits, proportional_labels
from leakmeter.datasets.standins.persons import categories, labels_from
from leakmeter.runtime import UserError


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=20), st.integers(1, 500))
def test_labels_are_within_one_of_their_share(counts, rows):
    labels = proportional_labels(rows, counts, np.random.default_rng(0))
    found = np.bincount(labels, minlength=len(counts))
    assert found.sum() == rows
    assert (np.abs(found - np.array(counts) * rows / sum(counts)) < 1 + 1e-9).all()


def test_no_rows():
    with pytest.raises(UserError, match="rows is 0"):
        proportional_labels(0, [1], np.random.default_rng(0))


def test_bits_follow_their_class_and_the_base_frequencies():
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1], 2000)
    base = np.full(50, 0.2)
    bits = class_bits(labels, base, n_classes=2, own_share=1.0, keep=1.0, rng=rng)
    assert len(np.unique(bits[labels == 0], axis=0)) == 1
    free = class_bits(labels, base, n_classes=2, own_share=0.0, keep=1.0, rng=rng)
    assert free.mean() == pytest.approx(0.2, abs=0.01)


def test_frequencies_have_the_stated_quantiles():
    values = np.sort(frequencies(446, np.random.default_rng(0)))
    assert np.median(values) == pytest.approx(0.061, rel=0.05)
    assert values.min() >= 0.03
    assert values.max() <= 0.9986


def test_images_stay_in_range_and_classes_differ():
    labels = np.repeat([0, 1], 50)
    options = {"side": 8, "channels": 1, "n_classes": 2, "variants": 1, "shift": 0}
    images = blurred_images(labels, noise=0.0, rng=np.random.default_rng(0), **options)
    assert images.shape == (100, 8, 8, 1)
    assert images.min() >= 0
    assert images.max() <= 1
    assert np.ptp(images[:50], axis=0).max() == 0
    assert np.abs(images[0] - images[50]).max() > 0.1


def test_share_of_positive_labels_is_exact():
    rng = np.random.default_rng(0)
    labels = labels_from([rng.standard_normal(1000)], 0.172, 1.0, rng)
    assert labels.sum() == 172
    assert set(np.unique(categories(100, {"a": 3, "b": 1}, rng))) == {"a", "b"}
