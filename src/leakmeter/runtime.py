"""What every step of a run needs: named seeds, fixed threads, atomic writes, one-line errors.

Nothing here imports TensorFlow unless a script asks for it with ``tensorflow=True``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import platform
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from leakmeter.damage import first_damage

logger = logging.getLogger("leakmeter")


class UserError(Exception):
    """A mistake in what the user gave: bad data, bad configuration, a missing file.

    The message is one sentence that names the file, line or key, says what was found and what was
    expected. Scripts print it without a traceback; every other exception is a bug and keeps its own.
    """


def counted(count: int, noun: str) -> str:
    """A number with its noun, for messages.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1200 rows')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


# --- randomness ---------------------------------------------------------------------------------


def derive_seed(root: int, stage: str, **axes: Any) -> int:
    """A 63-bit seed from the root seed, the name of a stage and named axes.

    Equal names give equal seeds whatever the order of the keyword arguments, so "same data, new
    initialisation" is said by leaving an axis out of one call and not of the other. Values enter
    by their ``str``; the derivation is SHA-256, so it is the same on every platform and version.
    """
    text = "\x1f".join([str(int(root)), stage, *(f"{k}={axes[k]}" for k in sorted(axes))])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def generator(root: int, stage: str, **axes: Any) -> np.random.Generator:
    """A NumPy generator (PCG64) seeded by :func:`derive_seed`."""
    return np.random.default_rng(derive_seed(root, stage, **axes))


# --- files --------------------------------------------------------------------------------------


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary name beside ``path`` and rename it into place on success.

    The temporary name is unique per process, so the orphan of a killed run cannot write into the
    file of the next one. It keeps the suffixes of ``path`` (some writers look at them). On an
    exception the temporary file is removed and ``path`` is untouched; what a killed process of
    this host left behind for the same ``path`` is removed by the next writer.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_orphans(path)
    temporary = path.with_name(
        f".tmp-{host_name()}-{os.getpid()}-{uuid.uuid4().hex[:8]}-{path.name}"
    )
    try:
        yield temporary
        with open(temporary, "rb") as handle:
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def host_name() -> str:
    """This host's name for use in file names; nodes whose long names start alike have different ones."""
    node = platform.node()
    short = "".join(c for c in node if c.isalnum())[:16] or "host"
    return f"{short}{hashlib.sha256(node.encode()).hexdigest()[:6]}"


def _remove_orphans(path: Path) -> None:
    for orphan in path.parent.glob(f".tmp-{host_name()}-*-{path.name}"):
        pid, _, rest = orphan.name.removeprefix(f".tmp-{host_name()}-").partition("-")
        if rest.partition("-")[2] == path.name and pid.isdigit() and not _alive(int(pid)):
            orphan.unlink(missing_ok=True)


@contextlib.contextmanager
def scratch_folder(parent: str | os.PathLike | None = None) -> Iterator[Path]:
    """A folder below ``parent`` for intermediate files, removed at the end whatever happens.

    Without ``parent`` it lies where TMPDIR says, on a cluster the job's own disk. What a killed
    process of this host and user left behind in the same parent is removed first.
    """
    parent = Path(parent or tempfile.gettempdir())
    parent.mkdir(parents=True, exist_ok=True)
    for orphan in parent.glob(f".scratch-{host_name()}-*"):
        pid = orphan.name.removeprefix(f".scratch-{host_name()}-").partition("-")[0]
        if pid.isdigit() and not _alive(int(pid)):
            shutil.rmtree(orphan, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f".scratch-{host_name()}-{os.getpid()}-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write UTF-8 text atomically, with ``\\n`` line ends on every platform."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: str | os.PathLike, value: Any) -> None:
    """Write JSON atomically: sorted keys, two-space indent, NaN refused."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: str | os.PathLike) -> Any:
    """Read a JSON file; :class:`UserError` names the file and the place when it is not JSON."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except ValueError as error:
        raise UserError(f"{path}: not valid JSON ({error})") from error


def sha256_file(path: str | os.PathLike, *, algorithm: str = "sha256") -> str:
    """Hex digest of a file's content, read in blocks."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, algorithm).hexdigest()


# --- threads and determinism --------------------------------------------------------------------


def configure_threads(threads: int) -> None:
    """Fix the number of threads of BLAS, OpenMP, Arrow and numba for this process.

    Numbers depend on it (different summation orders), so it comes from the configuration and never
    from ``--cores``. Call it before the libraries are imported; what is loaded already is told
    through threadpoolctl.
    """
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
    ):
        os.environ[name] = str(threads)
    # numba's thread mask may be lowered but never raised above its value at import
    os.environ["NUMBA_NUM_THREADS"] = str(threads)
    import threadpoolctl

    threadpoolctl.threadpool_limits(threads)


def import_tensorflow() -> ModuleType:
    """TensorFlow, imported without the lines that its start-up writes to stderr."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    with _quiet_start():
        import tensorflow as tf
    return tf


