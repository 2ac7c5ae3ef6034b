"""The registry: complete, consistent, and refused when it is not."""

import copy
import re
from pathlib import PurePosixPath

import pytest
import yaml
from loopback import entry, write_registry

from leakmeter.datasets import registry as module
from leakmeter.datasets.convert import CONVERTERS
from leakmeter.datasets.registry import File, Source, find_file, find_variant, get, load_registry
from leakmeter.runtime import UserError

SETS = load_registry()
FILES = [
    pytest.param(file, id=f"{dataset.name}-{variant.name}-{key}")
    for dataset in SETS.values()
    for variant in dataset.variants
    for key, file in variant.files.items()
]


def test_packaged_registry_satisfies_its_schema():
    assert load_registry(module.REGISTRY_FILE) == SETS


def test_holds_every_data_set_of_the_four_papers():
    assert set(SETS) == {
        "criteo_kaggle", "criteo_terabyte_sample", "criteo_file", "mnist", "fashion_mnist",
        "cifar10", "usps", "flower", "census", "credit", "meps", "location", "purchase", "texas",
        "sst2",
    }  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_entry_is_complete(name):
    dataset = SETS[name]
    for field in ("title", "licence", "reader", "standin", "split", "instructions"):
        assert getattr(dataset, field).strip(), field
    assert isinstance(dataset.redistribution, bool)
    names = [variant.name for variant in dataset.variants]
    assert len(set(names)) == len(names)


def test_labels():
    related = {name for name, dataset in SETS.items() if dataset.label == "related"}
    assert related == {"criteo_terabyte_sample", "criteo_file"}
    assert [v.label for v in SETS["meps"].variants] == ["real", "related", "related", "related"]


@pytest.mark.parametrize("file", FILES)
def test_checksums_have_the_right_length(file):
    lengths = {"sha256": 64, "md5": 32, "git-sha1": 40}
    for checksum in file.checksums:
        algorithm, _, value = checksum.partition(":")
        assert re.fullmatch(rf"[0-9a-f]{{{lengths[algorithm]}}}", value)
        assert algorithm != "git-sha1" or file.opaque  # its length must be known beforehand
    assert file.checksums or file.any_file or file.bytes


@pytest.mark.parametrize("file", FILES)
def test_sources_are_of_known_kinds(file):
    for source in file.sources:
        assert source.kind in ("url", "pypi", "npm", "debian", "convert")
        if source.kind == "convert":
            assert source.locator in CONVERTERS
            assert {part.kind for part in source.inputs.values()} <= {"pypi", "npm", "debian"}


def test_no_two_sets_accept_the_same_place():
    places = {}
    for dataset in SETS.values():
        for variant in dataset.variants:
            for file in variant.files.values():
                for place in file.places():
                    assert places.setdefault(place, dataset.name) == dataset.name


def test_base_names_are_unique_within_a_set():
    # the cache is flat: two different files of a set must not share a name there
    for dataset in SETS.values():
        owners = {}
        for variant in dataset.variants:
            for file in variant.files.values():
                for name, member in file.places():
                    key = (PurePosixPath(name).name, member)
                    assert owners.setdefault(key, file.checksums) == file.checksums, key


def test_no_package_index_is_named():
    # they are reached through their own clients only
    hosts = r"python[h]osted|pypi[.]org|npm[j]s|debian[.]org"
    for path in module.REGISTRY_FILE.parent.glob("*.*"):
        assert not re.search(hosts, path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda d: d["toy"].pop("licence"), "licence"),
        (lambda d: d["toy"].update(colour="red"), "colour"),
        (lambda d: _file(d).update(checksums=["sha256:12"]), "checksums"),
        (lambda d: _file(d).update(checksums=[], bytes=None), r"files\.table"),
        (lambda d: _file(d).update(names=["/etc/passwd"]), "passwd"),
        (lambda d: _file(d).update(names=["toy/../../x"]), r"toy/\.\./"),
        (lambda d: _file(d).update(sources=["ftp://host/x"]), "ftp"),
        (lambda d: _file(d).update(sources=["npm:thing@1.0"]), "npm"),
        (lambda d: _file(d).update(bytes="3"), "bytes"),
        (lambda d: d["toy"]["variants"][0].update(label="standin"), "label"),
        (lambda d: d.clear(), "top level"),
    ],
)
def test_a_broken_registry_is_one_error_with_its_place(tmp_path, change, place):
    path = write_registry(tmp_path / "r.yaml", {"table": entry(b"x")})
    value = yaml.safe_load(path.read_text())
    assert load_registry(path)["toy"].title == "Toy table"
    change(value)
    path.write_text(yaml.safe_dump(value))
    with pytest.raises(UserError, match=place) as caught:
        load_registry(path)
    assert str(path) in str(caught.value)


