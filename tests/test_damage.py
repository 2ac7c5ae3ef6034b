"""Files of a run that were cut off or changed are named, and what to do is said."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter import runtime
from leakmeter.damage import ADVICE, damage_of, first_damage


def write(folder, suffix):
    path = folder / f"file{suffix}"
    frame = pd.DataFrame({"a": np.arange(50), "b": ["x,y", "z\n"] * 25})
    if suffix == ".csv":
        frame.to_csv(path, index=False, lineterminator="\n")
    elif suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".npz":
        np.savez_compressed(path, a=np.arange(500), b=np.zeros(3))
    elif suffix == ".npy":
        np.save(path, np.arange(50))
    else:
        path.write_text(json.dumps({"a": list(range(50))}, indent=2) + "\n")
    return path


FORMS = [".csv", ".parquet", ".npz", ".npy", ".json"]


@pytest.mark.parametrize("suffix", FORMS)
def test_a_whole_file_has_no_damage(tmp_path, suffix):
    path = write(tmp_path, suffix)
    assert damage_of(path) is None
    assert damage_of(path, whole=False) is None


@pytest.mark.parametrize("suffix", FORMS)
@settings(deadline=None, max_examples=25)
@given(share=st.floats(0, 0.97))
def test_a_cut_file_is_seen(tmp_path_factory, suffix, share):
    path = write(tmp_path_factory.mktemp("cut"), suffix)
    content = path.read_bytes()
    cut = content[: int(share * len(content))]
    if suffix == ".csv" and cut.endswith(b"\n") and not cut.endswith(b"z\n"):
        cut = cut[:-1]  # a cut between two rows leaves a valid table
    path.write_bytes(cut)
    assert damage_of(path) is not None


@pytest.mark.parametrize("suffix", [".parquet", ".npz"])
def test_a_changed_byte_in_compressed_data_is_seen(tmp_path, suffix):
    path = write(tmp_path, suffix)
    content = bytearray(path.read_bytes())
    content[60:90] = bytes(30)
    path.write_bytes(bytes(content))
    assert damage_of(path)


def test_a_row_with_other_fields_is_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3\n4,5\n")
    assert damage_of(path) == "line 3 has 1 of 2 fields"
    path.write_text("a,b\n1,2\n3,4")
    assert damage_of(path) == damage_of(path, whole=False) == "the last line is not complete"


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A working folder with an empty ``results``."""
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    return Path("results")


def test_only_what_rules_made_is_told_to_be_deleted(made, tmp_path):
    """The user's own files must never be deleted on our advice, wherever they lie."""
    mine = tmp_path / "elsewhere/results/t.csv"
    mine.parent.mkdir(parents=True)
    for path in (mine, made / "t.csv"):
        path.write_text("a,b\n1")
    assert first_damage([mine, made / "absent.csv"]) is None
    text = first_damage([mine, made / "t.csv"])
    assert text.startswith("results/t.csv: cut off or damaged (")
    assert text.endswith(ADVICE)


def job(tmp_path, *inputs):
    return SimpleNamespace(
        log=[str(tmp_path / "rule.log")], params={}, rule="rule", input=list(inputs)
    )


@pytest.mark.parametrize("error", [ValueError("whatever"), runtime.UserError("a sentence")])
def test_a_script_ends_with_the_name_of_the_damaged_input(made, tmp_path, error):
    """Damage in the middle is found once a reader stumbled, whatever it raised."""
    path = made / "t.csv"
    path.write_text("a,b\n1\n2,3\n")
    with pytest.raises(SystemExit) as stop, runtime.script(job(tmp_path, path)):
        raise error
    assert stop.value.code == 1
    log = (tmp_path / "rule.log").read_text()
    assert f"{path}: cut off or damaged (line 2 has 1 of 2 fields); {ADVICE}" in log
    assert "Traceback" not in log


def test_a_script_does_not_start_on_a_cut_input(made, tmp_path):
    path = made / "t.parquet"
    pd.DataFrame({"a": [1]}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    # the check stands before the body, which never runs
    with pytest.raises(SystemExit):
        runtime.script(job(tmp_path, path)).__enter__()
    assert f"{path}: cut off or damaged" in (tmp_path / "rule.log").read_text()
