"""Finding a data set: the user's folder, then a download with checksum, then a stand-in.

:func:`candidates` is the cheap half, for input functions of a workflow: it only looks at which
files exist. :func:`resolve` verifies, downloads and says what was used and how it must be labelled.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from leakmeter.datasets.content import Damaged, open_binary
from leakmeter.datasets.registry import Dataset, File, Found, Variant, find_variant, get
from leakmeter.datasets.summary import how_to_get
from leakmeter.datasets.verify import Mismatch, Progress, verify
from leakmeter.runtime import UserError, read_json, write_json

if TYPE_CHECKING:
    from leakmeter.datasets.cache import VariantCache

logger = logging.getLogger("leakmeter")

MODES = ("auto", "real", "standin")
STANDIN = "standin"
_ARCHIVE_SUFFIXES = (".tar.gz", ".tgz", ".tar", ".zip")


@dataclass(frozen=True)
class Resolution:
    """What was found for a data set.

    Attributes
    ----------
    name : the data set.
    label : ``real``, ``related`` or ``standin``; it travels with every number made from the data.
    how : ``user``, ``download`` or ``standin``.
    files : logical name -> path. A path is a plain file, a gzip file or, for the logical names in
        ``members``, an archive. Empty for a stand-in: its generator is run by the caller.
    members : logical name -> member of the archive.
    checksums : logical name -> ``algorithm:hex`` of the content.
    licence : licence of the data.
    source : the user's folder, the URLs or packages, or the name of the stand-in generator.
    variant : which of the registry's variants; empty for a stand-in.
    note : what a reader should know, e.g. that it is a subset.
    """

    name: str
    label: str
    how: str
    files: Mapping[str, Path] = field(default_factory=dict)
    members: Mapping[str, str] = field(default_factory=dict)
    checksums: Mapping[str, str] = field(default_factory=dict)
    licence: str = ""
    source: str = ""
    variant: str = ""
    note: str = ""

    @contextlib.contextmanager
    def open(self, key: str) -> Iterator[BinaryIO]:
        """The content of a file as a binary stream, decompressed, out of its archive if need be."""
        with open_binary(self.files[key], self.members.get(key)) as handle:
            yield handle

    def where(self, key: str) -> str:
        """The file for messages, with ``#member`` for a part of an archive."""
        member = self.members.get(key)
        return f"{self.files[key]}#{member}" if member else str(self.files[key])

    def to_json(self) -> dict[str, Any]:
        """A JSON object with the same fields; paths are text."""
        value = dataclasses.asdict(self)
        value["files"] = {key: str(path) for key, path in self.files.items()}
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Resolution:
        """The inverse of :meth:`to_json`; :class:`UserError` when a field is missing or unknown."""
        fields = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(value, Mapping) or set(value) != fields:
            got = sorted(value) if isinstance(value, Mapping) else type(value).__name__
            raise UserError(f"data resolution has {got}; expected the fields {sorted(fields)}")
        files = {key: Path(path) for key, path in value["files"].items()}
        return cls(**{**value, "files": files})

    def write(self, path: str | os.PathLike) -> None:
        """Write :meth:`to_json` to ``path``, atomically."""
        write_json(path, self.to_json())

    @classmethod
    def read(cls, path: str | os.PathLike) -> Resolution:
        """Read what :meth:`write` wrote; :class:`UserError` names the file."""
        try:
            return cls.from_json(read_json(path))
        except UserError as error:
            text = str(error)
            raise UserError(text if str(path) in text else f"{path}: {text}") from error


def user_data_dirs(
    data_dir: str | os.PathLike | None = None, environ: Mapping[str, str] = os.environ
) -> list[Path]:
    """The user's folders in order: ``data.dir`` of the configuration, then ``LEAKMETER_DATA``."""
    given = (data_dir, environ.get("LEAKMETER_DATA"))
    return [Path(folder).expanduser() for folder in dict.fromkeys(given) if folder]


def candidates(
    name: str,
    data_dirs: Sequence[str | os.PathLike],
    *,
    mode: str = "auto",
    registry: Mapping[str, Dataset] | str | Path | None = None,
) -> list[Path]:
    """The files in the user's folders that :func:`resolve` would use, without reading any.

    Empty if no variant of the set is complete there, or if ``mode`` is ``standin``.

    Raises
    ------
    UserError
        If no data set or no mode has that name.
    """
    dataset = get(name, registry)
    roots = [Path(folder) for folder in data_dirs]
    for variant in _accepted(dataset, mode):
        found, missing = find_variant(variant, roots)
        if not missing:
            return list(dict.fromkeys(at.path for at in found.values()))
    return []


