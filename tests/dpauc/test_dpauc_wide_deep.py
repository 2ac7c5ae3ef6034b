"""Wide & Deep: the step against NumPy and Keras, training, checkpoints, data on disk.

Takes about half a minute: importing TensorFlow costs 5 s, and every model compiles its own step.
"""

from __future__ import annotations

import contextlib
import json
import logging
import tracemalloc
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leakmeter.dpauc import wide_deep_training
from leakmeter.dpauc.exact import keras_auc as keras_auc_without_tensorflow
from leakmeter.dpauc.training_rows import Split, shuffled_batches
from leakmeter.dpauc.wide_deep import WideDeep, WideDeepConfig, keras_auc
from leakmeter.dpauc.wide_deep_training import train
from leakmeter.runtime import UserError, configure_tensorflow

# quick to compile; XLA has its own test
SMALL = WideDeepConfig(
    embedding_dim=4, tower=(8,), batch_size=64, learning_rate=0.01, epochs=3, jit_compile=False
)
FIELD_SIZES = (7, 5, 30)
NUMERICS = 2


@pytest.fixture(scope="module", autouse=True)
def tensorflow():
    # another test module of the same process may have started TensorFlow
    with contextlib.suppress(RuntimeError):
        configure_tensorflow(1, 0)


# --- helpers ------------------------------------------------------------------------------------


