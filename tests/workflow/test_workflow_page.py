"""The page, the PDF and the crate of a real run (smoke scale), in a browser too.

Slow: needs the finished run that the other workflow tests share, and starts Chromium.
"""

import json
import re
import sys

import pytest
import yaml
from conftest_workflow import ROOT

from leakmeter.reporting.page import without_host
from leakmeter.reporting.present import read_rows

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


@pytest.fixture
def smoke_results(finished):
    return finished / "results/smoke"


def test_the_page_holds_every_claim_and_every_figure(smoke_results):
    html = (smoke_results / "report/index.html").read_text()
    coded = json.loads(re.search(r'id="cells-data">(.*?)</script>', html, re.DOTALL)[1])
    assert len(coded["rows"]) == len(read_rows(smoke_results / "claims.csv"))
    drawn = sorted(smoke_results.glob("*/figures/*.png"))
    assert len(drawn) > 15
    for path in drawn:
        assert f'id="figure-{path.parent.parent.name}-{path.stem}"' in html


def test_every_figure_has_a_caption(smoke_results):
    captions = yaml.safe_load((ROOT / "resources/captions.yaml").read_text())
    drawn = {(p.parent.parent.name, p.stem) for p in smoke_results.glob("*/figures/*.png")}
    captions.pop("own")  # drawn where files of the user's are named (test_workflow_own.py)
    assert drawn == {(chain, name) for chain, names in captions.items() for name in names}


def test_folders_and_times_of_this_host_stay_out_of_the_common_part(finished, smoke_results):
    rest = without_host((smoke_results / "report/index.html").read_text())
    assert str(finished) not in rest
    record = json.loads((smoke_results / "provenance/provenance.json").read_text())
    assert record["platform"] not in rest


def test_the_page_opens_in_a_browser_without_complaint_or_request(smoke_results, require_tool):
    require_tool("chromium")
    sys.path.insert(0, str(ROOT / "tests" / "reporting"))
    from headless import browser

    page = smoke_results / "report/index.html"
    with browser(require_tool("chromedriver")) as window:
        window.window(1300, 900)
        window.open(page)
        window.click("#open-all")
        window.click("#all")
        rows = len(window.texts("#cells tbody tr"))
        assert rows == len(read_rows(smoke_results / "claims.csv"))
        for width in (360, 1300):
            window.window(width, 900)
            assert window.run("return document.documentElement.scrollWidth") <= width
        loaded = "return [...document.images].every(i => !i.src || i.naturalWidth > 100)"
        assert window.run(loaded) is True
        assert window.log("browser") == []
        asked = [url for url in window.requested() if not url.startswith("data:")]
        assert asked == [page.resolve().as_uri()]


def test_the_pdf_is_compiled_and_fits_its_pages(smoke_results, require_tool):
    require_tool("pdflatex")
    assert (smoke_results / "replication.pdf").read_bytes().startswith(b"%PDF")
    log = (smoke_results / "logs/replication_pdf.log").read_text()
    widths = [float(width) for width in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    assert max(widths, default=0) < 5, log
    assert "Float too large" not in log


def test_the_crate_lists_files_that_exist(smoke_results):
    graph = json.loads((smoke_results / "ro-crate-metadata.json").read_text())["@graph"]
    (root,) = [entity for entity in graph if entity["@id"] == "./"]
    names = {part["@id"] for part in root["hasPart"]}
    assert {"claims.csv", "report/index.html", "replication.tex"} <= names
    assert all((smoke_results / name).is_file() for name in names)
