"""Conformance: every one of the ten sets keeps the same contract, on stand-ins and genuine files."""

import io
import os
import tarfile

import numpy as np
import pytest
from set_files import archive, bit_rows, source_of, spec

from leakmeter.datasets.registry import get
from leakmeter.datasets.resolve import resolve
from leakmeter.membership.pools import check_split, draw_pool, member_splits
from leakmeter.membership.sets import (
    MODULES,
    NAMES,
    census,
    credit,
    flower,
    location,
    meps,
    module_of,
    purchase,
    texas,
    usps,
)
from leakmeter.membership.sets.table import encode, make_table
from leakmeter.runtime import UserError

GENUINE = {
    "location": ("real", "location/dataset_location.tgz"),
    "mnist": ("real", "mnist/train-images-idx3-ubyte.gz"),
    "fashion_mnist": ("real", "fashion_mnist/train-images-idx3-ubyte.gz"),
    "usps": ("real", "usps/zip.train.gz"),
    "flower": ("real", "flower/tf_flowers_64px.npz"),
    "meps": ("related", "meps/MEPS2006_assessor.csv.gz"),
    "credit": ("real", "credit/UCI_Credit_Card.csv"),
    "census": ("real", "adult/adult.data"),
}
STANDIN_ROWS = 2400


@pytest.fixture(scope="module")
def standins():
    return {name: module.standin(STANDIN_ROWS, 7) for name, module in MODULES.items()}


def check_table(name, table, rows):
    spec = MODULES[name].SPEC
    assert len(table) == rows
    assert table.labels.dtype.kind == "i"
    assert set(np.unique(table.labels)) <= set(range(spec.n_classes))
    assert table.codes.shape == (rows, len(table.levels))
    if spec.features is not None:
        assert table.n_features == spec.features
    train = np.arange(rows) < rows // 2
    x = encode(table.take(np.arange(rows)), train)
    assert x.shape == (rows, table.n_features)
    assert x.dtype == np.float32
    assert np.isfinite(x).all()
    assert x[train].min() >= 0
    assert x[train].max() <= 1
    for values in table.groups.values():
        assert values.shape == (rows,)
        assert len(np.unique(values)) >= 2


