"""Criteo preprocessing: the library against a straightforward chunked pandas version.

Both turn the same generated log into the same arrays (compared after the run), each in a process
of its own, so that peak memory is theirs alone. Wall and CPU time exclude imports; compiled code is
warmed on a few rows first. The versions take turns ``--repeats`` times and the fastest run of each
counts. Ours uses two threads: on a busy machine compare the CPU columns.

    python benchmarks/criteo_preprocess.py --rows 400000 [--json out.json]
    python benchmarks/criteo_preprocess.py --rows 4584062 --train-rows 1000000 --ours-only
"""

# The parent imports nothing heavy: a child's peak memory starts at its parent's.
from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEED = 1
CHUNK = 100_000


def pandas_preprocess(source: Path, out_dir: Path, train_rows: int | None) -> None:
    """The baseline: two passes of ``read_csv`` in chunks, a Python dictionary per column."""
    import numpy as np
    import pandas as pd

    from leakmeter.dpauc.criteo import split
    from leakmeter.dpauc.criteo_rows import CATEGORICALS, FIELDS, INTEGERS

    def chunks():
        return pd.read_csv(
            source,
            sep="\t",
            header=None,
            names=list(FIELDS),
            dtype={name: "str" for name in CATEGORICALS},
            chunksize=CHUNK,
        )

    counts = {name: {} for name in CATEGORICALS}
    low, high, rows = np.full(13, np.inf), np.full(13, -np.inf), 0
    for frame in chunks():
        rows += len(frame)
        numbers = frame[list(INTEGERS)].fillna(0)
        low, high = np.minimum(low, numbers.min()), np.maximum(high, numbers.max())
        for name in CATEGORICALS:
            seen = counts[name]
            for token, count in frame[name].value_counts().items():
                seen[token] = seen.get(token, 0) + count
    codes, offset = {}, 0
    for name in CATEGORICALS:
        ordered = sorted(counts[name].items(), key=lambda item: (-item[1], item[0]))
        codes[name] = {token: offset + 2 + i for i, (token, _) in enumerate(ordered)}
        codes[name][None] = offset
        offset += 2 + len(ordered)
    width = (high - low).replace(0, np.inf)
    part = split(rows, seed=SEED)
    train = np.flatnonzero(part == 1)[:train_rows]
    members = {"train": train, "evaluation": np.flatnonzero(part == 2)}
    kinds = {"categorical": ("i4", (26,)), "numeric": ("f4", (13,)), "label": ("u1", ())}
    out = {
        (p, kind): np.lib.format.open_memmap(
            out_dir / f"{p}_{kind}.npy", mode="w+", dtype=dtype, shape=(len(index), *shape)
        )
        for p, index in members.items()
        for kind, (dtype, shape) in kinds.items()
    }
    done, at = dict.fromkeys(members, 0), 0
    for frame in chunks():
        numbers = ((frame[list(INTEGERS)].fillna(0) - low) / width).to_numpy(np.float32)
        coded = np.stack(
            [
                frame[name].map(codes[name]).fillna(codes[name][None]).to_numpy(np.int32)
                for name in CATEGORICALS
            ],
            axis=1,
        )
        label = frame["label"].to_numpy(np.uint8)
        for p, index in members.items():
            here = index[(index >= at) & (index < at + len(frame))] - at
            span = slice(done[p], done[p] + len(here))
            for kind, array in (("categorical", coded), ("numeric", numbers), ("label", label)):
                out[p, kind][span] = array[here]
            done[p] += len(here)
        at += len(frame)
    for array in out.values():
        array.flush()


def ours(source: Path, out_dir: Path, train_rows: int | None, threads: int = 2) -> None:
    from leakmeter.dpauc.criteo import preprocess

    preprocess(source, out_dir, seed=SEED, data="standin", train_rows=train_rows, threads=threads)


WORKERS = {"ours": ours, "pandas": pandas_preprocess}


