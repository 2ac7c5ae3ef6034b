"""What a scale will cost, before anyone starts it: jobs, core-hours, GPU-hours, memory, disk.

Jobs come from a dry run of the scale, cost per job from recorded benchmarks, and the step from the
recorded configuration to the wanted one from the stated rules of ``config/scaling.yaml``. What was
not measured is said.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from leakmeter.reporting.costs import RuleCost, benchmark_files, rule_costs
from leakmeter.runtime import UserError, read_json, write_json

#: Kept benchmarks: what is scaled, and what the scaling rules are checked on.
RECORDED = "resources/benchmarks/laptop.json"
SMALLER = "resources/benchmarks/smoke.json"


@dataclass(frozen=True)
class Jobs:
    """Jobs of a rule in a dry run and what each asks for."""

    rule: str
    count: int
    mem_mb: int = 0
    gpus: int = 0
    local: bool = False
    minutes: int = 0


@dataclass(frozen=True)
class Estimate:
    """Cost of a rule at the wanted scale; ``basis`` says what the numbers rest on."""

    rule: str
    jobs: int
    core_hours: float | None
    gpu_hours: float | None
    memory_mb: float | None
    requested_mb: int
    factor: float | None
    basis: str
    gpus: int = 0
    minutes: float | None = None
    requested_minutes: int = 0


# --- what was recorded --------------------------------------------------------------------------


def record(results: str | Path) -> dict[str, Any]:
    """Benchmarks of a finished run: its configuration, cost per rule, bytes per chain, the host.

    Parameters
    ----------
    results : folder of a scale, ``results/<scale>``.

    Raises
    ------
    UserError
        no provenance record in it.
    """
    folder = Path(results)
    facts = read_json(folder / "provenance" / "provenance.json")
    costs = rule_costs(benchmark_files(folder.parent, folder.name))
    chains = [path.parent.name for path in sorted(folder.glob("*/measurements.csv"))]
    disk = {chain: _bytes(folder / chain) for chain in chains}
    return {
        "scale": facts["config"]["scale"],
        "config": {key: value for key, value in facts["config"].items() if key != "data"},
        "cpu": facts["cpu"],
        "threads": facts["threads"],
        "rules": {cost.rule: cost.to_json() for cost in costs},
        "disk": disk | {"prepared": _bytes(folder.parent / "prepared")},
    }


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# --- scaling rules ------------------------------------------------------------------------------


def look_up(config: Mapping[str, Any], path: str) -> Any:
    """A value of the configuration by its dotted path; None where there is none."""
    value: Any = config
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def size(config: Mapping[str, Any], factor: str | Mapping[str, Any]) -> float | None:
    """The size that a factor of the scaling rules has in a configuration; None if it has none.

    >>> size({"a": {"rows": 100}}, "a.rows"), size({"a": [1, 2]}, {"key": "a", "power": 2})
    (100.0, 4.0)
    """
    spec = {"key": factor} if isinstance(factor, str) else factor
    value = look_up(config, spec["key"])
    if value is None and "or" in spec:
        value = look_up(config, spec["or"])
    if isinstance(value, list):
        value = len(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        return None
    return float(value) ** spec.get("power", 1)


def ratio(
    factors: Sequence[str | Mapping[str, Any]], wanted: Mapping[str, Any], base: Mapping[str, Any]
) -> float | None:
    """By how much a cost grows from the recorded configuration to the wanted one; None if unknown."""
    product = 1.0
    for factor in factors:
        sizes = size(wanted, factor), size(base, factor)
        if sizes[0] is None or sizes[1] is None:
            return None
        product *= sizes[0] / sizes[1]
    return product


def read_scaling(path: str | Path) -> dict[str, Any]:
    """The scaling rules, checked for the keys they may have."""
    content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    for rule, entry in content["rules"].items():
        if set(entry) - {"cpu", "memory", "same", "why"} or "why" not in entry:
            raise UserError(
                f"{path}: rule {rule} has the keys {sorted(entry)}; expected why and some of cpu, "
                "memory, same"
            )
    return content


@dataclass(frozen=True)
class Growth:
    """How a rule's cost per job grew between two recorded sizes, and what its scaling rule says."""

    stated: float
    measured: float

    def scaled(self, factor: float) -> float:
        """The factor of a job's cost when the two sizes are taken to differ by a constant part too.

        A job costs ``a + b * size``; both parts follow from the two recorded sizes. Where the cost
        grew faster than stated there is no such ``a``, and the stated rule is kept.
        """
        if self.stated <= 1:
            return factor
        growing = (1 - 1 / self.measured) / (1 - 1 / self.stated)
        growing = min(max(growing, 0.0), 1.0)
        return 1 - growing + growing * factor


