"""Criteo preprocessing against a plain-Python reference, and every kind of bad file."""

import errno
import gzip
import hashlib
import io
import itertools
import json
import math
import re
import tarfile
import tempfile
from collections import Counter

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.datasets.standins import criteo as standin
from leakmeter.dpauc import criteo, criteo_rows
from leakmeter.dpauc.criteo import EVALUATION, TRAIN, UNUSED, preprocess, split
from leakmeter.runtime import UserError

ARRAYS = [
    f"{p}_{kind}" for p in ("train", "evaluation") for kind in ("categorical", "numeric", "label")
]
ROWS = standin.Settings(calibration_rows=5000)


def make_text(rows: int, seed: int = 1) -> bytes:
    return standin.format_rows(standin.sample(0, rows, seed=seed, settings=ROWS))


TEXT = make_text(60)
LINES = TEXT.split(b"\n")[:-1]


def run(path, out, **options):
    return preprocess(path, out, **{"seed": 5, "data": "standin", **options})


def run_text(tmp_path, text: bytes, **options):
    """Write a log, preprocess it, return (summary, arrays)."""
    path = tmp_path / "log.txt"
    path.write_bytes(text)
    summary = run(path, tmp_path / "out", **options)
    return summary, load(tmp_path / "out")


def load(folder):
    paths = criteo.output_paths(folder)
    return {name: np.load(paths[name]) for name in ARRAYS}


def assert_same(left, right):
    for name in ARRAYS:
        assert left[name].dtype == right[name].dtype
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)


# --- the reference -------------------------------------------------------------------------------


def reference(text: bytes, part, *, min_count=1, fit_on="all", train_rows=None):
    """The contract, row by row in plain Python: (arrays, vocabulary as field -> {token: code})."""
    rows = [line.split("\t") for line in text.decode().removesuffix("\n").split("\n")]
    fit = [row for row, p in zip(rows, part, strict=True) if fit_on == "all" or p == TRAIN]
    offset, codes, offsets = 0, [], []
    for j in range(14, 40):
        counts = Counter(int(row[j], 16) for row in fit if row[j])
        kept = sorted((t for t in counts if counts[t] >= min_count), key=lambda t: (-counts[t], t))
        codes.append({token: 2 + i for i, token in enumerate(kept)})
        offsets.append(offset)
        offset += 2 + len(kept)
    ranges = []
    for j in range(1, 14):
        values = [int(row[j] or 0) for row in fit]
        ranges.append((min(values), max(values)))
    out = {name: [] for name in ARRAYS}
    for row, p in zip(rows, part, strict=True):
        if p == UNUSED or (p == TRAIN and len(out["train_label"]) == train_rows):
            continue
        name = "train" if p == TRAIN else "evaluation"
        out[f"{name}_label"].append(int(row[0]))
        out[f"{name}_numeric"].append(
            [
                min(1.0, max(0.0, (int(v or 0) - low) / (high - low))) if high > low else 0.0
                for v, (low, high) in zip(row[1:14], ranges, strict=True)
            ]
        )
        out[f"{name}_categorical"].append(
            [
                start + (known.get(int(v, 16), 1) if v else 0)
                for v, known, start in zip(row[14:], codes, offsets, strict=True)
            ]
        )
    dtypes = {"categorical": np.int32, "numeric": np.float32, "label": np.uint8}
    return {k: np.array(v, dtypes[k.split("_")[1]]) for k, v in out.items()}, codes, offset


