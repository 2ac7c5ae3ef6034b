"""Cost per rule from benchmark files."""

import doctest
import json

import pytest

from leakmeter.reporting import costs
from leakmeter.runtime import UserError


def write(path, **values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values) + "\n")


def test_examples():
    assert doctest.testmod(costs).failed == 0


def test_jobs_of_a_rule_add_up_and_the_dearest_comes_first(tmp_path):
    timings = tmp_path / "laptop" / "timings"
    write(timings / "claims.jsonl", s=1.0, cpu_time=0.5, max_rss=100.0)
    write(timings / "dpauc_train" / "model0.jsonl", s=10.0, cpu_time=18.0, max_rss=300.0)
    write(timings / "dpauc_train" / "model1.jsonl", s=11.0, cpu_time=20.0, max_rss=200.0)
    write(
        tmp_path / "prepared" / "criteo" / "x" / "criteo_source.jsonl", s=5, cpu_time=4, max_rss=9
    )
    (timings / "labelings_cost.csv").write_text("not a benchmark\n")
    found = costs.rule_costs(costs.benchmark_files(tmp_path, "laptop"))
    assert [cost.rule for cost in found] == ["dpauc_train", "criteo_source", "claims"]
    assert found[0] == costs.RuleCost("dpauc_train", 2, 38.0, 21.0, 300.0)
    assert costs.RuleCost.from_json("dpauc_train", found[0].to_json()) == found[0]


def test_jobs_too_short_to_be_sampled_count_as_nothing(tmp_path):
    write(tmp_path / "laptop" / "timings" / "a.jsonl", s=0.1, cpu_time=None, max_rss="NA")
    (cost,) = costs.rule_costs(costs.benchmark_files(tmp_path, "laptop"))
    assert (cost.cpu_seconds, cost.max_rss_mb) == (0.0, 0.0)


@pytest.mark.parametrize("text", ["", "not json\n"])
def test_a_broken_file_is_named(tmp_path, text):
    path = tmp_path / "laptop" / "timings" / "a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(UserError, match=r"a\.jsonl: not a benchmark file"):
        costs.rule_costs(costs.benchmark_files(tmp_path, "laptop"))
