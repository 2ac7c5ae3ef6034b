"""The crate of a run: a graph whose parts exist, with checksums that hold."""

import hashlib
import json

import pytest

from leakmeter.reporting.crate import write_crate
from leakmeter.runtime import UserError


@pytest.fixture
def crate(small_run):
    out = small_run.folder / "ro-crate-metadata.json"
    files = [small_run.claims, *small_run.figures, *small_run.tables]
    write_crate(out, files=files, provenance=small_run.provenance)
    content = json.loads(out.read_text())
    assert content["@context"] == "https://w3id.org/ro/crate/1.1/context"
    return small_run.folder, {entity["@id"]: entity for entity in content["@graph"]}, content


def test_the_root_is_described_as_the_specification_asks(crate):
    _, graph, _ = crate
    assert graph["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    root = graph["./"]
    assert root["@type"] == "Dataset"
    assert {"name", "description", "datePublished", "license"} <= set(root)


def test_every_file_is_there_with_its_checksum(crate):
    folder, graph, _ = crate
    parts = [part["@id"] for part in graph["./"]["hasPart"]]
    assert "claims.csv" in parts
    assert "provenance/provenance.json" in parts
    for name in parts:
        content = (folder / name).read_bytes()
        assert graph[name]["sha256"] == hashlib.sha256(content).hexdigest()
        assert graph[name]["contentSize"] == str(len(content))


def references(value):
    if isinstance(value, dict):
        if set(value) == {"@id"}:
            yield value["@id"]
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def test_every_reference_leads_somewhere(crate):
    _, graph, content = crate
    assert len(graph) == len(content["@graph"])
    outside = {name for name in references(content["@graph"]) if name not in graph}
    assert outside == {"https://w3id.org/ro/crate/1.1"}


def test_the_run_says_what_made_it_from_what(crate):
    _, graph, _ = crate
    run = graph["#run"]
    assert run["instrument"] == {"@id": "#leakmeter"}
    assert "(code 0123456789abcdef)" in graph["#leakmeter"]["softwareVersion"]
    assert run["object"] == [{"@id": "#data-criteo_kaggle-standin"}]
    assert graph["#data-criteo_kaggle-standin"]["license"] == "none needed (generated)"


def test_a_file_outside_the_crate_is_refused(small_run, tmp_path):
    stray = tmp_path / "stray.csv"
    stray.write_text("a\n")
    with pytest.raises(UserError, match=r"stray\.csv: expected a result below"):
        write_crate(small_run.folder / "x.json", files=[stray], provenance=small_run.provenance)