def growth(
    rule: str,
    small: Mapping[str, Any],
    large: Mapping[str, Any],
    entry: Mapping[str, Any],
    kind: str = "cpu",
) -> Growth | None:
    """What a rule's cost (``cpu`` or ``memory``) did between two runs; None if that can't be told.

    It cannot when the rule is in one of them only, when it is another computation there, or when
    the sizes of its scaling rule do not differ.
    """
    if rule not in small["rules"] or rule not in large["rules"]:
        return None
    configs = large["config"], small["config"]
    if any(look_up(configs[0], key) != look_up(configs[1], key) for key in entry.get("same", [])):
        return None
    stated = ratio(entry.get(kind, []), *configs)
    costs = [RuleCost.from_json(rule, run["rules"][rule]) for run in (large, small)]
    sizes = [c.cpu_seconds / c.jobs if kind == "cpu" else c.max_rss_mb for c in costs]
    if stated is None or stated == 1 or min(sizes) <= 0:
        return None
    return Growth(stated, sizes[0] / sizes[1])


# --- estimates ----------------------------------------------------------------------------------


def parse_dry_run(text: str) -> dict[str, int]:
    """Number of jobs by rule, from the output of ``snakemake -n``.

    Raises
    ------
    UserError
        the text has no table of jobs.
    """
    if "Job stats:" not in text:
        raise UserError(f"the dry run shows no jobs: {text[-500:].strip()}")
    table = text.split("Job stats:")[1].partition("total")[0]
    return {rule: int(n) for rule, n in re.findall(r"^(\w+)\s+(\d+)\s*$", table, re.MULTILINE)}


def read_rules(texts: Sequence[str], config: Mapping[str, Any]) -> dict[str, Jobs]:
    """What each rule asks for, from the text of the rule files; targets are left out."""
    rules = {}
    for text in texts:
        for name, body in re.findall(r"^rule (\w+):\n((?:    .*\n|\n)*)", text, re.MULTILINE):
            if not re.search(r"^    (script|shell):", body, re.MULTILINE):
                continue
            rules[name] = Jobs(
                rule=name,
                count=0,
                mem_mb=_asked(body, "mem_mb", config),
                gpus=_asked(body, "gpu", config),
                local="localrule: True" in body,
                minutes=_asked(body, "runtime", config),
            )
    return rules


def _asked(body: str, resource: str, config: Mapping[str, Any]) -> int:
    """A resource of a rule: a number, the first one of an expression, or a configuration key."""
    found = re.search(rf"^        {resource}=(.*)$", body, re.MULTILINE)
    if not found:
        return 0
    if key := re.search(r'conf\("([\w.]+)"\)', found[1]):
        return int(look_up(config, key[1]) or 0)
    number = re.search(r"\d+", found[1])
    return int(number[0]) if number else 0


