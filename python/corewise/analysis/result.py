"""What every `corewise paper` command returns: rows (published beside ours), tables and figures as data.

A `Row` is one claim of a paper: a number with its published value, or a statement in words, which then holds
or does not. Invariant: nothing here prints, draws or simulates; a figure is its numbers, `corewise.plots`
makes the picture.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from corewise import __version__, _core
from corewise.data.published import DataSet
from corewise.data.quantities import number_text

Progress = Callable[[float], None]
"""Told the share of the work that is done, 0 to 1."""
Verdict = Literal["holds", "refuted", "fails"]
NUMBER_HOLDS = 0.15
"""A published number counts as a finding that holds where ours is within so much of it."""


@dataclass(frozen=True)
class Row:
    """One claim of a paper and what became of it here.

    Attributes
    ----------
    id : str
        Unique within the paper, e.g. ``A9/6<-0``.
    what : str
        The claim in words.
    source : str
        Where the paper makes it, e.g. ``000 table 1``.
    published : float or None
        The published value, None where the paper gives only words.
    ours : float or None
        The simulated value, None where the claim is not one number.
    unit : str
        Of both; empty for a pure number.
    error : float or None
        ``(ours - published) / published``, None without a published value.
    set : {"C", "H"} or None
        Calibration or held out.
    holds : bool or None
        Whether a statement in words holds; None for a number.
    refuted : str or None
        Of a statement that does not hold, why it cannot; None where it just fails here.
    """

    id: str
    what: str
    source: str
    published: float | None
    ours: float | None
    unit: str
    error: float | None
    set: DataSet | None
    holds: bool | None
    refuted: str | None = None

    @property
    def verdict(self) -> Verdict | None:
        """What became of the claim; None of a row that claims nothing.

        A number that was used to calibrate, or held out, holds where ours is within `NUMBER_HOLDS` of it. A
        number of no set is shown beside ours and claims nothing.
        """
        if self.holds is not None:
            return "holds" if self.holds else "refuted" if self.refuted else "fails"
        if self.error is None or self.set is None:
            return None
        return "holds" if abs(self.error) <= NUMBER_HOLDS else "fails"


def number_row(
    id: str, what: str, source: str, published: float, ours: float, unit: str, set: DataSet | None
) -> Row:
    """A published number beside ours."""
    return Row(id, what, source, published, ours, unit, (ours - published) / published, set, None)


def statement_row(
    id: str,
    what: str,
    source: str,
    holds: bool,
    ours: float | None = None,
    unit: str = "",
    set: DataSet | None = None,
    refuted: str | None = None,
) -> Row:
    """A statement in words; `ours` is the number that decided it, where it is one.

    `refuted` says why it cannot hold, for where it does not.
    """
    return Row(id, what, source, None, ours, unit, None, set, bool(holds), None if holds else refuted)


@dataclass(frozen=True)
class ErrorSummary:
    """How far the rows with published numbers are off.

    Attributes
    ----------
    count : int
    mean : float
        Mean absolute relative error, NaN of no rows.
    worst : float
        Largest absolute relative error.
    worst_id : str
        The row that has it.
    """

    count: int
    mean: float
    worst: float
    worst_id: str


def summarise(rows: Iterable[Row], set: DataSet | None = None) -> ErrorSummary:
    """Errors of the rows of one set, or of all rows."""
    errors = [
        (abs(row.error), row.id) for row in rows if row.error is not None and (set is None or row.set == set)
    ]
    if not errors:
        return ErrorSummary(0, math.nan, math.nan, "")
    worst, worst_id = max(errors)
    return ErrorSummary(len(errors), sum(error for error, _ in errors) / len(errors), worst, worst_id)


_LONGEST_NUMBER = 20
"""Characters of a cell that does not wrap: a number with its unit."""


@dataclass(frozen=True)
class Table:
    """A table for people.

    Attributes
    ----------
    title : str
    columns : tuple of str
        Headings; the first column is text, the others are numbers, or text where there is a long cell.
    rows : tuple of tuple of str
        Cells.
    note : str
        A line below it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def text_columns(self) -> set[int]:
        """The columns that are set as text, which wraps: the first one, and those with a long cell."""
        long = {at for row in self.rows for at, cell in enumerate(row) if len(cell) > _LONGEST_NUMBER}
        return {0, *long}