def _file(value):
    return value["toy"]["variants"][0]["files"]["table"]


def test_missing_or_unreadable_registry(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        load_registry(tmp_path / "absent.yaml")
    (tmp_path / "bad.yaml").write_text("a: [1,\n")
    with pytest.raises(UserError, match="not valid YAML"):
        load_registry(tmp_path / "bad.yaml")


def test_archive_member_of_a_url_needs_a_name_in_the_cache():
    value = entry(b"x", "http://127.0.0.1/a.zip#x")
    with pytest.raises(UserError, match="no entry of archives"):
        File.parse(value)
    assert File.parse({**value, "archives": ["toy/a.zip#x"]}).sources[0].member == "x"


def test_unknown_name_suggests_a_known_one():
    with pytest.raises(UserError, match="did you mean 'mnist'"):
        get("mnits")


def test_source_forms():
    url = Source.parse("https://host/a/b.zip#folder/x y.txt")
    assert (url.kind, url.locator, url.member) == ("url", "https://host/a/b.zip", "folder/x y.txt")
    npm = Source.parse("npm:@scope/name@1.2.3#package/x")
    assert (npm.kind, npm.locator, npm.member) == ("npm", "@scope/name@1.2.3", "package/x")
    assert npm.place == "npm:@scope/name@1.2.3"
    built = Source.parse({"convert": "c", "inputs": {"a": "npm:n@1.0#x", "b": "npm:n@1.0#y"}})
    assert built.kind == "convert"
    assert built.place == "npm:n@1.0 (c)"


def test_find_file_prefers_earlier_roots_then_earlier_names(tmp_path):
    file = File.parse(entry(b"", names=["toy/a.txt", "b.txt"], archives=["toy/a.zip#a.txt"]))
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        (folder / "toy").mkdir(parents=True)
    assert find_file(file, [one, two]) is None
    (two / "toy/a.zip").touch()
    assert find_file(file, [one, two]).member == "a.txt"
    (two / "toy/a.txt.gz").touch()
    assert find_file(file, [one, two]).path == two / "toy/a.txt.gz"
    (two / "toy/a.txt").touch()
    assert find_file(file, [one, two]).path == two / "toy/a.txt"
    (one / "b.txt").touch()
    assert find_file(file, [one, two]).path == one / "b.txt"


def test_find_file_takes_no_folder_for_a_file(tmp_path):
    (tmp_path / "toy/a.txt").mkdir(parents=True)
    assert find_file(File.parse(entry(b"", names=["toy/a.txt"])), [tmp_path]) is None


def test_find_variant_does_not_miss_optional_files(tmp_path):
    files = {"a": entry(b"1", names=["a"]), "b": entry(b"2", names=["b"], optional=True)}
    path = write_registry(tmp_path / "r.yaml", files)
    variant = load_registry(path)["toy"].variants[0]
    assert find_variant(variant, [tmp_path]) == ({}, ["a"])
    (tmp_path / "a").touch()
    found, missing = find_variant(variant, [tmp_path])
    assert list(found) == ["a"]
    assert missing == []


def test_size_of_a_variant_counts_required_files():
    files = {"a": entry(b"123"), "b": entry(b"12345", optional=True)}
    variant = module.Variant.parse({"name": "v", "label": "real", "rows": {}, "files": files})
    assert variant.bytes == 3
    unknown = copy.deepcopy(files)
    unknown["a"]["bytes"] = None
    variant = module.Variant.parse({"name": "v", "label": "real", "rows": {}, "files": unknown})
    assert variant.bytes is None
