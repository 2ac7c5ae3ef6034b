"""README's generated blocks: from kept files and the workflow's own graph, and current."""

import doctest
import itertools

import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from report_run import claims

from leakmeter.reporting import summary
from leakmeter.reporting.claims import VERDICTS, expand_origins, read_claims
from leakmeter.reporting.present import count_verdicts, read_rows
from leakmeter.runtime import UserError

DOT = """digraph snakemake_dag {
    0[label = "default", color = "0.1 0.6 0.85", style="rounded"];
    1[label = "claims", color = "0.1 0.6 0.85", style="rounded"];
    2[label = "dpauc_gather\\nx: 1", color = "0.1 0.6 0.85", style="rounded"];
    3[label = "dpauc_train", color = "0.1 0.6 0.85", style="rounded"];
    3 -> 2
    2 -> 1
    3 -> 1
    1 -> 0
}
"""


def test_examples():
    assert doctest.testmod(summary).failed == 0


@pytest.fixture
def repository(tmp_path, small_run):
    (tmp_path / "docs").mkdir()
    chosen = [{"id": "dpauc_table1_mean", "cell": "epoch=0;epsilon=8"}]
    (tmp_path / summary.CHOSEN).write_text(yaml.safe_dump({"rows": chosen}))
    summary.take(small_run.folder, tmp_path)
    return tmp_path


def test_a_kept_run_counts_what_its_claims_count(repository):
    kept = read_rows(repository / summary.SUMMARY)
    counts = count_verdicts(claims())
    assert {v: sum(int(row[v]) for row in kept) for v in VERDICTS} == counts
    text = summary.verdict_markdown(kept)
    assert "| DPAUC | 4 | 13 | 6 | 2 | 1 | 1 | 1 | 1 | 0 | 1 |" in text
    assert "| AUC labelings | 3 | 60 | 59 | 0 | 0 | 0 | 0 | 0 | 1 | 0 |" in text


def test_chosen_rows_are_shown_with_the_printed_digits(repository):
    text = summary.blocks(repository, graph=False)["rows"]
    assert "| 0.740800 ± 0.000040 | 0.740801 ± 0.000051 | 0.5 | reproduced |" in text


def test_the_source_says_which_run(repository):
    text = summary.blocks(repository, graph=False)["source"]
    assert "scale `laptop` with root seed 1 on a processor" in text
    assert "authors, exact, standin" in text


def test_a_chosen_row_that_is_not_there_is_named(repository, small_run):
    (repository / summary.CHOSEN).write_text("rows: [{id: none, cell: k=1}]\n")
    with pytest.raises(UserError, match=r"none\[k=1\] matches 0 rows"):
        summary.take(small_run.folder, repository)


def test_blocks_are_replaced_and_nothing_else():
    text = "a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n"
    once = summary.with_blocks(text, {"x": "new"})
    assert once == "a\n<!-- x: begin -->\nnew\n<!-- x: end -->\nb\n"
    assert summary.with_blocks(once, {"x": "new"}) == once
    with pytest.raises(UserError, match="expected a block between <!-- y: begin -->"):
        summary.with_blocks(text, {"y": "new"})


def test_the_graph_groups_by_chain_and_drops_targets_and_implied_edges():
    text = summary.rulegraph_markdown(DOT)
    assert "subgraph dpauc\n    dpauc_gather\n    dpauc_train\n  end" in text
    assert "dpauc_train --> dpauc_gather" in text
    assert "dpauc_train --> claims" not in text
    assert "default" not in text


def test_the_graph_is_the_same_with_and_without_latex():
    with_pdf = DOT.replace(
        "}", '4[label = "replication_tex", x]\n5[label = "replication_pdf", x]\n4 -> 5\n}'
    )
    without = DOT.replace("}", '4[label = "replication_tex", x]\n}')
    assert summary.rulegraph_markdown(with_pdf) == summary.rulegraph_markdown(without)


def reachable(edges):
    found = set(edges)
    while True:
        more = {(a, d) for (a, b), (c, d) in itertools.product(found, edges) if b == c} - found
        if not more:
            return found
        found |= more


@given(
    st.sets(
        st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda e: e[0] < e[1]), max_size=15
    )
)
@settings(deadline=None)
def test_reduction_keeps_what_is_reachable_with_the_fewest_edges(edges):
    kept = summary.reduced(edges)
    assert kept <= edges
    assert reachable(kept) == reachable(edges)
    for edge in kept:
        assert reachable(kept - {edge}) != reachable(edges)


# --- the repository's own README ----------------------------------------------------------------


def test_numbers_of_the_readme_are_those_of_the_kept_run(root):
    text = (root / "README.md").read_text()
    assert summary.with_blocks(text, summary.blocks(root, graph=False)) == text


@pytest.mark.slow
@pytest.mark.workflow
def test_the_graph_in_the_readme_is_the_workflows(root):
    """Parses the workflow."""
    text = (root / "README.md").read_text()
    made = {"rules": summary.rulegraph_markdown(summary.rulegraph(root))}
    assert summary.with_blocks(text, made) == text, "run make docs"


def test_the_kept_run_has_the_claims_of_today(root):
    kept = pd.read_csv(root / summary.SUMMARY)["id"].tolist()
    today = [claim["id"] for claim in expand_origins(read_claims(root / "config/claims.yaml"))]
    assert sorted(kept) == sorted(today), "run the laptop scale, then make summary"
