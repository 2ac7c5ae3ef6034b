"""Published numbers, as they were printed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from leakmeter.runtime import UserError


def read_published(paths: str | Path | Iterable[str | Path]) -> pd.DataFrame:
    """Published numbers as text, so that each keeps the digits it was printed with.

    No path gives an empty frame, for tables that compare with nothing.

    Raises
    ------
    UserError
        a file that cannot be read as CSV.
    """
    frames = []
    for path in [paths] if isinstance(paths, str | Path) else paths:
        try:
            frames.append(pd.read_csv(path, dtype="str", keep_default_na=False))
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: cannot be read as published numbers ({error})") from error
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
