"""Reading what is inside a file: plain, gzip, or a named member of an archive; and its checksum.

Archives are read forward, by member name only: nothing is unpacked to a path that an archive
chose, links and special members are refused, nothing is unpickled.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import io
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, TextIO

from leakmeter.runtime import UserError, atomic_path

BLOCK = 1 << 20
_GZIP, _BZIP2, _XZ, _ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"PK\x03\x04"
_TAR_SUFFIXES = (".tar.gz", ".tgz", ".tar")
# What the standard decompressors raise on a file that was cut off or damaged.
_DAMAGE = (
    EOFError,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


class Damaged(UserError):
    """A compressed file or archive that is cut off or damaged; ``reason`` says how it shows."""

    def __init__(self, path: str | os.PathLike, reason: str) -> None:
        super().__init__(f"{path}: cut off or damaged ({reason}); expected a complete file")
        self.reason = reason


class NoMember(UserError):
    """An archive without the member that was asked for."""


Advance = Callable[[int], None]


def is_gzip(path: str | os.PathLike) -> bool:
    """Whether the file starts with gzip's magic number, whatever its name."""
    with open(path, "rb") as handle:
        return handle.read(2) == _GZIP


def check_member_name(member: str, where: str | os.PathLike) -> None:
    """Refuse an absolute member name or one with ``..`` (:class:`UserError`)."""
    path = PurePosixPath(member)
    if path.is_absolute() or ".." in path.parts or "\\" in member or not path.parts:
        raise UserError(
            f"{where}: member {member!r} is refused; expected a relative name without '..'"
        )


@contextlib.contextmanager
def open_binary(
    path: str | os.PathLike, member: str | None = None, *, raw: bool = False
) -> Iterator[BinaryIO]:
    """The content of ``path`` as a binary stream that can be read forward.

    Parameters
    ----------
    path : a plain file, a gzip file (recognised by its magic number) or, with ``member``, a tar
        archive (plain, gzip, bzip2 or xz) or a zip archive.
    member : the member of the archive to read. A gzip-compressed member is decompressed too.
    raw : give the file as it is, without decompression.

    Raises
    ------
    UserError
        If the file is missing or unreadable or has no such member.
    Damaged
        If it is cut off or damaged.
    """
    try:
        with contextlib.ExitStack() as stack:
            if member is not None:
                handle = stack.enter_context(_open_member(Path(path), member))
                handle = handle if raw else _gunzip(handle, stack)
            elif not raw and is_gzip(path):
                handle = stack.enter_context(gzip.open(path, "rb"))
            else:
                handle = stack.enter_context(open(path, "rb"))
            yield handle
    except _DAMAGE as error:
        raise Damaged(path, str(error) or type(error).__name__) from error
    except FileNotFoundError as error:
        raise UserError(f"{error.filename or path}: no such file") from error
    except (PermissionError, IsADirectoryError) as error:
        raise UserError(f"{error.filename or path}: cannot be read ({error.strerror})") from error
    except OSError as error:
        if error.errno is not None:
            raise
        # bz2 has no exception of its own
        raise Damaged(path, str(error)) from error


def _gunzip(handle: BinaryIO, stack: contextlib.ExitStack) -> BinaryIO:
    buffered = io.BufferedReader(handle, BLOCK) if not hasattr(handle, "peek") else handle
    if buffered.peek(2)[:2] == _GZIP:
        return stack.enter_context(gzip.GzipFile(fileobj=buffered))
    return buffered


@contextlib.contextmanager
def open_text_or_gzip(
    path: str | os.PathLike,
    member: str | None = None,
    *,
    encoding: str = "utf-8",
    newline: str | None = None,
) -> Iterator[TextIO]:
    """The content of ``path`` as text; see :func:`open_binary` for what it may be.

    Raises
    ------
    UserError
        As :func:`open_binary`, and if the content is not ``encoding``.
    """
    with open_binary(path, member) as binary:
        text = io.TextIOWrapper(binary, encoding=encoding, newline=newline)
        try:
            yield text
        except UnicodeDecodeError as error:
            raise UserError(f"{path}: not {encoding} text ({error.reason})") from error
        finally:
            # the binary stream is closed by its own context
            with contextlib.suppress(ValueError):
                text.detach()


