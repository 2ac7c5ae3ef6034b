"""Parse-time helpers: configuration, code digests, stale locks."""

import ast
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from leakmeter import workflow
from leakmeter.runtime import UserError


@pytest.fixture
def schema(root):
    return yaml.safe_load((root / "workflow/schemas/config.schema.yaml").read_text())


# --- configuration ------------------------------------------------------------------------------


def test_defaults_are_the_laptop_scale(schema):
    config = workflow.complete_config({}, schema)
    assert config["scale"] == "laptop"
    assert config["dpauc"]["model"]["epochs"] == 3


def test_one_stated_key_keeps_every_other_default(schema):
    config = workflow.complete_config({"dpauc": {"model": {"epochs": 1}}}, schema)
    defaults = workflow.complete_config({}, schema)
    defaults["dpauc"]["model"]["epochs"] = 1
    assert config == defaults


def test_the_given_configuration_is_not_changed(schema):
    given = {"dpauc": {}}
    workflow.complete_config(given, schema)
    assert given == {"dpauc": {}}


@pytest.mark.parametrize("name", ["config", "smoke", "paper"])
def test_shipped_configurations_are_valid(root, schema, name):
    given = yaml.safe_load((root / f"config/{name}.yaml").read_text())
    config = workflow.complete_config(given, schema)
    assert config["scale"] == {"config": "laptop"}.get(name, name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dpauc: {model: {epoch: 3}}", ["dpauc.model.epoch: unknown key", "did you mean 'epochs'"]),
        ("colour: red", ["colour: unknown key", "known keys: scale"]),
        ("dpauc: {model: {epochs: three}}", ["dpauc.model.epochs", "'three'", "expected integer"]),
        (
            "dpauc: {model: {learning_rate: 1e-5}}",
            ["dpauc.model.learning_rate", "'1e-5'", "expected number", "1.0e-5"],
        ),
        ("dpauc: {sweeps: {epsilons: [1, 0]}}", ["dpauc.sweeps.epsilons.1", "0"]),
        ("data: {mode: maybe}", ["data.mode", "'maybe'", "auto, real, standin"]),
        ("seed: -1", ["seed", "-1"]),
        ("dpauc: 3", ["dpauc", "expected keys below it (a mapping)"]),
        ("dpauc:", ["dpauc: got None", "expected keys below it (a mapping)"]),
        ("labelings: {cost: {sizes: 3}}", ["labelings.cost.sizes", "expected a list"]),
        ("labelings: {auc: '7.50'}", ["labelings.auc", "'7.50'", "a fraction p/q or a decimal"]),
        ("labelings: {auc: '0.'}", ["labelings.auc", "'0.'", "a fraction p/q or a decimal"]),
        ("labelings: {auc: '5/4'}", ["labelings.auc", "'5/4'", "a fraction p/q or a decimal"]),
        ("dpauc: {own: {methods: [magic]}}", ["dpauc.own.methods.0", "'magic'", "rank_sum"]),
        ("labelings: {auc: 0.75}", ["labelings.auc", 'quote it: "0.75"']),
        ("data: {timeout: '5'}", ["data.timeout", "write 5 without quotes"]),
        ("claims: {level: '0.02'}", ["claims.level", "write 0.02 without quotes"]),
        ("audit: {games: {ranking_models: 4}}", ["audit.games.ranking_models", "minimum of 8"]),
        (
            "beyond: {mechanisms: {epsilons: [2, 4]}}",
            ["beyond.mechanisms.epsilons", "expected a list that holds 1"],
        ),
        ("scale: Laptop 2", ["scale", "Laptop 2"]),
        ("scale: prepared", ["scale", "prepared", "lower-case letters"]),
        ("labelings: {growth: {aucs: ['5/4']}}", ["growth.aucs.0", "'5/4'", "p/q between 0 and 1"]),
        (
            "labelings: {growth: {aucs: [0.75]}}",
            ["growth.aucs.0", "0.75", "expected string", "quote it"],
        ),
        ("labelings: {growth: {aucs: []}}", ["growth.aucs", "list of at least 1"]),
        ("dpauc: {criteo: {file: x.txt}}", ["dpauc.criteo.file", "dataset criteo_file only"]),
        ("dpauc: {criteo: {dataset: criteo_file}}", ["criteo.file", "needs the path of your log"]),
    ],
)
def test_mistakes_are_named_by_their_path(schema, text, expected):
    with pytest.raises(UserError) as error:
        workflow.complete_config(yaml.safe_load(text), schema)
    for part in expected:
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("files", "values", "expected"),
    [
        ([], None, ""),
        (["code/config/config.yaml"], [], ""),
        (["code/config/smoke.yaml"], [], "--configfile config/smoke.yaml"),
        # one of the same name that is not the repository's
        (["config/config.yaml"], [], "--configfile config/config.yaml"),
        (
            ["code/config/smoke.yaml", "my own.yaml"],
            ["seed=3", "data={mode: real}"],
            "--configfile config/smoke.yaml 'my own.yaml' --config seed=3 'data={mode: real}'",
        ),
        (["code/config/config.yaml"], "seed=3", "--config seed=3"),
    ],
)
def test_options_of_the_command_line_that_configured_a_run(
    tmp_path, monkeypatch, files, values, expected
):
    monkeypatch.chdir(tmp_path)
    found = workflow.config_options([tmp_path / name for name in files], values, tmp_path / "code")
    assert found == expected
    outside = workflow.config_options(["/elsewhere/mine.yaml"], [], tmp_path / "code")
    assert outside == "--configfile /elsewhere/mine.yaml"


