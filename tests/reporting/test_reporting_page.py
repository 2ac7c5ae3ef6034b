"""The page as text: one file, nothing lost, nothing of the host outside its section."""

import json
import re
from html.parser import HTMLParser

import pytest
from report_run import PROVENANCE, claims

from leakmeter.reporting import page
from leakmeter.reporting.claims import COLUMNS
from leakmeter.runtime import UserError

VOID = {"meta", "link", "img", "input", "br"}


class Balanced(HTMLParser):
    """Collects element names and ids, and fails at an end tag that closes nothing."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.sources = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "action", "srcset"):
                self.sources.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def write(run, out, **changed):
    names = ("claims", "errata", "measurements", "provenance", "figures", "tables", "captions")
    page.write_page(
        out, **{name: getattr(run, name) for name in names} | {"results": run.results} | changed
    )
    return out.read_text()


@pytest.fixture(scope="module")
def html(small_page):
    return small_page.read_text()


def test_it_is_well_formed_and_ids_are_unique(html):
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert len(set(parser.ids)) == len(parser.ids)
    inside = [source[1:] for source in parser.sources if source.startswith("#")]
    assert set(inside) <= set(parser.ids)


def test_it_names_nothing_to_load(html):
    parser = Balanced()
    parser.feed(html)
    assert all(source.startswith(("#", "data:")) for source in parser.sources)
    assert "default-src 'none'" in html
    assert not re.search(r"@import|url\((?!data:)", html)


def test_every_row_of_the_claims_is_in_it(html):
    coded = json.loads(re.search(r'id="cells-data">(.*?)</script>', html, re.DOTALL)[1])
    assert len(coded["rows"]) == len(claims())
    column = coded["columns"].index("verdict")
    found = [coded["strings"][row[column]] for row in coded["rows"]]
    assert found == [row["verdict"] for row in claims()]


def test_sections_of_a_reader(html):
    for name in ("summary", "claims", "tables", "figures", "errata", "data", "provenance"):
        assert f'<section id="{name}">' in html
    assert "There are 26." in html
    assert "code 0123456789abcdef" in html
    assert "Assumed here: the usual one" in html
    assert "STAND-IN DATA" in html
    assert "How to replace it" in html
    assert "train.txt" in html  # what to put where
    again = "snakemake results/laptop/dpauc/figures/figure1.pdf --cores 2 --force --config seed=1"
    assert again in html
    assert all(f"<code>{column}</code>" in html for column in COLUMNS)


def test_text_from_files_is_escaped(html):
    assert "How it works, with a &lt; b." in html
    assert "<b>9</b>" not in html


def test_the_host_is_in_one_section_only(html):
    rest = page.without_host(html)
    for fact in ("a processor", "dpauc_train"):
        assert fact in html
    assert "a processor" not in rest
    assert "40.0 s" in html  # CPU time of two jobs
    assert "40.0 s" not in rest


def test_another_host_gives_the_same_page_but_for_that_section(small_run, small_page, tmp_path):
    other = tmp_path / "provenance.json"
    other.write_text(json.dumps(PROVENANCE | {"cpu": "another", "platform": "elsewhere"}))
    timings = tmp_path / "results"
    text = write(small_run, tmp_path / "a.html", provenance=other, results=timings)
    assert text != small_page.read_text()
    assert page.digest(text) == page.digest(small_page.read_text())


def test_the_same_run_gives_the_same_bytes(small_run, small_page, tmp_path):
    assert write(small_run, tmp_path / "again.html") == small_page.read_text()


def test_a_folder_of_the_user_is_not_shown(small_run, tmp_path):
    source = next(iter(PROVENANCE["data"].values()))
    mine = source | {
        "how": "user",
        "label": "real",
        "source": "/home/me/data",
        "files": {"a": "/home/me/data/a"},
    }
    record = tmp_path / "provenance.json"
    record.write_text(json.dumps(PROVENANCE | {"data": {"x": mine}}))
    assert "/home/me" not in write(small_run, tmp_path / "a.html", provenance=record)


def test_a_chain_without_a_paper_entry_is_shown_by_its_name(small_run, tmp_path):
    import pandas as pd

    rows = [row | {"paper": "mine"} for row in claims()[:2]]
    path = tmp_path / "claims.csv"
    pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(path, index=False)
    assert "<h3>mine</h3>" in write(small_run, tmp_path / "a.html", claims=path)


def test_what_is_no_figure_or_caption_file_is_named(small_run, tmp_path):
    fake = tmp_path / "dpauc" / "figures" / "x.png"
    fake.parent.mkdir(parents=True)
    fake.write_text("no")
    with pytest.raises(UserError, match=r"x\.png: not a PNG file"):
        write(small_run, tmp_path / "a.html", figures=[fake])
    captions = tmp_path / "captions.yaml"
    captions.write_text("- a\n")
    with pytest.raises(UserError, match="expected chain -> figure -> caption"):
        write(small_run, tmp_path / "a.html", captions=captions)


def test_every_drawn_figure_of_the_project_has_a_caption(root):
    """Names of figures as the rule files list them."""
    captions = page.read_captions(root / "resources" / "captions.yaml")
    listed = {}
    for path in (root / "workflow" / "rules").glob("*.smk"):
        for match in re.finditer(r"^\w+_FIGURES \+?= \[([^]]*)\]", path.read_text(), re.MULTILINE):
            listed.setdefault(path.stem, set()).update(re.findall(r'"(\w+)"', match[1]))
    assert {"dpauc", "labelings", "audit"} <= set(listed)
    assert {chain: names - set(captions.get(chain, {})) for chain, names in listed.items()} == {
        chain: set() for chain in listed
    }
