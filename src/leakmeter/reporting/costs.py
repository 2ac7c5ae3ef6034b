"""What rules cost, from the benchmark files that Snakemake writes beside the results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakmeter.runtime import UserError


@dataclass(frozen=True)
class RuleCost:
    """Cost of a rule over its jobs: CPU and wall time in seconds, memory in MB."""

    rule: str
    jobs: int
    cpu_seconds: float
    wall_seconds: float
    max_rss_mb: float

    def to_json(self) -> dict[str, Any]:
        """Plain values, rounded to what a benchmark can tell."""
        return {
            "jobs": self.jobs,
            "cpu_seconds": round(self.cpu_seconds, 2),
            "wall_seconds": round(self.wall_seconds, 2),
            "max_rss_mb": round(self.max_rss_mb, 1),
        }

    @classmethod
    def from_json(cls, rule: str, value: Mapping[str, Any]) -> RuleCost:
        """The inverse of :meth:`to_json`."""
        return cls(rule=rule, **value)


def benchmark_files(results: str | Path, scale: str) -> dict[str, list[Path]]:
    """Benchmark files of a run by rule: those of the scale and those of the prepared data.

    A rule's files are ``timings/<rule>.jsonl`` or ``timings/<rule>/<job>.jsonl``; preparation,
    which scales share, has ``prepared/**/<rule>.jsonl``.
    """
    timings = Path(results) / scale / "timings"
    found: dict[str, list[Path]] = {}
    for path in sorted(timings.rglob("*.jsonl")):
        found.setdefault(path.relative_to(timings).parts[0].removesuffix(".jsonl"), []).append(path)
    for path in sorted((Path(results) / "prepared").rglob("*.jsonl")):
        found.setdefault(path.stem, []).append(path)
    return found


def rule_costs(files: Mapping[str, Iterable[Path]]) -> list[RuleCost]:
    """Cost per rule, dearest first.

    Raises
    ------
    UserError
        a file that is not a benchmark.
    """
    costs = []
    for rule, paths in files.items():
        jobs = [_last(path) for path in paths]
        costs.append(
            RuleCost(
                rule=rule,
                jobs=len(jobs),
                cpu_seconds=sum(_number(job, "cpu_time") for job in jobs),
                wall_seconds=sum(_number(job, "s") for job in jobs),
                max_rss_mb=max(_number(job, "max_rss") for job in jobs),
            )
        )
    return sorted(costs, key=lambda cost: (-cost.cpu_seconds, cost.rule))


def _last(path: Path) -> Mapping[str, Any]:
    lines = path.read_text(encoding="utf-8").split("\n")
    try:
        return json.loads([line for line in lines if line.strip()][-1])
    except (IndexError, ValueError) as error:
        raise UserError(f"{path}: not a benchmark file (one JSON object per line)") from error


def _number(job: Mapping[str, Any], key: str) -> float:
    # jobs shorter than the sampling interval have "NA" or null
    value = job.get(key)
    return float(value) if isinstance(value, int | float) else 0.0


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(0.42), duration(75), duration(7260)
    ('0.4 s', '1 min 15 s', '2 h 01 min')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