@pytest.mark.parametrize("text", ["0.77", ".5", "1", "1.0", "1387/1440", " 0.5 "])
def test_printed_aucs_are_taken(schema, text):
    from leakmeter.own.constrained import read_auc

    completed = workflow.complete_config({"labelings": {"auc": text}}, schema)
    assert read_auc(completed["labelings"]["auc"]) is not None


def test_methods_of_the_schema_are_those_of_the_library(schema):
    from leakmeter.dpauc.private_release import METHODS

    items = schema["properties"]["dpauc"]["properties"]["own"]["properties"]["methods"]["items"]
    known = [(name, *(f"{name}:{noise}" for noise in m.noises)) for name, m in METHODS.items()]
    assert items["enum"] == [spec for specs in known for spec in specs]


def test_a_key_that_is_stated_twice_is_refused(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("seed: 1\ndpauc:\n  model: {epochs: 3}\nx: &a {b: 1}\ny: {<<: *a, b: 2}\n")
    workflow.refuse_duplicate_keys(path)
    path.write_text("dpauc:\n  model: {epochs: 3}\n\ndpauc: {}\n")
    with pytest.raises(UserError, match=r"mine\.yaml, line 4: the key dpauc stands on line 1"):
        workflow.refuse_duplicate_keys(path)
    path.write_text("list:\n- {a: 1, a: 2}\n")
    with pytest.raises(UserError, match=r"line 2: the key a stands on line 2"):
        workflow.refuse_duplicate_keys(path)


def test_no_yaml_of_the_repository_states_a_key_twice(root):
    folders = ("config", "docs", "profiles", "resources", "src", "workflow")
    listed = [path for name in folders for path in (root / name).rglob("*.yaml")]
    assert len(listed) > 8
    for path in listed:
        workflow.refuse_duplicate_keys(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "labelings: {cost: {sizes: [10, 20, 30], recurrence_up_to: 8}}",
            "labelings.cost.recurrence_up_to: got 8, expected at least the second smallest",
        ),
        (
            "audit: {games: {trials: 25, m: [1, 10]}}",
            "audit.games.trials: got 25, expected a multiple of every entry of audit.games.m, which has 10",
        ),
        ("audit: {games: {trials: 5000}}", "cifar10.candidates: got 8000, expected at least 2 * "),
        ("audit: {games: {sst2: {base: 10}}}", "sst2.base: got 10, expected at least the largest"),
        ("audit: {games: {ranking_models: 12}}", "audit.games.ranking_models: got 12, each with"),
        ("shapr: {backdoors: {models: 40}}", "expected at most shapr.shadow_models + 2 = 10"),
        (
            "beyond: {record_risk: {models: 16}}",
            "beyond.record_risk.models: got 16, expected at least beyond.record_risk.scoring_models + 8",
        ),
        (
            "dpauc: {own: {methods: [stoddard], thresholds: 3000}}",
            "dpauc.own.thresholds: got 3000, expected at most 2048 with stoddard",
        ),
        (
            "shapr: {features: a.csv, own: {space: outputs}}",
            "shapr.own.space: got 'outputs', expected a file of them in shapr.outputs",
        ),
    ],
)
def test_keys_that_do_not_go_together_are_named(schema, text, expected):
    with pytest.raises(UserError, match="do not go together") as error:
        workflow.complete_config(yaml.safe_load(text), schema)
    assert expected in str(error.value)


