"""Files of the ten sets that hold what they should not: one error that names the file."""

import numpy as np
import pandas as pd
import pytest
from set_files import (
    CENSUS_ROW,
    VARIANTS,
    archive,
    bit_rows,
    idx,
    persons,
    source_of,
    transport,
    valid,
    zipped,
)

from leakmeter.membership.sets import MODULES, flower, meps, mnist, purchase, texas
from leakmeter.runtime import UserError

CHANGES = 40


def read(source):
    return MODULES[source.name].read(source)


def read_or_error(source):
    try:
        return read(source)
    except UserError as error:
        return error


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_the_undamaged_file_is_read(tmp_path, name, variant):
    assert len(read(valid(name, variant, tmp_path))) >= 2


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_changed_bytes_give_a_table_or_one_error(tmp_path, name, variant):
    """Bytes cut off, overwritten or put in anywhere: nothing but a checked table or a UserError."""
    source = valid(name, variant, tmp_path)
    rng = np.random.default_rng(5)
    module, refused = MODULES[name], 0
    for _ in range(CHANGES):
        path = source.files[rng.choice(list(source.files))]
        whole = path.read_bytes()
        at = int(rng.integers(len(whole)))
        kind = rng.integers(4)
        if kind == 0:
            changed = whole[:at]
        elif kind == 1:
            changed = whole[:at] + rng.bytes(4) + whole[at + 4 :]
        elif kind == 2:
            changed = whole[:at] + rng.choice([b",", b"x", b"\n", b"-9", b"\xff"]) + whole[at:]
        else:
            changed = rng.bytes(at)
        path.write_bytes(changed)
        table = read_or_error(source)
        if isinstance(table, UserError):
            refused += 1
            assert str(path) in str(table)
        else:
            assert np.isfinite(table.numeric).all()
            assert table.labels.min() >= 0
            assert table.labels.max() < module.SPEC.n_classes
        path.write_bytes(whole)
    assert refused > CHANGES // 4


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_empty_and_missing_files(tmp_path, name, variant):
    source = valid(name, variant, tmp_path)
    path = next(iter(source.files.values()))
    path.write_bytes(b"")
    with pytest.raises(UserError) as caught:
        read(source)
    assert str(path) in str(caught.value)
    path.unlink()
    with pytest.raises(UserError, match="no such file") as caught:
        read(source)
    assert str(path) in str(caught.value)


# --- cells of tables ----------------------------------------------------------------------------

CELLS = [
    ("credit", "csv", "class", [0.5, None, 2, "x", -1]),
    ("credit", "csv", "SEX", [1.5, None, "x"]),
    ("credit", "csv", "LIMIT_BAL", [None, "x", "inf"]),
    ("meps", "meps2006", "EXP", [None, "x"]),
    ("meps", "meps2006", "AGE", [None, "x", "inf"]),
    ("meps", "meps2008", "visits.hosp", [None, 0.5, 3, "x"]),
    ("meps", "meps2008", "race", [None, 2.5, "x"]),
    ("meps", "meps2008", "bmi", [None, "x"]),
]


@pytest.mark.parametrize(
    ("name", "variant", "column", "value"),
    [(name, variant, column, value) for name, variant, column, bad in CELLS for value in bad],
)
def test_a_bad_cell_is_named(tmp_path, name, variant, column, value):
    source = valid(name, variant, tmp_path)
    frame = pd.read_csv(source.files["table"]).astype(object)
    frame.loc[1, column] = value
    frame.to_csv(source.files["table"], index=False)
    where = rf"{source.files['table']}: record 1, (column {column}|label) is "
    with pytest.raises(UserError, match=where):
        read(source)


@pytest.mark.parametrize(("name", "variant"), [v for v in VARIANTS if v[1] in ("csv", "meps2008")])
def test_a_column_that_is_not_there(tmp_path, name, variant):
    source = valid(name, variant, tmp_path)
    frame = pd.read_csv(source.files["table"])
    for column in set(frame) - {"ID"}:
        frame.drop(columns=column).to_csv(source.files["table"], index=False)
        with pytest.raises(UserError, match=f"expected .*{column}"):
            read(source)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("39,", "?,", r"record 1, column age is '\?'"),
        ("39,", ",", "record 1, column age is ''"),
        (" 40,", " inf,", "record 1, column hours_per_week is"),
        ("<=50K", "<=60K", "record 1 has the income '<=60K'"),
        (", Japan", "", "record 1 has the income ''"),
        (", Japan", ", Japan, x", "saw 16"),
    ],
)
def test_census_lines(tmp_path, old, new, message):
    source = valid("census", "uci", tmp_path)
    good = CENSUS_ROW.format("White", "Male", "<=50K")
    source.files["test"].write_text(good + good.replace(old, new))
    with pytest.raises(UserError, match=f"^{source.files['test']}: .*{message}"):
        read(source)
    source.files["test"].write_text(good.replace("\n", ", x\n"))
    with pytest.raises(UserError, match="test: 16 columns; expected 15"):
        read(source)


# --- arrays and images --------------------------------------------------------------------------


