"""Wide & Deep training: rows per second, AUC parity and laptop-scale wall time.

The baseline is the plain Keras way: the same architecture as a functional model over in-memory
arrays, ``model.fit`` with Adam, whose moments of all V categories move in every step. Three parts:

- speed: epochs of ours and of the baseline take turns in one process; the first of each, which
  compiles, is left out. Medians of wall rates, CPU seconds per million rows, and the load average
  at the time are shown: on a busy machine only the CPU column can be compared.
- parity: on generated clicks each of the two gets the learning rate, of a common grid, that is best
  on a validation half; the AUC on the other half is shown as mean and standard deviation over
  seeds.
- laptop: ``train`` as the workflow calls it, 3 epochs of 1,000,000 rows with predictions of 458,407
  rows after each, checkpoints included.

Usage: python benchmarks/wide_deep_training.py [--parts speed parity laptop] [--json PATH]
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from leakmeter.runtime import configure_tensorflow, configure_threads, generator, write_json

FIELDS, NUMERICS, POWER = 26, 13, 1.1
# Category counts commonly quoted for the Criteo display advertising set, C1 to C26.
CARDINALITIES = np.array(
    [
        *(1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194),
        *(27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572),
    ]
)
LEARNING_RATES = (2e-4, 4e-4, 8e-4, 1.6e-3, 3.2e-3)


# --- data ---------------------------------------------------------------------------------------


def field_sizes(vocabulary: int) -> np.ndarray:
    """Category counts of the 26 fields, the large ones capped alike so that they sum to V."""
    low, high = 1, int(CARDINALITIES.max())
    while low < high:
        middle = (low + high) // 2
        if np.minimum(CARDINALITIES, middle).sum() < vocabulary:
            low = middle + 1
        else:
            high = middle
    return np.minimum(CARDINALITIES, low)


def make_rows(rows: int, sizes: np.ndarray, rng: np.random.Generator, truth: dict) -> tuple:
    """Power-law categories, uniform numbers, clicks from main effects and field-pair products."""
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    a = POWER - 1  # inverse CDF of a truncated continuous power law, floored
    uniform = rng.random((rows, FIELDS))
    ranks = (1 - uniform * (1 - (sizes + 1.0) ** -a)) ** (-1 / a) - 1
    ids = (np.minimum(ranks.astype(np.int64), sizes - 1) + offsets).astype(np.int32)
    numeric = rng.random((rows, NUMERICS), dtype=np.float32)
    logit = truth["effect"][ids].sum(1) + (numeric - 0.5) @ truth["slope"] - 1.2
    vectors = truth["vector"][ids]
    logit += (vectors[:, ::2].sum(1) * vectors[:, 1::2].sum(1)).sum(1)
    label = (rng.random(rows) < 1 / (1 + np.exp(-logit))).astype(np.uint8)
    return ids, numeric, label


def write_data(folder: Path, rows: int, evaluation_rows: int, vocabulary: int, seed: int) -> int:
    """Write the prepared-data layout that ``train`` reads, in chunks; returns the exact V."""
    sizes, rng = field_sizes(vocabulary), generator(seed, "wide_deep_benchmark")
    total = int(sizes.sum())
    truth = {
        "effect": rng.normal(0, 0.25, total).astype(np.float32),
        "vector": rng.normal(0, 0.15, (total, 2)).astype(np.float32),
        "slope": rng.normal(0, 0.3, NUMERICS).astype(np.float32),
    }
    for name, count in (("train", rows), ("evaluation", evaluation_rows)):
        maps = [
            np.lib.format.open_memmap(folder / f"{name}_{part}.npy", "w+", dtype, (count, *width))
            for part, dtype, width in (
                ("categorical", np.int32, (FIELDS,)),
                ("numeric", np.float32, (NUMERICS,)),
                ("label", np.uint8, ()),
            )
        ]
        for start in range(0, count, 2**17):
            made = make_rows(min(2**17, count - start), sizes, rng, truth)
            for target, part in zip(maps, made, strict=True):
                target[start : start + len(part)] = part
    write_json(folder / "meta.json", {"vocabulary_size": total})
    return total


def load_split(folder: Path, name: str) -> tuple:
    """The arrays of a split, in memory."""
    return tuple(np.load(folder / f"{name}_{p}.npy") for p in ("categorical", "numeric", "label"))


# --- the two contestants ------------------------------------------------------------------------


class Ours:
    """The library's model fed from files, one epoch at a time."""

    def __init__(self, folder: Path, vocabulary: int, learning_rate: float, seed: int) -> None:
        from leakmeter.dpauc import training_rows, wide_deep, wide_deep_training

        self._batches, self._predict = (
            training_rows.shuffled_batches,
            wide_deep_training.predict_split,
        )
        self._seed, self._epoch = seed, 0
        self._config = wide_deep.WideDeepConfig(learning_rate=learning_rate)
        self._train, self._evaluation = (
            training_rows.Split.open(folder, name, vocabulary) for name in ("train", "evaluation")
        )
        self._model = wide_deep.WideDeep(
            self._config,
            vocabulary_size=vocabulary,
            fields=FIELDS,
            numerics=NUMERICS,
            seed=seed,
        )

    def epoch(self) -> None:
        rate = self._config.learning_rate * self._config.decay**self._epoch
        rng = generator(self._seed, "wide_deep_shuffle", epoch=self._epoch)
        for batch in self._batches(self._train, self._config.batch_size, rng):
            self._model.train_step(*batch, rate)
        self._epoch += 1

    def scores(self) -> np.ndarray:
        return self._predict(self._model, self._evaluation)


