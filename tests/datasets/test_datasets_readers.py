"""The IDX reader."""

import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from loopback import gz

from leakmeter.datasets.readers import read_idx
from leakmeter.runtime import UserError

CODES = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}


def idx(array):
    code = CODES[array.dtype.str[1:]]
    header = struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


def test_known_bytes(tmp_path):
    path = tmp_path / "labels"
    path.write_bytes(bytes.fromhex("00000801 00000003 070203".replace(" ", "")))
    got = read_idx(path, dimensions=1)
    assert got.dtype == np.uint8
    assert got.tolist() == [7, 2, 3]


@pytest.mark.parametrize("code", CODES)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None
)
@given(data=st.data())
def test_round_trip(tmp_path, code, data):
    shape = data.draw(hnp.array_shapes(max_dims=3, min_side=0, max_side=4))
    array = data.draw(hnp.arrays(code, shape))
    path = tmp_path / "any"
    path.write_bytes(gz(idx(array)))
    got = read_idx(path)
    np.testing.assert_array_equal(got, array)
    assert got.dtype == np.dtype(code)
    assert got.dtype.isnative
    assert got.flags.writeable
    assert got.flags.c_contiguous


IMAGES = idx(np.arange(24, dtype=np.uint8).reshape(2, 3, 4))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "nothing; expected an IDX header"),
        (b"\x89PNG....", "89504e47; expected an IDX header"),
        (b"\0\0\x07\1\0\0\0\1x", "expected an IDX header"),
        (b"\0\0\x08\0", "expected an IDX header"),
        (IMAGES[:9], "header cut off"),
        (IMAGES[:-1], r"23 bytes of IDX data; expected 24 for shape \(2, 3, 4\)"),
        (IMAGES + b"x", "more than 24 bytes"),
        (b"\0\0\x08\3" + b"\xff" * 12, "0 bytes of IDX data"),
        (idx(np.zeros(3, np.uint8)), "1 dimensions; expected 3"),
    ],
)
def test_bad_files_are_one_error(tmp_path, content, message):
    path = tmp_path / "images"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message) as caught:
        read_idx(path, dimensions=3)
    assert str(path) in str(caught.value)


def test_genuine_mnist(require_data):
    images = read_idx(require_data("mnist/t10k-images-idx3-ubyte.gz"), dimensions=3)
    labels = read_idx(require_data("mnist/t10k-labels-idx1-ubyte.gz"), dimensions=1)
    assert images.shape == (10_000, 28, 28)
    # class counts of the test set as published with it
    assert np.bincount(labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
