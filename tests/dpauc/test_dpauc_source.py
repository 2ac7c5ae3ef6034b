"""The raw log: a link to what is there, or a generated stand-in, and a record of which."""

import os

import pytest

from leakmeter.dpauc.source import provide
from leakmeter.runtime import UserError, read_json


@pytest.fixture
def call(tmp_path):
    def run(dataset="criteo_file", file=None, mode="standin", data_dirs=(), rows=200):
        raw, resolution = tmp_path / "out/raw", tmp_path / "out/source.json"
        provide(
            dataset,
            raw=raw,
            resolution=resolution,
            file=file,
            mode=mode,
            data_dirs=list(data_dirs),
            cache_dir=str(tmp_path / "cache"),
            timeout=5,
            rows=rows,
            seed=1,
            threads=1,
        )
        return raw, read_json(resolution)

    return run


def test_a_stand_in_is_generated_and_labelled(call):
    raw, record = call("criteo_kaggle")
    lines = raw.read_text().splitlines()
    assert len(lines) == 200
    assert {line.count("\t") for line in lines} == {39}
    assert (record["label"], record["how"]) == ("standin", "standin")
    assert record["standin"]["rows"] == 200


def test_a_file_of_ones_own_is_linked_and_labelled_related(call, tmp_path):
    own = tmp_path / "mine.tsv"
    own.write_text("\t".join(["1", *["3"] * 13, *["0a0b0c0d"] * 26]) + "\n")
    raw, record = call(file=str(own), mode="auto")
    assert os.path.realpath(raw) == str(own)
    assert record["label"] == "related"


def test_an_old_result_is_replaced_by_the_other_kind(call, tmp_path):
    raw, _ = call("criteo_kaggle")
    own = tmp_path / "mine.tsv"
    own.write_text("x\n")
    raw, _ = call(file=str(own), mode="auto")
    assert raw.is_symlink()
    raw, record = call("criteo_kaggle")
    assert not raw.is_symlink()
    assert own.read_text() == "x\n"  # the stand-in replaced the link, not what it pointed to
    assert record["label"] == "standin"


@pytest.mark.parametrize(("dataset", "file"), [("criteo_file", None), ("criteo_kaggle", "x.tsv")])
def test_file_and_dataset_must_agree(call, dataset, file):
    with pytest.raises(UserError, match=r"dpauc\.criteo\.file"):
        call(dataset, file=file)


def test_a_missing_file_is_named(call, tmp_path):
    with pytest.raises(UserError, match=r"nowhere\.tsv"):
        call(file=str(tmp_path / "nowhere.tsv"), mode="auto")