def configure_tensorflow(threads: int, seed: int) -> None:
    """Import TensorFlow with fixed thread counts, deterministic ops and a global seed.

    Must run before any other TensorFlow call of the process: thread counts cannot change after the
    runtime has started (RuntimeError from TensorFlow otherwise).
    """
    tf = import_tensorflow()
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.config.experimental.enable_op_determinism()
    tf.keras.utils.set_random_seed(seed % 2**32)


#: What TensorFlow's C++ side writes at every import, whatever its log level.
_START_UP_LINES = (b"absl::InitializeLog() is called", b"oneDNN custom operations are on")


@contextlib.contextmanager
def _quiet_start() -> Iterator[None]:
    """Leave TensorFlow's start-up lines out of stderr; anything else comes through afterwards."""
    sys.stderr.flush()
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(stderr, 2)
            os.close(stderr)
            held.seek(0)
            for line in held:
                if not any(text in line for text in _START_UP_LINES):
                    os.write(2, line)


# --- scripts ------------------------------------------------------------------------------------


@contextlib.contextmanager
def script(snakemake: Any, *, tensorflow: bool = False) -> Iterator[logging.Logger]:
    """Run the body of a workflow script: log, threads, seeds, provenance, errors.

    - everything logged (and any traceback) goes to the rule's log as well as to stderr;
    - threads come from ``params.threads_fixed`` (the configuration), not from the scheduler;
    - a :class:`UserError` ends the script with status 1 and one line, no traceback; so does an
      input that another rule made and that is damaged (:mod:`leakmeter.damage`).
    """

    log_path = str(snakemake.log[0]) if snakemake.log else None
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    if log_path:
        Path(log_path).parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(log_path, mode="w", encoding="utf-8"))
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        handlers=handlers,
        force=True,
    )
    threads = int(snakemake.params.get("threads_fixed", 1))
    configure_threads(threads)
    if devices := os.environ.get("CUDA_VISIBLE_DEVICES"):
        logger.info("GPUs given to this job: %s", devices)
    if tensorflow:
        configure_tensorflow(threads, int(snakemake.params.get("seed", 0)))
    started = time.perf_counter()
    inputs = list(getattr(snakemake, "input", ()))
    try:
        if damaged := first_damage(inputs):
            raise UserError(damaged)
        yield logger
    except Exception as error:
        if damaged := first_damage(inputs, whole=True):
            logger.error("%s", damaged)
        elif isinstance(error, UserError):
            logger.error("%s", error)
        else:
            logger.exception("unexpected error in rule %s", snakemake.rule)
        sys.exit(1)
    logger.info("done in %.1f s", time.perf_counter() - started)


# --- provenance ---------------------------------------------------------------------------------

_PACKAGES = (
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "scikit-learn",
    "matplotlib",
    "numba",
    "tensorflow",
    "keras",
    "snakemake",
    "dp-accounting",
)


def library_digest() -> str:
    """Digest of the library's files, short: which code made the results."""
    package = Path(__file__).parent
    whole = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix in (".py", ".yaml", ".html", ".css", ".js", ".tex"):
            whole.update(f"{path.relative_to(package).as_posix()}\0".encode())
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


def provenance(
    *, config: Mapping[str, Any], configured: str, data: Mapping[str, Any], threads: int
) -> dict[str, Any]:
    """Facts needed to explain a number later: configuration, code, versions, CPU, threads, checksums.

    Parameters
    ----------
    config : the validated configuration the run used.
    configured : the options of the command line that made it so.
    data : per data set, the resolution record (label, files, checksums).
    threads : the fixed thread count.
    """
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for name in _PACKAGES:
        for candidate in (name, f"{name}-cpu") if name == "tensorflow" else (name,):
            with contextlib.suppress(PackageNotFoundError):
                versions[candidate] = version(candidate)
    return {
        "config": dict(config),
        "configured": configured,
        "data": dict(data),
        "threads": threads,
        "code": library_digest(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": _cpu_model(),
        "onednn": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "default"),
        "packages": versions,
    }


def _cpu_model() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
