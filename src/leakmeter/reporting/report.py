"""Files of the claims rule: claims, errata and verdict counts of a run."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from leakmeter.reporting.claims import Engine, expand_origins, read_claims, verdict_counts
from leakmeter.reporting.errata import evaluate_errata, read_errata
from leakmeter.reporting.measurements import read_draws, read_measurements, write_frame
from leakmeter.runtime import UserError

logger = logging.getLogger("leakmeter")


def write_claims_report(
    *,
    claims: str | Path,
    errata: str | Path,
    measurements: Sequence[str | Path],
    draws: Sequence[str | Path],
    published_dir: str | Path,
    papers: Sequence[str],
    config: Mapping[str, Any],
    claims_out: str | Path,
    errata_out: str | Path,
    verdicts_out: str | Path,
) -> None:
    """Evaluate claims and errata of some papers on a run's measurements and write three tables.

    Raises
    ------
    UserError
        an unknown erratum.
    """
    frame = read_measurements(measurements)
    engine = Engine(frame, read_draws(draws), Path(published_dir), config)
    table = engine.evaluate(expand_origins(read_claims(claims, papers)))
    entries = [entry for entry in read_errata(errata) if entry["paper"] in papers]
    errata_table = evaluate_errata(entries, frame)
    unknown = set(table["erratum"].dropna()) - {entry["id"] for entry in entries}
    if unknown:
        raise UserError(
            f"{claims} names errata that {errata} does not have: {', '.join(sorted(unknown))}"
        )
    for entry in errata_table[errata_table["holds"].eq(False)].to_dict("records"):
        logger.warning("%s", _refuted(entry, table))
    counts = verdict_counts(table)
    logger.info("verdicts:\n%s", counts.to_string())
    write_frame(claims_out, table)
    write_frame(errata_out, errata_table)
    write_frame(verdicts_out, counts.reset_index())


def _refuted(entry: Mapping[str, Any], table: pd.DataFrame) -> str:
    """What follows when the evidence of an erratum does not show it in this run."""
    citing = sorted(set(table.loc[table["erratum"].eq(entry["id"]), "id"]))
    cited = (
        f"the verdict erratum of {', '.join(citing)} cites it" if citing else "no verdict cites it"
    )
    return (
        f"erratum {entry['id']} does not hold in this run: {entry['evidence']} is "
        f"{entry['value']:.6g}, expected {entry['condition']}; the page lists it as refuted, {cited}; "
        "where the evidence is noisy, more repeats (a larger scale) decide"
    )


def stack_claims_reports(
    *,
    claims: Sequence[str | Path],
    errata: Sequence[str | Path],
    claims_out: str | Path,
    errata_out: str | Path,
    verdicts_out: str | Path,
) -> None:
    """Put the claims and errata of all chains into one table each and count the verdicts."""
    # as text: numbers keep their digits
    stacked = {
        name: pd.concat([pd.read_csv(p, dtype="str", keep_default_na=False) for p in paths])
        for name, paths in (("claims", claims), ("errata", errata))
    }
    counts = verdict_counts(stacked["claims"])
    logger.info("verdicts:\n%s", counts.to_string())
    write_frame(claims_out, stacked["claims"])
    write_frame(errata_out, stacked["errata"])
    write_frame(verdicts_out, counts.reset_index())
