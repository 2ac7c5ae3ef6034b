"""MEPS: high or low use of health care, from the Medical Expenditure Panel Survey."""

from __future__ import annotations

import io
import logging
import warnings
import zipfile
from typing import TYPE_CHECKING

import numpy as np

from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.standins import meps as generator
from leakmeter.datasets.values import number_columns, parsing, read_table
from leakmeter.membership.sets.table import Spec, Table, make_table
from leakmeter.runtime import UserError

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger("leakmeter")

SPEC = Spec(
    name="meps",
    title="MEPS",
    n_classes=2,
    rows=15_830,
    features=None,
    preprocessing=(
        "2015: AIF360's filter and 41 columns, one-hot except age, race and scores; 2006 and 2008: "
        "the extract's columns; numbers scaled by the training records"
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
#: Only looked at to choose the rows: schooling, and non-Hispanic White.
_SCHOOLING = ("EDUCYR", "HIDEG")
_ETHNICITY = ("HISPANX", "RACEV2X")
#: Ending in the consolidated file, {} for the year; the file has year-end columns too for most of
#: those that AIF360 takes from interview round 5/3.
_ENDINGS = {
    **dict.fromkeys(("AGE", "MARRY", "FTSTU"), "53X"),
    **dict.fromkeys(("REGION", "ACTDTY", "HONRDC", "RTHLTH", "MNHLTH", "CHBRON", "JTPAIN"), "53"),
    **dict.fromkeys(("PREGNT", "WLKLIM", "ACTLIM", "SOCLIM", "COGLIM", "EMPST"), "53"),
    **dict.fromkeys(("POVCAT", "INSCOV", *_USES), "{}"),
    "PERWT": "{}F",
}
#: What pandas makes of a zero in a SAS transport file is 5.4e-79.
_TRANSPORT_ZERO = 1e-70


def read(source: Resolution) -> Table:
    """The survey of 2015 or 2016 (AIF360's processing), or an extract of 2006 or 2008."""
    if source.variant in ("hc181", "hc192"):
        return _consolidated(source)
    where = source.where("table")
    frame = read_table(lambda: source.open("table"), where)
    return (_extract_2006 if source.variant == "meps2006" else _extract_2008)(frame, where)


def _consolidated(source: Resolution) -> Table:
    """Full-year consolidated file: SAS transport inside a zip."""
    import pandas as pd

    path, where = source.files["table"], source.where("table")
    with (
        parsing(where, "a zip of one SAS transport file (.ssp)"),
        zipfile.ZipFile(path) as archive,
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("error", message="xport file may be corrupted")
        names = [name for name in archive.namelist() if name.lower().endswith(".ssp")]
        if len(names) != 1:
            raise UserError(f"{where}: members {archive.namelist()}; expected one .ssp file")
        content = io.BytesIO(archive.read(names[0]))
        frame = pd.read_sas(content, format="xport", encoding="latin-1")
    year, panel = ("15", 19) if source.variant == "hc181" else ("16", 21)
    table = aif360_table(frame, year=year, panel=panel, where=where)
    if source.variant == "hc181" and len(table) != SPEC.rows:
        logger.warning(
            "%s: panel 19 has %s persons after AIF360's filters; expected %s, as published",
            where,
            f"{len(table):,}",
            f"{SPEC.rows:,}",
        )
    return table


def aif360_table(frame: pd.DataFrame, *, year: str, panel: int, where: str) -> Table:
    """The rows, columns and label of AIF360's MEPS sets.

    A person of the panel stays if region, age, marital status and asthma are known (0 or more),
    every other category but sex, and schooling, is a known or inapplicable one (-1 or more), and
    no feature, use or weight is missing. The scores PCS42, MCS42 and K6SUM42 may be negative codes.
    The label is 1 for ten or more uses of health care; race is a 0/1 number, 1 for non-Hispanic
    White. The person weights are not used any further. Source: AIF360's
    ``datasets/meps_dataset_panel19_fy2015.py``, ``panel20_fy2015`` and ``panel21_fy2016``.

    Parameters
    ----------
    frame : the consolidated file. year : its last two digits. panel : 19 or 20 (2015), 21 (2016).

    Raises
    ------
    UserError : a column that is not there or not numeric, or a missing ethnicity.
    """
    raw = {
        name: name + _ENDINGS.get(name, "").format(year)
        for name in (*_SCALES, *_CATEGORIES, *_USES, *_SCHOOLING, *_ETHNICITY, "PERWT")
    }
    lacking = [name for name in ("PANEL", *raw.values()) if name not in frame]
    if lacking:
        raise UserError(
            f"{where}: no column {', '.join(lacking)}; expected the consolidated file of 20{year}"
        )
    own = frame.loc[frame["PANEL"] == panel, list(raw.values())]
    known = own.drop(columns=[*_ETHNICITY]).notna().all(axis=1)
    if not known.all():
        logger.warning("%s: %d persons with a missing value are left out", where, (~known).sum())
    own = own[known]
    own = number_columns(own, [*own], where).set_axis([*raw], axis=1)
    own = own.mask(own.abs() < _TRANSPORT_ZERO, 0.0)
    coded = [name for name in (*_CATEGORIES, *_SCHOOLING) if name != "SEX"]
    keep = (own[["REGION", "AGE", "MARRY", "ASTHDX"]] >= 0).all(axis=1)
    own = own[keep & (own[coded] >= -1).all(axis=1)]
    codes = number_columns(own, _CATEGORIES, where, whole=True)
    white = (own["HISPANX"] == 2) & (own["RACEV2X"] == 1)
    return make_table(
        own[list(_SCALES)].assign(RACE=white.astype(np.float64)),
        own[list(_USES)].sum(axis=1) >= _HIGH_USE,
        spec=SPEC,
        where=where,
        categories=dict(codes),
        groups={
            "race": np.where(white, "White", "other"),
            "sex": np.where(codes["SEX"] == 1, "Male", "Female"),
        },
    )


def _extract_2006(frame: pd.DataFrame, where: str) -> Table:
    """28 covariates and office-based expenditure EXP; all but age, family size and incomes are 0/1."""
    needed = ["EXP", "AGE", "GENDER", "BLACK", "ASIAN"]
    frame = number_columns(frame, [*frame, *(name for name in needed if name not in frame)], where)
    return make_table(
        frame.drop(columns="EXP"),
        frame["EXP"] > EXPENDITURE_2006,
        spec=SPEC,
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
    codes = number_columns(frame, ["race", "health", "limitation", "region"], where, whole=True)
    numeric = number_columns(
        frame,
        [
            *("bmi", "age", "gender", "education", "private", "diabetes", "hypertension"),
            *("hyperlipidemia", "income"),
        ],
        where,
    )
    visits = number_columns(frame, ["visits.hosp"], where)["visits.hosp"]
    return make_table(
        numeric,
        visits,
        spec=SPEC,
        where=where,
        categories=dict(codes),
        groups={
            "race": "race " + codes["race"].astype(str),
            "gender": np.where(numeric["gender"] == 1, "coded 1", "coded 0"),
        },
    )


def standin(rows: int, seed: int) -> Table:
    """Generated persons, see :mod:`leakmeter.datasets.standins.meps`."""
    return _extract_2006(generator.generate(rows, seed=seed), "stand-in")