def estimate(
    jobs: Sequence[Jobs],
    benchmarks: Mapping[str, Any],
    wanted: Mapping[str, Any],
    scaling: Mapping[str, Any],
    smaller: Mapping[str, Any] | None = None,
) -> list[Estimate]:
    """Cost per rule at the wanted configuration, in the order of the dry run.

    Parameters
    ----------
    benchmarks : the recorded run that is scaled.
    smaller : a recorded run of a smaller size, which the scaling rules are checked on.
    """
    made = []
    for job in jobs:
        if job.rule not in benchmarks["rules"]:
            basis = "not timed: seconds, beside Snakemake itself" if job.local else "not measured"
            nothing = 0.0 if job.local else None
            made.append(
                Estimate(
                    *(job.rule, job.count, nothing, nothing, None, job.mem_mb, None),
                    *(basis, job.gpus, None, job.minutes),
                )
            )
            continue
        cost = RuleCost.from_json(job.rule, benchmarks["rules"][job.rule])
        entry = scaling["rules"].get(job.rule, {})
        other = [
            key
            for key in entry.get("same", [])
            if look_up(wanted, key) != look_up(benchmarks["config"], key)
        ]
        if other:
            basis = f"not measured: another computation ({', '.join(other)})"
            made.append(
                Estimate(
                    *(job.rule, job.count, None, None, None, job.mem_mb, None),
                    *(basis, job.gpus, None, job.minutes),
                )
            )
            continue
        factor = ratio(entry.get("cpu", []), wanted, benchmarks["config"])
        grown = ratio(entry.get("memory", []), wanted, benchmarks["config"])
        seen = growth(job.rule, smaller, benchmarks, entry) if smaller else None
        held = growth(job.rule, smaller, benchmarks, entry, "memory") if smaller else None
        if held and grown is not None:
            grown = held.scaled(grown)
        basis = _basis(entry, factor, seen)
        if seen and factor is not None:
            factor = seen.scaled(factor)
        hours = None if factor is None else cost.cpu_seconds / cost.jobs * factor * job.count / 3600
        minutes = None if factor is None else cost.wall_seconds / cost.jobs * factor / 60
        made.append(
            Estimate(
                rule=job.rule,
                jobs=job.count,
                core_hours=hours,
                gpu_hours=None if minutes is None else minutes / 60 * job.count * job.gpus,
                memory_mb=None if grown is None else cost.max_rss_mb * grown,
                requested_mb=job.mem_mb,
                factor=factor,
                basis=basis,
                gpus=job.gpus,
                minutes=minutes,
                requested_minutes=job.minutes,
            )
        )
    return made


def large_jobs(estimates: Sequence[Estimate], node_mb: int) -> list[str]:
    """Rules whose jobs are expected to need more than they ask for, or than a node has.

    Parameters
    ----------
    node_mb : memory of a node.
    """
    lines = []
    for one in estimates:
        asks = f"it asks for {_memory(one.requested_mb)}"
        if max(one.requested_mb, one.memory_mb or 0) > node_mb:
            need = _memory(max(one.requested_mb, one.memory_mb or 0))
            lines.append(f"{one.rule}: needs a node with {need} ({asks})")
        elif one.memory_mb is not None and one.requested_mb and one.memory_mb > one.requested_mb:
            lines.append(f"{one.rule}: about {_memory(one.memory_mb)} of memory a job; {asks}")
        if one.minutes is not None and 0 < one.requested_minutes < one.minutes:
            hours, asked = (_hours(m / 60) for m in (one.minutes, one.requested_minutes))
            lines.append(f"{one.rule}: about {hours} hours a job; it asks for {asked}")
    return lines


def _requests(estimates: Sequence[Estimate], node_mb: int) -> list[str]:
    memory = max(estimates, key=lambda e: e.requested_mb)
    minutes = max(estimates, key=lambda e: e.requested_minutes)
    found = large_jobs(estimates, node_mb)
    return [
        f"One job asks for at most {_memory(memory.requested_mb)} of memory ({memory.rule}) and "
        f"{_hours(minutes.requested_minutes / 60)} hours ({minutes.rule}); on a",
        "cluster one that is killed for either comes back with twice, then four times as much.",
        f"Needs more than it asks for, or than a node of {_memory(node_mb)} has: "
        + ("no rule that was measured." if not found else ""),
        *(f"  {line}" for line in found),
    ]


