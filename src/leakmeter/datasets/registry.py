"""The registry of data sets: what each set is, where it comes from, how to recognise it.

The data are in ``registry.yaml``; the vocabulary is explained at its top. Nothing here touches the
network or hashes a file, so that a workflow can ask for candidates while it is being parsed.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from leakmeter.runtime import UserError

REGISTRY_FILE = Path(__file__).with_name("registry.yaml")
SCHEMA_FILE = Path(__file__).with_name("registry.schema.yaml")

# The C loader is about ten times as fast; the file is read each time a workflow is parsed.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Source:
    """One place a file can be fetched from.

    ``kind`` is ``url``, ``pypi``, ``npm``, ``debian`` or ``convert``; ``locator`` is the URL or the
    package with its version; ``member`` names a member of the archive found there, or is None.
    """

    text: str
    kind: str
    locator: str
    member: str | None = None
    inputs: Mapping[str, Source] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The URL or package, without the member: what a message should name."""
        if self.kind == "url":
            return self.locator
        return self.text if self.kind == "convert" else f"{self.kind}:{self.locator}"

    @classmethod
    def parse(cls, entry: str | Mapping[str, Any]) -> Source:
        """Read an entry of ``sources``: text, or a mapping with ``convert`` and ``inputs``."""
        if not isinstance(entry, str):
            inputs = {key: cls.parse(text) for key, text in entry["inputs"].items()}
            packages = " + ".join(dict.fromkeys(source.place for source in inputs.values()))
            return cls(
                f"{packages} ({entry['convert']})",
                "convert",
                entry["convert"],
                inputs=inputs,
                options=dict(entry.get("options", {})),
            )
        locator, _, member = entry.partition("#")
        kind, _, rest = locator.partition(":")
        if kind in ("http", "https"):
            return cls(entry, "url", locator, member or None)
        if kind in ("pypi", "npm", "debian") and member:
            return cls(entry, kind, rest, member)
        raise UserError(
            f"registry: source {entry!r} is neither a URL nor a member of a pypi, npm or debian "
            f"package"
        )


@dataclass(frozen=True)
class File:
    """One file of a variant; the fields are those of ``registry.yaml``."""

    names: tuple[str, ...]
    checksums: tuple[str, ...]
    bytes: int | None
    sources: tuple[Source, ...]
    archives: tuple[tuple[str, str], ...] = ()
    opaque: bool = False
    optional: bool = False
    any_file: bool = False

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> File:
        archives = [text.partition("#") for text in entry.get("archives", ())]
        sources = tuple(Source.parse(source) for source in entry["sources"])
        for source in sources:
            # a downloaded archive is kept under the name a user's copy would have
            if source.kind == "url" and source.member not in (None, *(m for _, _, m in archives)):
                raise UserError(
                    f"registry: source {source.text!r} has a member that no entry of archives names"
                )
        return cls(
            names=tuple(entry["names"]),
            checksums=tuple(entry["checksums"]),
            bytes=entry["bytes"],
            sources=sources,
            archives=tuple((path, member) for path, _, member in archives),
            opaque=entry.get("opaque", False),
            optional=entry.get("optional", False),
            any_file=entry.get("any_file", False),
        )

    def places(self) -> Iterator[tuple[str, str | None]]:
        """Accepted (path below a data folder, member or None), in order of preference."""
        for name in self.names:
            yield name, None
            if not self.opaque and not name.endswith(".gz"):
                yield f"{name}.gz", None
        yield from self.archives

    @property
    def identity(self) -> str:
        """For a person: the checksum (or size) to expect."""
        if self.checksums:
            return " or ".join(self.checksums)
        return "any content" if self.any_file else f"exactly {self.bytes} bytes"


