"""Fixtures of the SHAPr chain's tests: a small run, shared by all of them."""

from __future__ import annotations

import pytest
from membership_run import SETTINGS, invented, prepared, removal_rows

from leakmeter.membership.experiments.batches import across_sets, score_set


@pytest.fixture(scope="session")
def pools(tmp_path_factory):
    """Pools of five stand-ins, three with subgroups; two of them said to be genuine."""
    folder = tmp_path_factory.mktemp("pools")
    found = {name: prepared(folder, name) for name in ("census", "meps", "credit", "usps", "mnist")}
    for name in ("census", "meps", "credit", "usps"):
        found[name].meta["label"] = "real"
    return found


@pytest.fixture(scope="session")
def scored(pools):
    """name -> (recorder, scores, curves) of the invented predictions."""
    return {
        name: score_set(data, invented(data, seed), SETTINGS, scale="test", seed=1)
        for seed, (name, data) in enumerate(pools.items())
    }


@pytest.fixture(scope="session")
def measurements(pools, scored, tmp_path_factory):
    """All rows of the small run, read back from a file."""
    import pandas as pd

    from leakmeter.membership.experiments.batches import recorder
    from leakmeter.reporting.measurements import read_measurements, write_measurements

    rows = [row for record, *_ in scored.values() for row in record.rows]
    for name, data in pools.items():
        more = ("shapr_low", "sprs_high", "sprs_low") if name == "census" else ()
        rows += removal_rows(data, ("shapr_high", "random", *more))
        record = recorder(data, scale="test", seed=1)
        record.add("influence", {"score": "kifs"}, "residual", 1e-12)
        record.add("influence", {"score": "kifs"}, "damping", 0.01)
        for attack in ("ment", "lira"):
            for score, recall in (
                ("kifs", 0.2),
                ("tracin", 0.3),
                ("shapr", 0.9),
                ("constant", 1.0),
            ):
                axes = {"attack": attack, "score": score}
                for metric in ("recall", "f1", "auc"):
                    record.add("influence", axes, metric, recall * (1 + 0.001 * len(name)))
        if name == "usps":
            for kind in ("clean", "label_flip", "artefact", "out_of_distribution"):
                values = {"memorisation": [0.1, 0.2], "kind_memorisation": [0.1, 0.3]}
                values |= {
                    "shapr": [0.5, 0.6],
                    "shapr_rank": [0.4, 0.5],
                    "records": 2,
                    "fitted": 1.0,
                    "right_left_out": 0.5,
                }
                record.add_all("backdoors", {"kind": kind}, values)
        rows += record.rows
    folder = tmp_path_factory.mktemp("measurements")
    write_measurements(folder / "sets.csv", rows)
    sizes = folder / "sizes.csv"
    pd.DataFrame({"n_train": [24000, 10], "n_test": [24000, 10]}).to_csv(sizes, index=False)
    for record in across_sets(
        read_measurements([folder / "sets.csv"]), str(sizes), scale="test", seed=1
    ):
        rows = rows + record.rows
    write_measurements(folder / "all.csv", rows)
    return read_measurements([folder / "all.csv"])