def _basis(entry: Mapping[str, Any], factor: float | None, seen: Growth | None = None) -> str:
    if factor is None:
        return "measured, but a key of its scaling rule is not in both configurations"
    if not entry:
        return "measured; taken to cost the same"
    if factor == 1:
        return "measured at this size"
    if seen is None:
        return f"measured, scaled x{factor:.3g} (assumed: {entry['why']})"
    check = f"x{seen.stated:.3g} stated and x{seen.measured:.3g} measured between two sizes"
    if seen.measured > 1.5 * seen.stated:
        check += ", so this may be too low"
    return f"measured, scaled x{seen.scaled(factor):.3g} ({entry['why']}; {check})"


def chain_of(rule: str) -> str:
    """The chain a rule belongs to, by its name.

    >>> chain_of("dpauc_train"), chain_of("claims"), chain_of("criteo_source")
    ('dpauc', 'report', 'data')
    """
    first = rule.partition("_")[0]
    if rule.endswith("_source"):
        return "data"
    return first if first in ("dpauc", "audit", "shapr", "labelings", "beyond", "own") else "report"


def disk_estimate(
    benchmarks: Mapping[str, Any], wanted: Mapping[str, Any], scaling: Mapping[str, Any]
) -> dict[str, float | None]:
    """Bytes per chain at the wanted configuration."""
    return {
        chain: None
        if (grown := ratio(scaling["disk"].get(chain, []), wanted, benchmarks["config"])) is None
        else bytes_ * grown
        for chain, bytes_ in benchmarks["disk"].items()
    }


def render(
    estimates: Sequence[Estimate],
    disk: Mapping[str, float | None],
    benchmarks: Mapping[str, Any],
    scale: str,
    node_mb: int = 64_000,
) -> str:
    """The plan as text: a table by chain, large jobs, then rule by rule what it rests on."""
    chains: dict[str, list[Estimate]] = {}
    for one in estimates:
        chains.setdefault(chain_of(one.rule), []).append(one)
    rows = [("chain", "jobs", "core-hours", "GPU-hours", "memory of a job", "disk")]
    for chain, part in chains.items():
        rows.append(_chain_row(chain, part, disk.get("prepared" if chain == "data" else chain)))
    rows.append(_chain_row("all", list(estimates), _total(disk.values())))
    lines = [
        f"Scale {scale}, from benchmarks of scale {benchmarks['scale']} "
        f"({benchmarks['cpu']}, {benchmarks['threads']} threads).",
        "",
        *_aligned(rows),
        "",
        "'+' marks a sum that leaves out what was not measured. Core-hours are CPU time, whatever the",
        "number of cores; nothing here needs a GPU unless GPU-hours say so.",
        "",
        *_requests(estimates, node_mb),
        "",
        "What the numbers rest on:",
    ]
    measured = sum(one.jobs for one in estimates if one.factor is not None)
    lines.append(f"({measured} of {sum(one.jobs for one in estimates)} jobs have a benchmark)")
    detail = [("rule", "jobs", "core-hours", "memory", "asks for", "basis")]
    for one in sorted(estimates, key=lambda e: (e.core_hours is not None, -(e.core_hours or 0))):
        detail.append(
            (
                one.rule,
                str(one.jobs),
                _hours(one.core_hours),
                _memory(one.memory_mb),
                _memory(one.requested_mb or None),
                one.basis,
            )
        )
    return "\n".join([*lines, *_aligned(detail)]) + "\n"


def _chain_row(chain: str, part: Sequence[Estimate], disk: float | None) -> tuple[str, ...]:
    known = [one.core_hours for one in part if one.core_hours is not None]
    more = "" if len(known) == len(part) else "+"
    unknown_gpu = any(one.gpus and one.gpu_hours is None for one in part)
    memory = [one.memory_mb for one in part if one.memory_mb is not None]
    return (
        chain,
        str(sum(one.jobs for one in part)),
        _hours(sum(known)) + more,
        _hours(sum(one.gpu_hours or 0.0 for one in part)) + ("+" if unknown_gpu else ""),
        _memory(max(memory)) if memory else "?",
        "?" if disk is None else f"{disk / 1e9:.2f} GB",
    )