def test_every_mistake_is_listed_at_once(schema):
    with pytest.raises(UserError) as error:
        workflow.complete_config({"seed": "x", "threads": 0}, schema)
    assert "seed" in str(error.value)
    assert "threads" in str(error.value)


def test_every_key_has_a_description_and_a_default(schema):
    def walk(part, path):
        for key, value in part["properties"].items():
            assert "default" in value, f"{path}{key}"
            if value.get("type") == "object":
                assert value["additionalProperties"] is False, f"{path}{key}"
                walk(value, f"{path}{key}.")
            else:
                assert value["description"], f"{path}{key}"

    walk(schema, "")


def test_the_reference_of_keys_is_current(root, schema):
    """`make docs` writes it."""
    assert (root / "config/README.md").read_text() == workflow.config_markdown(schema)


# --- code digests -------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path):
    files = {
        "leakmeter/__init__.py": "",
        "leakmeter/runtime.py": "import numpy",
        "leakmeter/room/__init__.py": "import lazy_loader",
        "leakmeter/room/a.py": "from leakmeter.runtime import x\nfrom . import b",
        "leakmeter/room/b.py": "def f():\n    from leakmeter.other.c import y",
        "leakmeter/room/unused.py": "z = 1",
        "leakmeter/other/__init__.py": "",
        "leakmeter/other/c.py": "NAME = 'table.yaml'",
        "leakmeter/other/table.yaml": "a: 1",
        "leakmeter/other/free.yaml": "a: 1",
        "script.py": "from leakmeter.room.a import thing\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "reruns"),
    [
        ("script.py", True),
        ("leakmeter/__init__.py", True),
        ("leakmeter/runtime.py", True),
        ("leakmeter/room/__init__.py", True),
        ("leakmeter/room/a.py", True),
        ("leakmeter/room/b.py", True),  # through a relative import
        ("leakmeter/other/c.py", True),  # through an import inside a function
        ("leakmeter/other/table.yaml", True),  # a data file that a module names
        ("leakmeter/other/free.yaml", False),
        ("leakmeter/room/unused.py", False),
    ],
)
def test_the_digest_follows_exactly_what_is_imported(package, changed, reruns):
    before = workflow.code_digest(package / "script.py", package)
    with open(package / changed, "a") as handle:
        handle.write("\n# changed\n")
    assert (workflow.code_digest(package / "script.py", package) != before) == reruns


def test_a_lazily_loaded_name_counts_as_every_module_of_its_package(package):
    (package / "script.py").write_text("from leakmeter.room import thing\n")
    before = workflow.code_digest(package / "script.py", package)
    (package / "leakmeter/room/unused.py").write_text("z = 2")
    assert workflow.code_digest(package / "script.py", package) != before


def test_a_syntax_error_is_named_by_file_and_line(package):
    (package / "leakmeter/room/b.py").write_text("x = 1\ndef f(:\n")
    with pytest.raises(UserError, match=r"b\.py, line 2"):
        workflow.code_digest(package / "script.py", package)


#: Runs the imports of each script in turn, from a state without our modules, and prints what came.
IMPORTER = """
import json, sys
loaded = {}
for name, imports in json.load(sys.stdin).items():
    for module in [m for m in sys.modules if m.split(".")[0] == "leakmeter"]:
        del sys.modules[module]
    exec(imports, {})
    ours = [m for n, m in sys.modules.items() if n.split(".")[0] == "leakmeter"]
    loaded[name] = [m.__file__ for m in ours if getattr(m, "__file__", None)]
print(json.dumps(loaded))
"""


def closure(script, source):
    found, pending = set(), list(workflow._imports(script, source))
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending.extend(workflow._imports(path, source))
    return {str(path) for path in found}


def imports_of(script):
    tree = ast.parse(script.read_text())
    statements = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    return "\n".join(ast.unparse(statement) for statement in statements)