def resolve(
    name: str,
    *,
    mode: str = "auto",
    data_dirs: Sequence[str | os.PathLike] = (),
    cache_dir: str | os.PathLike,
    registry: Mapping[str, Dataset] | str | Path | None = None,
    files: Mapping[str, str | os.PathLike] | None = None,
    timeout: float = 30.0,
    client_timeout: float = 600.0,
    lock_timeout: float = 3600.0,
    progress: Progress | None = None,
) -> Resolution:
    """Find a data set in the user's folder, by download, or fall back on a stand-in.

    Parameters
    ----------
    name : a data set of the registry.
    mode : ``auto`` (fall through to the stand-in with one warning), ``real`` (the set itself or an
        error) or ``standin`` (neither look nor download).
    data_dirs : the user's folders, searched in order.
    cache_dir : where downloads are kept, one folder a set; several processes may share it.
    registry : another registry (a mapping or a file) than the packaged one.
    files : logical name -> path, to name the files instead of searching ``data_dirs``.
    timeout : seconds for a connection, and for a server to send something.
    client_timeout : seconds for a package client.
    lock_timeout : seconds to wait for another process that is downloading the same set.
    progress : called with (what, bytes done, bytes in all or None); None logs every ten seconds.

    Returns
    -------
    Resolution
        With ``how="standin"`` and no files where the caller must run the generator.

    Raises
    ------
    UserError
        If the name or mode is unknown; if a file of the user has the wrong checksum; in mode
        ``real`` if the set cannot be had (with a line for each source and what to do); if the
        cache cannot be written.
    """
    dataset = get(name, registry)
    variants = _accepted(dataset, mode)
    if mode == STANDIN:
        return _standin(dataset, "generated because data.mode is standin")
    progress = progress or _LogProgress()
    roots = [Path(folder) for folder in data_dirs]
    if files is not None:
        return _explicit(dataset, variants, files, progress)
    tried: dict[str, str] = {}
    result = _from_user(dataset, variants, roots, tried, progress)
    if result is None:
        limits = _Limits(timeout, client_timeout, lock_timeout)
        folder = Path(cache_dir) / name
        result = _from_network(dataset, variants, folder, limits, tried, progress)
    if result is not None:
        if result.label != dataset.label:
            logger.warning("%s: using %s data (%s)", dataset.title, result.label, result.note)
        return result
    report = _report(dataset, tried, roots)
    if mode == "real":
        raise UserError(
            f"{dataset.title}: the real data are required (data.mode is real) and could not be "
            f"had.\n{report}"
        )
    logger.warning(
        "%s: the real data could not be had; going on with a generated STAND-IN.\n%s",
        dataset.title,
        report,
    )
    return _standin(dataset, "generated because the real data could not be had")


# --- parts of resolve ---------------------------------------------------------------------------


def _accepted(dataset: Dataset, mode: str) -> list[Variant]:
    """Variants that a mode allows: ``real`` insists on the set's own label."""
    if mode not in MODES:
        raise UserError(f"data.mode is {mode!r}; expected one of {', '.join(MODES)}")
    if mode == STANDIN:
        return []
    return [v for v in dataset.variants if mode == "auto" or v.label == dataset.label]


def _standin(dataset: Dataset, note: str) -> Resolution:
    return Resolution(
        name=dataset.name,
        label=STANDIN,
        how=STANDIN,
        licence="none needed (generated)",
        source=f"standin:{dataset.standin}",
        note=note,
    )


def _report(dataset: Dataset, tried: Mapping[str, str], roots: Sequence[Path]) -> str:
    lines = ["Tried, in order:", *(f"  {place}: {reason}" for place, reason in tried.items())]
    lines += ["To use the real data:", *(f"  {x}" for x in how_to_get(dataset, roots).splitlines())]
    return "\n".join(lines)


class _Limits(NamedTuple):
    """Seconds to wait for a server, a package client and another process."""

    server: float
    client: float
    lock: float


class _LogProgress:
    """Logs what is going on at most every ten seconds."""

    def __init__(self) -> None:
        self._next = time.monotonic() + 10

    def __call__(self, what: str, done: int, total: int | None) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 10
        of = f" of {total / 1e6:,.0f}" if total else ""
        logger.info("%s: %s%s MB", what, f"{done / 1e6:,.0f}", of)