def worker(which: str, source: Path, out_dir: Path, train_rows: int | None) -> None:
    """Run one version and print its times and its own peak memory as JSON."""
    import resource

    warm = out_dir / "warm"
    warm.mkdir(parents=True)
    few = warm / "few.txt"
    with open(source, "rb") as handle:
        few.write_bytes(b"".join(handle.readline() for _ in range(100)))
    WORKERS[which](few, warm, None)
    wall, cpu = time.perf_counter(), time.process_time()
    WORKERS[which](source, out_dir, train_rows)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"wall_s": wall, "cpu_s": cpu, "peak_rss_mb": peak}))


def run(arguments: list[str]) -> str:
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def make_log(path: Path, rows: int) -> None:
    from leakmeter.datasets.standins import criteo

    criteo.generate(path, rows=rows, seed=SEED)


def compare(first: Path, second: Path) -> str:
    """Say whether all arrays agree; numbers may differ by the rounding of one float32 step."""
    import numpy as np

    for name in sorted(path.name for path in second.glob("*.npy")):
        a, b = (np.load(folder / name, mmap_mode="r") for folder in (first, second))
        if "numeric" in name:
            same = a.shape == b.shape and np.allclose(a, b, rtol=2e-7, atol=0)
        else:
            same = np.array_equal(a, b)
        if not same:
            raise SystemExit(f"{name}: the two versions differ")
    return "same arrays"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--train-rows", type=int, default=None)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--source", type=Path, help="an existing log instead of a generated one")
    parser.add_argument("--ours-only", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--task", choices=("log", "compare", *WORKERS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task == "log":
        return make_log(args.source, args.rows)
    if args.task == "compare":
        print(compare(args.folder / "ours", args.folder / "pandas"))
        return None
    if args.task:
        return worker(args.task, args.source, args.folder / args.task, args.train_rows)
    measure(args)
    return None


def fastest(runs: list[dict[str, float]]) -> dict[str, float]:
    """The smallest times, and the largest memory."""
    best = {key: min(r[key] for r in runs) for key in ("wall_s", "cpu_s")}
    return {**best, "peak_rss_mb": max(r["peak_rss_mb"] for r in runs)}


def measure(args: argparse.Namespace) -> None:
    versions = ["ours"] if args.ours_only else list(WORKERS)
    limit = [] if args.train_rows is None else ["--train-rows", str(args.train_rows)]
    runs, same = [], ""
    with tempfile.TemporaryDirectory() as folder:
        source = args.source or Path(folder) / "log.txt"
        if args.source is None:
            run(["--task", "log", "--rows", str(args.rows), "--source", str(source)])
        with open(source, "rb") as handle:
            rows = sum(block.count(b"\n") for block in iter(lambda: handle.read(1 << 20), b""))
        for turn in range(args.repeats):
            common = ["--source", str(source), "--folder", f"{folder}/{turn}", *limit]
            runs.append({v: json.loads(run(["--task", v, *common])) for v in versions})
            if turn == 0 and not args.ours_only:
                same = run(["--task", "compare", *common]).strip()
            shutil.rmtree(f"{folder}/{turn}")
    report(args, rows, same, {v: fastest([one[v] for one in runs]) for v in versions})


def report(args: argparse.Namespace, rows: int, same: str, result: dict[str, dict]) -> None:
    print(f"{rows} rows {same}")
    print(f"{'':>8} {'rows/s':>10} {'rows/CPU s':>11} {'peak RSS MB':>12}")
    for v, r in result.items():
        r["rows_per_s"], r["rows_per_cpu_s"] = rows / r["wall_s"], rows / r["cpu_s"]
        rates = f"{r['rows_per_s']:>10.0f} {r['rows_per_cpu_s']:>11.0f}"
        print(f"{v:>8} {rates} {r['peak_rss_mb']:>12.0f}")
    if not args.ours_only:
        ratios = {
            key: result["ours"][key] / result["pandas"][key]
            for key in ("rows_per_s", "rows_per_cpu_s", "peak_rss_mb")
        }
        result["ratio"] = ratios
        print(f"{'ratio':>8} " + " ".join(f"{key} {value:.2f}" for key, value in ratios.items()))
    if args.json:
        args.json.write_text(json.dumps({"rows": rows, **result}, indent=2) + "\n")


if __name__ == "__main__":
    main()
