"""Rebuilding CIFAR-10 batches from lossless PNG."""

import json

import numpy as np
import pytest
from PIL import Image

from leakmeter.datasets.content import open_binary
from leakmeter.datasets.convert import cifar_png


def as_png(records, path):
    """The inverse, record by record: planes of a binary batch to one row of pixels an image."""
    pixels = np.zeros((len(records), 1024, 3), np.uint8)
    for row, record in enumerate(records):
        for channel in range(3):
            pixels[row, :, channel] = record[1 + 1024 * channel : 1 + 1024 * (channel + 1)]
    Image.fromarray(pixels).save(path, compress_level=0)


def test_genuine_batch_comes_back_byte_for_byte(tmp_path, require_data):
    name = "cifar10/cifar-10-batches-bin/data_batch_1.bin.gz"
    with open_binary(require_data(name)) as handle:
        content = handle.read()
    records = np.frombuffer(content, np.uint8).reshape(10_000, 3073)
    as_png(records, tmp_path / "batch.png")
    (tmp_path / "labels.json").write_text(json.dumps([9] * 7 + records[:, 0].tolist()))
    cifar_png(
        tmp_path / "out", image=tmp_path / "batch.png", labels=tmp_path / "labels.json", first=7
    )
    assert (tmp_path / "out").read_bytes() == content


def test_layout_on_random_pixels(tmp_path):
    records = np.random.default_rng(0).integers(0, 256, (10_000, 3073), dtype=np.uint8)
    records[:, 0] %= 10
    as_png(records, tmp_path / "batch.png")
    (tmp_path / "labels.json").write_text(json.dumps(records[:, 0].tolist()))
    cifar_png(
        tmp_path / "out", image=tmp_path / "batch.png", labels=tmp_path / "labels.json", first=0
    )
    assert (tmp_path / "out").read_bytes() == records.tobytes()


def test_other_shapes_are_refused(tmp_path):
    image, labels = tmp_path / "x.png", tmp_path / "l.json"
    labels.write_text("[1]")
    Image.fromarray(np.zeros((10, 1024, 3), np.uint8)).save(image)
    with pytest.raises(ValueError, match=r"shape \(10, 1024, 3\), expected \(10000, 1024, 3\)"):
        cifar_png(tmp_path / "out", image=image, labels=labels, first=0)
    Image.fromarray(np.zeros((10_000, 1024, 3), np.uint8)).save(image, compress_level=1)
    with pytest.raises(ValueError, match="1 labels from 0 on, expected 10000"):
        cifar_png(tmp_path / "out", image=image, labels=labels, first=0)
    assert not (tmp_path / "out").exists()
