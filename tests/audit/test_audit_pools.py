"""CIFAR-10 and SST-2 as pools: readers, features, stand-ins, files."""

import io

import numpy as np
import pytest

from leakmeter.audit.image_features import (
    PrincipalComponents,
    block_means,
    orientation_histograms,
    read_batch,
    unit_rows,
)
from leakmeter.audit.pools import POOLS, Pool
from leakmeter.audit.text_features import LatentSemantics, distinct_phrases, read_phrases
from leakmeter.datasets.resolve import resolve
from leakmeter.runtime import UserError

SIZES = {"candidates": 60, "base": 40, "dimensions": 16, "length": 8.0, "standin_test": 50}
CIFAR = {**SIZES, "features": "projection", "public": 100}
SST = {**SIZES, "features": "projection", "public": 300, "words": 4}


def standin(name, tmp_path):
    return resolve(name, mode="standin", cache_dir=tmp_path)


def test_a_batch_is_read_plane_by_plane():
    record = bytes([7]) + bytes(range(256)) * 12
    images, labels = read_batch(io.BytesIO(record * 2))
    assert labels.tolist() == [7, 7]
    assert images.shape == (2, 32, 32, 3)
    assert images[0, 0, 1].tolist() == [1, 1, 1]  # 1,024 is a multiple of 256
    assert images[0, 1, 0].tolist() == [32, 32, 32]


@pytest.mark.parametrize(("data", "match"), [(b"", "0 bytes"), (b"x" * 3072, "multiple of 3073")])
def test_a_damaged_batch_is_one_clear_error(data, match):
    with pytest.raises(UserError, match=match):
        read_batch(io.BytesIO(data))
    with pytest.raises(UserError, match="label 10"):
        read_batch(io.BytesIO(bytes([10]) + bytes(3072)))


def test_phrases_are_read_with_their_labels():
    found, labels = read_phrases(io.BytesIO(b"sentence\tlabel\na b \t1\nc\td\t0\n"))
    assert found == ["a b", "c\td"]
    assert labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("index\tsentence\n", "line 1"),
        ("sentence\tlabel\n", "expected phrases"),
        ("sentence\tlabel\na\t2\n", "line 2"),
        ("sentence\tlabel\na\t1\nb\n", "line 3"),
    ],
)
def test_other_text_is_one_clear_error(text, match):
    with pytest.raises(UserError, match=match):
        read_phrases(io.BytesIO(text.encode()))


def test_phrases_of_the_same_words_are_one():
    phrases = ["a b c d", "d c b a", "A b c d", "a b c", "a a b c"]
    assert distinct_phrases(phrases, words=4).tolist() == [0, 4]


def test_block_means_and_orientations_of_simple_images():
    flat = np.full((1, 32, 32, 3), 51, np.uint8)
    assert block_means(flat) == pytest.approx(np.full((1, 192), 0.2))
    assert not orientation_histograms(flat).any()
    ramp = np.broadcast_to(np.arange(32, dtype=np.uint8)[None, None, :, None] * 8, (1, 32, 32, 3))
    cells = orientation_histograms(ramp).reshape(16, 8)
    assert cells[:, 0] == pytest.approx(np.ones(16))  # all gradients point along x
    turned = orientation_histograms(ramp.transpose(0, 2, 1, 3)).reshape(16, 8)
    assert turned[:, 4] == pytest.approx(np.ones(16))


def test_principal_components_find_the_direction_of_spread():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(300, 1)) * np.array([[3.0, 4.0]]) + 0.01 * rng.normal(size=(300, 2))
    found = PrincipalComponents.fit(data, 1, 2.0)
    assert found.components[:, 0] == pytest.approx([0.6, 0.8], abs=0.01)
    assert np.abs(found(data)) == pytest.approx(np.full((300, 1), 2.0))
    with pytest.raises(UserError, match="3 dimensions"):
        PrincipalComponents.fit(data, 3, 1.0)


def test_rows_get_one_length_and_empty_ones_stay_zero():
    found = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]), 10.0)
    assert found.tolist() == [[6.0, 8.0], [0.0, 0.0]]
    assert found.dtype == np.float32


def test_latent_semantics_puts_phrases_of_shared_words_together():
    phrases = ["good fine nice"] * 5 + ["bad awful poor"] * 5 + ["good nice", "poor bad"]
    found = LatentSemantics.fit(phrases, 2, 1.0, seed=1)
    a, b, c, unknown = found(["good fine", "nice good", "bad poor", "unheard of"])
    assert a @ b > 0.9 > abs(a @ c) + 0.5
    assert not unknown.any()
    with pytest.raises(UserError, match="50 dimensions"):
        LatentSemantics.fit(phrases, 50, 1.0, seed=1)


@pytest.mark.parametrize(("name", "settings"), [("cifar10", CIFAR), ("sst2", SST)])
def test_a_stand_in_pool_is_labelled_and_the_same_each_time(name, settings, tmp_path):
    pools = [POOLS[name](standin(name, tmp_path), settings, seed=1) for _ in range(2)]
    pool, again = pools
    assert np.array_equal(pool.inputs, again.inputs)
    assert pool.about["data"] == "standin"
    assert pool.inputs.shape == (100, 16)
    assert pool.inputs.dtype == np.float32
    assert pool.base.tolist() == list(range(60, 100))
    assert len(pool.test_labels) == 50
    assert set(pool.labels) <= {0, 1}
    assert 0.4 < pool.majority < 0.9
    assert np.linalg.norm(pool.inputs, axis=1).max() == pytest.approx(8, abs=1e-4)
    other = POOLS[name](standin(name, tmp_path), settings, seed=2)
    assert not np.array_equal(pool.inputs, other.inputs)


def test_pixels_of_ten_classes(tmp_path):
    pool = POOLS["cifar10"](
        standin("cifar10", tmp_path), {**CIFAR, "features": "pixels", "public": 0}, seed=1
    )
    assert pool.inputs.shape == (100, 32, 32, 3)
    assert pool.classes == 10
    assert len(set(pool.labels)) == 10


def test_a_pool_survives_its_file(tmp_path):
    pool = POOLS["sst2"](standin("sst2", tmp_path), SST, seed=1)
    pool.save(tmp_path / "pool.npz")
    again = Pool.load(tmp_path / "pool.npz")
    assert np.array_equal(again.inputs, pool.inputs)
    assert again.about == pool.about
    assert (again.candidates, again.classes) == (60, 2)


def test_too_few_records_are_one_clear_error(tmp_path, require_data):
    folder = require_data("sst2/SST-2/train.tsv.gz").parents[2]
    found = resolve("sst2", mode="auto", data_dirs=[folder], cache_dir=tmp_path)
    with pytest.raises(UserError, match="distinct SST-2 phrases"):
        POOLS["sst2"](found, {**SST, "public": 60_000}, seed=1)


def test_genuine_phrases_are_labelled_real(tmp_path, require_data):
    folder = require_data("sst2/SST-2/train.tsv.gz").parents[2]
    found = resolve("sst2", mode="auto", data_dirs=[folder], cache_dir=tmp_path)
    pool = POOLS["sst2"](found, SST, seed=1)
    assert pool.about["data"] == "real"
    assert len(pool.test_labels) == 872
