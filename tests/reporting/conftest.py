"""A small finished run for the tests of the page, the PDF, the crate and the README."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from report_run import write_run


@pytest.fixture(scope="session")
def small_run(tmp_path_factory):
    """Files of the run by name; tests don't change them."""
    return write_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def small_page(small_run, tmp_path_factory):
    """The page of that run."""
    from leakmeter.reporting.page import write_page

    path = tmp_path_factory.mktemp("page") / "index.html"
    write_page(
        path,
        claims=small_run.claims,
        errata=small_run.errata,
        measurements=small_run.measurements,
        provenance=small_run.provenance,
        figures=small_run.figures,
        tables=small_run.tables,
        captions=small_run.captions,
        results=small_run.results,
    )
    return path
