"""From a raw data set to the pool of a run, and back from its files."""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leakmeter.datasets.resolve import resolve
from leakmeter.membership.pools import check_split, draw_pool, member_splits
from leakmeter.membership.sets import flower, module_of
from leakmeter.membership.sets.table import Table, encode
from leakmeter.runtime import UserError, atomic_path, derive_seed, read_json, write_json

logger = logging.getLogger("leakmeter")

#: A stand-in has this many times the records of a pool, or as many as the real set.
_STANDIN_FACTOR = 3


@dataclass(frozen=True)
class Prepared:
    """The records of a run and which of them each model is trained on.

    splits : (models, 2n) booleans. meta : what was used (label, resolution, sizes, ...).
    """

    name: str
    table: Table
    splits: np.ndarray
    meta: dict[str, Any]

    @property
    def n_classes(self) -> int:
        """Classes of the set."""
        return self.meta["n_classes"]

    @property
    def labels(self) -> np.ndarray:
        """(2n,) labels of the pool."""
        return self.table.labels

    def inputs(self, model: int) -> np.ndarray:
        """(2n, features) inputs with the preprocessing fitted on a model's training records.

        Columns that are 0 for every record of the pool are left out; they cannot change any output.
        """
        x = encode(self.table, self.splits[model])
        return x[:, self.used]

    @property
    def used(self) -> np.ndarray:
        """Columns that some record of the pool has; only bits can be left out."""
        if self.table.bounds != (0.0, 1.0):
            return np.ones(self.table.n_features, bool)
        return self.table.numeric.any(axis=0)

    def model_seed(self, root: int, model: int) -> int:
        """Seed of a model's initial weights and order of records."""
        return derive_seed(root, "shapr_model", data=self.name, model=model)


def prepare(
    name: str,
    *,
    records: int,
    models: int,
    flower_side: int,
    mode: str,
    data_dirs: Sequence[str],
    cache_dir: str,
    timeout: float,
    seed: int,
    pool: str | Path,
    meta: str | Path,
) -> None:
    """Resolve and read a set, draw its pool and splits, check them, write both files.

    Raises
    ------
    UserError : what the data layer, the reader and the pool raise; messages name the set.
    """
    module = module_of(name)
    spec = module.SPEC
    source = resolve(name, mode=mode, data_dirs=data_dirs, cache_dir=cache_dir, timeout=timeout)
    if source.files:
        table = module.read(source)
    else:
        rows = min(spec.rows, max(_STANDIN_FACTOR * 2 * records, 60 * spec.n_classes))
        table = module.standin(rows, derive_seed(seed, "shapr_standin", data=name))
    if name == "flower":
        table = flower.shrink(table, flower_side)
    drawn = draw_pool(table, records, spec.n_classes, seed=seed, where=name)
    splits = member_splits(drawn.table.labels, models, seed=seed, where=name)
    for members in splits:
        check_split(drawn.table, members, spec.n_classes, name)
    write_pool(pool, drawn.table, splits)
    record = {
        "name": name,
        "title": spec.title,
        "n_classes": spec.n_classes,
        "label": source.label,
        "preprocessing": spec.preprocessing,
        "records_available": len(table),
        "duplicates": drawn.duplicates,
        "features": drawn.table.n_features,
        "n_train": int(splits[0].sum()),
        "n_test": int((~splits[0]).sum()),
        "bounds": drawn.table.bounds,
        "levels": list(drawn.table.levels),
        "groups": sorted(drawn.table.groups),
        "resolution": source.to_json(),
    }
    write_json(meta, record)
    logger.info(
        "%s: %s data, %d training and %d test records of %d features",
        *(spec.title, source.label, record["n_train"], record["n_test"], record["features"]),
    )


def write_pool(path: str | Path, table: Table, splits: np.ndarray) -> None:
    """Records and splits as one .npz without pickled objects."""
    groups = {f"group_{name}": values for name, values in table.groups.items()}
    with atomic_path(path) as temporary, open(temporary, "wb") as handle:
        np.savez(
            handle,
            numeric=table.numeric,
            labels=table.labels,
            codes=table.codes,
            splits=splits,
            **groups,
        )


def read_prepared(pool: str | Path, meta: str | Path) -> Prepared:
    """What :func:`prepare` wrote; :class:`UserError` names a damaged file."""
    facts = read_json(meta)
    try:
        with np.load(pool, allow_pickle=False) as content:
            table = Table(
                content["numeric"],
                content["labels"],
                content["codes"],
                tuple(facts["levels"]),
                None if facts["bounds"] is None else tuple(map(float, facts["bounds"])),
                {name: content[f"group_{name}"] for name in facts["groups"]},
            )
            splits = content["splits"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise UserError(f"{pool}: cannot be read as a pool of records ({error})") from error
    return Prepared(facts["name"], table, splits, facts)
