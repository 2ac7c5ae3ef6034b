"""Rows for the table of data and licences, and instructions for a person."""

import pytest
from loopback import entry, sha256

from leakmeter.datasets.registry import get, load_registry
from leakmeter.datasets.resolve import resolve
from leakmeter.datasets.summary import describe, how_to_get
from leakmeter.runtime import UserError

COLUMNS = {
    "name", "title", "variant", "label", "how", "rows", "bytes", "licence", "redistribution",
    "source", "checksums", "note", "replace",
}  # fmt: skip


@pytest.mark.parametrize("name", load_registry())
def test_every_variant_has_a_row_of_text(name):
    rows = describe(name)
    assert [row["variant"] for row in rows] == [v.name for v in load_registry()[name].variants]
    for row in rows:
        assert set(row) == COLUMNS
        assert all(isinstance(value, str) for value in row.values())
        assert row["title"]
        assert row["licence"]


def test_known_row():
    row = describe("usps")[0]
    assert row["rows"] == "7,291 train, 2,007 test"
    assert row["bytes"] == f"{14512253 + 2029542:,}"
    assert row["redistribution"] == "yes"
    assert row["replace"] == ""


def test_related_row_says_how_to_get_the_set_itself():
    rows = {row["variant"]: row for row in describe("meps")}
    assert rows["hc181"]["replace"] == ""
    assert "h181ssp.zip" in rows["meps2006"]["replace"]
    assert rows["meps2006"]["source"] == "your folder only"


def test_standin_row_says_how_to_replace_it(tmp_path):
    result = resolve("purchase", mode="standin", cache_dir=tmp_path)
    (row,) = describe("purchase", result)
    assert set(row) == COLUMNS
    assert (row["label"], row["how"], row["rows"]) == ("standin", "standin", "")
    assert row["licence"] == "none needed (generated)"
    assert "dataset_purchase.tgz" in row["replace"]
    assert "3efa7476ad5ed7ac3e558d28585a186b38fc5f19" in row["replace"]


def test_row_of_what_was_used(toy):
    toy.define({"table": entry(b"x")}).put("toy/table.txt", b"x")
    result = toy.resolve()
    (row,) = describe("toy", result, registry=toy.registry)
    assert (row["label"], row["how"], row["source"]) == ("real", "user", str(toy.user))
    assert row["checksums"] == f"table {sha256(b'x')}"
    assert row["replace"] == ""


def test_instructions_name_the_folder_the_files_and_the_checksums():
    text = how_to_get(get("mnist"), ["/data"])
    assert "Put into /data:" in text
    for file in get("mnist").variants[0].files.values():
        assert f"{file.names[0]} (or .gz): {file.checksums[0]}" in text
    assert "LEAKMETER_DATA" in how_to_get(get("mnist"))
    assert "adult.names" not in how_to_get(get("census"))  # optional
    assert "exactly 13303652 bytes" in how_to_get(get("meps"))
    assert "or criteo/dac.tar.gz" in how_to_get(get("criteo_kaggle"))


def test_unknown_name():
    with pytest.raises(UserError, match="no data set is called"):
        describe("nothing")
