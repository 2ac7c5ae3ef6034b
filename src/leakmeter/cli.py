"""The command ``leakmeter``: the measurements of :mod:`leakmeter.own` on files of the user's.

Only Typer is imported at the start: help and completion must be quick. Exit codes: 0 success, 1 an
unexpected error (a bug), 2 a mistake in what was given, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import enum
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from leakmeter.own.reports import Report

EPILOG = (
    "Exit codes: 0 success; 1 an unexpected error; 2 a mistake in the options or the files (one "
    "sentence says which line, what is there and what was expected; nothing is written); "
    "130 interrupted."
)

app = typer.Typer(
    name="leakmeter",
    help="Measure what your own models and metrics leak. Formats: docs/bring-your-own.md.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Intervals(enum.StrEnum):
    """Methods of leakmeter.audit.intervals, known without importing it."""

    bayesian = "bayesian"
    jeffreys = "jeffreys"
    clopper_pearson = "clopper-pearson"


class Selection(enum.StrEnum):
    """Rules for a threshold on attack scores: where the attack is surest, or the middle."""

    high = "high"
    low = "low"
    median = "median"


class Space(enum.StrEnum):
    """Where SHAPr measures distances."""

    features = "features"
    outputs = "outputs"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FOLDER",
        file_okay=False,
        help=(
            "Also write summary.json, table.csv, table.tex, figure.pdf and .png here, and records.csv "
            "(shapr, labelings)."
        ),
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Root seed; the same seed gives the same bytes.")]


@app.command(
    short_help="Exact AUC and DPAUC of scores and labels.",
    epilog=EPILOG,
)
def dpauc(
    scores: Annotated[
        Path, typer.Argument(help="CSV or Parquet with the columns score,label[,client].")
    ],
    epsilons: Annotated[
        str, typer.Option("--epsilons", help="Label-DP budgets, separated by commas.")
    ] = "0.5,1,2,4,8",
    delta: Annotated[float, typer.Option(help="Delta of the methods that have one.")] = 1e-5,
    thresholds: Annotated[
        int,
        typer.Option(
            min=2, max=10_000, help="About how many bins to make (stoddard: at most 2048)."
        ),
    ] = 100,
    clients: Annotated[
        int | None,
        typer.Option(min=1, help="Number of clients, if there is no column client.  [default: 1]"),
    ] = None,
    repeats: Annotated[int, typer.Option(min=2, help="Releases to simulate, if need be.")] = 400,
    level: Annotated[float, typer.Option(help="Share of the releases inside a band.")] = 0.95,
    error: Annotated[
        float | None,
        typer.Option(help="Say which epsilon keeps the root-mean-square error at this or less."),
    ] = None,
    ranks: Annotated[
        bool, typer.Option("--ranks", help="Use ranks for scores that are not in [0, 1].")
    ] = False,
    methods: Annotated[
        str | None,
        typer.Option("--methods", help="Mechanisms, separated by commas, with :noise if need be."),
    ] = None,
    seed: Seed = 1,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Exact AUC, DPAUC for a grid of budgets with bands, and the budget that an error needs.

    \b
    leakmeter dpauc scores.csv
    leakmeter dpauc scores.parquet --clients 1000 --epsilons 1,2,4 --error 0.001
    leakmeter dpauc scores.csv --methods positives,histogram:gaussian,paper_pld
    leakmeter dpauc logits.csv --ranks --json
    """
    with _mistakes():
        from leakmeter.own.scored import DEFAULT_METHODS, DpaucOptions, dpauc_report

        options = DpaucOptions(
            epsilons=_numbers("--epsilons", epsilons),
            delta=delta,
            thresholds=thresholds,
            clients=clients,
            repeats=repeats,
            level=level,
            error=error,
            ranks=ranks,
            methods=DEFAULT_METHODS if methods is None else _words(methods),
            seed=seed,
        )
        _deliver(lambda: dpauc_report(scores, options), [scores], out, as_json)