@dataclass(frozen=True)
class Variant:
    """One form in which a set is accepted, with the label that its numbers carry."""

    name: str
    label: str
    rows: Mapping[str, int]
    files: Mapping[str, File]
    note: str = ""

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> Variant:
        files = {key: File.parse(value) for key, value in entry["files"].items()}
        return cls(entry["name"], entry["label"], dict(entry["rows"]), files, entry.get("note", ""))

    @property
    def bytes(self) -> int | None:
        """Total size of the required files, or None where one is not known."""
        sizes = [file.bytes for file in self.files.values() if not file.optional]
        return None if None in sizes else sum(sizes)


@dataclass(frozen=True)
class Dataset:
    """One data set of the registry."""

    name: str
    title: str
    licence: str
    redistribution: bool
    reader: str
    standin: str
    split: str
    instructions: str
    variants: tuple[Variant, ...]

    @classmethod
    def parse(cls, name: str, entry: Mapping[str, Any]) -> Dataset:
        variants = tuple(Variant.parse(variant) for variant in entry["variants"])
        fields = ("title", "licence", "redistribution", "reader", "standin", "split")
        return cls(
            name=name,
            instructions=entry["instructions"].strip(),
            variants=variants,
            **{key: entry[key] for key in fields},
        )

    @property
    def label(self) -> str:
        """The label of the set itself: that of its preferred variant."""
        return self.variants[0].label


@dataclass(frozen=True)
class Found:
    """Where a file of a variant was found; ``member`` is set when ``path`` is an archive."""

    path: Path
    member: str | None
    root: Path


def load_registry(path: str | Path | None = None) -> dict[str, Dataset]:
    """All data sets by name.

    Parameters
    ----------
    path : another registry file; it is checked against the schema. None reads the packaged one
        (which the tests check).

    Raises
    ------
    UserError
        If ``path`` is missing, not YAML, or breaks the schema: names the file and the place.
    """
    if path is None:
        return _packaged()
    return _parse(_validated(Path(path)))


@functools.cache
def _packaged() -> dict[str, Dataset]:
    return _parse(yaml.load(REGISTRY_FILE.read_bytes(), Loader=_Loader))


def _parse(entries: Mapping[str, Any]) -> dict[str, Dataset]:
    return {name: Dataset.parse(name, entry) for name, entry in entries.items()}


def _validated(path: Path) -> Any:
    import jsonschema

    try:
        entries = yaml.load(path.read_bytes(), Loader=_Loader)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file; expected a registry of data sets") from error
    except yaml.YAMLError as error:
        place = " ".join(str(error).split())
        raise UserError(f"{path}: not valid YAML ({place})") from error
    schema = yaml.load(SCHEMA_FILE.read_bytes(), Loader=_Loader)
    problem = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(schema).iter_errors(entries)
    )
    if problem is not None:
        where = ".".join(str(step) for step in problem.absolute_path) or "top level"
        raise UserError(f"{path}: {where}: {problem.message}")
    return entries


def get(name: str, registry: Mapping[str, Dataset] | str | Path | None = None) -> Dataset:
    """The data set called ``name``; :class:`UserError` lists the names when there is none."""
    sets = registry if isinstance(registry, Mapping) else load_registry(registry)
    if name in sets:
        return sets[name]
    close = difflib.get_close_matches(name, sets, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise UserError(
        f"no data set is called {name!r}; expected one of {', '.join(sorted(sets))}{hint}"
    )


def find_file(file: File, roots: Sequence[Path], *, flat: bool = False) -> Found | None:
    """The first of the accepted places of ``file`` that exists below one of ``roots``.

    ``flat`` looks for the last component of each name only (the layout of the cache).
    """
    for root in roots:
        for name, member in file.places():
            path = root / (PurePosixPath(name).name if flat else name)
            if path.is_file():
                return Found(path, member, root)
    return None


def find_variant(variant: Variant, roots: Sequence[Path]) -> tuple[dict[str, Found], list[str]]:
    """The files of ``variant`` below ``roots``, and the logical names of required ones missing."""
    found = {key: find_file(file, roots) for key, file in variant.files.items()}
    missing = [key for key, at in found.items() if at is None and not variant.files[key].optional]
    return {key: at for key, at in found.items() if at is not None}, missing