def features(value=0.0):
    return np.full((3, 600), value)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (features(np.nan), [0, 1, 2], "record 0, feature 0 is nan; expected a whole number"),
        (features(0.7), [0, 1, 2], "feature 0 is 0.7"),
        (features(256), [0, 1, 2], "feature 0 is 256;"),
        (features(-255), [0, 1, 2], "feature 0 is -255;"),
        (features().astype(str), [0, 1, 2], "feature of type <U32"),
        (features()[:, :599], [0, 1, 2], "599 features; expected 600"),
        (features()[0], [0, 1, 2], r"shape \(600,\); expected 3 rows"),
        (features(), [0, 1], r"shape \(3, 600\); expected 2 rows"),
        (features(), [3.7, 1, 2], "record 0, label is 3.7"),
        (features(), [0, np.nan, 2], "record 1, label is nan"),
        (features(), [0, 100, 2], "record 1, label is 100"),
        (features(), ["a", "b", "c"], "label of type <U1"),
        (features(), [[5], [6], [7]], r"\(3, 1\); expected \(n,\) or \(n, 100\) one-hot"),
        (features(), np.zeros((3, 100)), "record 0 has 0 labels; expected one"),
        (features(), np.full((3, 100), np.nan), "record 0, one-hot label 0 is nan"),
        (features(), np.eye(3, 100) * 0.5, "one-hot label 0 is 0.5"),
    ],
)
def test_repacked_arrays(tmp_path, x, y, message):
    path = tmp_path / "a.npz"
    np.savez(path, features=x, labels=y)
    with pytest.raises(UserError, match=f"^{path}: .*{message}"):
        purchase.read(source_of("purchase", "npz", arrays=path))


@pytest.mark.parametrize("shape", [(2, 20, 20), (2, 14, 56), (3, 28, 28), (0, 28, 28)])
def test_images_of_another_shape_or_number(tmp_path, shape):
    source = valid("mnist", "idx", tmp_path)
    source.files["test_images"].write_bytes(idx(np.zeros(shape)))
    source.files["test_labels"].write_bytes(idx(np.array([1, 2])))
    with pytest.raises(UserError, match=r"test_images: images of shape .*; expected \(2, 28, 28\)"):
        mnist.read(source)


def test_a_label_of_an_image_names_its_own_file(tmp_path):
    source = valid("mnist", "idx", tmp_path)
    source.files["test_labels"].write_bytes(idx(np.array([1, 2, 11])))
    with pytest.raises(UserError, match=r"test_labels: record 2, label is 11"):
        mnist.read(source)


def test_no_images(tmp_path):
    source = valid("mnist", "idx", tmp_path)
    source.files["train_images"].write_bytes(idx(np.zeros((0, 28, 28))))
    source.files["train_labels"].write_bytes(idx(np.zeros(0)))
    with pytest.raises(UserError, match=r"no records; expected at least one"):
        mnist.read(source)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": np.full((2, 64, 64, 3), np.nan)}, "feature 0 is nan"),
        ({"images": np.zeros((2, 32, 32, 3))}, r"images \(2, 32, 32, 3\)"),
        ({"images": np.uint8(0)}, r"images \(\)"),
        ({"labels": [0.5, 1]}, "record 0, label is 0.5"),
        ({"classes": np.array("daisy")}, "of \\('daisy',\\)"),
    ],
)
def test_flower_pixels(tmp_path, change, message):
    source = valid("flower", "pixels", tmp_path)
    with np.load(source.files["pixels"]) as content:
        arrays = dict(content)
    np.savez(source.files["pixels"], **(arrays | change))
    with pytest.raises(UserError, match=f"^{source.files['pixels']}: .*{message}"):
        flower.read(source)


def test_a_photo_that_is_none_is_named(tmp_path):
    path = archive(tmp_path / "f.tgz", flower_photos__daisy__a__b="x", p__daisy__bad=b"hello")
    path = archive(tmp_path / "f.tgz", **{"p__daisy__bad.jpg": b"hello"})
    with pytest.raises(UserError, match=r"f\.tgz#p/daisy/bad\.jpg: cannot be read .*a JPEG photo"):
        flower.read(source_of("flower", "photos", photos=path))


def test_texas_blames_the_member_that_is_bad(tmp_path):
    path = archive(tmp_path / "t.tgz", feats=bit_rows(2, 6169), labels="1\n101\n")
    with pytest.raises(UserError, match=r"t\.tgz#labels: record 1, label is 101; .* 1 to 100"):
        texas.read(source_of("texas", "archive", archive=path))
    path = archive(tmp_path / "t.tgz", other="x")
    with pytest.raises(UserError, match=r"has no member 'texas/100/feats'"):
        texas.read(source_of("texas", "archive", archive=path))


def test_transport_files_that_are_cut_or_not_alone(tmp_path):
    def source():
        return source_of("meps", "hc181", table=tmp_path / "h.zip")

    content = transport(persons({}, {}))
    zipped(tmp_path / "h.zip", content[:-40])
    with pytest.raises(UserError, match=r"h\.zip: cannot be read \(xport file may be corrupted"):
        meps.read(source())
    zipped(tmp_path / "h.zip", content, "h181.txt")
    with pytest.raises(UserError, match=r"members \['h181\.txt'\]; expected one \.ssp file"):
        meps.read(source())
