"""Claims of several chains in one table."""

import pandas as pd

from leakmeter.reporting.claims import COLUMNS
from leakmeter.reporting.report import _refuted, stack_claims_reports


def test_a_refuted_erratum_says_what_follows():
    entry = {"id": "e", "evidence": "t[k=1] auc of x", "value": 0.25, "condition": "above 1"}
    table = pd.DataFrame({"id": ["c", "c", "d"], "erratum": ["e", "e", None]})
    text = _refuted(entry, table)
    assert "t[k=1] auc of x is 0.25, expected above 1" in text
    assert "refuted, the verdict erratum of c cites it" in text
    assert "more repeats" in text
    assert "no verdict cites it" in _refuted(entry, table[2:])


def test_stacked_claims_keep_digits_and_count_verdicts(tmp_path):
    def chain(name, verdicts):
        rows = [dict.fromkeys(COLUMNS, "") | {"paper": name, "verdict": v} for v in verdicts]
        rows[0]["published"] = "0.749380"
        pd.DataFrame(rows).to_csv(tmp_path / f"{name}.csv", index=False)
        errata = pd.DataFrame({"id": [f"{name}_e"], "holds": ["True"]})
        errata.to_csv(tmp_path / f"{name}_errata.csv", index=False)
        return tmp_path / f"{name}.csv", tmp_path / f"{name}_errata.csv"

    files = [chain("a", ["reproduced", "not run"]), chain("b", ["reproduced", "reproduced"])]
    out = {name: tmp_path / f"all_{name}.csv" for name in ("claims", "errata", "verdicts")}
    stack_claims_reports(
        claims=[c for c, _ in files],
        errata=[e for _, e in files],
        claims_out=out["claims"],
        errata_out=out["errata"],
        verdicts_out=out["verdicts"],
    )
    assert "0.749380" in out["claims"].read_text()
    verdicts = pd.read_csv(out["verdicts"]).set_index("paper")
    assert verdicts.loc["a", ["reproduced", "not run"]].tolist() == [1, 1]
    assert verdicts.loc["b", "reproduced"] == 2
    assert pd.read_csv(out["errata"])["id"].tolist() == ["a_e", "b_e"]