def make_arrays(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows whose label hangs on one category, one number and the parity of two categories."""
    rng = np.random.default_rng(seed)
    local = np.stack([rng.integers(0, size, rows) for size in FIELD_SIZES], axis=1)
    numeric = rng.random((rows, NUMERICS), dtype=np.float32)
    parity = (local[:, 0] % 2) ^ (local[:, 1] % 2)
    logit = 3.0 * (2 * parity - 1) + 0.5 * (local[:, 2] % 3 - 1) + 2 * (numeric[:, 0] - 0.5)
    label = (rng.random(rows) < 1 / (1 + np.exp(-logit))).astype(np.uint8)
    offsets = np.concatenate([[0], np.cumsum(FIELD_SIZES)[:-1]])
    return (local + offsets).astype(np.int32), numeric, label


def write_split(folder: Path, name: str, arrays) -> None:
    for part, array in zip(("categorical", "numeric", "label"), arrays, strict=True):
        np.save(folder / f"{name}_{part}.npy", array)


@pytest.fixture
def data(tmp_path) -> Path:
    return make_data(tmp_path)


def make_data(folder: Path, rows: int = 600, evaluation_rows: int = 301) -> Path:
    folder = folder / "data"
    folder.mkdir()
    write_split(folder, "train", make_arrays(rows, 1))
    write_split(folder, "evaluation", make_arrays(evaluation_rows, 2))
    (folder / "meta.json").write_text(json.dumps({"vocabulary_size": sum(FIELD_SIZES)}))
    return folder


class Run:
    """One call of ``train`` with its own output folder."""

    def __init__(self, data: Path, out: Path, *, config=SMALL, seed=3, fingerprint="data+code"):
        self.data, self.config, self.seed, self.fingerprint = data, config, seed, fingerprint
        self.predictions = [out / f"predictions_{e}.parquet" for e in range(config.epochs)]
        self.history, self.checkpoint_dir = out / "history.json", out / "checkpoint"
        self.checkpoint = self.checkpoint_dir / "checkpoint.npz"

    def __call__(self):
        return train(
            self.data,
            config=self.config,
            seed=self.seed,
            checkpoint_dir=self.checkpoint_dir,
            predictions=self.predictions,
            history=self.history,
            fingerprint=self.fingerprint,
        )

    def files(self) -> list[bytes]:
        return [path.read_bytes() for path in [*self.predictions, self.history]]


class Killed(BaseException):
    """Stands for the end of the process: nothing in the library may catch it."""


def kill_in_step(monkeypatch, number: int):
    """The ``number``-th training step from now on raises."""
    original, count = WideDeep.train_step, 0

    def step(self, *args):
        nonlocal count
        count += 1
        if count == number:
            raise Killed
        return original(self, *args)

    monkeypatch.setattr(WideDeep, "train_step", step)


def batch_of(rows: int, vocabulary: int, fields: int, seed: int):
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, vocabulary, (rows, fields)).astype(np.int32),
        rng.random((rows, NUMERICS), dtype=np.float32),
        rng.integers(0, 2, rows).astype(np.float32),
        np.ones(rows, np.float32),
    )


def small_model(config: WideDeepConfig, vocabulary: int, fields: int, seed: int = 5) -> WideDeep:
    return WideDeep(config, vocabulary_size=vocabulary, fields=fields, numerics=NUMERICS, seed=seed)


# --- the step -----------------------------------------------------------------------------------


def reference_gradients(state: dict, layers: int, ids, numeric, labels, weights) -> dict:
    """Loss gradients by hand, dense: a (V, d + 1) array for the table."""
    table, dense = state["table"], {k[6:]: v for k, v in state.items() if k.startswith("dense/")}
    width = table.shape[1] - 1
    rows = table[ids]
    logits = rows[:, :, width].sum(1) + numeric @ dense["wide_numeric"] + dense["bias"]
    inputs = [np.concatenate([rows[:, :, :width].reshape(len(ids), -1), numeric], axis=1)]
    for layer in range(layers):
        before = inputs[-1] @ dense[f"kernel_{layer}"] + dense[f"bias_{layer}"]
        inputs.append(np.maximum(before, 0))
    if layers:
        logits = logits + inputs[-1] @ dense["output"]
    slope = weights * (1 / (1 + np.exp(-logits)) - labels) / weights.sum()
    gradient = {"dense/wide_numeric": numeric.T @ slope, "dense/bias": slope.sum()}
    table_gradient = np.zeros_like(table)
    np.add.at(table_gradient, (ids, width), slope[:, None])
    if layers:
        gradient["dense/output"] = inputs[-1].T @ slope
        back = slope[:, None] * dense["output"]
        for layer in reversed(range(layers)):
            back = back * (inputs[layer + 1] > 0)
            gradient[f"dense/kernel_{layer}"] = inputs[layer].T @ back
            gradient[f"dense/bias_{layer}"] = back.sum(0)
            back = back @ dense[f"kernel_{layer}"].T
        embedded = back[:, : ids.shape[1] * width].reshape(*ids.shape, width)
        np.add.at(table_gradient[:, :width], ids, embedded)
    return gradient | {"table": table_gradient}


def reference_step(state: dict, config: WideDeepConfig, number: int, batch, rate: float) -> dict:
    """The state after one update, in float64; only the table rows of the batch change."""
    gradients = reference_gradients(state, len(config.tower), *batch)
    touched = np.unique(batch[0])
    new = {k: np.array(v) for k, v in state.items()}
    for name, gradient in gradients.items():
        where = touched if name == "table" else ...
        g = gradient[where]
        if config.optimizer == "adagrad":
            total = state[f"slot0/{name}"][where] + g**2
            new[f"slot0/{name}"][where] = total
            change = rate * g / (np.sqrt(total) + config.epsilon)
        else:
            m = config.beta_1 * state[f"slot0/{name}"][where] + (1 - config.beta_1) * g
            v = config.beta_2 * state[f"slot1/{name}"][where] + (1 - config.beta_2) * g**2
            new[f"slot0/{name}"][where], new[f"slot1/{name}"][where] = m, v
            m, v = m / (1 - config.beta_1**number), v / (1 - config.beta_2**number)
            # Keras adds epsilon before the correction of the second moment
            change = rate * m / (np.sqrt(v) + config.epsilon / np.sqrt(1 - config.beta_2**number))
        new[name][where] = state[name][where] - change
    return new


@pytest.mark.parametrize(
    ("tower", "embedding_dim", "optimizer", "jit"),
    [
        ((6, 3), 4, "lazy_adam", False),
        ((6, 3), 4, "lazy_adam", True),
        ((6,), 2, "adagrad", False),
        ((5,), 0, "lazy_adam", False),
        ((), 8, "lazy_adam", False),
    ],
)
def test_three_steps_equal_the_reference(tower, embedding_dim, optimizer, jit):
    config = replace(
        SMALL, tower=tower, embedding_dim=embedding_dim, optimizer=optimizer, jit_compile=jit,
        embedding_sd=0.5,
    )  # fmt: skip
    model = small_model(config, vocabulary=40, fields=3)
    expected = {k: np.asarray(v, np.float64) for k, v in model.state().items() if k != "step"}
    for number in (1, 2, 3):
        batch = batch_of(12, 20, 3, seed=number)  # 36 draws of 20 ids: duplicates in every batch
        batch[0][0] = batch[0][0, 0]  # and within a row
        # uneven weights: equal ones make gradients cancel, and Adam magnifies what rounding leaves
        batch[3][:] = np.random.default_rng(number).uniform(0.5, 1.5, 12)
        model.train_step(*batch, 0.01)
        expected = reference_step(expected, config, number, batch, 0.01)
        state = model.state()
        assert state.pop("step") == number
        assert state.keys() == expected.keys()
        for name, value in state.items():
            np.testing.assert_allclose(value, expected[name], rtol=2e-4, atol=2e-6, err_msg=name)


def test_rows_outside_the_batch_stay_bit_identical():
    model = small_model(SMALL, vocabulary=50, fields=3)
    model.train_step(*batch_of(16, 50, 3, seed=0), 0.1)  # moments that plain Adam would decay
    before = {k: v.copy() for k, v in model.state().items()}
    batch = batch_of(16, 10, 3, seed=1)
    model.train_step(*batch, 0.1)
    touched = np.unique(batch[0])
    untouched = np.setdiff1d(np.arange(50), touched)
    for name in ("table", "slot0/table", "slot1/table"):
        after = model.state()[name]
        assert after[untouched].tobytes() == before[name][untouched].tobytes()
        assert (after[touched] != before[name][touched]).any(axis=1).all()
    assert (before["slot0/table"][untouched] != 0).any()


def test_no_tensor_of_the_step_spans_the_vocabulary():
    vocabulary = 12_347
    model = small_model(SMALL, vocabulary=vocabulary, fields=3)
    model.train_step(*batch_of(16, 50, 3, seed=0), 0.1)
    graphs = [model._step.get_concrete_function().graph]
    shapes = [
        [*output.shape] for graph in graphs for op in graph.get_operations()
        for output in op.outputs if output.shape.rank is not None
    ]  # fmt: skip
    assert [None, SMALL.embedding_dim + 1] in shapes  # the gathered rows: shapes are known
    assert not any(vocabulary in shape for shape in shapes)


def test_lazy_adam_is_keras_adam_when_every_batch_holds_every_category():
    """Then laziness makes no difference; Keras differentiates and updates on its own."""
    import tensorflow as tf

    vocabulary, fields = 6, 3
    config = replace(SMALL, tower=(5,), embedding_dim=2, embedding_sd=0.5)
    model = small_model(config, vocabulary, fields)
    state = {k: v.copy() for k, v in model.state().items()}
    variables = {k: tf.Variable(v) for k, v in state.items() if not k.startswith(("slot", "step"))}
    optimizer = tf.keras.optimizers.Adam(0.02)

    def loss(ids, numeric, labels):
        v = variables
        rows = tf.gather(v["table"], ids)
        hidden = tf.concat([tf.reshape(rows[:, :, :2], [len(ids), -1]), numeric], 1)
        hidden = tf.nn.relu(hidden @ v["dense/kernel_0"] + v["dense/bias_0"])
        logits = tf.reduce_sum(rows[:, :, 2], 1) + v["dense/bias"]
        logits += tf.linalg.matvec(numeric, v["dense/wide_numeric"])
        logits += tf.linalg.matvec(hidden, v["dense/output"])
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))

    for number in range(5):
        ids, numeric, labels, weights = batch_of(20, vocabulary, fields, seed=number)
        ids[:2] = np.arange(vocabulary).reshape(2, fields)
        with tf.GradientTape() as tape:
            value = loss(ids, numeric, labels)
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(value, [*variables.values()])]
        optimizer.apply_gradients(zip(gradients, variables.values(), strict=True))
        ours = model.train_step(ids, numeric, labels, weights, 0.02)
        assert ours == pytest.approx(float(value), rel=1e-5)
    for name, variable in variables.items():
        got = model.state()[name]
        np.testing.assert_allclose(got, variable.numpy(), rtol=1e-4, atol=1e-6, err_msg=name)
        assert not np.allclose(got, state[name], atol=1e-3), f"{name} has not moved"


def test_padding_rows_change_nothing():
    one, two = (small_model(SMALL, vocabulary=40, fields=3) for _ in range(2))
    ids, numeric, labels, weights = batch_of(10, 40, 3, seed=4)
    loss = one.train_step(ids, numeric, labels, weights, 0.01)
    padded = [np.concatenate([a, np.repeat(a[:1], 6, axis=0)]) for a in (ids, numeric, labels)]
    weights = np.concatenate([weights, np.zeros(6, np.float32)])
    assert two.train_step(*padded, weights, 0.01) == pytest.approx(loss, rel=1e-6)
    for name, value in one.state().items():
        np.testing.assert_allclose(two.state()[name], value, rtol=1e-5, atol=1e-7, err_msg=name)


def test_initial_values_are_named_streams():
    first = small_model(SMALL, 40, 3, seed=5).state()
    wider = small_model(replace(SMALL, tower=(8, 6)), 40, 3, seed=5).state()
    other = small_model(SMALL, 40, 3, seed=6).state()
    assert first["table"].tobytes() == wider["table"].tobytes()
    assert first["dense/kernel_0"].tobytes() == wider["dense/kernel_0"].tobytes()
    assert (first["table"][:, :-1] != other["table"][:, :-1]).all()
    assert (first["table"][:, -1] == 0).all()


def test_initial_spread(monkeypatch):
    config = replace(SMALL, embedding_dim=8, embedding_sd=0.25, tower=(64,))
    state = small_model(config, vocabulary=20_000, fields=3).state()
    embeddings = state["table"][:, :8]
    assert embeddings.std() == pytest.approx(0.25, rel=0.02)  # 160,000 values: 9 sd
    assert len(np.unique(embeddings)) > 0.9 * embeddings.size
    limit = np.sqrt(6 / (3 * 8 + NUMERICS + 64))
    kernel = state["dense/kernel_0"]
    assert np.abs(kernel).max() <= limit
    assert kernel.std() == pytest.approx(limit / np.sqrt(3), rel=0.1)


# --- data on disk -------------------------------------------------------------------------------


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.integers(1, 60),
    batch=st.integers(1, 70),
    pool=st.integers(1, 70),
    block=st.integers(1, 20),
    seed=st.integers(0, 99),
)
def test_batches_hold_every_row_once(tmp_path_factory, rows, batch, pool, block, seed):
    folder = tmp_path_factory.mktemp("rows")
    ids = np.arange(rows, dtype=np.int32)[:, None]
    numeric = np.arange(rows, dtype=np.float32)[:, None] / 64
    write_split(folder, "train", (ids, numeric, (ids[:, 0] % 2).astype(np.uint8)))
    split = Split.open(folder, "train", rows)
    batches = [
        list(shuffled_batches(split, batch, np.random.default_rng(seed), pool_rows=pool,
                              block_rows=block))
        for _ in range(2)
    ]  # fmt: skip
    seen = []
    for one, again in zip(*batches, strict=True):
        assert all(a.tobytes() == b.tobytes() for a, b in zip(one, again, strict=True))
        got, number, label, weight = one
        assert len(got) == min(batch, rows)
        assert (number[:, 0] == got[:, 0] / np.float32(64)).all()
        assert (label == got[:, 0] % 2).all()
        assert set(weight) <= {0.0, 1.0}
        assert set(got[weight == 0, 0]) <= set(got[weight == 1, 0])
        seen += got[weight == 1, 0].tolist()
    assert all((weight == 1).all() for *_, weight in batches[0][:-1])
    assert sorted(seen) == list(range(rows))


def test_data_of_one_pool_are_shuffled_uniformly(tmp_path):
    rows, draws = 12, 4000
    ids = np.arange(rows, dtype=np.int32)[:, None]
    write_split(tmp_path, "train", (ids, ids.astype(np.float32), np.zeros(rows, np.uint8)))
    split, rng = Split.open(tmp_path, "train", rows), np.random.default_rng(0)
    counts = np.zeros((rows, rows))
    for _ in range(draws):
        order = np.concatenate(
            [b[0][b[3] > 0, 0] for b in shuffled_batches(split, 5, rng, block_rows=3)]
        )
        counts[np.arange(rows), order] += 1
    statistic = ((counts - draws / rows) ** 2 / (draws / rows)).sum()
    assert statistic < 190  # chi-square, 121 degrees of freedom: exceeded once in 10^4


def test_memory_of_a_pass_does_not_grow_with_the_data(tmp_path):
    peaks = []
    for rows in (20_000, 200_000):
        folder = tmp_path / str(rows)
        folder.mkdir()
        rng = np.random.default_rng(0)
        write_split(
            folder,
            "train",
            (
                rng.integers(0, 9, (rows, 26), dtype=np.int32),
                rng.random((rows, 13), dtype=np.float32),
                np.zeros(rows, np.uint8),
            ),
        )
        split = Split.open(folder, "train", 9)
        tracemalloc.start()
        total = sum(
            int(weights.sum())
            for *_, weights in shuffled_batches(split, 512, rng, pool_rows=4096, block_rows=64)
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert total == rows
    assert peaks[0] > 4096 * (26 + 13) * 4  # a pool was in memory
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.parametrize(
    ("part", "array", "message"),
    [
        ("categorical", np.zeros((600, 3), np.int64), "2-dimensional int64, expected 2-dim"),
        ("categorical", np.zeros(600, np.int32), "got 1-dimensional int32"),
        ("numeric", np.zeros((2, 600), np.float32).T, "float32 in Fortran order"),
        ("numeric", np.zeros((599, 2), np.float32), "600 .categorical., 599 .numeric."),
        ("numeric", np.full((600, 2), np.nan, np.float32), "not a finite number"),
        ("numeric", np.zeros((600, 3), np.float32), "3 categorical and 3 numeric features"),
        ("label", np.full(600, 2, np.uint8), "got 2, expected 0 or 1"),
        ("categorical", np.full((600, 3), 42, np.int32), "got id 42, expected 0 to 41"),
        ("categorical", np.full((600, 3), -1, np.int32), "got id -1, expected 0 to 41"),
    ],
)
def test_bad_arrays(data, tmp_path, part, array, message):
    np.save(data / f"train_{part}.npy", array)
    with pytest.raises(UserError, match=message):
        Run(data, tmp_path)()


def test_bad_files(data, tmp_path):
    for name in ("train", "evaluation"):
        write_split(data, name, [a[:0] for a in make_arrays(1)])
        with pytest.raises(UserError, match=f"the {name} arrays have 0 .* above 0"):
            Run(data, tmp_path)()
        write_split(data, name, make_arrays(5))
    (data / "train_label.npy").write_bytes(b"not an array")
    with pytest.raises(UserError, match=r"train_label.npy: not a readable"):
        Run(data, tmp_path)()
    content = (data / "train_numeric.npy").read_bytes()
    (data / "train_numeric.npy").write_bytes(content[:-4])
    with pytest.raises(UserError, match=r"train_numeric.npy: not a readable"):
        Run(data, tmp_path)()
    (data / "train_numeric.npy").write_bytes(content)
    (data / "train_label.npy").unlink()
    with pytest.raises(UserError, match=r"train_label.npy: no such file"):
        Run(data, tmp_path)()
    for text in ('{"vocabulary_size": "42"}', "{}", "[]", '{"vocabulary_size": true}'):
        (data / "meta.json").write_text(text)
        with pytest.raises(UserError, match=r"meta.json: vocabulary_size is"):
            Run(data, tmp_path)()


# --- configuration ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("learning_rate", "1e-5"),
        ("learning_rate", 0),
        ("learning_rate", float("nan")),
        ("decay", -0.5),
        ("epochs", 0),
        ("epochs", 3.0),
        ("batch_size", True),
        ("embedding_dim", -1),
        ("tower", 256),
        ("tower", [256, 0]),
        ("tower", ["256"]),
        ("optimizer", "adam"),
        ("beta_1", 1.0),
        ("embedding_sd", -0.1),
        ("jit_compile", "yes"),
    ],
)
def test_bad_configuration_names_the_key(key, value):
    with pytest.raises(UserError, match=rf"^{key}.*got .*expected"):
        WideDeepConfig(**{key: value})


def test_configuration_from_yaml_lists_is_hashable():
    assert hash(WideDeepConfig(tower=[256, 128])) == hash(WideDeepConfig())


# --- training -----------------------------------------------------------------------------------


def test_outputs_and_determinism(data, tmp_path, caplog):
    caplog.set_level(logging.INFO, "leakmeter")
    one, two = Run(data, tmp_path / "one"), Run(data, tmp_path / "two")
    history, again = one(), two()
    assert one.files() == two.files()
    assert history == again
    assert history.timing != again.timing
    assert not one.checkpoint_dir.exists()

    labels = np.load(data / "evaluation_label.npy")
    record = json.loads(one.history.read_text())
    assert record == history.record
    assert record["config"] == asdict(SMALL) | {"tower": [8]}
    assert (record["train_rows"], record["evaluation_rows"]) == (600, 301)
    assert record["parameters"] == 42 * 5 + (14 * 8 + 8) + 8 + 2 + 1
    assert [e["learning_rate"] for e in record["epochs"]] == [0.01, 0.005, 0.0025]
    assert [e["steps"] for e in record["epochs"]] == [10, 10, 10]
    for epoch, path in zip(record["epochs"], one.predictions, strict=True):
        table = pq.read_table(path)
        assert [(f.name, str(f.type)) for f in table.schema] == [
            ("score", "float"),
            ("label", "uint8"),
        ]
        scores = table["score"].to_numpy()
        assert (table["label"].to_numpy() == labels).all()
        from sklearn.metrics import roc_auc_score

        assert epoch["auc"] == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
        assert epoch["mean_score"] == pytest.approx(scores.mean(), rel=1e-6)
    assert "evaluation AUC" in caplog.text
    assert "rows/s" in caplog.text


def test_predictions_are_those_of_the_returned_weights(data, tmp_path, monkeypatch):
    """In order, past the padding of the last piece: pieces of 64 for 301 rows."""
    monkeypatch.setattr(wide_deep_training, "_PREDICT_ROWS", 64)
    model = small_model(replace(SMALL, embedding_sd=1.0), sum(FIELD_SIZES), 3)
    scores = wide_deep_training.predict_split(
        model, Split.open(data, "evaluation", sum(FIELD_SIZES))
    )
    ids, numeric, _ = make_arrays(301, 2)
    one_by_one = [model.predict(ids[i : i + 1], numeric[i : i + 1])[0] for i in range(301)]
    np.testing.assert_allclose(scores, one_by_one, rtol=1e-5)
    assert len(np.unique(scores)) > 290


def test_loss_is_the_mean_over_rows(data, tmp_path, monkeypatch):
    """600 rows in batches of 512 and 88: a mean over batches would weigh the second too much."""
    losses = []
    original = WideDeep.train_step

    def step(self, *args):
        losses.append((original(self, *args), args[3].sum()))
        return losses[-1][0]

    monkeypatch.setattr(WideDeep, "train_step", step)
    run = Run(data, tmp_path, config=replace(SMALL, batch_size=512, epochs=1))
    record = run().record["epochs"][0]
    assert [rows for _, rows in losses] == [512, 88]
    values, rows = zip(*losses, strict=True)
    assert record["loss"] == pytest.approx(np.average(values, weights=rows))
    assert record["loss"] != pytest.approx(np.mean(values))


def test_seed_and_epoch_change_the_order_of_rows(data, tmp_path, monkeypatch):
    batches = []
    original = WideDeep.train_step

    def step(self, *args):
        batches.append(args[1].copy())
        return original(self, *args)

    monkeypatch.setattr(WideDeep, "train_step", step)
    config = replace(SMALL, batch_size=600, epochs=2)  # one batch per epoch
    for seed in (3, 4):
        Run(data, tmp_path / str(seed), config=config, seed=seed)()
    orders = {batch.tobytes() for batch in batches}
    assert len(batches) == len(orders) == 4
    assert len({np.sort(batch, axis=0).tobytes() for batch in batches}) == 1


def test_learns_what_logistic_regression_cannot(tmp_path):
    """The parity of two fields is invisible to a linear model and found by the tower."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.preprocessing import OneHotEncoder

    data = make_data(tmp_path, rows=8000, evaluation_rows=4000)
    ids, numeric, label = make_arrays(8000, 1)
    test_ids, test_numeric, test_label = make_arrays(4000, 2)
    encoder = OneHotEncoder(sparse_output=False).fit(ids)
    features, test_features = (
        np.concatenate([encoder.transform(i), n], axis=1)
        for i, n in ((ids, numeric), (test_ids, test_numeric))
    )
    linear = LogisticRegression(max_iter=500).fit(features, label)
    linear_auc = roc_auc_score(test_label, linear.decision_function(test_features))

    config = replace(SMALL, tower=(32, 16), batch_size=256, learning_rate=0.02, embedding_sd=0.1)
    deep = Run(data, tmp_path / "deep", config=config)()
    wide = Run(data, tmp_path / "wide", config=replace(config, tower=(), decay=0.7))()
    assert wide.record["epochs"][-1]["auc"] == pytest.approx(linear_auc, abs=0.02)
    assert linear_auc < 0.7
    assert deep.record["epochs"][-1]["auc"] > 0.9


def test_data_smaller_than_a_batch(tmp_path):
    data = make_data(tmp_path, rows=5, evaluation_rows=7)
    config = WideDeepConfig(epochs=2, tower=(4, 3, 2), embedding_dim=1)
    record = Run(data, tmp_path, config=config)().record
    assert [e["steps"] for e in record["epochs"]] == [1, 1]


def test_evaluation_labels_of_one_class(data, tmp_path, caplog):
    np.save(data / "evaluation_label.npy", np.zeros(301, np.uint8))
    run = Run(data, tmp_path, config=replace(SMALL, epochs=1))
    run()
    epoch = json.loads(run.history.read_text())["epochs"][0]
    assert epoch["auc"] is None
    assert epoch["note"] == "no AUC: every evaluation label is 0"
    assert epoch["note"] in caplog.text
    assert 0 < epoch["mean_score"] < 1


def test_divergence_names_epoch_step_and_cure(data, tmp_path):
    run = Run(data, tmp_path, config=replace(SMALL, learning_rate=1e38))
    with pytest.raises(UserError, match=r"diverged in epoch 0 .* in step \d+; .* below 1e\+38"):
        run()
    assert not run.predictions[0].exists()


def test_divergence_in_the_last_step_is_seen_in_the_scores(data, tmp_path):
    config = replace(SMALL, learning_rate=1e38, batch_size=600, epochs=1)
    with pytest.raises(UserError, match=r"diverged in epoch 0 .* score is not finite"):
        Run(data, tmp_path, config=config)()


def test_one_prediction_path_per_epoch(data, tmp_path):
    run = Run(data, tmp_path)
    run.predictions.pop()
    with pytest.raises(ValueError, match="2 prediction paths for 3 epochs"):
        run()


# --- resuming -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> list[bytes]:
    """Files of an uninterrupted run on the same data."""
    folder = tmp_path_factory.mktemp("reference")
    run = Run(make_data(folder), folder)
    run()
    return run.files()


@pytest.mark.parametrize(
    ("step", "finished"),
    [(5, None), (11, 0), (17, 0), (21, 1), (30, 1)],
    ids=["epoch 0", "between 0 and 1", "epoch 1", "between 1 and 2", "last step"],
)
def test_resumes_after_a_kill(data, tmp_path, monkeypatch, reference, caplog, step, finished):
    """An epoch has 10 steps. The engine removes the outputs of a job that did not finish."""
    run = Run(data, tmp_path / "killed")
    with monkeypatch.context() as patch:
        kill_in_step(patch, step)
        with pytest.raises(Killed):
            run()
    for path in run.predictions:
        path.unlink(missing_ok=True)
    history = run()
    assert history.timing["resumed_after_epochs"] == (0 if finished is None else finished + 1)
    assert run.files() == reference
    assert not run.checkpoint_dir.exists()


def test_resumes_after_the_last_checkpoint(data, tmp_path, monkeypatch, reference):
    """Killed between the last checkpoint and the history file: no step is made again."""
    run = Run(data, tmp_path / "killed")

    def killed(*args):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(wide_deep_training, "write_json", killed)
        with pytest.raises(Killed):
            run()
    orphan = run.checkpoint_dir / ".tmp-123-0-checkpoint.npz"
    orphan.write_bytes(b"half a checkpoint")
    kill_in_step(monkeypatch, 1)
    run()
    assert run.files() == reference
    assert not run.checkpoint_dir.exists()


def kill_after_two_epochs(run: Run, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        kill_in_step(patch, 25)
        with pytest.raises(Killed):
            run()
    assert run.checkpoint.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"fingerprint": "other data"},
        {"seed": 4},
        {"config": replace(SMALL, learning_rate=0.02)},
        {"config": replace(SMALL, tower=(9,))},
    ],
    ids=["fingerprint", "seed", "learning rate", "tower"],
)
def test_checkpoint_of_other_settings_is_ignored(data, tmp_path, monkeypatch, change):
    kill_after_two_epochs(Run(data, tmp_path / "shared"), monkeypatch)
    run, fresh = Run(data, tmp_path / "shared", **change), Run(data, tmp_path / "fresh", **change)
    assert run().timing["resumed_after_epochs"] == 0
    fresh()
    assert run.files() == fresh.files()


