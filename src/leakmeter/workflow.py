"""What the Snakefiles need at parse time: configuration, code digests, stale locks. Light imports only."""

from __future__ import annotations

import ast
import copy
import difflib
import hashlib
import json
import os
import re
import shlex
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from leakmeter.runtime import UserError, host_name

# --- configuration ------------------------------------------------------------------------------


def complete_config(config: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with the schema's defaults filled in, checked against the schema.

    The schema's defaults are the only defaults, so a workflow that imports this one states only
    what it changes.

    Raises
    ------
    UserError
        one line per wrong key: its path, what was found, what is expected, the nearest known key.
    """
    import jsonschema

    completed = _with_defaults(copy.deepcopy(dict(config)), schema)
    formats = jsonschema.FormatChecker(formats=())
    formats.checks("auc")(_is_auc)
    formats.checks("printed_auc")(_is_printed_auc)
    validator = jsonschema.Draft202012Validator(schema, format_checker=formats)
    errors = sorted(
        validator.iter_errors(completed), key=lambda e: [str(p) for p in e.absolute_path]
    )
    if errors:
        lines = "\n".join(f"  {_explain(error)}" for error in errors)
        raise UserError(
            f"the configuration is not valid (config/README.md lists every key):\n{lines}"
        )
    if broken := [why for rule in BETWEEN_KEYS for why in rule(completed)]:
        lines = "\n".join(f"  {why}" for why in broken)
        raise UserError(f"keys of the configuration do not go together:\n{lines}")
    return completed


def config_options(files: Sequence[str | Path], values: Any, repository: str | Path) -> str:
    """The command line's options that configure a run, ready to be typed again.

    Files below the repository or the working directory are named from there; ``config/config.yaml``
    is left out, since it applies without being named.

    Parameters
    ----------
    files : what ``--configfile`` named. values : what ``--config`` named, one text or a list.

    >>> config_options(["/code/config/smoke.yaml", "/code/config/config.yaml"], [], "/code")
    '--configfile config/smoke.yaml'
    """
    root = Path(repository).absolute()
    shown = []
    for path in (Path(name).absolute() for name in files):
        if path == root / "config" / "config.yaml":
            continue
        home = next((f for f in (root, Path.cwd()) if path.is_relative_to(f)), None)
        shown.append(str(path.relative_to(home) if home else path))
    given = values.split() if isinstance(values, str) else [str(value) for value in values or ()]
    parts = ["--configfile", *map(shlex.quote, shown)] if shown else []
    parts += ["--config", *map(shlex.quote, given)] if given else []
    return " ".join(parts)


def refuse_duplicate_keys(path: str | Path) -> None:
    """Refuse a YAML file that states a key twice: parsers keep the last one without a word.

    Raises
    ------
    UserError
        the file, the line and the key.
    """
    import yaml

    text = Path(path).read_text(encoding="utf-8")
    try:
        pending = [yaml.compose(text, Loader=yaml.SafeLoader)]
    except yaml.YAMLError:
        return  # Snakemake says what is wrong with the file
    seen = set()
    while pending:
        node = pending.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending.extend(node.value)
        if not isinstance(node, yaml.MappingNode):
            continue
        first: dict[str, int] = {}
        for key, value in node.value:
            pending.append(value)
            if not isinstance(key, yaml.ScalarNode):
                continue
            line = key.start_mark.line + 1
            if key.value in first:
                raise UserError(
                    f"{path}, line {line}: the key {key.value} stands on line {first[key.value]} "
                    "already; expected it once (YAML would keep the last one)"
                )
            first[key.value] = line


# --- rules between keys: each gives one sentence per mistake ---


def _trials_split_into_models(config: Mapping[str, Any]) -> list[str]:
    games = config["audit"]["games"]
    uneven = [m for m in games["m"] if games["trials"] % m]
    if not uneven:
        return []
    return [
        f"audit.games.trials: got {games['trials']}, expected a multiple of every entry of "
        f"audit.games.m, which has {', '.join(map(str, uneven))}"
    ]


def _candidates_suffice(config: Mapping[str, Any]) -> list[str]:
    games, said = config["audit"]["games"], []
    for name in ("cifar10", "sst2"):
        candidates, base = games[name]["candidates"], games[name]["base"]
        needed = {
            "2 * audit.games.trials": 2 * games["trials"],
            "audit.games.ranking_size": games["ranking_size"],
        }
        said += [
            f"audit.games.{name}.candidates: got {candidates}, expected at least {text} = {least}"
            for text, least in needed.items()
            if candidates < least
        ]
        if base < max(games["m"]):
            said.append(
                f"audit.games.{name}.base: got {base}, expected at least the largest entry of "
                f"audit.games.m, {max(games['m'])}"
            )
    return said


def _ranking_sees_every_candidate(config: Mapping[str, Any]) -> list[str]:
    """A candidate that all or none of the ranking models have has no loss gap."""
    games = config["audit"]["games"]
    models, size = games["ranking_models"], games["ranking_size"]
    said = []
    for name in ("cifar10", "sst2"):
        candidates = games[name]["candidates"]
        share = min(1.0, size / candidates)
        unseen = candidates * ((1 - share) ** models + share**models)
        if unseen > 0.5:
            said.append(
                f"audit.games.ranking_models: got {models}, each with {size} of the {candidates} "
                f"audit.games.{name}.candidates, so that about {unseen:.1f} candidates would be in none "
                "or in all of them; expected more models"
            )
    return said


def _recurrence_has_two_sizes(config: Mapping[str, Any]) -> list[str]:
    cost = config["labelings"]["cost"]
    if sum(n <= cost["recurrence_up_to"] for n in cost["sizes"]) >= 2:
        return []
    return [
        f"labelings.cost.recurrence_up_to: got {cost['recurrence_up_to']}, expected at least the "
        f"second smallest of labelings.cost.sizes, {sorted(cost['sizes'])[1]}"
    ]


def _backdoor_models_exist(config: Mapping[str, Any]) -> list[str]:
    shapr = config["shapr"]
    said = []
    for name in shapr["backdoors"]["sets"]:
        many = "many_" if name in shapr["many_shadow_sets"] else ""
        shadows = shapr[f"{many}shadow_models"]
        if name in shapr["sets"] and shapr["backdoors"]["models"] > shadows + 2:
            said.append(
                f"shapr.backdoors.models: got {shapr['backdoors']['models']}, expected at most "
                f"shapr.{many}shadow_models + 2 = {shadows + 2} for {name}"
            )
    return said


def _models_left_to_audit(config: Mapping[str, Any]) -> list[str]:
    risk = config["beyond"]["record_risk"]
    if risk["models"] - risk["scoring_models"] >= 8:
        return []
    return [
        f"beyond.record_risk.models: got {risk['models']}, expected at least "
        f"beyond.record_risk.scoring_models + 8 = {risk['scoring_models'] + 8}"
    ]


def _thresholds_of_trees(config: Mapping[str, Any]) -> list[str]:
    own = config["dpauc"]["own"]
    trees = any(spec.partition(":")[0] == "stoddard" for spec in own["methods"])
    if not trees or own["thresholds"] <= 2048:
        return []
    return [f"dpauc.own.thresholds: got {own['thresholds']}, expected at most 2048 with stoddard"]


def _outputs_to_measure_on(config: Mapping[str, Any]) -> list[str]:
    own = config["shapr"]
    given = own["outputs"] is not None or str(own["features"]).endswith(".npz")
    if own["own"]["space"] != "outputs" or own["features"] is None or given:
        return []
    return ["shapr.own.space: got 'outputs', expected a file of them in shapr.outputs"]


#: What a schema cannot say. A rule takes the completed, valid configuration.
BETWEEN_KEYS = (
    _trials_split_into_models,
    _candidates_suffice,
    _ranking_sees_every_candidate,
    _recurrence_has_two_sizes,
    _backdoor_models_exist,
    _models_left_to_audit,
    _thresholds_of_trees,
    _outputs_to_measure_on,
)


def _is_auc(value: Any) -> bool:
    """A fraction "p/q" in [0, 1]; not the library's parser, which costs an import of it."""
    p, _, q = str(value).partition("/")
    return p.isdecimal() and q.isdecimal() and 0 <= int(p) <= int(q) and int(q) > 0


def _is_printed_auc(value: Any) -> bool:
    """A fraction, or a decimal in [0, 1]; null is none of this check's business."""
    decimal = re.fullmatch(r"[0-9]*\.?[0-9]+", str(value).strip())
    return value is None or _is_auc(value) or (decimal is not None and float(value) <= 1)


def _with_defaults(value: Any, schema: Mapping[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    for key, part in schema.get("properties", {}).items():
        if key not in value and "default" in part:
            value[key] = copy.deepcopy(part["default"])
        if key in value:
            value[key] = _with_defaults(value[key], part)
    return value


def _explain(error: Any) -> str:
    path = ".".join(str(p) for p in error.absolute_path)
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        unknown = [key for key in error.instance if key not in known]
        parts = []
        for key in unknown:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
            parts.append(f"{path + '.' if path else ''}{key}: unknown key; {hint}")
        return "; ".join(parts)
    found = (
        f"{path or 'the configuration'}: got {error.instance!r} ({type(error.instance).__name__})"
    )
    if why := error.schema.get("errorMessage"):
        return f"{found}; {why}"
    if error.validator == "format":
        decimal = " or a decimal" if error.validator_value == "printed_auc" else ""
        return f'{found}, expected a fraction p/q{decimal} between 0 and 1, quoted, such as "3/4"'
    if error.validator == "contains":
        return f"{found}, expected a list that holds {error.validator_value.get('const')!r}"
    if error.validator in ("minItems", "maxItems"):
        entries = "at least" if error.validator == "minItems" else "at most"
        return f"{found}, expected a list of {entries} {error.validator_value}"
    if error.validator == "type":
        text = f"{found}, expected {_one_of(error.validator_value)}"
        return text + _hint(error.instance, error.validator_value)
    if error.validator == "enum":
        known = ("null" if value is None else str(value) for value in error.validator_value)
        return f"{found}, expected one of {', '.join(known)}"
    return f"{found}: {error.message}"


def _hint(value: Any, kinds: Any) -> str:
    """How to write a value so that YAML reads it as the type that is expected."""
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "string" in kinds and isinstance(value, int | float) and not isinstance(value, bool):
        return f'; quote it: "{value}"'
    # a file has these as text only if they are quoted; Snakemake reads a mapping after --config so
    bare = (
        "; this is text: write {} without quotes, and in a file for --configfile, as everything "
        "inside {{...}} of --config is text"
    )
    if "boolean" in kinds and value in ("true", "false", "True", "False"):
        return bare.format(value.lower())
    if not (isinstance(value, str) and {"number", "integer"} & set(kinds) and _is_number(value)):
        return ""
    if value.lstrip("+-").isdecimal():
        return bare.format(int(value))
    if "e" not in value.lower():
        return bare.format(repr(float(value)))
    return f"; YAML reads {value} as text, write {float(value)!r} or {_yaml_float(value)}"


_KINDS = {"object": "keys below it (a mapping)", "array": "a list", "null": "null"}


def _one_of(kinds: Any) -> str:
    return " or ".join(_KINDS.get(k, k) for k in ([kinds] if isinstance(kinds, str) else kinds))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _yaml_float(text: str) -> str:
    # YAML 1.1 wants a dot in the mantissa and a sign in the exponent before it sees a number
    mantissa, exponent = text.lower().split("e")
    if "." not in mantissa:
        mantissa += ".0"
    if exponent[0] not in "+-":
        exponent = f"+{exponent}"
    return f"{mantissa}e{exponent}"


def config_markdown(schema: Mapping[str, Any]) -> str:
    """The reference of all keys as Markdown, one table per section of the schema."""
    lines = [
        "# Configuration",
        "",
        "Generated from `workflow/schemas/config.schema.yaml` by `make docs`; a test keeps it current.",
        "",
        "Three scales come with the workflow: `config/config.yaml` (laptop, the default), `config/smoke.yaml`",
        "and `config/paper.yaml`. A file states only what it changes; every other key has the default below.",
        "Choose one with `--configfile`, after the targets:",
        "",
        "```",
        "snakemake dpauc --cores 2 --configfile config/smoke.yaml",
        "```",
        "",
        "For a configuration of your own, copy one, give it a `scale` of its own (results go to",
        "`results/<scale>/`) and keep the keys you change. Keys of `config/config.yaml` apply underneath every",
        "other file. Unknown keys, wrong types and numbers that YAML reads as text (`1e-5`; write `1.0e-5`) are",
        "refused with the path of the key.",
    ]
    _sections(schema, "", lines)
    return "\n".join(lines) + "\n"


def _sections(schema: Mapping[str, Any], path: str, lines: list[str]) -> None:
    plain = {k: v for k, v in schema["properties"].items() if v.get("type") != "object"}
    if plain:
        lines += ["", f"## {path.rstrip('.') or 'top level'}", ""]
        lines += ["| key | values | default | meaning |", "| --- | --- | --- | --- |"]
        for key, part in plain.items():
            default = json.dumps(part["default"])
            lines.append(f"| `{key}` | {_values(part)} | `{default}` | {part['description']} |")
    for key, part in schema["properties"].items():
        if part.get("type") == "object":
            _sections(part, f"{path}{key}.", lines)


def _values(part: Mapping[str, Any]) -> str:
    if "enum" in part:
        return ", ".join(f"`{'null' if value is None else value}`" for value in part["enum"])
    kinds = part["type"] if isinstance(part["type"], list) else [part["type"]]
    text = " or ".join(kinds)
    if "pattern" in part and "errorMessage" in part:
        text = part["errorMessage"].removeprefix("expected ")
    if "format" in part:
        decimal = " or decimal" if part["format"] == "printed_auc" else ""
        text = f"quoted fraction p/q{decimal} in [0, 1]"
        text += " or null" if "null" in kinds else ""
    if "items" in part:
        lengths = part.get("minItems", 0), part.get("maxItems")
        size = f" ({lengths[0]} to {lengths[1]})" if lengths[1] else f" (at least {lengths[0]})"
        text = f"list of {_values(part['items'])}{size if any(lengths) else ''}"
    bounds = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    limits = [f"{sign} {part[key]}" for key, sign in bounds.items() if key in part]
    return f"{text} {', '.join(limits)}".strip()


# --- code digests -------------------------------------------------------------------------------


def code_digest(script: str | Path, source: str | Path) -> str:
    """Digest of a script and the library modules it imports, directly or through other modules.

    Snakemake reruns a rule when its script changes but does not see what the script imports. A
    rule that carries this digest in its params is rerun when any imported module, or a YAML file
    that such a module names and that lies beside it, changes, and only then.

    Parameters
    ----------
    script : path of the Python script.
    source : folder that holds the package ``leakmeter``.
    """
    source = Path(source)
    script = Path(script)
    files: set[Path] = set()
    pending = list(_imports(script, source))
    while pending:
        path = pending.pop()
        if path in files:
            continue
        files.add(path)
        files.update(_data_files(path))
        pending.extend(_imports(path, source))
    digest = hashlib.sha256(script.read_bytes())
    for path in sorted(files):
        digest.update(f"{path.relative_to(source).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class _Facts:
    """What of a file's text decides its digest: its imports as (module, names), YAML files named."""

    imports: tuple[tuple[str, tuple[str, ...]], ...]
    relative: tuple[tuple[int, str, tuple[str, ...]], ...]
    data: tuple[str, ...]


def _facts(path: Path) -> _Facts:
    stat = path.stat()
    return _facts_of_version(path, stat.st_mtime_ns, stat.st_size)


@cache
def _facts_of_version(path: Path, _mtime: int, _size: int) -> _Facts:
    # each file is read once, however many scripts import it: every job parses the workflow anew
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except SyntaxError as error:
        raise UserError(f"{path}, line {error.lineno}: {error.msg}") from error
    imports, relative, data = [], [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [(alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            if node.level:
                relative.append((node.level, node.module or "", names))
            else:
                imports.append((node.module or "", names))
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.endswith(".yaml")
        ):
            data.append(node.value)
    ours = [entry for entry in imports if entry[0].partition(".")[0] == "leakmeter"]
    return _Facts(tuple(ours), tuple(relative), tuple(data))


def _imports(path: Path, source: Path) -> set[Path]:
    """Files of ``leakmeter`` modules that a file imports anywhere, functions included."""
    facts = _facts(path)
    named = list(facts.imports)
    for level, module, names in facts.relative:
        package = path.relative_to(source).parent.parts[: None if level == 1 else 1 - level]
        named.append((".".join([*package, *([module] if module else [])]), names))
    found: set[Path] = set()
    for module, names in named:
        found |= _module_files(module, source)
        for name in names:
            found |= _member_files(module, name, source)
    return found


def _module_files(name: str, source: Path) -> set[Path]:
    """The file of a module and the ``__init__`` files above it, which Python runs first."""
    parts = name.split(".")
    if parts[0] != "leakmeter":
        return set()
    files = {source.joinpath(*parts[:depth], "__init__.py") for depth in range(1, len(parts) + 1)}
    files.add(source.joinpath(*parts[:-1], f"{parts[-1]}.py"))
    return {path for path in files if path.is_file()}


def _member_files(module: str, member: str, source: Path) -> set[Path]:
    parts = module.split(".")
    package = source.joinpath(*parts)
    if parts[0] != "leakmeter" or not package.is_dir():
        return set()
    submodule = _module_files(f"{module}.{member}", source) - _module_files(module, source)
    if submodule:
        return submodule
    # a name that a package loads lazily: which module it comes from is not known without running it
    return {path for path in package.glob("*.py")} if member != "__version__" else set()


def _data_files(path: Path) -> set[Path]:
    return {path.parent / name for name in _facts(path).data if (path.parent / name).is_file()}


def export_source(source: str | Path) -> None:
    """Put the package's folder on the import path of every job that this process starts.

    Jobs may run in another environment (conda) or on another node, where a nested Snakemake reads
    the Snakefile again and gets here too.
    """
    others = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(source), *others]))


# --- data ---------------------------------------------------------------------------------------


def forgotten_folders(results: str | Path, data_dirs: Sequence[str | Path]) -> list[str]:
    """Folders of the user that results were made from and that are not named any more.

    The commonest way to lose genuine results is a new shell without ``LEAKMETER_DATA``: the run
    then replaces them by what can be downloaded or by stand-ins.

    Parameters
    ----------
    results : folder of all scales; the records of its data sets are read.
    data_dirs : the user's folders that are named now.
    """
    roots = [Path(folder).resolve() for folder in data_dirs]
    folders = set()
    for path in Path(results).glob("*/*/*/*.json"):
        if path.name != "source.json" and path.parent.name != "data":
            continue
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            resolution = record.get("resolution", record)
            used = resolution["files"].values() if resolution["how"] == "user" else ()
        except (OSError, ValueError, KeyError, AttributeError):
            continue  # another file, or one that a killed run left; its rule makes it anew
        for file in (Path(name).resolve() for name in used):
            if not any(file.is_relative_to(root) for root in roots):
                folders.add(str(file.parent))
    return sorted(folders)


# --- locks --------------------------------------------------------------------------------------


def release_stale_lock(workdir: str | Path) -> bool:
    """Remove Snakemake's lock when the run that took it is dead, so that a killed run resumes.

    Snakemake's lock outlives a SIGKILL. It is stale when the last run in this folder was started
    on this host and no Snakemake process of this host works in this folder any more. A lock that
    another host may hold is never touched.

    Returns whether a lock was removed.

    Raises
    ------
    UserError
        the folder cannot be written.
    """
    try:
        return _release_stale_lock(Path(workdir).resolve())
    except OSError as error:
        raise UserError(
            f"{error.filename or workdir}: cannot be written ({error.strerror}); expected a working "
            "folder that is yours to write, name another one with --directory"
        ) from error


def _release_stale_lock(workdir: Path) -> bool:
    import psutil

    state = workdir / ".snakemake"
    owner = state / "leakmeter-owner.json"
    locks = list((state / "locks").glob("*")) if (state / "locks").is_dir() else []
    host = socket.gethostname()
    if locks:
        try:
            last_host = json.loads(owner.read_text())["host"]
        except (OSError, ValueError, KeyError):
            return False
        if last_host != host or _snakemake_works_in(state.parent, psutil):
            return False
        for lock in locks:
            lock.unlink(missing_ok=True)
    state.mkdir(exist_ok=True)
    temporary = owner.with_name(f"{owner.name}.{host_name()}-{os.getpid()}")
    temporary.write_text(json.dumps({"host": host}) + "\n")
    os.replace(temporary, owner)
    return bool(locks)


def _snakemake_works_in(folder: Path, psutil: Any) -> bool:
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        info = process.info
        words = [Path(word).name for word in (info["cmdline"] or [])[:3]]
        if (
            info["pid"] not in own
            and info["cwd"]
            and Path(info["cwd"]) == folder
            and ("snakemake" in words or "snakemake" in (info["cmdline"] or [])[1:3])
        ):
            return True
    return False
