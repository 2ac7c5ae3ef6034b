"""Files that tell others about the project: links, citation, catalog."""

import re
import tomllib

import pytest
import yaml

DOCUMENTS = ["README.md", "CONTRIBUTING.md", "config/README.md"]
DOCUMENTS += ["docs/troubleshooting.md", "docs/bring-your-own.md", "docs/cluster.md"]
PROOFS = "docs/privacy.md"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_to_files(root, name):
    path = root / name
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{name}: {target}"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_that_are_named_exist(root, name):
    targets = set(re.findall(r"^([a-z]+):.*## ", (root / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|^|&& )make ([a-z]+)\b", (root / name).read_text(), re.MULTILINE))
    assert named
    assert named <= targets


def test_every_test_that_a_proof_names_exists(root):
    text = (root / PROOFS).read_text()
    tests = "\n".join(path.read_text() for path in root.glob("tests/**/test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", text))
    assert len(named) > 5
    assert {name for name in named if f"def {name}(" not in tests} == set()
    for path in re.findall(r"`(?:tests/dpauc/)?(test_\w+\.py)`", text):
        assert (root / "tests/dpauc" / path).is_file(), path


def test_citation(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((root / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
    papers = yaml.safe_load((root / "src/leakmeter/reporting/papers.yaml").read_text())
    cited = {(entry["title"], entry["url"]) for entry in citation["references"]}
    assert cited == {(paper["title"], paper["url"]) for paper in papers.values()}


def test_the_catalog_finds_what_standard_usage_needs(root):
    catalog = yaml.safe_load((root / ".snakemake-workflow-catalog.yml").read_text())
    assert catalog["usage"]["report"] is True
    assert catalog["usage"]["software-stack-deployment"]["conda"] is True
    for name in (
        "workflow/Snakefile",
        "config/config.yaml",
        "config/README.md",
        "LICENSE",
        "README.md",
    ):
        assert (root / name).is_file(), name
    assert 'report: "report/workflow.rst"' in (root / "workflow/Snakefile").read_text()


def test_messages_in_the_troubleshooting_page_exist_in_the_code(root):
    """A message that was reworded would leave a reader searching."""
    text = (root / "docs/troubleshooting.md").read_text()
    sources = [*root.glob("src/**/*.py"), *root.glob("workflow/**/*.smk"), root / "Makefile"]
    code = re.sub(r'["\']\s*\n\s*f?["\']', "", "\n".join(path.read_text() for path in sources))
    for message in (
        "leakmeter needs Python 3.11, 3.12 or 3.13",
        "has no venv module",
        "the configuration is not valid",
        "STAND-IN",
        "unexpected error in rule",
        "claimed cells were not measured and no reason excuses them",
        "No pdflatex here",
        "not measured",
    ):
        assert message in text
        assert message in code, message