class KerasFit:
    """``model.fit`` with Adam over in-memory arrays; same architecture, batch and decay."""

    def __init__(self, folder: Path, vocabulary: int, learning_rate: float, seed: int) -> None:
        import tensorflow as tf

        layers = tf.keras.layers
        tf.keras.utils.set_random_seed(seed)
        self._rate, self._epoch = learning_rate, 0
        self._train, self._evaluation = (load_split(folder, n) for n in ("train", "evaluation"))
        ids = layers.Input((FIELDS,), dtype="int32")
        numeric = layers.Input((NUMERICS,))
        normal = tf.keras.initializers.RandomNormal(stddev=0.01)
        embedded = layers.Embedding(vocabulary, 8, embeddings_initializer=normal)(ids)
        hidden = layers.Concatenate()([layers.Flatten()(embedded), numeric])
        for width in (256, 128):
            hidden = layers.Dense(width, activation="relu")(hidden)
        wide = layers.Embedding(vocabulary, 1, embeddings_initializer="zeros")(ids)
        wide = layers.GlobalAveragePooling1D()(wide) * FIELDS
        linear = layers.Dense(1, use_bias=False, kernel_initializer="zeros")(numeric)
        logit = layers.Add()([layers.Dense(1)(hidden), wide, linear])
        self._model = tf.keras.Model([ids, numeric], logit)
        self._model.compile(
            tf.keras.optimizers.Adam(learning_rate),
            tf.keras.losses.BinaryCrossentropy(from_logits=True),
        )

    def epoch(self) -> None:
        ids, numeric, label = self._train
        self._model.optimizer.learning_rate.assign(self._rate * 0.5**self._epoch)
        self._model.fit([ids, numeric], label[:, None], batch_size=4096, epochs=1, verbose=0)
        self._epoch += 1

    def scores(self) -> np.ndarray:
        ids, numeric, _ = self._evaluation
        return self._model.predict([ids, numeric], batch_size=8192, verbose=0)[:, 0]


CONTESTANTS = {"ours": Ours, "keras": KerasFit}


# --- the three parts ----------------------------------------------------------------------------


def speed(rows: int, vocabulary: int, turns: int) -> dict:
    """Rates of both contestants at one vocabulary."""
    with tempfile.TemporaryDirectory() as name:
        size = write_data(Path(name), rows, 8192, vocabulary, seed=0)
        contestants = {k: make(Path(name), size, 1.7e-4, 0) for k, make in CONTESTANTS.items()}
        measured = {key: [] for key in contestants}
        for turn in range(turns + 1):
            for key, contestant in contestants.items():
                wall, cpu = time.perf_counter(), time.process_time()
                contestant.epoch()
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                if turn:  # the first compiles
                    measured[key].append((wall, cpu, os.getloadavg()[0]))
    result = {"rows": rows, "vocabulary": size}
    for key, values in measured.items():
        wall, cpu, load = np.median(np.array(values), axis=0)
        result[key] = {
            "rows_per_second": rows / wall,
            "cpu_seconds_per_million_rows": cpu / rows * 1e6,
            "load": load,
        }
    for unit, better in (("rows_per_second", 1), ("cpu_seconds_per_million_rows", -1)):
        result[f"ratio_{unit}"] = (result["ours"][unit] / result["keras"][unit]) ** better
    return result


def parity(rows: int, vocabulary: int, seeds: int, epochs: int) -> dict:
    """Test AUC of both, each at its own learning rate."""
    result: dict = {"rows": rows, "vocabulary": vocabulary, "epochs": epochs}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write_data(folder, rows, rows, vocabulary, seed=1)
        for key, make in CONTESTANTS.items():
            grid = {
                rate: half_aucs(make(folder, size, rate, 0), folder, epochs)[0]
                for rate in LEARNING_RATES
            }
            best = max(grid, key=grid.get)
            test = [
                half_aucs(make(folder, size, best, seed), folder, epochs)[1]
                for seed in range(1, seeds + 1)
            ]
            result[key] = {
                "learning_rate": best,
                "validation_auc": {f"{rate:g}": auc for rate, auc in grid.items()},
                "test_auc": test,
                "mean": float(np.mean(test)),
                "sd": float(np.std(test, ddof=1)),
            }
    result["difference"] = result["ours"]["mean"] - result["keras"]["mean"]
    result["standard_error"] = math.hypot(*(result[k]["sd"] for k in CONTESTANTS)) / seeds**0.5
    return result


