"""A small run of the SHAPr chain without TensorFlow: genuine structure, invented logits."""

from __future__ import annotations

import numpy as np

from leakmeter.membership.experiments.prepared import Prepared, prepare, read_prepared

SETTINGS = {"targets": 3, "neighbours": [1, 5], "l2": [0.01, 0.1]}
MODELS = 8


def invented(data: Prepared, seed: int) -> dict[str, np.ndarray]:
    """Logits that are right on members and often right on others, with less confidence."""
    rng = np.random.default_rng(seed)

    def logits(members: np.ndarray, gap: float) -> np.ndarray:
        values = rng.normal(size=(len(data.labels), data.n_classes))
        margin = np.where(members, gap, rng.normal(1.0, 1.5, len(members)))
        values[np.arange(len(margin)), data.labels] += margin
        return values.astype(np.float32)

    return {
        "logits": np.stack([logits(members, 5.0) for members in data.splits]),
        "hidden": rng.normal(size=(3, len(data.labels), 4)).astype(np.float32),
        "regularised": np.stack([logits(data.splits[0], gap) for gap in (3.0, 1.0)]),
    }


def prepared(folder, name: str, records: int = 60) -> Prepared:
    """A pool of a stand-in."""
    prepare(
        name,
        records=records,
        models=MODELS,
        flower_side=16,
        mode="standin",
        data_dirs=[],
        cache_dir=str(folder / "cache"),
        timeout=1,
        seed=1,
        pool=folder / f"{name}.npz",
        meta=folder / f"{name}.json",
    )
    return read_prepared(folder / f"{name}.npz", folder / f"{name}.json")


def removal_rows(data: Prepared, orders) -> list[dict]:
    """Rows as the removal experiment writes them, with invented numbers."""
    from leakmeter.membership.experiments.batches import recorder

    record = recorder(data, scale="test", seed=1)
    rng = np.random.default_rng(len(data.name))
    for order in orders:
        for removed in (0.25, 0.5):
            for metric in ("test_accuracy", "attack_accuracy", "shapr_mean", "sprs_mean"):
                record.add("removal", {"order": order, "removed": removed}, metric, rng.random())
    return record.rows
