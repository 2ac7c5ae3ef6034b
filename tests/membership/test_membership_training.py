"""The experiments that train, with tiny models: predictions, removal, influence, backdoors.

Slow at the start: it imports TensorFlow (about five seconds).
"""

import numpy as np
import pandas as pd
import pytest

from leakmeter.membership.experiments.batches import backdoors_set, influence_set, removal_set
from leakmeter.membership.experiments.training import (
    make_trainer,
    read_arrays,
    read_predictions,
    train_models,
    write_arrays,
)
from leakmeter.runtime import UserError

pytestmark = pytest.mark.slow
TINY = {"hidden": [16, 8], "epochs": 3, "batch_size": 16}
RUN = {"model": TINY, "neighbours": [1, 5], "scale": "test", "seed": 1}


@pytest.fixture(scope="module")
def predictions(pools):
    return train_models(pools["census"], TINY, targets=3, l2=[1e-12, 10.0], seed=1)


def test_predictions_of_every_split(pools, predictions):
    data = pools["census"]
    assert predictions.logits.shape == (8, 120, 2)
    assert predictions.hidden.shape == (3, 120, 8)
    assert predictions.regularised.shape == (2, 120, 2)
    assert not np.array_equal(predictions.logits[0], predictions.logits[1])
    trainer = make_trainer(data, TINY)
    x, members = data.inputs(2), data.splits[2]
    trainer.train(x[members], data.labels[members], seed=data.model_seed(1, 2))
    outputs = trainer.outputs(x)
    assert np.array_equal(outputs.logits.astype(np.float32), predictions.logits[2])
    assert np.array_equal(outputs.hidden, predictions.hidden[2])


@pytest.mark.parametrize("chunks", [1, 3, 20])
def test_parts_trained_apart_are_the_whole(pools, predictions, tmp_path, chunks):
    """Every array byte for byte, also where a part has no model (ten trainings, twenty parts)."""
    paths = [tmp_path / f"{chunk}.npz" for chunk in range(chunks)]
    for chunk, path in enumerate(paths):
        part = train_models(
            *(pools["census"], TINY),
            **{"targets": 3, "l2": [1e-12, 10.0], "seed": 1, "chunk": chunk, "chunks": chunks},
        )
        write_arrays(path, **vars(part))
    whole = read_predictions(paths)
    for name in ("logits", "hidden", "regularised"):
        assert whole[name].tobytes() == getattr(predictions, name).tobytes()
    if chunks > 1:
        with pytest.raises(UserError, match="missing or held twice"):
            read_predictions(paths[1:])


def test_a_vanishing_penalty_gives_the_first_model(predictions):
    np.testing.assert_allclose(predictions.regularised[0], predictions.logits[0], atol=1e-5)
    assert np.abs(predictions.regularised[1]).mean() < np.abs(predictions.logits[0]).mean()


def test_arrays_are_read_back_and_damage_is_named(tmp_path, predictions):
    write_arrays(tmp_path / "p.npz", **vars(predictions))
    assert np.array_equal(read_arrays(tmp_path / "p.npz")["logits"], predictions.logits)
    (tmp_path / "bad.npz").write_bytes((tmp_path / "p.npz").read_bytes()[:100])
    with pytest.raises(UserError, match=r"bad\.npz: cannot be read as arrays"):
        read_arrays(tmp_path / "bad.npz")


def test_removal(pools, scored):
    data, scores = pools["census"], scored["census"][1]
    settings = {"fractions": [0.5], "valuation_sets": ["census"]}
    record = removal_set(data, scores, settings, **RUN)
    rows = pd.DataFrame(record.rows)
    assert set(rows["m"]) == {30}
    assert rows["cell"].nunique() == 5
    usual = removal_set(data, scores, settings | {"valuation_sets": []}, **RUN)
    assert pd.DataFrame(usual.rows)["cell"].nunique() == 2
    first = rows[rows["cell"].str.contains("shapr_high")]["value"].tolist()
    again = pd.DataFrame(usual.rows)
    assert first == again[again["cell"].str.contains("shapr_high")]["value"].tolist()


def test_influence(pools, scored):
    settings = {"damping": 0.01, "checkpoints": 3, "leave_one_out": 1}
    record, times = influence_set(pools["census"], scored["census"][1], settings, **RUN)
    rows = pd.DataFrame(record.rows)
    residual = rows[rows["metric"] == "residual"]["value"].item()
    assert residual < 1e-8
    assert rows[rows["metric"] == "checkpoints"]["value"].item() == 3
    recall = rows[(rows["metric"] == "recall") & rows["cell"].str.contains("constant")]["value"]
    assert (recall == 1).all()
    assert set(times["what"]) == {"training", "kifs", "tracin", "shapr"}
    # CPU times are not among the measurements, which must be the same each time
    assert "cpu_seconds" not in set(rows["metric"])


def test_backdoors(pools):
    settings = {"share": 0.1, "models": 4}
    record, records = backdoors_set(pools["usps"], settings, **RUN)
    assert records["kind"].value_counts().to_dict() == {
        "clean": 120,
        "label_flip": 12,
        "artefact": 12,
        "out_of_distribution": 12,
    }
    assert records["memorisation"].between(0, 1).all()
    assert records[["shapr", "kind_memorisation"]].notna().all().all()
    rows = pd.DataFrame(record.rows)
    clean = rows[rows["cell"] == "set=usps;kind=clean"].set_index("metric")
    assert clean.loc["records", "value"] == 120
    assert clean.loc["memorisation", "n"] == 120