@app.command(
    short_help="Epsilon interval from tallies or attack scores.",
    epilog=EPILOG,
)
def interval(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Tallies (fn,tp,fp,tn[,delta,alpha,name]) or attack scores (score,member)."
        ),
    ] = None,
    fn: Annotated[int | None, typer.Option("--fn", min=0, help="Members missed.")] = None,
    tp: Annotated[int | None, typer.Option("--tp", min=0, help="Members found.")] = None,
    fp: Annotated[int | None, typer.Option("--fp", min=0, help="Others taken for members.")] = None,
    tn: Annotated[int | None, typer.Option("--tn", min=0, help="Others not taken.")] = None,
    delta: Annotated[float, typer.Option(help="Delta of (epsilon, delta).")] = 1e-5,
    alpha: Annotated[float, typer.Option(help="One minus the level of the interval.")] = 0.1,
    method: Annotated[Intervals, typer.Option(help="Kind of interval.")] = Intervals.bayesian,
    sides: Annotated[int, typer.Option(min=1, max=2, help="1: only a lower end.")] = 2,
    selection: Annotated[
        Selection,
        typer.Option(help="Tail of the attack scores where the other half looks for a threshold."),
    ] = Selection.high,
    seed: Seed = 1,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Interval for the epsilon of a membership attack on your own mechanism.

    \b
    leakmeter interval --fn 120 --tp 380 --fp 130 --tn 370 --delta 1e-5
    leakmeter interval tallies.csv --method clopper-pearson --sides 1
    leakmeter interval attack_scores.csv --alpha 0.05
    """
    with _mistakes():
        from leakmeter.own.audited import AuditOptions, audit_report, table_kind, tally_report

        options = AuditOptions(
            delta=delta,
            alpha=alpha,
            method=method.value,
            sides=sides,
            selection=selection.value,
            seed=seed,
        )
        tally = {"fn": fn, "tp": tp, "fp": fp, "tn": tn}
        lacking = [f"--{name}" for name, value in tally.items() if value is None]
        if (file is None and lacking) or (file is not None and len(lacking) < 4):
            raise typer.BadParameter(
                f"got {'a file and ' if file else ''}{4 - len(lacking)} of the 4 tallies; expected "
                "either a file or all of --fn, --tp, --fp, --tn"
            )

        def make() -> Report:
            if file is None:
                return tally_report(tally, options)
            return audit_report(**{table_kind(file): file}, options=options)

        _deliver(make, [file], out, as_json)


@app.command(
    short_help="SHAPr scores and attacks per record.",
    epilog=EPILOG,
)
def shapr(
    features: Annotated[
        Path,
        typer.Argument(
            help="CSV or Parquet with label, member (1: trained on) and features, or .npz."
        ),
    ],
    outputs: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet of model outputs: a column per class, same rows."),
    ] = None,
    logits: Annotated[bool, typer.Option("--logits", help="The outputs are logits.")] = False,
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="Neighbours of the K-NN.")] = 5,
    space: Annotated[
        Space | None, typer.Option(help="Distances on these; default: outputs if given.")
    ] = None,
    seed: Seed = 1,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """SHAPr score of every training record; with model outputs, membership attacks as well.

    \b
    leakmeter shapr features.csv --out scores/
    leakmeter shapr features.parquet --outputs probabilities.parquet --json
    leakmeter shapr records.npz -k 5 --logits
    """
    with _mistakes():
        from leakmeter.own.risks import ShaprOptions, shapr_report

        options = ShaprOptions(k=k, space=space.value if space else None, logits=logits, seed=seed)
        inputs = [features, outputs]
        _deliver(lambda: shapr_report(features, outputs, options), inputs, out, as_json)


@app.command(
    short_help="Labelings that agree with an AUC.",
    epilog=EPILOG,
)
def labelings(
    guesses: Annotated[Path, typer.Argument(help="CSV or Parquet with the column guess.")],
    auc: Annotated[
        str,
        typer.Option(help="A fraction is exact (1387/1440, 1/1), a decimal is rounded (0.77, 1)."),
    ],
    ones: Annotated[
        int | None, typer.Option(min=1, help="Number of positive labels, if known.")
    ] = None,
    enumerate_: Annotated[
        int,
        typer.Option("--enumerate", metavar="N", min=0, help="List the labelings if at most N."),
    ] = 0,
    posterior: Annotated[
        bool, typer.Option(help="Probability of every label; without: only the counts.")
    ] = True,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """How many labelings an AUC allows, and what it says about each label.

    \b
    leakmeter labelings guesses.csv --auc 0.77
    leakmeter labelings guesses.csv --auc 1387/1440 --ones 40 --json
    leakmeter labelings guesses.csv --auc 3/4 --enumerate 100 --out labelings/
    """
    with _mistakes():
        from leakmeter.own.constrained import LabelingOptions, labelings_report

        options = LabelingOptions(ones=ones, posterior=posterior, enumerate=enumerate_)
        _deliver(lambda: labelings_report(guesses, auc, options), [guesses], out, as_json)


def _version(wanted: bool) -> None:
    if wanted:
        from leakmeter import __version__

        typer.echo(f"leakmeter {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Options before the name of a command."""


# --- shared -------------------------------------------------------------------------------------


@contextlib.contextmanager
def _mistakes() -> Iterator[None]:
    """One sentence and exit code 2 for what a user can mend."""
    from leakmeter.runtime import UserError

    try:
        yield
    except UserError as error:
        typer.echo(f"leakmeter: {error}", err=True)
        raise typer.Exit(2) from None
    except BrokenPipeError:
        # the reader of the output, such as head, has gone: what is buffered has nowhere to go
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _numbers(option: str, text: str) -> tuple[float, ...]:
    from leakmeter.runtime import UserError

    try:
        return tuple(float(word) for word in _words(text))
    except ValueError:
        raise UserError(f"{option} is {text!r}; expected numbers separated by commas") from None


def _deliver(
    make: Callable[[], Report], inputs: Sequence[Path | None], out: Path | None, as_json: bool
) -> None:
    """Make a report, write its files when a folder is named, and print it."""
    if out is not None:
        from leakmeter.own.files import check_folder, write_folder

        check_folder(out, inputs)
    report = make()
    text = report.as_json() if as_json else report.as_text()
    if out is not None:
        write_folder(report, out)
    typer.echo(text)


def main() -> None:
    """Entry point of the command."""
    app(prog_name="leakmeter")


if __name__ == "__main__":
    main()
