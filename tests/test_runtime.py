"""Seeds, atomic writes, script errors."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakmeter import runtime


@given(st.integers(0, 2**40), st.text(max_size=8), st.integers())
def test_seed_does_not_depend_on_argument_order(root, stage, value):
    assert runtime.derive_seed(root, stage, a=1, b=value) == runtime.derive_seed(
        root, stage, b=value, a=1
    )


def test_seeds_differ_by_root_stage_and_axes():
    seeds = {
        runtime.derive_seed(root, stage, model=model)
        for root in range(3)
        for stage in ("init", "shuffle")
        for model in range(50)
    }
    assert len(seeds) == 300
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_seed_is_the_same_in_every_process():
    code = "from leakmeter.runtime import derive_seed; print(derive_seed(1, 'x', a=2))"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert int(shown) == runtime.derive_seed(1, "x", a=2)


def test_atomic_path_leaves_nothing_behind_on_failure(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")

    def write_half():
        with runtime.atomic_path(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_atomic_path_removes_what_a_killed_process_left(tmp_path):
    target = tmp_path / "out.csv"
    code = (
        "import os, signal; from leakmeter.runtime import atomic_path\n"
        f"with atomic_path({str(target)!r}) as t:\n"
        "    t.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert len(os.listdir(tmp_path)) == 1
    assert not target.exists()
    runtime.write_text(target, "whole")
    assert os.listdir(tmp_path) == ["out.csv"]


def test_atomic_path_spares_a_living_writer(tmp_path):
    target = tmp_path / "out.csv"
    with runtime.atomic_path(target) as first, runtime.atomic_path(target) as second:
        first.write_text("first")
        second.write_text("second")
        assert first.exists()
    assert target.read_text() == "first"


def test_scratch_folder_is_removed_and_clears_up_after_a_killed_process(tmp_path):
    code = (
        "import os, signal; from leakmeter.runtime import scratch_folder\n"
        f"with scratch_folder({str(tmp_path)!r}) as folder:\n"
        "    (folder / 'x').write_text('x'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert len(os.listdir(tmp_path)) == 1
    with runtime.scratch_folder(tmp_path) as folder, runtime.scratch_folder(tmp_path) as other:
        assert sorted(os.listdir(tmp_path)) == sorted([folder.name, other.name])
    assert os.listdir(tmp_path) == []


def test_scratch_folders_lie_where_tmpdir_says(tmp_path):
    code = (
        "from leakmeter.runtime import scratch_folder\nwith scratch_folder() as f: print(f.parent)"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    process = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == str(tmp_path)


def test_nodes_whose_names_start_alike_are_told_apart(tmp_path, monkeypatch):
    """Their process ids mean nothing to each other: a live file of another node is kept."""
    target = tmp_path / "out.csv"
    monkeypatch.setattr(runtime.platform, "node", lambda: "cluster-partition-node-0001")
    first = runtime.host_name()
    with runtime.atomic_path(target) as theirs:
        theirs.write_text("x")
        # as if its process were dead here
        monkeypatch.setattr(runtime, "_alive", lambda pid: False)
        monkeypatch.setattr(runtime.platform, "node", lambda: "cluster-partition-node-0002")
        assert runtime.host_name() != first
        runtime.write_text(target, "ours")
        assert theirs.exists()


def test_write_json_refuses_nan(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        runtime.write_json(tmp_path / "x.json", {"a": float("nan")})
    assert os.listdir(tmp_path) == []


def test_read_json_names_the_file(tmp_path):
    path = tmp_path / "bad.json"
    path.write_text("{")
    with pytest.raises(runtime.UserError, match=r"bad\.json"):
        runtime.read_json(path)
    with pytest.raises(runtime.UserError, match="no such file"):
        runtime.read_json(tmp_path / "none.json")


def fake_snakemake(tmp_path):
    return SimpleNamespace(log=[str(tmp_path / "rule.log")], params={}, rule="rule")


def test_script_prints_a_user_error_as_one_line(tmp_path):
    with pytest.raises(SystemExit) as stop, runtime.script(fake_snakemake(tmp_path)):
        raise runtime.UserError("data.txt, line 3: got 5 fields, expected 40")
    assert stop.value.code == 1
    log = (tmp_path / "rule.log").read_text()
    assert "data.txt, line 3: got 5 fields, expected 40" in log
    assert "Traceback" not in log


def test_script_logs_the_traceback_of_a_bug(tmp_path):
    with pytest.raises(SystemExit), runtime.script(fake_snakemake(tmp_path)):
        raise KeyError("bug")
    assert "Traceback" in (tmp_path / "rule.log").read_text()


def test_importing_the_package_and_its_light_modules_does_not_import_tensorflow():
    code = (
        "import sys, leakmeter, leakmeter.runtime, leakmeter.workflow, leakmeter.datasets.resolve\n"
        "import leakmeter.dpauc, leakmeter.reporting.claims\n"
        "from leakmeter.dpauc import count, exact_auc, thresholds\n"
        "sys.exit('tensorflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_start_up_lines_are_left_out_and_nothing_else(capfd):
    with runtime._quiet_start():
        os.write(2, b"I0000 port.cc:153] oneDNN custom operations are on. You may see\n")
        os.write(2, b"E0000 something is wrong\n")
    os.write(2, b"afterwards\n")
    assert capfd.readouterr().err.splitlines() == ["E0000 something is wrong", "afterwards"]


def test_what_a_failed_import_says_comes_through(capfd):
    def fail():
        with runtime._quiet_start():
            os.write(2, b"why it failed\n")
            raise ImportError

    with pytest.raises(ImportError):
        fail()
    assert capfd.readouterr().err == "why it failed\n"


def test_provenance_has_the_digest_of_the_library():
    record = runtime.provenance(config={}, configured="", data={}, threads=1)
    assert record["code"] == runtime.library_digest()
    assert re.fullmatch("[0-9a-f]{16}", record["code"])


def test_the_digest_changes_with_any_file_of_the_library(tmp_path, monkeypatch):
    package = tmp_path / "leakmeter"
    (package / "room").mkdir(parents=True)
    (package / "runtime.py").write_text("a = 1\n")
    (package / "room" / "table.yaml").write_text("a: 1\n")
    monkeypatch.setattr(runtime, "__file__", str(package / "runtime.py"))
    seen = {runtime.library_digest()}
    (package / "room" / "table.yaml").write_text("a: 2\n")
    seen.add(runtime.library_digest())
    (package / "room" / "table.yaml").rename(package / "table.yaml")
    seen.add(runtime.library_digest())
    assert len(seen) == 3
    (package / "notes.txt").write_text("not code\n")
    assert runtime.library_digest() in seen