def _verify_all(
    dataset: Dataset, variant: Variant, found: Mapping[str, Found], progress: Progress
) -> dict[str, str]:
    """Checksums of a user's files; :class:`UserError` for a wrong or damaged one."""
    checksums = {}
    for key, at in found.items():
        try:
            checksums[key] = verify(variant.files[key], at, progress)
        except (Mismatch, Damaged) as error:
            where = f"{at.path}#{at.member}" if at.member else at.path
            wrong = str(error)
            if isinstance(error, Damaged):
                expected = variant.files[key].identity
                wrong = f"cut off or damaged ({error.reason}), expected {expected}"
            if variant.files[key].optional:
                logger.warning("%s: %s; the file is left out", where, wrong)
                continue
            raise UserError(
                f"{where}: {wrong}: this is not the file of {dataset.title} that leakmeter "
                f"knows; replace it, or move it away to download the set or use a stand-in.\n"
                f"{how_to_get(dataset, [at.root])}"
            ) from error
    return checksums


def _resolution(
    dataset: Dataset,
    variant: Variant,
    found: Mapping[str, Found],
    checksums: Mapping[str, str],
    *,
    how: str,
    source: str,
) -> Resolution:
    used = {key: at for key, at in found.items() if key in checksums}
    return Resolution(
        name=dataset.name,
        label=variant.label,
        how=how,
        files={key: at.path for key, at in used.items()},
        members={key: at.member for key, at in used.items() if at.member is not None},
        checksums=dict(checksums),
        licence=dataset.licence,
        source=source,
        variant=variant.name,
        note=variant.note,
    )


def _explicit(
    dataset: Dataset,
    variants: Sequence[Variant],
    files: Mapping[str, str | os.PathLike],
    progress: Progress,
) -> Resolution:
    """Files named by the caller."""
    error: UserError | None = None
    for variant in variants:
        required = {key for key, file in variant.files.items() if not file.optional}
        if not required <= set(files) <= set(variant.files):
            continue
        found = {key: _named(variant.files[key], Path(path)) for key, path in files.items()}
        try:
            checksums = _verify_all(dataset, variant, found, progress)
        except UserError as problem:
            error = error or problem
            continue
        source = ", ".join(str(at.path) for at in found.values())
        return _resolution(dataset, variant, found, checksums, how="user", source=source)
    if error is not None:
        raise error
    expected = " or ".join(", ".join(variant.files) for variant in variants)
    raise UserError(f"{dataset.title}: files {', '.join(files)} given; expected {expected}")


def _named(file: File, path: Path) -> Found:
    packed = not file.opaque and path.name.endswith(_ARCHIVE_SUFFIXES) and file.archives
    return Found(path, file.archives[0][1] if packed else None, path.parent)


def _from_user(
    dataset: Dataset,
    variants: Sequence[Variant],
    roots: Sequence[Path],
    tried: dict[str, str],
    progress: Progress,
) -> Resolution | None:
    """The first variant that is complete in the user's folders, verified."""
    incomplete = ""
    for variant in variants:
        found, missing = find_variant(variant, roots)
        if missing:
            if found and not incomplete:
                names = ", ".join(variant.files[key].names[0] for key in missing)
                incomplete = f"incomplete, {names} missing"
            continue
        checksums = _verify_all(dataset, variant, found, progress)
        source = ", ".join(dict.fromkeys(str(at.root) for at in found.values()))
        return _resolution(dataset, variant, found, checksums, how="user", source=source)
    for root in roots:
        absent = "holds no file of this set" if root.is_dir() else "no such folder"
        tried[f"your folder {root}"] = incomplete or absent
    if not roots:
        tried["your folder"] = "none given (data.dir or LEAKMETER_DATA)"
    return None


def _from_network(
    dataset: Dataset,
    variants: Sequence[Variant],
    folder: Path,
    limits: _Limits,
    tried: dict[str, str],
    progress: Progress,
) -> Resolution | None:
    """The first variant that the cache or the sources give."""
    # here, so that looking for candidates does not load an HTTP library
    from leakmeter.datasets.cache import Clients, VariantCache
    from leakmeter.datasets.fetch import exclusive

    caches = [VariantCache(dataset, variant, folder, progress) for variant in variants]
    if not any(cache.fetchable for cache in caches):
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be made ({error.strerror}); expected a writable cache folder"
        ) from error
    if caches[0].complete():
        return _cached(caches[0])
    with (
        exclusive(folder, patience=limits.lock, notice=logger.info) as work,
        Clients.open(
            work, tried, timeout=limits.server, client_timeout=limits.client, progress=progress
        ) as clients,
    ):
        for cache in caches:
            if cache.fill(clients):
                return _cached(cache)
    return None


def _cached(cache: VariantCache) -> Resolution:
    return _resolution(
        cache.dataset,
        cache.variant,
        cache.found,
        cache.checksums,
        how="download",
        source=cache.source,
    )