@dataclass(frozen=True)
class Series:
    """One curve or one colour of bars.

    Attributes
    ----------
    label : str
    x, y : tuple of float
        Of equal length; for bars, x is the position of the group.
    spread : tuple of float or None
        Half the length of the error bars, e.g. the sample standard deviation.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] | None = None


def series(
    label: str, x: Iterable[float], y: Iterable[float], spread: Iterable[float] | None = None
) -> Series:
    """A `Series` of any numbers."""
    bars = None if spread is None else tuple(map(float, spread))
    return Series(label, tuple(map(float, x)), tuple(map(float, y)), bars)


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes
    ----------
    title, x_label, y_label : str
        Labels with units.
    kind : {"line", "bars", "points"}
        Points are pairs of ranks: both axes count ranks, y downwards.
    series : tuple of Series
    x_log2 : bool
        Sizes: a logarithmic axis with ticks such as 4 KB.
    y_log : bool
    x_names : tuple of str or None
        Names of the groups of bars at x = 0, 1, ...
    lines : tuple of (str, float)
        Horizontal reference lines, e.g. a published value.
    from_zero : bool
        Curves: the y axis starts at zero (bars always do).
    """

    title: str
    x_label: str
    y_label: str
    kind: Literal["line", "bars", "points"]
    series: tuple[Series, ...]
    x_log2: bool = False
    y_log: bool = False
    x_names: tuple[str, ...] | None = None
    lines: tuple[tuple[str, float], ...] = ()
    from_zero: bool = True


@dataclass(frozen=True)
class Figure:
    """One figure of a paper, or one of our own: panels side by side.

    Attributes
    ----------
    name : str
        File name without its ending, e.g. ``000-figure-5``.
    title : str
    panels : tuple of Panel
    """

    name: str
    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class PaperResult:
    """Everything one `corewise paper` command found.

    Attributes
    ----------
    name : str
        The command, e.g. ``paper affinity``.
    machine : str
        What was simulated or measured on.
    rows : tuple of Row
    tables : tuple of Table
    figures : tuple of Figure
    version, commit : str
        Of this corewise.
    """

    name: str
    machine: str
    rows: tuple[Row, ...]
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    version: str = __version__
    commit: str = field(default_factory=lambda: built_commit())

    def to_json(self) -> dict[str, object]:
        """The one JSON object of ``--json``: name, version, commit, machine, rows; then the figures' data."""
        return {
            "name": self.name,
            "version": self.version,
            "commit": self.commit,
            "machine": self.machine,
            "rows": [asdict(row) for row in self.rows],
            "figures": [asdict(figure) for figure in self.figures],
        }

    def statements(self) -> tuple[Row, ...]:
        """The rows that hold or do not."""
        return tuple(row for row in self.rows if row.holds is not None)

    def numbers(self, set: DataSet | None = None) -> tuple[Row, ...]:
        """The rows with a published number, of one set or all."""
        return tuple(
            row for row in self.rows if row.published is not None and (set is None or row.set == set)
        )


def built_commit() -> str:
    """The commit that the C++ core was built from, ``unknown`` where it was built outside a repository."""
    return str(getattr(_core, "__commit__", "unknown"))


def error_text(error: float | None) -> str:
    """``+3.4 %``."""
    return "" if error is None else f"{100 * error:+.1f} %"


def number_table(title: str, rows: Sequence[Row]) -> Table:
    """Rows with published numbers as a table: published, ours, error."""
    cells = tuple(
        (
            row.what,
            number_text(row.published),
            number_text(row.ours),
            row.unit,
            error_text(row.error),
        )
        for row in rows
        if row.published is not None
    )
    return Table(
        title, ("what", "published", "simulated", "unit", "error"), cells, summary_text(summarise(rows))
    )


def statement_table(title: str, rows: Sequence[Row]) -> Table:
    """Statements as a table: whether each holds, and the number that decided."""
    cells = tuple(
        (row.what, _verdict(row), f"{number_text(row.ours)} {row.unit}".strip(), row.source)
        for row in rows
        if row.holds is not None
    )
    held = sum(row.holds is True for row in rows)
    refuted = [row for row in rows if row.refuted]
    note = f"{held} of {len(cells)} statements hold"
    if refuted:
        note += f", {len(refuted)} {'is' if len(refuted) == 1 else 'are'} refuted: " + "; ".join(
            f"{row.id}: {row.refuted}" for row in refuted
        )
    return Table(title, ("statement", "holds", "simulated", "source"), cells, note)


def _verdict(row: Row) -> str:
    """``refuted``: it cannot hold, and the reason is known; ``NO``: it fails here."""
    return "yes" if row.holds else "refuted" if row.refuted else "NO"


def summary_text(summary: ErrorSummary) -> str:
    """``20 values: mean error 2.9 %, worst 8.5 % (A9/7<-2)``."""
    if summary.count == 0:
        return "no published values"
    return (
        f"{summary.count} values: mean error {100 * summary.mean:.1f} %, "
        f"worst {100 * summary.worst:.1f} % ({summary.worst_id})"
    )