OPTIONS = [
    {},
    {"min_count": 3},
    {"fit_on": "train"},
    {"fit_on": "train", "min_count": 2, "train_rows": 700},
    {"test_fraction": 0.25, "evaluation_fraction": 0.3, "train_rows": 1},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_generated_rows_equal_the_reference_cell_by_cell(tmp_path, options):
    text = make_text(3000)
    summary, arrays = run_text(tmp_path, text, block_bytes=100_000, **options)
    check_against_reference(text, summary, arrays, tmp_path / "out", options)


@pytest.mark.parametrize("options", [{}, {"fit_on": "train", "min_count": 5}], ids=str)
def test_genuine_rows_equal_the_reference_cell_by_cell(tmp_path, require_data, options):
    path = require_data("criteo_terabyte/day_0.part.txt.gz")
    with gzip.open(path) as handle:
        text = handle.read()
    summary = run(path, tmp_path / "out", **options)
    check_against_reference(text, summary, load(tmp_path / "out"), tmp_path / "out", options)
    assert (summary.rows, sum(line[:1] == b"1" for line in text.splitlines())) == (10_000, 265)
    assert sum(summary.positives.values()) == 265  # everything is train or evaluated
    assert summary.source_sha256 == hashlib.sha256(text).hexdigest()


def check_against_reference(text, summary, arrays, out, options):
    shares = {k: v for k, v in options.items() if k.endswith("fraction")}
    part = split(text.count(b"\n"), seed=5, **shares)
    fit = {k: v for k, v in options.items() if not k.endswith("fraction")}
    expected, codes, size = reference(text, part, **fit)
    assert_same(arrays, expected)
    assert summary.vocabulary_size == size
    table = pyarrow.parquet.read_table(out / "vocabulary.parquet").to_pylist()
    assert [(r["field"], r["token"], r["code"]) for r in table] == [
        (name, token, code)
        for name, known in zip(criteo.CATEGORICALS, codes, strict=True)
        for token, code in known.items()
    ]
    check_summary(text, part, summary, arrays, table, options)


def check_summary(text, part, summary, arrays, table, options):
    rows = [line.split(b"\t") for line in text.splitlines()]
    fit_rows = [
        r for r, p in zip(rows, part, strict=True) if options.get("fit_on") != "train" or p == TRAIN
    ]
    assert summary.n_train_available == np.sum(part == TRAIN)
    assert summary.n_test == np.sum(part != TRAIN)
    assert summary.n_evaluation == np.sum(part == EVALUATION) == len(arrays["evaluation_label"])
    assert summary.n_train == len(arrays["train_label"])
    for p in ("train", "evaluation"):
        assert summary.positives[p] == arrays[f"{p}_label"].sum()
    offset = 0
    for j, name in enumerate(criteo.CATEGORICALS, start=14):
        facts = summary.categorical[name]
        kept = [r for r in table if r["field"] == name]
        assert (facts["offset"], facts["size"]) == (offset, 2 + len(kept))
        assert facts["distinct"] == len({r[j] for r in fit_rows} - {b""})
        assert facts["missing"] == sum(r[j] == b"" for r in rows) / len(rows)
        counts = Counter(r[j] for r in fit_rows)
        assert all(counts[b"%08x" % r["token"]] == r["count"] for r in kept)
        offset += facts["size"]
    for j, name in enumerate(criteo.INTEGERS, start=1):
        values = [int(r[j] or 0) for r in fit_rows]
        assert summary.numeric[name] == {
            "minimum": min(values),
            "maximum": max(values),
            "missing": sum(r[j] == b"" for r in rows) / len(rows),
        }


# --- outputs -------------------------------------------------------------------------------------


def test_outputs_do_not_depend_on_threads_or_block_size(tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes(make_text(900) + b"bad line\n" + make_text(30, seed=2))
    folders = []
    for threads, block_bytes in ((1, 1 << 20), (3, 3000), (2, 10_001)):
        folders.append(tmp_path / f"{threads}-{block_bytes}")
        run(
            path, folders[-1], on_bad_rows="skip", threads=threads, block_bytes=block_bytes,
            evaluation_fraction=0.5,
        )  # fmt: skip
    files = [{p.name: p.read_bytes() for p in folder.iterdir()} for folder in folders]
    assert files[0] == files[1] == files[2]
    assert set(files[0]) == {p.name for p in criteo.output_paths(tmp_path).values()}


def test_meta_is_the_summary_and_names_no_folder(tmp_path):
    summary, _ = run_text(tmp_path, TEXT, data="related", min_count=2)
    text = (tmp_path / "out" / "meta.json").read_text()
    assert json.loads(text) == json.loads(json.dumps(summary.__dict__))
    assert (summary.data, summary.source, summary.min_count) == ("related", "log.txt", 2)
    assert str(tmp_path) not in text


def test_arrays_map_from_disk_and_ids_stay_in_their_field(tmp_path):
    summary, _ = run_text(tmp_path, make_text(400), min_count=2)
    ids = np.load(tmp_path / "out" / "train_categorical.npy", mmap_mode="r")
    assert ids.flags.c_contiguous
    for j, name in enumerate(criteo.CATEGORICALS):
        facts = summary.categorical[name]
        assert ids[:, j].min() >= facts["offset"]
        assert ids[:, j].max() < facts["offset"] + facts["size"]
    assert summary.vocabulary_size == facts["offset"] + facts["size"]


def test_twelve_rows_are_enough_and_one_is_not(tmp_path):
    summary, arrays = run_text(tmp_path, make_text(12))
    assert (summary.n_train, summary.n_test, summary.n_evaluation) == (10, 2, 2)
    assert_same(arrays, reference(make_text(12), split(12, seed=5))[0])
    summary, _ = run_text(tmp_path, make_text(2))
    assert (summary.n_train, summary.n_evaluation) == (1, 1)
    with pytest.raises(UserError, match="has 1 good rows, of which 1 go to the test part"):
        run_text(tmp_path, make_text(1))


def test_every_32_bit_token_differs_from_missing(tmp_path):
    tokens = [b"00000000", b"ffffffff", b"FFFFFFFF", b"", b"00000001"]
    lines = [b"\t".join([b"1", *[b""] * 13, token, *[b""] * 25]) for token in tokens]
    _, arrays = run_text(tmp_path, b"\n".join(lines * 4))
    ids = np.concatenate([arrays["train_categorical"], arrays["evaluation_categorical"]])
    # one code for each of 00000000, 00000001 and ffffffff (twice as often: first), one for missing
    assert sorted(Counter(ids[:, 0].tolist()).items()) == [(0, 4), (2, 8), (3, 4), (4, 4)]
    assert set(ids[:, 1]) == {5}  # field C2 has only its missing code; C1 has codes 0..4


def integers_row(*values):
    fields = [b"0", *(str(v).encode() for v in values)]
    return b"\t".join([*fields, *[b""] * (40 - len(fields))])


def test_extreme_negative_and_constant_integers(tmp_path):
    low, high = -(2**63), 2**63 - 1
    rows = [integers_row(low, -3, 7, 0), integers_row(high, 5, 7, 0)] * 5
    _, arrays = run_text(tmp_path, b"\n".join(rows))
    numbers = np.concatenate([arrays["train_numeric"], arrays["evaluation_numeric"]])
    assert set(numbers[:, 0]) == set(numbers[:, 1]) == {0.0, 1.0}
    assert not numbers[:, 2:].any()


def test_missing_integers_count_as_zero_in_the_range(tmp_path):
    rows = [integers_row(v) for v in (5, "", 10, 5, "", 10)]
    summary, arrays = run_text(tmp_path, b"\n".join(rows))
    assert summary.numeric["I1"] == {"minimum": 0, "maximum": 10, "missing": 1 / 3}
    numbers = np.concatenate([arrays["train_numeric"], arrays["evaluation_numeric"]])
    assert set(numbers[:, 0]) == {0.0, 0.5, 1.0}


def test_blocks_of_wide_and_of_narrow_integers_mix(tmp_path):
    rows = [integers_row(v) for v in (*range(40), 2**40, *range(40))]
    text = b"\n".join(rows) + b"\n"
    _, arrays = run_text(tmp_path, text, block_bytes=200)
    assert_same(arrays, reference(text, split(81, seed=5))[0])


def test_fit_on_train_clips_and_sends_unseen_tokens_to_rare(tmp_path):
    part = split(20, seed=5)
    outlier = int(np.flatnonzero(part == EVALUATION)[0])
    rows = []
    for i in range(20):
        value, token = (99, b"deadbeef") if i == outlier else (i, b"00000001")
        fields = integers_row(value).split(b"\t")
        fields[14] = token
        rows.append(b"\t".join(fields))
    summary, arrays = run_text(tmp_path, b"\n".join(rows), fit_on="train")
    assert summary.numeric["I1"]["maximum"] < 99
    assert (arrays["evaluation_numeric"][0, 0], arrays["evaluation_categorical"][0, 0]) == (1.0, 1)
    summary, arrays = run_text(tmp_path, b"\n".join(rows), fit_on="all")
    assert summary.numeric["I1"]["maximum"] == 99
    assert arrays["evaluation_categorical"][0, 0] == 3


# --- split ---------------------------------------------------------------------------------------


def test_split_has_exact_sizes():
    part = split(4_584_062, seed=1)
    assert np.sum(part == EVALUATION) == 458_407
    assert np.sum(part == TRAIN) == 4_584_062 - 458_407
    part = split(1_000_003, seed=1, evaluation_fraction=0.1)
    assert np.sum(part == EVALUATION) == 10_001
    assert np.sum(part == UNUSED) == 100_001 - 10_001


@pytest.mark.parametrize(
    ("fraction", "rows", "expected"),
    [
        (0.1, 45_840_617, 4_584_062),
        (0.1, 4_584_062, 458_407),
        (0.1, 10, 1),
        (0.1, 1, 1),
        (0.07, 100, 7),  # 0.07 * 100 is a little above 7 in floating point
        (1.0, 3, 3),
    ],
)
def test_shares_are_rounded_up_in_exact_arithmetic(fraction, rows, expected):
    assert criteo._share(fraction, rows) == expected


def test_split_depends_on_seed_and_rows_only_and_spreads_evenly():
    np.testing.assert_array_equal(split(500, seed=3), split(500, seed=3))
    assert not np.array_equal(split(500, seed=3), split(500, seed=4))
    hits = sum((split(50, seed=s, test_fraction=0.2) == EVALUATION).astype(int) for s in range(500))
    z = (hits - 100) / math.sqrt(500 * 0.2 * 0.8)
    assert np.abs(z).max() < 4.5
    # a tenth of the test rows, not the first ones
    parts = [split(200, seed=s, evaluation_fraction=0.5) for s in range(200)]
    first = [np.flatnonzero(p != TRAIN)[0] in np.flatnonzero(p == EVALUATION) for p in parts]
    assert abs(np.mean(first) - 0.5) < 4.5 * 0.5 / math.sqrt(200)


# --- sources -------------------------------------------------------------------------------------


def make_tar(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def write_source(path, kind, text):
    if kind == "plain":
        path.write_bytes(text)
    elif kind == "gzip":
        path.write_bytes(gzip.compress(text))
    elif kind == "gzip members":
        path.write_bytes(gzip.compress(text[:1000]) + gzip.compress(text[1000:]))
    else:
        decoys = {"readme.txt": b"x", "test.txt": b"no\tlabels\n", "../../evil": b"x"}
        make_tar(path, {**decoys, "./train.txt": text}, "w" if kind == "tar" else "w:gz")


@pytest.mark.parametrize("kind", ["plain", "gzip", "gzip members", "tar.gz", "tar"])
def test_sources_are_told_apart_by_content(tmp_path, kind):
    _, expected = run_text(tmp_path, TEXT)
    path = tmp_path / "inner" / "source.bin"
    path.parent.mkdir()
    write_source(path, kind, TEXT)
    summary = run(path, tmp_path / "out2", block_bytes=3000)
    assert_same(load(tmp_path / "out2"), expected)
    assert summary.source == "source.bin" + (":./train.txt" if "tar" in kind else "")
    assert summary.source_sha256 == hashlib.sha256(TEXT).hexdigest()
    assert [p.name for p in path.parent.iterdir()] == ["source.bin"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["inner", "log.txt", "out", "out2"]


def damaged(kind, where, tmp_path):
    path = tmp_path / "source.bin"
    # random tokens do not compress: a cut at half the file is a cut in the rows
    write_source(path, kind, make_text(500))
    content = path.read_bytes()
    cut = {"half": len(content) // 2, "header": 5, "trailer": len(content) - 4}[where]
    path.write_bytes(content[:cut])
    return path


@pytest.mark.parametrize("on_bad_rows", ["error", "skip"])
@pytest.mark.parametrize(
    ("kind", "where"),
    [("gzip", "half"), ("gzip", "header"), ("gzip", "trailer"), ("tar.gz", "half")],
)
def test_truncated_compressed_files_are_refused_always(tmp_path, kind, where, on_bad_rows):
    path = damaged(kind, where, tmp_path)
    with pytest.raises(UserError, match=r"source\.bin, line \d+: .*truncated or damaged"):
        run(path, tmp_path / "out", on_bad_rows=on_bad_rows, block_bytes=5000)
    assert list((tmp_path / "out").iterdir()) == []


def test_flipped_byte_in_gzip_is_refused(tmp_path):
    path = tmp_path / "log.txt.gz"
    content = bytearray(gzip.compress(TEXT))
    content[-6] ^= 1  # in the checksum
    path.write_bytes(content)
    with pytest.raises(UserError, match="truncated or damaged"):
        run(path, tmp_path / "out")


def test_a_bad_row_before_the_damage_is_reported_first(tmp_path):
    path = tmp_path / "log.txt.gz"
    path.write_bytes(gzip.compress(b"oops\n" + make_text(500))[:-2000])
    for threads in (1, 4):
        with pytest.raises(UserError, match="line 1: the line has 1 tab-separated fields"):
            run(path, tmp_path / "out", block_bytes=50_000, threads=threads)


def test_unusable_sources_give_one_sentence(tmp_path):
    with pytest.raises(UserError, match=r"none\.txt: cannot be read .*No such file"):
        run(tmp_path / "none.txt", tmp_path / "out")
    with pytest.raises(UserError, match="cannot be read"):
        run(tmp_path, tmp_path / "out")
    make_tar(tmp_path / "a.tar.gz", {"test.txt": TEXT})
    with pytest.raises(UserError, match=r"a\.tar\.gz: the archive has no file train\.txt"):
        run(tmp_path / "a.tar.gz", tmp_path / "out")


@pytest.mark.parametrize("content", [b"", gzip.compress(b"")])
@pytest.mark.parametrize("on_bad_rows", ["error", "skip"])
def test_empty_file(tmp_path, content, on_bad_rows):
    (tmp_path / "e").write_bytes(content)
    with pytest.raises(UserError, match="line 1: the file is empty"):
        run(tmp_path / "e", tmp_path / "out", on_bad_rows=on_bad_rows)


def test_a_huge_line_is_refused_before_it_fills_memory(tmp_path):
    text = TEXT + b"1" * (criteo_rows.LINE_LIMIT + 5000)
    with pytest.raises(UserError, match="line 61: the line is longer than"):
        run_text(tmp_path, text, on_bad_rows="skip", block_bytes=100_000)


# --- bad rows ------------------------------------------------------------------------------------


def change(index, value):
    def apply(line):
        fields = line.split(b"\t")
        fields[index] = value
        return b"\t".join(fields)

    return apply


BAD = {
    "short": (lambda s: s.rsplit(b"\t", 1)[0], "field count", "has 39 tab-separated fields, expected 40"),
    "long": (lambda s: s + b"\t", "field count", "has 41 tab-separated fields"),
    "spaces": (lambda s: s.replace(b"\t", b" "), "field count", "has 1 tab-separated fields"),
    "header": (lambda s: "\t".join(criteo_rows.FIELDS).encode(), "label", "the label is 'label', expected 0 or 1 (and no header)"),
    "label 2": (change(0, b"2"), "label", "the label is '2', expected 0 or 1"),
    "label 01": (change(0, b"01"), "label", "the label is '01'"),
    "no label": (change(0, b""), "label", "the label is ''"),
    "BOM": (lambda s: b"\xef\xbb\xbf" + s, "label", "the label is '\\ufeff"),
    "fraction": (change(3, b"1.5"), "integer", "I3 is '1.5', expected an integer"),
    "word": (change(13, b"NA"), "integer", "I13 is 'NA'"),
    "plus": (change(1, b"+5"), "integer", "I1 is '+5'"),
    "blank before": (change(1, b" 5"), "integer", "I1 is ' 5'"),
    "hex integer": (change(1, b"0x10"), "integer", "I1 is '0x10'"),
    "exponent": (change(1, b"1e5"), "integer", "I1 is '1e5'"),
    "sign alone": (change(2, b"-"), "integer", "I2 is '-'"),
    "too big": (change(5, b"9223372036854775808"), "integer range", "I5 is '9223372036854775808', expected a 64-bit"),
    "too small": (change(5, b"-9223372036854775809"), "integer range", "64-bit"),
    "enormous": (change(5, b"9" * 5000), "integer range", "99...'"),
    "7 digits": (change(14, b"abcdef0"), "token", "C1 is 'abcdef0', expected 8 hex digits"),
    "9 digits": (change(39, b"abcdef012"), "token", "C26 is 'abcdef012'"),
    "not hex": (change(20, b"abcdefg0"), "token", "C7 is 'abcdefg0'"),
    "minus in token": (change(20, b"-1234567"), "token", "C7 is '-1234567'"),
    "quoted": (change(20, b'"abcdef"'), "token", "C7 is '\"abcdef\"'"),
    "open quote": (change(20, b'"'), "token", "C7 is '\"'"),
    "accent": (change(20, "abcdefé".encode()), "token", "C7 is 'abcdefé'"),
    "NUL": (change(20, b"abc\0def0"), "NUL byte", "has a NUL byte"),
    "CRLF": (lambda s: s + b"\r", "CRLF line end", "ends in CRLF"),
    "lone CR": (change(20, b"abc\rdef0"), "token", "C7 is 'abc\\rdef0'"),
    "blank": (lambda s: b"", "blank line", "the line is blank"),
    "not UTF-8": (lambda s: s + b"\xff", "not UTF-8", "(0xff) is not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_rows_are_named(tmp_path, kind):
    """60 rows in blocks of about 8: first line, inside the first block, beyond it, last line."""
    spoil, _, message = BAD[kind]
    for at, end in itertools.product((0, 2, 30, 59), (b"\n", b"")):
        lines = list(LINES)
        lines[at] = spoil(lines[at])
        if lines[-1] == end == b"":
            continue  # a file that ends in one newline has no blank line
        with pytest.raises(UserError) as caught:
            run_text(tmp_path, b"\n".join(lines) + end, block_bytes=2000)
        assert str(caught.value).startswith(f"{tmp_path / 'log.txt'}, line {at + 1}: ")
        assert message in str(caught.value)
        assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("kind", BAD)
def test_bad_rows_can_be_skipped(tmp_path, kind):
    spoil, reason, message = BAD[kind]
    lines = [spoil(line) if i in (0, 2, 30, 59) else line for i, line in enumerate(LINES)]
    text = b"\n".join(lines) + (b"\n" if kind == "blank" else b"")
    summary, arrays = run_text(tmp_path, text, block_bytes=2000, on_bad_rows="skip")
    assert (summary.rows, summary.skipped["by_reason"]) == (56, {reason: 4})
    assert [f["line"] for f in summary.skipped["first"]] == [1, 3, 31, 60]
    assert all(message in f["message"] for f in summary.skipped["first"])
    good = [line for i, line in enumerate(LINES) if i not in (0, 2, 30, 59)]
    assert_same(arrays, reference(b"\n".join(good) + b"\n", split(56, seed=5))[0])


def test_the_first_bad_row_is_the_one_named(tmp_path):
    lines = list(LINES)
    lines[50], lines[20], lines[21] = b"x", b"", b"y"
    for threads in (1, 4):
        with pytest.raises(UserError, match=r"line 21: the line is blank"):
            run_text(tmp_path, b"\n".join(lines), block_bytes=1500, threads=threads)


def test_skipped_rows_are_counted_by_reason_and_the_first_listed(tmp_path):
    text = b"\n".join(line for good in LINES for line in (good, b"", b"junk"))
    summary, arrays = run_text(tmp_path, text, on_bad_rows="skip", block_bytes=4000)
    assert (summary.rows, summary.skipped["rows"]) == (60, 120)
    assert summary.skipped["by_reason"] == {"blank line": 60, "field count": 60}
    assert [f["line"] for f in summary.skipped["first"]] == [2, 3, 5, 6, 8, 9, 11, 12, 14, 15]
    assert_same(arrays, reference(TEXT, split(60, seed=5))[0])


def test_a_crlf_file_is_refused_with_advice_even_when_skipping(tmp_path):
    text = TEXT.replace(b"\n", b"\r\n")
    with pytest.raises(UserError, match=r"log\.txt, line 1: .*CRLF.*dos2unix"):
        run_text(tmp_path, text)
    with pytest.raises(UserError, match=r"none of the 60 rows is good.*line 1:.*CRLF.*dos2unix"):
        run_text(tmp_path, text, on_bad_rows="skip", block_bytes=3000)


def test_good_spellings_are_accepted(tmp_path):
    ways = [
        change(1, b"007"),
        change(2, b"-0"),
        change(3, b"0" * 40 + b"1"),
        change(4, b"-" + b"0" * 40 + b"9"),
        change(14, b"ABCDEF01"),
    ]
    text = b"\n".join(f(line) for f, line in zip(ways * 12, LINES, strict=True)) + b"\n"
    _, arrays = run_text(tmp_path, text)
    expected = reference(text, split(60, seed=5))[0]
    assert_same(arrays, expected)
    # next to a bad row each line is looked at in Python
    summary, arrays = run_text(tmp_path, text + b"bad\n", on_bad_rows="skip")
    assert summary.skipped["rows"] == 1
    assert_same(arrays, expected)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"test_fraction": 0.0}, "test_fraction: got 0.0"),
        ({"test_fraction": 1.0}, "test_fraction"),
        ({"evaluation_fraction": 0.0}, "evaluation_fraction"),
        ({"train_rows": 0}, "train_rows: got 0, expected 1 or more"),
        ({"min_count": 0}, "min_count"),
        ({"fit_on": "test"}, "fit_on: got 'test', expected 'all' or 'train'"),
        ({"on_bad_rows": "warn"}, "on_bad_rows"),
        ({"threads": 0}, "threads"),
        ({"block_bytes": 0}, "block_bytes"),
    ],
)
def test_wrong_arguments_are_refused_by_name(tmp_path, change, expected):
    with pytest.raises(UserError, match=re.escape(expected)):
        run_text(tmp_path, TEXT, **change)


@pytest.fixture
def scratch(tmp_path_factory, monkeypatch):
    """Where TMPDIR points to."""
    folder = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_full_scratch_folder_is_named_with_what_to_set(tmp_path, scratch, monkeypatch):
    def full(handle, array):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(criteo.np, "save", full)
    with pytest.raises(UserError, match=f"{scratch}: no space left.*TMPDIR"):
        run_text(tmp_path, TEXT)
    assert list(scratch.iterdir()) == []


def test_failures_leave_no_scratch_and_no_half_outputs(tmp_path, scratch, monkeypatch):
    run_text(tmp_path, TEXT)
    assert list(scratch.iterdir()) == []
    monkeypatch.setattr(criteo, "scale", lambda *a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_text(tmp_path, make_text(80))
    assert list(scratch.iterdir()) == []
    names = {p.name for p in (tmp_path / "out").iterdir()}
    expected = {p.name for p in criteo.output_paths(tmp_path).values()}
    assert names == expected - {
        "meta.json"
    }  # the old arrays, without the file that vouches for them


# --- hostile small files -------------------------------------------------------------------------


def first_bad_line(text: bytes) -> int | None:
    """Written from the format's description, apart from the module's own definition."""
    for number, line in enumerate(text.removesuffix(b"\n").split(b"\n"), start=1):
        fields = line.split(b"\t")
        good = len(fields) == 40 and fields[0] in (b"0", b"1")
        for value in fields[1:14] if good else ():
            digits = value.removeprefix(b"-")
            good &= value == b"" or (
                digits != b"" and not digits.strip(b"0123456789")
                and -(2**63) <= int(value) < 2**63
            )  # fmt: skip
        for value in fields[14:] if good else ():
            good &= value == b"" or (len(value) == 8 and not value.strip(b"0123456789abcdefABCDEF"))
        if not good:
            return number
    return None


field_bytes = st.one_of(
    st.sampled_from([b"", b"0", b"1", b"-1", b"00000000", b"ffffffff", b'"', b"\r", b"\0", b"NaN"]),
    st.integers(-(2**65), 2**65).map(lambda v: str(v).encode()),
    st.integers(0, 2**32 - 1).map(lambda v: b"%08x" % v),
    st.text("0123456789abcdefABCDEFxX-+. \t\"'é\x0b\x1c", max_size=10).map(str.encode),
    st.binary(max_size=9),
)
good_field = {
    "label": st.sampled_from([b"0", b"1"]),
    "integer": st.integers(-(2**63), 2**63 - 1).map(lambda v: str(v).encode()),
    "token": st.integers(0, 2**32 - 1).map(lambda v: b"%08x" % v),
}


@st.composite
def changed_line(draw, good):
    """A generated row with a few fields replaced, by good values or by anything."""
    fields = draw(st.sampled_from(LINES)).split(b"\t")
    for at in draw(st.lists(st.integers(0, 39), min_size=1, max_size=3)):
        kind = "label" if at == 0 else "integer" if at < 14 else "token"
        fields[at] = draw(good_field[kind] if good else field_bytes)
    return b"\t".join(fields[: draw(st.sampled_from([40] if good else [40, 40, 40, 39]))])


good_line = changed_line(True)
odd_line = st.one_of(changed_line(False), st.sampled_from([b"", b"\r", b"\xff", b"0" + b"\t" * 39]))
line = st.one_of(good_line, good_line, good_line, odd_line)


@given(lines=st.lists(line, min_size=1, max_size=6), newline=st.sampled_from([b"", b"\n"]))
@settings(max_examples=250, deadline=None)
def test_a_block_is_parsed_exactly_or_its_first_bad_line_is_named(lines, newline):
    text = b"\n".join(lines) + newline
    if not text.endswith(b"\n"):
        text += b"\n"
    parsed, bad = criteo_rows.parse_block(text, skip=False)
    expected = first_bad_line(text)
    if expected is not None:
        assert parsed is None
        assert [b.line + 1 for b in bad] == [expected]
        return
    assert bad == []
    for i, row in enumerate(text.removesuffix(b"\n").split(b"\n")):
        fields = row.split(b"\t")
        assert parsed.label[i] == int(fields[0])
        assert parsed.integers[:, i].tolist() == [int(v or b"0") for v in fields[1:14]]
        assert parsed.present[:, i].tolist() == [v != b"" for v in fields[14:]]
        for j, value in enumerate(fields[14:]):
            assert value == b"" or parsed.tokens[j, i] == int(value, 16)


@given(text=st.text('01\t\n\r abcf-"\0', max_size=200))
@settings(max_examples=200, deadline=None)
def test_noise_is_refused_at_its_first_bad_line(text):
    text = text.encode().removesuffix(b"\n") + b"\n"
    parsed, bad = criteo_rows.parse_block(text, skip=True)
    numbered = text.removesuffix(b"\n").split(b"\n")
    expected = [i for i, row in enumerate(numbered) if first_bad_line(row + b"\n")]
    assert [b.line for b in bad] == expected
    assert (parsed is None) == (len(expected) == len(numbered))


@given(
    lines=st.lists(line, min_size=1, max_size=12),
    newline=st.sampled_from([b"", b"\n"]),
    block_bytes=st.integers(1, 600),
)
@settings(max_examples=25, deadline=None)
def test_hostile_files_end_in_a_user_error_or_the_right_arrays(
    tmp_path_factory, lines, newline, block_bytes
):
    tmp_path = tmp_path_factory.mktemp("hostile")
    text = b"\n".join(lines) + newline
    stored = text if text.endswith(b"\n") else text + b"\n"
    expected = first_bad_line(stored) if text else 1
    if expected is None and stored.count(b"\n") > 1:
        _, arrays = run_text(tmp_path, text, block_bytes=block_bytes)
        assert_same(arrays, reference(stored, split(stored.count(b"\n"), seed=5))[0])
        return
    # one good row is too few for a train row
    problem = "good rows, of which" if expected is None else rf"log\.txt, line {expected}: "
    with pytest.raises(UserError, match=problem):
        run_text(tmp_path, text, block_bytes=block_bytes)


# --- parts ---------------------------------------------------------------------------------------


@given(
    st.lists(
        st.lists(
            st.one_of(st.none(), st.integers(0, 40), st.integers(0, 2**32 - 1)),
            min_size=1, max_size=3000,
        ),
        min_size=1, max_size=4,
    )
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_dictionary_numbers_tokens_in_order_of_appearance(blocks):
    dictionary, known = criteo._Dictionary(), {}
    for block in blocks:
        tokens = np.array([t or 0 for t in block], np.uint32)
        present = np.array([t is not None for t in block])
        out = np.empty(len(block), np.int32)
        dictionary.encode(tokens, present, out)
        assert out.tolist() == [
            0 if t is None else known.setdefault(t, len(known) + 1) for t in block
        ]
    assert dictionary.tokens().tolist() == list(known)


def test_dictionary_grows_and_keeps_its_load_low():
    rng = np.random.default_rng(1)
    tokens = rng.permutation(200_000).astype(np.uint32) << np.uint32(12)  # 12 low bits all zero
    dictionary, out = criteo._Dictionary(), np.empty(1000, np.int32)
    for start in range(0, 200_000, 1000):
        dictionary.encode(tokens[start : start + 1000], np.ones(1000, bool), out)
        np.testing.assert_array_equal(out, np.arange(start + 1, start + 1001))
    assert dictionary.size / len(dictionary.slots) <= 0.6
    np.testing.assert_array_equal(dictionary.tokens(), tokens)


@pytest.mark.parametrize("shift", [0, 2**32])
def test_codes_go_by_descending_count_then_token(shift):
    """Counts of 2^32 and more take another path with the same order."""
    rng = np.random.default_rng(2)
    tokens = rng.permutation(2**32 - 1 - np.arange(500)).astype(np.uint32)
    counts = rng.integers(0, 5, 500) + shift
    expected = sorted(range(500), key=lambda i: (-counts[i], tokens[i]))
    assert criteo._by_count(tokens, counts).tolist() == expected


def test_scale_is_exact_where_the_division_is():
    values = np.array([[-3, 7, 0], [5, 7, 2**53], [1, 7, 2**52]])
    scaled = criteo.scale(values, values.min(axis=0), values.max(axis=0))
    assert scaled.dtype == np.float32
    assert scaled.tolist() == [[0, 0, 0], [1, 0, 1], [0.5, 0, 0.5]]
    outside = criteo.scale(np.array([[-10], [10]]), np.array([0]), np.array([5]))
    assert outside.tolist() == [[0], [1]]


def test_an_evaluated_part_without_both_labels_or_with_few_rows_is_refused(tmp_path):
    def check(labels):
        path = tmp_path / "log.txt"
        path.write_bytes(b"".join(b"%d" % y + b"\t" * 39 + b"\n" for y in labels))
        criteo.check_evaluated(
            criteo.preprocess(path, tmp_path / "out", seed=1, data="related", test_fraction=0.5)
        )

    check([0, 1] * 150)
    with pytest.raises(UserError, match=r"log\.txt: the evaluated part has 6 rows.* at least 100"):
        check([0, 1] * 6)
    with pytest.raises(UserError, match=r"has 150 rows, 0 of them with label 1; .*both labels"):
        check([0] * 300)
    with pytest.raises(UserError, match=r"has 150 rows, 150 of them with label 1"):
        check([1] * 300)


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (b"PK\x03\x04", "a ZIP archive"),
        (b"BZh9", "bzip2"),
        (b"PAR1", "Parquet"),
        (b"\xff\xfe0", "UTF-16"),
    ],
)
def test_other_formats_are_named(tmp_path, head, what):
    path = tmp_path / "log.txt"
    path.write_bytes(head + b"\0" * 600)
    with pytest.raises(UserError, match=rf"log\.txt: the file is .*{what}.*, expected a click log"):
        criteo.preprocess(path, tmp_path / "out", seed=1, data="related")