def damage_table(content: bytes) -> bytes:
    place = content.index(b"model/table.npy") + 300  # past both headers, in the numbers
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize(
    "damage",
    [lambda c: c[: len(c) // 2], lambda c: b"", lambda c: b"junk" * 100, damage_table],
    ids=["truncated", "empty", "junk", "one bit"],
)
def test_damaged_checkpoint_is_replaced_with_a_warning(
    data, tmp_path, monkeypatch, reference, caplog, damage
):
    run = Run(data, tmp_path / "killed")
    kill_after_two_epochs(run, monkeypatch)
    run.checkpoint.write_bytes(damage(run.checkpoint.read_bytes()))
    assert run().timing["resumed_after_epochs"] == 0
    assert "unusable checkpoint" in caplog.text
    assert run.files() == reference


@pytest.mark.parametrize("missing", ["model/dense/kernel_0", "scores", "epochs", "tag"])
def test_checkpoint_that_lacks_a_member(data, tmp_path, monkeypatch, reference, caplog, missing):
    run = Run(data, tmp_path / "killed")
    kill_after_two_epochs(run, monkeypatch)
    with np.load(run.checkpoint) as archive:
        content = {k: archive[k] for k in archive.files if k != missing}
    np.savez(run.checkpoint, **content)
    assert run().timing["resumed_after_epochs"] == 0
    assert "unusable checkpoint" in caplog.text
    assert run.files() == reference


# --- TensorFlow's AUC ---------------------------------------------------------------------------


@pytest.mark.parametrize("num_thresholds", [2, 3, 200, 1000])
def test_keras_auc_is_the_trapezoid_over_its_thresholds(num_thresholds):
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, 5000)
    scores = rng.beta(1 + labels, 2).astype(np.float32)
    inner = np.linspace(0, 1, num_thresholds)[1:-1]
    points = np.array(
        [
            ((scores[labels == 0] > t).mean(), (scores[labels == 1] > t).mean())
            for t in [-1e-7, *inner, 1 + 1e-7]
        ]
    )
    expected = -np.trapezoid(points[:, 1], points[:, 0])
    assert keras_auc(scores, labels, num_thresholds) == pytest.approx(expected, abs=2e-6)
    assert keras_auc_without_tensorflow(scores, labels, num_thresholds) == pytest.approx(
        keras_auc(scores, labels, num_thresholds), abs=2e-6
    )


def test_keras_auc_refuses_one_class():
    with pytest.raises(UserError, match="one class only"):
        keras_auc(np.array([0.1, 0.2]), np.array([1, 1]), 200)
    with pytest.raises(ValueError, match="expected .M,. twice"):
        keras_auc(np.zeros(2), np.zeros(3), 200)
