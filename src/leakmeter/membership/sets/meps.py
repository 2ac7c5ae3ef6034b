"""MEPS: high or low use of health care, from the Medical Expenditure Panel Survey."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import numpy as np

from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.standins import meps as generator
from leakmeter.membership.sets.table import Spec, Table, make_table
from leakmeter.runtime import UserError

if TYPE_CHECKING:
    import pandas as pd

SPEC = Spec(
    name="meps",
    title="MEPS",
    n_classes=2,
    rows=15_830,
    features=None,
    preprocessing=(
        "2015: AIF360's filter and 41 columns, one-hot except age and scores; 2006 and 2008: the "
        "extract's columns; numbers scaled by the training records"
    ),
)
#: Office-based expenditure in 2006 above which a person counts as a high user: 17.2 % positive, the
#: class balance of the paper's panel.
EXPENDITURE_2006 = 1122

_SCALES = ("AGE", "PCS42", "MCS42", "K6SUM42")
_CATEGORIES = [
    *("REGION", "SEX", "MARRY", "FTSTU", "ACTDTY", "HONRDC", "RTHLTH", "MNHLTH", "HIBPDX"),
    *("CHDDX", "ANGIDX", "MIDX", "OHRTDX", "STRKDX", "EMPHDX", "CHBRON", "CHOLDX", "CANCERDX"),
    *("DIABDX", "JTPAIN", "ARTHDX", "ARTHTYPE", "ASTHDX", "ADHDADDX", "PREGNT", "WLKLIM"),
    *("ACTLIM", "SOCLIM", "COGLIM", "DFHEAR42", "DFSEE42", "ADSMOK42", "PHQ242", "EMPST", "POVCAT"),
    "INSCOV",
]
_USES = ("OBTOTV", "OPTOTV", "ERTOT", "IPNGTD", "HHTOTD")
_HIGH_USE = 10


def read(source: Resolution) -> Table:
    """The survey of 2015 or 2016 (AIF360's processing), or an extract of 2006 or 2008."""
    if source.variant in ("hc181", "hc192"):
        return _consolidated(source)
    import pandas as pd

    with source.open("table") as handle:
        frame = pd.read_csv(handle)
    return (_extract_2006 if source.variant == "meps2006" else _extract_2008)(frame, source.name)


def _consolidated(source: Resolution) -> Table:
    """Full-year consolidated file: SAS transport inside a zip."""
    import pandas as pd

    path = source.files["table"]
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.lower().endswith(".ssp")]
        if len(names) != 1:
            raise UserError(f"{path}: members {archive.namelist()}; expected one .ssp file")
        frame = pd.read_sas(io.BytesIO(archive.read(names[0])), format="xport")
    year, panel = ("15", 19) if source.variant == "hc181" else ("16", 21)
    return aif360_table(frame, year=year, panel=panel, where=str(path))


def aif360_table(frame: pd.DataFrame, *, year: str, panel: int, where: str) -> Table:
    """The rows, columns and label of AIF360's MEPS sets.

    Parameters
    ----------
    frame : the consolidated file. year : its last two digits. panel : 19 (2015) or 21 (2016).
    """

    def column(name: str) -> str:
        for candidate in (f"{name}{year}X", f"{name}{year}", f"{name}53", f"{name}53X", name):
            if candidate in frame:
                return candidate
        for candidate in (f"{name}31", f"{name}31X", f"{name}42"):
            if candidate in frame:
                return candidate
        raise UserError(f"{where}: no column for {name}; expected the file of a consolidated year")

    named = {name: column(name) for name in (*_SCALES, *_CATEGORIES, *_USES)}
    own = frame[frame["PANEL"] == panel].rename(columns={v: k for k, v in named.items()})
    keep = (own[["REGION", "AGE", "MARRY", "ASTHDX"]] >= 0).all(axis=1)
    checked = [c for c in (*_CATEGORIES, "PCS42", "MCS42", "K6SUM42") if c in own]
    keep &= (own[checked] >= -1).all(axis=1)
    own = own[keep].reset_index(drop=True)
    white = (own["HISPANX"] == 2) & (own["RACEV2X"] == 1)
    return make_table(
        own[list(_SCALES)].to_numpy(np.float64),
        (own[list(_USES)].sum(axis=1) >= _HIGH_USE).to_numpy(np.int64),
        n_classes=SPEC.n_classes,
        where=where,
        categories={
            **{name: own[name].astype(int) for name in _CATEGORIES},
            "RACE": white.astype(int),
        },
        groups={
            "race": np.where(white, "White", "other"),
            "sex": np.where(own["SEX"] == 1, "Male", "Female"),
        },
    )


def _extract_2006(frame: pd.DataFrame, where: str) -> Table:
    """28 covariates and office-based expenditure EXP; all but age, family size and incomes are 0/1."""
    lacking = {"EXP", "AGE", "GENDER", "BLACK", "ASIAN"} - set(frame)
    if lacking:
        raise UserError(
            f"{where}: no column {', '.join(sorted(lacking))}; expected the 2006 extract"
        )
    features = frame.drop(columns="EXP")
    return make_table(
        features.to_numpy(np.float64),
        (frame["EXP"] > EXPENDITURE_2006).to_numpy(np.int64),
        n_classes=SPEC.n_classes,
        where=where,
        groups={
            "race": np.where(
                (frame["BLACK"] == 0) & (frame["ASIAN"] == 0), "other", "Black or Asian"
            ),
            # the extract does not say which code is which
            "gender": np.where(frame["GENDER"] == 1, "coded 1", "coded 0"),
        },
    )


def _extract_2008(frame: pd.DataFrame, where: str) -> Table:
    """13 covariates; the label is a hospital visit."""
    lacking = {"visits.hosp", "age", "gender", "race", "region"} - set(frame)
    if lacking:
        raise UserError(
            f"{where}: no column {', '.join(sorted(lacking))}; expected the 2008 extract"
        )
    categories = ("race", "health", "limitation", "region")
    return make_table(
        frame.drop(columns=["visits.hosp", *categories]).to_numpy(np.float64),
        frame["visits.hosp"].to_numpy(np.int64),
        n_classes=SPEC.n_classes,
        where=where,
        categories={name: frame[name].astype(int) for name in categories},
        groups={
            "race": "race " + frame["race"].astype(int).astype(str),
            "gender": np.where(frame["gender"] == 1, "coded 1", "coded 0"),
        },
    )


def standin(rows: int, seed: int) -> Table:
    """Generated persons, see :mod:`leakmeter.datasets.standins.meps`."""
    return _extract_2006(generator.generate(rows, seed=seed), "stand-in")