def test_all_ten_are_there():
    assert len(NAMES) == 10
    assert all(get(name).standin == name for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_standin_has_the_stated_shape(standins, name):
    check_table(name, standins[name], STANDIN_ROWS)


@pytest.mark.parametrize("name", NAMES)
def test_standin_repeats_and_depends_on_the_seed(standins, name):
    again, other = MODULES[name].standin(STANDIN_ROWS, 7), MODULES[name].standin(STANDIN_ROWS, 8)
    assert np.array_equal(again.numeric, standins[name].numeric)
    assert np.array_equal(again.labels, standins[name].labels)
    assert not np.array_equal(other.numeric, standins[name].numeric)


@pytest.mark.parametrize("name", NAMES)
def test_pool_and_splits_have_no_leak(standins, name):
    n_classes = MODULES[name].SPEC.n_classes
    pool = draw_pool(standins[name], 300, n_classes, seed=1, where=name)
    assert len(pool.table) == 600
    splits = member_splits(pool.table.labels, 4, seed=1, where=name)
    assert (splits.sum(axis=0) == 2).all()
    for members in splits:
        check_split(pool.table, members, n_classes, name)


@pytest.mark.parametrize("name", list(GENUINE))
def test_genuine_file(name, require_data, tmp_path):
    label, needed = GENUINE[name]
    require_data(needed)
    source = resolve(name, data_dirs=[os.environ["LEAKMETER_DATA"]], cache_dir=tmp_path)
    assert source.label == label
    table = MODULES[name].read(source)
    rows = {"meps": 29_784}.get(name, MODULES[name].SPEC.rows)
    assert len(table) == rows
    check_table(name, table.take(np.arange(0, rows, max(1, rows // 1000))[:1000]), 1000)


def test_unknown_set():
    with pytest.raises(UserError, match=r"no SHAPr data set is called 'adult'.*census"):
        module_of("adult")


# --- published counts ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "rows"), [("texas", 67_330), ("location", 5_010), ("flower", 3_670), ("usps", 9_298)]
)
def test_class_counts_of_standins_are_those_of_the_set(name, rows):
    from leakmeter.datasets.standins.mixtures import proportional_labels

    module = __import__(f"leakmeter.datasets.standins.{name}", fromlist=["COUNTS"])
    labels = proportional_labels(rows, module.COUNTS, np.random.default_rng(0))
    assert np.bincount(labels).tolist() == list(module.COUNTS)


# --- formats that are not at hand, written here -------------------------------------------------


@pytest.mark.parametrize("quote", ["", '"'])
def test_location_labels_may_be_quoted(tmp_path, quote):
    path = tmp_path / "bangkok"
    path.write_text(bit_rows(3, 446, [1, 30, 7], quote))
    table = location.read(source_of("location", "bangkok", table=path))
    assert table.labels.tolist() == [0, 29, 6]


def test_purchase_archive_and_arrays(tmp_path):
    path = archive(tmp_path / "p.tgz", other="x", dataset_purchase=bit_rows(2, 600, [100, 1]))
    table = purchase.read(source_of("purchase", "archive", archive=path))
    assert table.labels.tolist() == [99, 0]
    arrays = tmp_path / "p.npz"
    np.savez(arrays, features=table.numeric, labels=np.eye(100)[table.labels])
    repacked = purchase.read(source_of("purchase", "npz", arrays=arrays))
    assert repacked.labels.tolist() == [99, 0]
    assert np.array_equal(repacked.numeric, table.numeric)


@pytest.mark.parametrize("prefix", ["texas__100__", ""])
def test_texas_with_and_without_folders(tmp_path, prefix):
    members = {f"{prefix}feats": bit_rows(2, 6169), f"{prefix}labels": "1\n100\n"}
    path = archive(tmp_path / "t.tgz", **members)
    table = texas.read(source_of("texas", "archive", archive=path))
    assert table.labels.tolist() == [0, 99]
    assert table.n_features == 6169


def test_usps_libsvm_is_the_same_digits(tmp_path):
    import bz2

    lines = b"10 1:-1 256:0.5\n1 2:1\n"
    for part in ("train", "test"):
        (tmp_path / part).write_bytes(bz2.compress(lines))
    table = usps.read(source_of("usps", "libsvm", train=tmp_path / "train", test=tmp_path / "test"))
    assert table.labels.tolist() == [9, 0, 9, 0]
    assert table.numeric[0, 255] == np.float32(0.5)


def test_census_header_line_and_full_stops(tmp_path):
    row = "39, ?, 77516, Bachelors, 13, Divorced, Sales, Wife, {}, {}, 0, 0, 40, Japan, {}\n"
    (tmp_path / "d").write_text(
        row.format("White", "Male", "<=50K") + row.format("Black", "Female", ">50K") + "\n"
    )
    (tmp_path / "t").write_text("|1x3 Cross validator\n" + row.format("White", "Male", ">50K."))
    table = census.read(source_of("census", "uci", train=tmp_path / "d", test=tmp_path / "t"))
    assert table.labels.tolist() == [0, 1, 1]
    assert table.groups["race"].tolist() == ["White", "other", "White"]


@pytest.mark.parametrize("target", credit.TARGETS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_credit_spellings(tmp_path, target, end):
    from leakmeter.datasets.standins.credit import generate

    frame = generate(20, seed=1).rename(columns={"class": target})
    path = tmp_path / "c.csv"
    path.write_bytes(frame.to_csv(index=False, lineterminator=end).encode())
    table = credit.read(source_of("credit", "csv", table=path))
    assert len(table) == 20
    assert "ID" not in credit.NUMERIC


def test_credit_without_its_target(tmp_path):
    from leakmeter.datasets.standins.credit import generate

    path = tmp_path / "c.csv"
    generate(5, seed=1).drop(columns="class").to_csv(path, index=False)
    with pytest.raises(UserError, match=r"c\.csv: columns .*expected the target as one of class"):
        credit.read(source_of("credit", "csv", table=path))


def test_meps_2008(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text(
        "bmi,age,gender,race,education,health,limitation,region,private,visits.hosp,diabetes,"
        "hypertension,hyperlipidemia,income\n22,47,1,2,16,5,6,2,1,0,0,0,1,9\n30,50,0,3,12,5,6,2,1,1,0,0,1,8\n"
    )
    table = meps.read(source_of("meps", "meps2008", table=path))
    assert table.labels.tolist() == [0, 1]


def test_flower_photos_are_cropped_and_in_the_order_of_their_names(tmp_path):
    from PIL import Image

    path = tmp_path / "f.tgz"
    with tarfile.open(path, "w:gz") as tar:
        for name, colour in (("tulips/b.jpg", 200), ("daisy/a.jpg", 50), ("LICENSE.txt", None)):
            buffer = io.BytesIO()
            if colour is not None:
                Image.new("RGB", (120, 80), (colour,) * 3).save(buffer, "JPEG")
            info = tarfile.TarInfo(f"flower_photos/{name}")
            info.size = buffer.tell()
            buffer.seek(0)
            tar.addfile(info, buffer)
    table = flower.read(source_of("flower", "photos", photos=path))
    assert table.labels.tolist() == [0, 4]
    assert table.numeric.mean(axis=1).round().tolist() == [50, 200]
    small = flower.shrink(table, 16)
    assert small.n_features == 768
    with pytest.raises(UserError, match="flower_side is 17; expected a divisor of 64"):
        flower.shrink(table, 17)


def test_shrinking_averages_blocks():
    images = np.zeros((1, 64, 64, 3))
    images[0, :4, :4, 1] = 16.0
    table = make_table(
        images.reshape(1, -1), np.array([0]), spec=spec(5), where="x", bounds=(0, 255)
    )
    small = flower.shrink(table, 16).numeric.reshape(16, 16, 3)
    assert small[0, 0].tolist() == [0, 16, 0]
    assert small.sum() == 16


# --- errors -------------------------------------------------------------------------------------


def good():
    return {"numeric": np.ones((4, 2)), "labels": np.array([0, 1, 0, 1])}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"numeric": np.array([[1, np.nan]] * 4)}, "record 0, feature 1 is nan"),
        ({"numeric": np.array([[1, np.inf]] * 4)}, "is inf; expected a finite"),
        ({"numeric": np.ones((3, 2))}, r"\(3, 2\); expected 4 rows"),
        (
            {"labels": np.array([0, 1, 2, 1])},
            "record 2, label is 2; expected a whole number from 0 to 1",
        ),
        ({"labels": np.array([0, 1, -1, 1])}, "record 2, label is -1"),
        ({"labels": np.array([0.5, 1, 0, 1])}, "record 0, label is 0.5; expected a whole number"),
        ({"bounds": (2, 3)}, "record 0, feature 0 is 1.0; expected a number from 2 to 3"),
        ({"spec": spec(2, 3)}, "2 features; expected 3"),
        ({"spec": spec(2, 2), "categories": {"sex": list("mfmf")}}, "4 features; expected 2"),
        ({"groups": {"race": ["a"] * 3}}, r"x, race: values of shape \(3,\); expected 4"),
        ({"categories": {"sex": ["m", None, "f", "f"]}}, "x, sex: record 1 is missing"),
        ({"categories": {"sex": ["m"]}}, r"x, sex: values of shape \(1,\); expected 4"),
        ({"numeric": np.ones((0, 2)), "labels": np.zeros(0, int)}, "no records"),
    ],
)
def test_bad_records_are_one_clear_error(change, message):
    with pytest.raises(UserError, match=message):
        make_table(**({"spec": spec(2), "where": "x"} | good() | change))


@pytest.mark.parametrize("text", ["1,0,x\n", "1,0\n", "1,0,1,1\n", "1,0,\n", "1,0,300\n"])
def test_damaged_bit_rows(tmp_path, text):
    path = tmp_path / "bangkok"
    path.write_text(text)
    with pytest.raises(UserError, match="bangkok"):
        location.read(source_of("location", "bangkok", table=path))


def test_encoding_is_fitted_on_the_training_records_alone():
    table = make_table(
        np.array([[0.0, 5.0], [10.0, 5.0], [30.0, 6.0]]),
        np.array([0, 1, 1]),
        spec=spec(2),
        where="x",
        categories={"c": ["a", "b", "c"]},
    )
    x = encode(table, np.array([True, True, False]))
    assert x[:, 0].tolist() == [0.0, 1.0, 3.0]
    assert x[:, 1].tolist() == [0.0, 0.0, 0.0]  # constant in training
    assert x[:, 2:].tolist() == np.eye(3).tolist()
