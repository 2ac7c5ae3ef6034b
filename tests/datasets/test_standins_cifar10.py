"""The CIFAR-10 stand-in: shapes, classes, determinism."""

import numpy as np
import pytest

from leakmeter.datasets.standins.cifar10 import generate
from leakmeter.runtime import UserError


def test_images_have_the_shape_and_the_classes_of_the_set():
    images, labels = generate(200, seed=1)
    assert images.shape == (200, 32, 32, 3)
    assert images.dtype == np.uint8
    assert np.bincount(labels).tolist() == [20] * 10
    assert images.std() > 20


def test_a_seed_fixes_the_images():
    first, again, other = generate(20, seed=1), generate(20, seed=1), generate(20, seed=2)
    assert np.array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other[0])


def test_no_rows_is_one_clear_error():
    with pytest.raises(UserError, match="rows"):
        generate(0, seed=1)
