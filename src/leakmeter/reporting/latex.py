r"""LaTeX tables with booktabs rules, and their compilation to PDF.

Cells, captions and notes handed to :class:`Table` are LaTeX already; plain text goes through
:func:`escape`, numbers through :func:`number`, :func:`with_std`, :func:`scientific` or
:func:`integer`. The output needs only packages of texlive-latex-recommended (:data:`PACKAGES`).
"""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from leakmeter.runtime import UserError, atomic_path

PACKAGES = ("amsmath", "booktabs", "caption", "graphicx", "xcolor")

#: What a missing number looks like.
DASH = "--"
#: What a measured but undefined number looks like.
UNDEFINED = r"\emph{undef.}"

#: Verdict -> mark, from the one a reader must see first to the one that says least.
MARKS: dict[str, str] = {
    "not reproduced": r"\neq",
    "erratum": "!",
    "uninformative": "?",
    "calibrated": r"\circ",
    "consistent": r"\approx",
    "reproduced": "=",
    "not run": r"\times",
    "not published": r"\emptyset",
}

_SPREAD_DIGITS = 5  # of a standard deviation in parentheses

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    '"': "''",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
    "−": r"$-$",
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\dots{}",
    "\N{NO-BREAK SPACE}": "~",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "δ": r"$\delta$",
    "ε": r"$\epsilon$",
    "θ": r"$\theta$",
    "Θ": r"$\Theta$",
    "μ": r"$\mu$",
    "π": r"$\pi$",
    "σ": r"$\sigma$",
}

#: Combining accent -> command; the standard encoding has no others.
_ACCENTS = {
    "\N{COMBINING GRAVE ACCENT}": "`",
    "\N{COMBINING ACUTE ACCENT}": "'",
    "\N{COMBINING CIRCUMFLEX ACCENT}": "^",
    "\N{COMBINING TILDE}": "~",
    "\N{COMBINING DIAERESIS}": '"',
    "\N{COMBINING MACRON}": "=",
    "\N{COMBINING BREVE}": "u",
    "\N{COMBINING DOT ABOVE}": ".",
    "\N{COMBINING RING ABOVE}": "r",
    "\N{COMBINING DOUBLE ACUTE ACCENT}": "H",
    "\N{COMBINING CARON}": "v",
    "\N{COMBINING CEDILLA}": "c",
}


#: Pairs that the fonts join to a dash, a quotation mark or a mark that is upside down.
_LIGATURES = frozenset(("--", "``", "''", ",,", "!`", "?`"))


def escape(text: object) -> str:
    r"""Plain text as LaTeX in ASCII: specials escaped, accents and common symbols as commands.

    Letters that the standard fonts do not have become their code point in brackets, so that a
    strange file name never stops a table from compiling. Pairs that LaTeX would join to another
    letter (two hyphens to a dash) are kept apart.

    >>> escape("50 % of C_1 & C_2"), escape("--ones")
    ('50 \\% of C\\_1 \\& C\\_2', '-{}-ones')
    """
    plain = unicodedata.normalize("NFC", str(text))
    return "".join(
        ("{}" if pair in _LIGATURES else "") + _escape_character(pair[-1])
        for pair in map("".join, zip(" " + plain, plain, strict=False))
    )


def _escape_character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isspace():
        return " "
    if " " < character < "\x7f":
        return character
    base, *accent = unicodedata.normalize("NFD", character)
    if base.isascii() and base.isalpha() and len(accent) == 1 and accent[0] in _ACCENTS:
        return rf"\{_ACCENTS[accent[0]]}{{{base}}}"
    return f"[U+{ord(character):04X}]"


# --- numbers ------------------------------------------------------------------------------------


def _missing(value: object) -> bool:
    """None, NaN, pandas' NA and the empty text of a CSV cell."""
    if value is None or str(value) in ("", "<NA>"):  # comparing NA itself is an error
        return True
    return math.isnan(float(value))  # type: ignore[arg-type]


def _signed(digits: str) -> str:
    return f"$-${digits[1:]}" if digits.startswith("-") else digits


def _infinite(value: object) -> str | None:
    if math.isinf(float(value)):  # type: ignore[arg-type]
        return r"$\infty$" if float(value) > 0 else r"$-\infty$"  # type: ignore[arg-type]
    return None


