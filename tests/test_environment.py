"""pyproject.toml, the locks and environment.yml say the same."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

#: conda name -> PyPI name, where they differ
CONDA_NAMES = {
    "lazy_loader": "lazy-loader",
    "matplotlib-base": "matplotlib",
    "snakemake-minimal": "snakemake",
}


@pytest.fixture
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text())["project"]


def locked(root, name):
    """``{package: [versions]}`` of a lock; a package may have one version per Python."""
    versions = {}
    for line in (root / "requirements" / name).read_text().splitlines():
        if match := re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==(\S+)", line):
            versions.setdefault(match[1].lower(), []).append(match[2])
    return versions


@pytest.mark.parametrize(
    ("lock", "extras"),
    [("cpu.lock", ["cpu", "cluster", "test"]), ("gpu.lock", ["gpu", "cluster", "test"])],
)
def test_lock_satisfies_pyproject(root, project, lock, extras):
    versions = locked(root, lock)
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    for text in wanted:
        requirement = Requirement(text)
        assert requirement.name in versions, f"{requirement.name} is not in {lock}: run make lock"
        for version in versions[requirement.name]:
            assert requirement.specifier.contains(version), (
                f"{requirement} against {version} in {lock}"
            )


@pytest.mark.parametrize("lock", ["cpu.lock", "gpu.lock"])
def test_lock_is_hash_pinned_and_names_no_address(root, lock):
    text = (root / "requirements" / lock).read_text()
    entries = re.split(r"\n(?=[a-z0-9])", text.strip())
    assert len(entries) > 60
    for entry in entries:
        assert re.match(r"[A-Za-z0-9._-]+(\[[^]]*\])?==", entry), entry.splitlines()[0]
        assert "--hash=sha256:" in entry, entry.splitlines()[0]
    assert "://" not in text
    assert "--index" not in text


def test_conda_environment_agrees_with_pyproject(root, project):
    environment = yaml.safe_load((root / "environment.yml").read_text())
    conda = {}
    for entry in environment["dependencies"]:
        assert isinstance(entry, str), "no nested pip section"
        name, _, specifier = entry.partition(" ")
        conda[CONDA_NAMES.get(name, name)] = SpecifierSet(specifier)
    assert conda.pop("python") == SpecifierSet(project["requires-python"])
    pip = {
        requirement.name: requirement.specifier
        for requirement in map(
            Requirement, [*project["dependencies"], project["optional-dependencies"]["cpu"][0]]
        )
    }
    assert conda == pip


def test_conda_environment_has_no_relative_paths(root):
    assert not re.search(r"(-e\s|file:|\.\./|\./)", (root / "environment.yml").read_text())