def _total(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _hours(hours: float | None) -> str:
    return "?" if hours is None else f"{hours:.2f}" if hours < 10 else f"{hours:.0f}"


def _memory(megabytes: float | None) -> str:
    return "?" if megabytes is None else f"{megabytes / 1000:.1f} GB"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i in (0, len(row) - 1) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


# --- command line -------------------------------------------------------------------------------


def dry_run(repository: str | Path, configfile: str | Path) -> str:
    """Output of a dry run of everything at a scale, in an empty folder."""
    with tempfile.TemporaryDirectory(prefix="leakmeter-plan-") as folder:
        command = [
            sys.executable,
            "-m",
            "snakemake",
            "-n",
            "-s",
            str(Path(repository) / "Snakefile"),
        ]
        command += ["--directory", folder, "--configfile", str(Path(configfile).resolve())]
        process = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    text = process.stdout + process.stderr
    if process.returncode:
        raise UserError(f"{configfile}: the dry run fails: {text[-1500:].strip()}")
    return text


def plan(
    repository: str | Path,
    configfile: str | Path,
    recorded: str | Path,
    node_mb: int = 64_000,
) -> str:
    """The plan of a scale as text.

    Parameters
    ----------
    repository : root of the checkout.
    configfile : configuration of the scale.
    recorded : a result folder with timings, or a JSON file that :func:`record` gave.
    node_mb : memory of a node.
    """
    from leakmeter.workflow import complete_config

    root = Path(repository)
    source = Path(recorded)
    benchmarks = read_json(source) if source.suffix == ".json" else record(source)
    layers: dict[str, Any] = {}
    for path in (root / "config" / "config.yaml", Path(configfile)):
        try:
            layers = _merged(layers, yaml.safe_load(path.read_text(encoding="utf-8")) or {})
        except FileNotFoundError as error:
            raise UserError(f"{path}: no such configuration") from error
    schema = yaml.safe_load((root / "workflow/schemas/config.schema.yaml").read_text())
    wanted = complete_config(layers, schema)
    scaling = read_scaling(root / "config" / "scaling.yaml")
    rules = read_rules(
        [path.read_text() for path in sorted(root.glob("workflow/rules/*.smk"))], wanted
    )
    counts = parse_dry_run(dry_run(root, configfile))
    jobs = [replace(rules[rule], count=n) for rule, n in counts.items() if rule in rules]
    check = root / SMALLER
    smaller = read_json(check) if check.is_file() else None
    if smaller and smaller["scale"] == benchmarks["scale"]:
        smaller = None
    estimates = estimate(jobs, benchmarks, wanted, scaling, smaller)
    disk = disk_estimate(benchmarks, wanted, scaling)
    return render(estimates, disk, benchmarks, wanted["scale"], node_mb)


def _merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in more.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: ``plan CONFIG`` prints a plan, ``record RESULTS --out FILE`` keeps benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m leakmeter.reporting.plan", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    shown = commands.add_parser("plan", help="what a scale will cost")
    shown.add_argument("configfile")
    shown.add_argument("--recorded", default=RECORDED)
    shown.add_argument("--node", type=float, default=64, metavar="GB", help="memory of a node")
    kept = commands.add_parser("record", help="keep the benchmarks of a finished run")
    kept.add_argument("results", help="results/<scale>")
    kept.add_argument("--out", help="default: resources/benchmarks/<scale>.json")
    given = parser.parse_args(arguments)
    try:
        if given.command == "record":
            found = record(given.results)
            out = given.out or f"resources/benchmarks/{found['scale']}.json"
            write_json(out, found)
            print(f"kept: {out}")
        else:
            print(
                plan(Path.cwd(), given.configfile, given.recorded, round(given.node * 1000)), end=""
            )
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