def printed(value: object) -> str:
    """A number as text without exponent: text keeps its digits, a float gets its shortest ones.

    >>> printed("0.749260"), printed(4e-05)
    ('0.749260', '0.00004')
    """
    return format(Decimal(value if isinstance(value, str) else repr(value)), "f")


def number(value: object, decimals: int) -> str:
    """A number with fixed decimals, a text with its own; :data:`DASH` when there is none.

    >>> number(0.5, 3), number(-0.5, 1), number("0.7494", 6), number(None, 2)
    ('0.500', '$-$0.5', '0.7494', '--')
    """
    if _missing(value):
        return DASH
    return _fixed(value, _places(value) if isinstance(value, str) else decimals)


def integer(value: object) -> str:
    """A number rounded to an integer, thousands separated.

    >>> integer(458407)
    '458{,}407'
    """
    if _missing(value):
        return DASH
    return _infinite(value) or _signed(f"{round(float(value)):,}".replace(",", "{,}"))  # type: ignore[arg-type]


def short(value: object, digits: int = 6) -> str:
    """A setting (epsilon, delta, a scale) with as few digits as it has, at most ``digits``.

    >>> short(8.0), short(0.0025), short(1e-05)
    ('8', '0.0025', '$10^{-5}$')
    """
    if _missing(value):
        return DASH
    text = _infinite(value) or f"{float(value):.{digits}g}"  # type: ignore[arg-type]
    if "e" not in text:
        return text if text.startswith("$") else _signed(text)
    mantissa, exponent = text.split("e")
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if mantissa == "1" else f"${mantissa}\\times{power}$"


def scientific(value: object, digits: int, *, below: float = 0.01) -> str:
    r"""Significant digits, as a power of ten when the number is smaller than ``below``.

    A text keeps its own number of digits.

    >>> scientific(8.524e-06, 3), scientific("6.60e-3", 2)
    ('$8.52\\times10^{-6}$', '$6.60\\times10^{-3}$')
    >>> scientific(0.44553, 3)
    '0.446'
    """
    if _missing(value):
        return DASH
    if special := _infinite(value):
        return special
    amount = float(value)  # type: ignore[arg-type]
    if amount == 0:
        return "0"
    if isinstance(value, str):
        digits = len(Decimal(value).as_tuple().digits)
    mantissa, exponent = f"{amount:.{digits - 1}e}".split("e")
    if abs(amount) < below:
        return f"${mantissa}\\times10^{{{int(exponent)}}}$"
    return _signed(f"{amount:.{max(digits - 1 - int(exponent), 0)}f}")


def _fixed(value: object, decimals: int) -> str:
    return _infinite(value) or _signed(_rounded(value, decimals))


def _rounded(value: object, decimals: int) -> str:
    """Round to ``decimals`` places, without the sign of a negative zero."""
    if isinstance(value, str):
        return format(Decimal(value), f".{decimals}f")
    text = f"{float(value):.{decimals}f}"  # type: ignore[arg-type]
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def _places(text: str) -> int:
    return max(-int(Decimal(text).as_tuple().exponent), 0)


def with_std(value: object, std: object, decimals: int, *, style: str = "parentheses") -> str:
    r"""A mean with its standard deviation, both to ``decimals`` places.

    Parameters
    ----------
    value, std : numbers, or texts (published numbers) that keep their own digits whatever
        ``decimals`` is, the shorter padded to the longer. Without ``std`` (None, NaN or empty)
        only the mean is shown.
    style : ``"parentheses"`` gives the deviation in units of the last digit (``decimals`` gives
        way so that it has at most five), ``"pm"`` writes ``value ± std``. A deviation of one or
        more is written out, with two digits or its integer.

    >>> with_std(0.749347, 0.000216, 6)
    '0.749347(216)'
    >>> with_std(0.749347, 0.000216, 6, style="pm")
    '0.749347 $\\pm$ 0.000216'
    >>> with_std("0.74938", "0.00004", 6), with_std("0.76611", "0.000894", 6)
    ('0.74938(4)', '0.766110(894)')
    >>> with_std(172.022641, 601.44, 6)
    '172 $\\pm$ 601'
    """
    if style not in ("parentheses", "pm"):
        raise ValueError(f"style {style!r}: expected 'parentheses' or 'pm'")
    if _missing(value) or _missing(std):
        return number(value, decimals)
    spread = float(std)  # type: ignore[arg-type]
    places = max(_places(v) if isinstance(v, str) else decimals for v in (value, std))
    if 1 <= spread < math.inf and not isinstance(std, str):
        places = min(places, int(spread < 10))
    elif style == "parentheses" and spread < 1 and not isinstance(std, str):
        while places and round(spread * 10**places) >= 10**_SPREAD_DIGITS:
            places -= 1
    if style == "pm" or not math.isfinite(float(value)) or not spread < 1:  # type: ignore[arg-type]
        return rf"{_fixed(value, places)} $\pm$ {_fixed(std, places)}"
    units = _rounded(std, places).replace(".", "").lstrip("0") or "0"
    return f"{_fixed(value, places)}({units})"


