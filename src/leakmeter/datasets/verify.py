"""Is this file the one that the registry means?"""

from __future__ import annotations

from collections.abc import Callable

from leakmeter.datasets.content import content_facts
from leakmeter.datasets.registry import File, Found

Progress = Callable[[str, int, int | None], None]


class Mismatch(Exception):
    """A file is not the one that the registry means; the message says what it is."""


def verify(file: File, at: Found, progress: Progress, pinned: str | None = None) -> str:
    """The checksum of a file's content, as ``algorithm:hex``.

    Parameters
    ----------
    file : what is expected.
    at : what was found.
    progress : called while hashing with (what, bytes done, bytes in all or None).
    pinned : checksum of the first download of a file for which none is published.

    Raises
    ------
    Mismatch
        If the content has none of the accepted checksums, or (where none is published) another
        size or another checksum than ``pinned``.
    UserError
        If the file is unreadable, cut off or damaged.
    """
    algorithms = dict.fromkeys(text.partition(":")[0] for text in file.checksums) or ["sha256"]
    got, size = content_facts(
        at.path,
        at.member,
        algorithms=algorithms,
        opaque=file.opaque,
        advance=lambda done: progress(f"checking {at.path}", done, file.bytes),
    )
    if file.any_file:
        return got[0]
    if not file.checksums:
        if size != file.bytes:
            raise Mismatch(f"has {size} bytes, expected {file.bytes}")
        if pinned is not None and pinned != got[0]:
            raise Mismatch(f"content is {got[0]}, at first download it was {pinned}")
        return got[0]
    for checksum in got:
        if checksum in file.checksums:
            return checksum
    raise Mismatch(f"content is {' '.join(got)}, expected {file.identity}")