def half_aucs(contestant: Ours | KerasFit, folder: Path, epochs: int) -> tuple[float, float]:
    """Train; AUC on the validation half and on the test half of the evaluation rows."""
    from leakmeter.dpauc.exact import exact_auc

    for _ in range(epochs):
        contestant.epoch()
    scores, labels = contestant.scores(), np.load(folder / "evaluation_label.npy")
    return tuple(exact_auc(scores[half::2], labels[half::2]) for half in (0, 1))


def laptop(rows: int, evaluation_rows: int, vocabulary: int, threads: int) -> dict:
    """Wall time and memory of ``train`` at laptop scale, in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        size = write_data(Path(name), rows, evaluation_rows, vocabulary, seed=2)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            result = pool.submit(train_alone, Path(name), threads).result()
    return {"rows": rows, "evaluation_rows": evaluation_rows, "vocabulary": size} | result


def train_alone(folder: Path, threads: int) -> dict:
    """Call ``train`` with the default configuration and measure the process."""
    configure_tensorflow(threads, 0)
    from leakmeter.dpauc.wide_deep import WideDeepConfig
    from leakmeter.dpauc.wide_deep_training import train

    config, before = WideDeepConfig(), peak_rss_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    history = train(
        folder,
        config=config,
        seed=0,
        checkpoint_dir=folder / "checkpoint",
        predictions=[folder / f"predictions_{e}.parquet" for e in range(config.epochs)],
        history=folder / "history.json",
        fingerprint="benchmark",
    )
    return {
        "wall_seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "load": os.getloadavg()[0],
        "epochs": history.timing["epochs"],
        "auc": [epoch["auc"] for epoch in history.record["epochs"]],
        "peak_rss_mb": peak_rss_mb(),
        "rss_after_import_mb": before,
    }


def peak_rss_mb() -> float:
    """High-water mark of this program; getrusage would report the parent's from before exec."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/self/status has no VmHWM line")


def main() -> None:
    """Run the parts asked for, print tables, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("speed", "parity", "laptop")
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    parser.add_argument("--rows", type=int, default=400_000, help="training rows of part speed")
    parser.add_argument("--vocabulary", type=int, nargs="+", default=[100_000, 1_600_000])
    parser.add_argument("--turns", type=int, default=3, help="timed epochs of each contestant")
    parser.add_argument("--parity-rows", type=int, default=200_000)
    parser.add_argument("--parity-vocabulary", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--laptop-rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    configure_threads(options.threads)
    configure_tensorflow(options.threads, 0)
    result: dict = {"threads": options.threads, "load_at_start": os.getloadavg()[0]}
    if "speed" in options.parts:
        result["speed"] = [speed(options.rows, v, options.turns) for v in options.vocabulary]
        print_speed(result["speed"])
    if "parity" in options.parts:
        result["parity"] = parity(options.parity_rows, options.parity_vocabulary, options.seeds, 3)
        print_parity(result["parity"])
    if "laptop" in options.parts:
        result["laptop"] = laptop(options.laptop_rows, 458_407, 80_000, options.threads)
        print("\nlaptop scale:", json.dumps(result["laptop"], indent=1))
    if options.json:
        write_json(options.json, result)


def print_speed(results: list[dict]) -> None:
    """One line per contestant and vocabulary."""
    print(
        f"\n{'V':>9} {'':>6} {'rows/s':>9} {'CPU s / M rows':>15} {'load':>5} {'ratio (wall, CPU)':>18}"
    )
    for result in results:
        for key in ("ours", "keras"):
            row, ratio = result[key], ""
            if key == "ours":
                ratio = (
                    f"{result['ratio_rows_per_second']:.2f}, "
                    f"{result['ratio_cpu_seconds_per_million_rows']:.2f}"
                )
            print(
                f"{result['vocabulary']:>9} {key:>6} {row['rows_per_second']:>9.0f} "
                f"{row['cpu_seconds_per_million_rows']:>15.2f} {row['load']:>5.1f} {ratio:>18}"
            )


def print_parity(result: dict) -> None:
    """Best learning rate and test AUC of each, and the difference."""
    print(f"\n{'':>6} {'best rate':>10} {'test AUC':>9} {'sd':>8}")
    for key in ("ours", "keras"):
        row = result[key]
        print(f"{key:>6} {row['learning_rate']:>10g} {row['mean']:>9.5f} {row['sd']:>8.5f}")
    print(f"difference {result['difference']:+.5f}, standard error {result['standard_error']:.5f}")


if __name__ == "__main__":
    main()