# --- verdicts -----------------------------------------------------------------------------------


def worst(verdicts: Sequence[str]) -> str | None:
    """The verdict a cell with several tests is marked with: the first in :data:`MARKS`."""
    unknown = set(verdicts) - set(MARKS)
    if unknown:
        raise ValueError(f"unknown verdicts {sorted(unknown)}: expected {list(MARKS)}")
    return min(verdicts, key=list(MARKS).index) if verdicts else None


def mark(verdict: str | None) -> str:
    """The superscript of a verdict; ``not reproduced`` and ``erratum`` are coloured as well.

    The thin space keeps it apart from an exponent.
    """
    if verdict is None:
        return ""
    symbol = rf"$\,^{{{MARKS[verdict]}}}$"
    return rf"\textcolor{{red!75!black}}{{{symbol}}}" if verdict in list(MARKS)[:2] else symbol


def legend(counts: Mapping[str, int]) -> str:
    """What the marks of a table mean and how often each occurs, in the order of :data:`MARKS`."""
    parts = [f"{mark(v)}~{v} ({counts[v]})" for v in MARKS if counts.get(v)]
    return "Verdicts: " + ", ".join(parts) + "." if parts else ""


# --- tables -------------------------------------------------------------------------------------


#: Font sizes of a table's body, largest first, and the height of a line in points.
_LINE_HEIGHTS = {"footnotesize": 9.5, "scriptsize": 8.0, "tiny": 6.0}
#: What a page leaves for the lines of a table, beside caption, header and notes, in points.
_BODY_HEIGHT = 620.0


def _cell(text: str) -> str:
    r"""A cell whose first letter is no star or optional argument of the ``\\`` or rule before it."""
    return "{}" + text if text.lstrip().startswith(("[", "*")) else text