def test_the_closure_is_what_python_really_imports(root):
    """No module of ours that a script imports at run time is missing from its digest's closure."""
    scripts = sorted((root / "workflow/scripts").rglob("*.py"))
    given = json.dumps({str(script): imports_of(script) for script in scripts})
    process = subprocess.run(
        [sys.executable, "-c", IMPORTER], input=given, capture_output=True, text=True, check=True
    )
    loaded = json.loads(process.stdout.splitlines()[-1])
    assert len(loaded) > 20
    for name, files in loaded.items():
        assert set(files) <= closure(root / name, root / "src"), name


# --- locks --------------------------------------------------------------------------------------


@pytest.fixture
def locked(tmp_path):
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").write_text("a\n")
    (tmp_path / ".snakemake/leakmeter-owner.json").write_text(
        json.dumps({"host": socket.gethostname()})
    )
    return tmp_path


def locks_of(folder):
    return list((folder / ".snakemake/locks").iterdir())


def test_a_dead_run_of_this_host_loses_its_lock(locked):
    assert workflow.release_stale_lock(locked) is True
    assert locks_of(locked) == []


def test_a_lock_of_another_host_is_kept(locked):
    (locked / ".snakemake/leakmeter-owner.json").write_text(json.dumps({"host": "elsewhere"}))
    assert workflow.release_stale_lock(locked) is False
    assert locks_of(locked)


def test_a_lock_of_unknown_origin_is_kept(locked):
    (locked / ".snakemake/leakmeter-owner.json").unlink()
    assert workflow.release_stale_lock(locked) is False
    assert locks_of(locked)


def test_a_living_run_keeps_its_lock(locked):
    stand_in = locked / "snakemake"  # what counts is the program's name and where it works
    stand_in.write_text("import time; time.sleep(60)")
    process = subprocess.Popen([sys.executable, str(stand_in)], cwd=locked)
    try:
        time.sleep(0.5)
        assert workflow.release_stale_lock(locked) is False
        assert locks_of(locked)
    finally:
        process.kill()
        process.wait()
    assert workflow.release_stale_lock(locked) is True


def test_a_folder_that_cannot_be_written_is_said_in_a_sentence(tmp_path, monkeypatch):
    def refuse(self, *_, **__):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)  # root may write anywhere
    with pytest.raises(UserError, match=r"\.snakemake: cannot be written .*--directory"):
        workflow.release_stale_lock(tmp_path)


def test_a_first_run_has_no_lock_to_release(tmp_path):
    assert workflow.release_stale_lock(tmp_path) is False


# --- data ---------------------------------------------------------------------------------------


@pytest.fixture
def used(tmp_path):
    """``used(how, file, where)``: the record of a data set that results were made from."""

    def write(how, file, where="prepared/criteo/x/source.json", nested=False):
        path = tmp_path / "results" / where
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {"how": how, "files": {"log": str(file)}}
        path.write_text(json.dumps({"resolution": record} if nested else record))
        return tmp_path / "results"

    return write


def test_a_folder_that_is_no_longer_named_is_found(tmp_path, used):
    results = used("user", tmp_path / "data" / "a" / "log.txt")
    used("user", tmp_path / "other" / "x.gz", "smoke/shapr/data/usps.json", nested=True)
    found = workflow.forgotten_folders(results, [])
    assert found == sorted([str(tmp_path / "data" / "a"), str(tmp_path / "other")])
    assert workflow.forgotten_folders(results, [tmp_path / "data"]) == [str(tmp_path / "other")]
    # a file of one's own is named itself
    assert not workflow.forgotten_folders(results, [tmp_path / "data", tmp_path / "other/x.gz"])


def test_downloads_stand_ins_and_broken_records_are_no_folders_of_the_user(tmp_path, used):
    results = used("download", "resources/data/x")
    used("standin", "y", "prepared/audit/sst2/source.json")
    (results / "prepared/criteo/x/source.json").with_name("meta.json").write_text("{}")
    broken = results / "prepared/audit/cifar10/source.json"
    broken.parent.mkdir()
    broken.write_text("[1")
    assert workflow.forgotten_folders(results, []) == []
    assert workflow.forgotten_folders(tmp_path / "none", []) == []
