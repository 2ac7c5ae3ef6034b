"""CREDIT: UCI default of credit card clients."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.standins import credit as generator
from leakmeter.datasets.values import number_columns, parsing, read_table
from leakmeter.membership.sets.table import Spec, Table, make_table
from leakmeter.runtime import UserError

if TYPE_CHECKING:
    import pandas as pd

SPEC = Spec(
    name="credit",
    title="CREDIT",
    n_classes=2,
    rows=30_000,
    features=None,
    preprocessing=(
        "SEX, EDUCATION, MARRIAGE one-hot (undocumented codes are categories), the other columns "
        "scaled by the training records; ID left out"
    ),
)
#: Spellings of the target in the CSV copy, on Kaggle and in UCI's spreadsheet.
TARGETS = ("class", "default.payment.next.month", "default payment next month")
CATEGORICAL = ("SEX", "EDUCATION", "MARRIAGE")
NUMERIC = (
    *("LIMIT_BAL", "AGE"),
    *(f"PAY_{month}" for month in (0, 2, 3, 4, 5, 6)),
    *(f"BILL_AMT{month}" for month in range(1, 7)),
    *(f"PAY_AMT{month}" for month in range(1, 7)),
)


def read(source: Resolution) -> Table:
    """The 30,000 clients, from a CSV copy or from UCI's spreadsheet."""
    import pandas as pd

    where = source.where("table")
    if source.variant != "xls":
        return _table(read_table(lambda: source.open("table"), where), where)
    try:
        with parsing(where, "UCI's spreadsheet"), source.open("table") as handle:
            # the first line numbers the columns X1, X2, ...; the second names them
            frame = pd.read_excel(io.BytesIO(handle.read()), header=1)
    except ImportError as error:
        raise UserError(
            f"{where}: a spreadsheet needs the package xlrd, which is not installed; "
            "expected UCI_Credit_Card.csv or xlrd"
        ) from error
    return _table(frame, where)


def _table(frame: pd.DataFrame, where: str) -> Table:
    frame = frame.rename(columns={"PAY_1": "PAY_0"})  # some copies number the first status 1
    target = [name for name in TARGETS if name in frame]
    if len(target) != 1:
        raise UserError(
            f"{where}: columns {', '.join(map(str, frame.columns))}; expected the target as one of "
            f"{', '.join(TARGETS)}"
        )
    numeric = number_columns(frame, NUMERIC, where)
    codes = number_columns(frame, CATEGORICAL, where, whole=True)
    return make_table(
        numeric,
        frame[target[0]],
        spec=SPEC,
        where=where,
        categories=dict(codes),
        groups={
            "sex": np.where(codes["SEX"] == 1, "Male", "Female"),
            "age": np.where(numeric["AGE"] < 35, "below 35", "35 and above"),
        },
    )


def standin(rows: int, seed: int) -> Table:
    """Generated clients, see :mod:`leakmeter.datasets.standins.credit`."""
    return _table(generator.generate(rows, seed=seed), "stand-in")