class Table:
    r"""A floating table with booktabs rules, built line by line.

    Parameters
    ----------
    columns : one of ``l``, ``c``, ``r`` per column; a space widens the gap between two.
    caption, label : LaTeX of the caption; the key for ``\ref``.
    size : LaTeX font size of the body, e.g. ``"footnotesize"``; a table that would be longer than
        a page gets a smaller one.
    gap : space on each side of a column, in points.
    wide : span both columns of a two-column page (``table*``).

    Raises
    ------
    ValueError
        a line whose cells do not fill the columns exactly.

    >>> table = Table("lr", caption="Counts", label="tab:counts")
    >>> table.head("epoch", "n")
    >>> table.row("0", integer(1000))
    >>> print(table.render().splitlines()[8])
    0 & 1{,}000 \\
    """

    def __init__(
        self,
        columns: str,
        *,
        caption: str,
        label: str,
        size: str = "footnotesize",
        gap: float = 4,
        wide: bool = True,
    ) -> None:
        if not columns.strip() or set(columns) - set("lcr "):
            raise ValueError(f"columns {columns!r}: expected letters l, c, r and spaces")
        self._columns, self._caption, self._label = columns.strip(), caption, label
        self._width = len(columns.replace(" ", ""))
        self._size, self._gap, self._wide = size, gap, wide
        self._heads: list[str] = []
        self._lines: list[str] = []
        self._notes: list[str] = []

    def _join(self, cells: Sequence[str | tuple[str, int]], *, heading: bool) -> str:
        spans = [cell if isinstance(cell, tuple) else (cell, 1) for cell in cells]
        width = sum(span for _, span in spans)
        if width != self._width:
            raise ValueError(f"{width} cells in a table of {self._width} columns: {cells}")
        align = "c" if heading else "l"
        texts = [
            _cell(text) if span == 1 else rf"\multicolumn{{{span}}}{{{align}}}{{{text}}}"
            for text, span in spans
        ]
        return " & ".join(texts).rstrip() + r" \\"

    def head(self, *cells: str | tuple[str, int]) -> None:
        """A line of the header; ``(text, span)`` covers columns and is underlined."""
        self._heads.append(self._join(cells, heading=True))
        rules, column = [], 1
        for cell in cells:
            text, span = cell if isinstance(cell, tuple) else (cell, 1)
            if span > 1 and text:
                rules.append(rf"\cmidrule(lr){{{column}-{column + span - 1}}}")
            column += span
        if rules:
            self._heads.append(" ".join(rules))

    def row(self, *cells: str | tuple[str, int]) -> None:
        """A line of the body; ``(text, span)`` covers columns, left aligned."""
        self._lines.append(self._join(cells, heading=False))

    def across(self, text: str) -> None:
        """A line of the body with one text over all columns."""
        self.row((text, self._width))

    def rule(self) -> None:
        """A rule between two groups of lines (none before the first line or after another rule)."""
        if self._lines and not self._lines[-1].startswith("\\"):
            self._lines.append(r"\midrule")

    def space(self) -> None:
        """A small gap between two lines."""
        if self._lines and not self._lines[-1].startswith("\\"):
            self._lines.append(r"\addlinespace[2pt]")

    def note(self, text: str) -> None:
        """A sentence under the table; empty text is ignored."""
        if text:
            self._notes.append(text)

    def _fitting_size(self, body: Sequence[str]) -> str:
        sizes = list(_LINE_HEIGHTS)
        gaps = sum(line.startswith((r"\midrule", r"\addlinespace")) for line in body)
        for size in sizes[sizes.index(self._size) :] if self._size in sizes else ():
            if (len(body) - gaps) * _LINE_HEIGHTS[size] + gaps * 4 <= _BODY_HEIGHT:
                return size
        return sizes[-1] if self._size in sizes else self._size

    def render(self) -> str:
        """The LaTeX of the float."""
        body = list(self._lines)
        while body and body[-1].startswith((r"\midrule", r"\addlinespace")):
            body.pop()
        columns = self._columns.replace(" ", rf"@{{\hspace{{{4 * self._gap:g}pt}}}}")
        environment = "table*" if self._wide else "table"
        lines = [
            rf"\begin{{{environment}}}[!htbp]",
            r"\centering",
            rf"\caption{{{self._caption}}}\label{{{self._label}}}",
            rf"\{self._fitting_size(body)}\setlength{{\tabcolsep}}{{{self._gap:g}pt}}",
            rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
            r"\toprule",
            *self._heads,
            *([r"\midrule"] if self._heads else []),
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
        if self._notes:
            lines += [
                r"\par\smallskip",
                r"\begin{minipage}{\linewidth}\scriptsize\raggedright",
                "\n".join(self._notes),
                r"\end{minipage}",
            ]
        return "\n".join([*lines, rf"\end{{{environment}}}", ""])


# --- documents ----------------------------------------------------------------------------------

_PREAMBLE = r"""\documentclass[10pt,a4paper]{article}
%% the identifier of a PDF is otherwise made from the time and the folder
\ifdefined\pdftrailerid\pdftrailerid{}\fi
%(packages)s
\captionsetup{font=small,labelfont=bf,skip=4pt}
\setlength{\textwidth}{180mm}\setlength{\textheight}{255mm}
\setlength{\oddsidemargin}{\dimexpr(\paperwidth-\textwidth)/2-1in\relax}
\setlength{\topmargin}{\dimexpr(\paperheight-\textheight)/2-1in\relax}
\setlength{\headheight}{0pt}\setlength{\headsep}{0pt}\setlength{\parindent}{0pt}
\renewcommand{\topfraction}{1}\renewcommand{\bottomfraction}{1}
\renewcommand{\textfraction}{0}\renewcommand{\floatpagefraction}{0.6}
%% pages of tables are filled from the top
\makeatletter\setlength{\@fptop}{0pt}\setlength{\@fpsep}{24pt}\makeatother
"""


def document(fragments: Sequence[str], title: str) -> str:
    """A whole A4 document around fragments made here: what :func:`compile_pdf` takes.

    ``title`` is plain text. The text block is 180 mm wide, the width of a two-column page.
    """
    packages = "\n".join(rf"\usepackage{{{name}}}" for name in PACKAGES)
    return "\n".join(
        [
            _PREAMBLE % {"packages": packages},
            # dozens of tables without text between them: more floats than LaTeX expects to hold
            r"\maxdeadcycles=1000\extrafloats{500}",
            r"\begin{document}",
            rf"\section*{{{escape(title)}}}",
            *fragments,
            r"\end{document}",
            "",
        ]
    )


def compile_pdf(tex: Path, out: Path, *, timeout: float = 300) -> list[str]:
    """Compile a LaTeX file to PDF: latexmk where it is installed, else two runs of pdflatex.

    Auxiliary files stay in a temporary folder; files named in the document are looked up beside
    ``tex``. With :func:`document` the same text gives the same bytes: the clock is fixed by
    SOURCE_DATE_EPOCH and FORCE_SOURCE_DATE.

    Returns
    -------
    list of str
        warnings about boxes wider than the page and floats longer than one.

    Raises
    ------
    UserError
        no LaTeX, or LaTeX stopped at an error (an excerpt of its log is in the message).
    """
    tex, out = Path(tex).resolve(), Path(out)
    if not tex.is_file():
        raise UserError(f"{tex}: no such LaTeX file")
    with tempfile.TemporaryDirectory(prefix="leakmeter-latex-") as folder:
        _run_latex(tex, Path(folder), timeout)
        log = _read_log(Path(folder), tex)
        with atomic_path(out) as temporary:
            shutil.copyfile(Path(folder, f"{tex.stem}.pdf"), temporary)
    return re.findall(r"^(?:Overfull \\hbox |.*Float too large for page).*$", log, re.MULTILINE)


def _run_latex(tex: Path, folder: Path, timeout: float) -> None:
    if shutil.which("pdflatex") is None:
        raise UserError(
            f"{tex}: cannot be compiled because pdflatex is not on the PATH; install LaTeX "
            "(Debian: texlive-latex-recommended) or do without the PDF of the tables"
        )
    options = ["-interaction=nonstopmode", "-halt-on-error", "-file-line-error", "-no-shell-escape"]
    if shutil.which("latexmk"):
        runs = [["latexmk", "-norc", "-pdf", *(f"-latexoption={o}" for o in options), str(tex)]]
    else:
        runs = [["pdflatex", *options, str(tex)]] * 2
    environment = {
        **os.environ,
        "SOURCE_DATE_EPOCH": "0",
        "FORCE_SOURCE_DATE": "1",
        "TZ": "UTC",
        "TEXINPUTS": os.pathsep.join([".", str(tex.parent), ""]),
        "max_print_line": "1000",  # LaTeX breaks the lines of its log otherwise
    }
    for command in runs:
        status, output = _run(command, folder, environment, timeout)
        if status is None:
            raise UserError(f"{tex}: {command[0]} did not end within {timeout:g} s and was stopped")
        if status:
            excerpt = log_excerpt(_read_log(folder, tex) or output)
            raise UserError(f"{tex}: LaTeX stopped with an error:\n{excerpt}")


def _run(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float
) -> tuple[int | None, str]:
    """Exit status and output of a program; the status is None if it had to be stopped."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            if process.poll() is None:
                # latexmk would leave its pdflatex running
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        return status, output.read().decode("utf-8", "replace")


def _read_log(folder: Path, tex: Path) -> str:
    log = folder / f"{tex.stem}.log"
    return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""


def log_excerpt(log: str, *, errors: int = 3, context: int = 4) -> str:
    """The first errors of a LaTeX log with the lines after them; its end if there are none."""
    lines = [line for line in log.splitlines() if line.strip()]
    starts = [i for i, line in enumerate(lines) if re.match(r"!|[^\s:]+:\d+: ", line)][:errors]
    if not starts:
        return "\n".join(lines[-10:])
    kept = sorted({j for i in starts for j in range(i, min(i + context, len(lines)))})
    return "\n".join(lines[j] for j in kept)