@contextlib.contextmanager
def _open_member(path: Path, member: str) -> Iterator[BinaryIO]:
    check_member_name(member, path)
    with open(path, "rb") as handle:
        magic = handle.read(6)
    if magic.startswith(_ZIP):
        with _zip_member(path, member) as stream:
            yield stream
        return
    opener = open
    for start, candidate in ((_GZIP, gzip.open), (_BZIP2, bz2.open), (_XZ, lzma.open)):
        if magic.startswith(start):
            opener = candidate
    # Decompressing outside tarfile keeps gzip's own length and checksum tests. Members are walked
    # and read forward only: one pass even over an archive of many gigabytes.
    with opener(path, "rb") as content, tarfile.open(fileobj=content, mode="r:") as archive:
        yield _tar_member(archive, member, path)


def _tar_member(archive: tarfile.TarFile, member: str, path: Path) -> BinaryIO:
    wanted = PurePosixPath(member)
    for info in archive:
        # PurePosixPath drops a leading "./" but keeps "..", so only the same name matches
        if PurePosixPath(info.name) != wanted:
            continue
        if not info.isreg():
            raise UserError(
                f"{path}: member {member!r} is refused; expected a regular file, not a link or "
                f"special file"
            )
        return archive.extractfile(info)
    raise NoMember(f"{path}: has no member {member!r}")


@contextlib.contextmanager
def _zip_member(path: Path, member: str) -> Iterator[BinaryIO]:
    with zipfile.ZipFile(path) as archive:
        try:
            info = archive.getinfo(member)
        except KeyError:
            raise NoMember(f"{path}: has no member {member!r}") from None
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.is_dir() or kind not in (0, stat.S_IFREG):
            raise UserError(
                f"{path}: member {member!r} is refused; expected a regular file, not a link or "
                f"special file"
            )
        if info.flag_bits & 1:
            raise UserError(f"{path}: member {member!r} is encrypted; expected a readable one")
        with archive.open(info) as stream:
            yield stream


def extract_member(
    archive: str | os.PathLike, member: str, target: str | os.PathLike, *, raw: bool = True
) -> None:
    """Copy one member of an archive to ``target`` (chosen by the caller), atomically."""
    with (
        atomic_path(target) as temporary,
        open_binary(archive, member, raw=raw) as source,
        open(temporary, "wb") as sink,
    ):
        while block := source.read(BLOCK):
            sink.write(block)


def content_checksum(
    path: str | os.PathLike,
    member: str | None = None,
    *,
    algorithm: str = "sha256",
    opaque: bool | None = None,
    advance: Advance | None = None,
) -> str:
    """Checksum of the decompressed content, as ``algorithm:hex``.

    Copies of a data set that were compressed again differ in their gzip header only, so gzip files
    are decompressed (in blocks) before hashing. Tar archives are hashed as they are.

    Parameters
    ----------
    path, member : as for :func:`open_binary`.
    algorithm : ``sha256``, ``md5`` or ``git-sha1`` (what ``git hash-object`` prints; for a file
        taken as it is).
    opaque : hash the file as it is; None decides by the name (true for ``.tar.gz``, ``.tgz`` and
        ``.tar``).
    advance : called with the number of bytes hashed so far.

    Raises
    ------
    UserError
        If the file is missing, unreadable, cut off or damaged.
    """
    checksums, _ = content_facts(
        path, member, algorithms=(algorithm,), opaque=opaque, advance=advance
    )
    return checksums[0]


def content_facts(
    path: str | os.PathLike,
    member: str | None = None,
    *,
    algorithms: Iterable[str] = ("sha256",),
    opaque: bool | None = None,
    advance: Advance | None = None,
) -> tuple[list[str], int]:
    """Several checksums and the size of the content in one pass; see :func:`content_checksum`."""
    if opaque is None:
        opaque = member is None and os.fspath(path).endswith(_TAR_SUFFIXES)
    with open_binary(path, member, raw=opaque) as handle:
        hashes = {name: _new_hash(name, path, opaque) for name in algorithms}
        size = 0
        while block := handle.read(BLOCK):
            for digest in hashes.values():
                digest.update(block)
            size += len(block)
            if advance is not None:
                advance(size)
    return [f"{name}:{digest.hexdigest()}" for name, digest in hashes.items()], size


def _new_hash(algorithm: str, path: str | os.PathLike, opaque: bool):
    if algorithm != "git-sha1":
        return hashlib.new(algorithm, usedforsecurity=False)
    if not opaque:
        # git hashes the length first, which is unknown for a stream
        raise ValueError("git-sha1 needs a file that is hashed as it is (opaque)")
    digest = hashlib.sha1(usedforsecurity=False)
    digest.update(b"blob %d\0" % os.path.getsize(path))
    return digest
