"""Shapes that Rich lacks: tables that give up columns in a narrow terminal, paragraphs with an indent.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

_UNLIMITED = 10_000
_LEAST_TEXT = 20
_READABLE_CELL = 26


@dataclass(frozen=True)
class Column:
    """One column of a `FittingTable`.

    Attributes
    ----------
    name : str
        Its heading.
    cells : sequence
        One per row.
    right : bool
        Numbers stand right.
    narrow : sequence, optional
        Shorter cells, taken before any column is given up.
    importance : int
        Columns with the lowest importance are given up first; 0 never.
    wrap : bool
        Whether a cell may take several lines, as a last resort.
    """

    name: str
    cells: Sequence[RenderableType] = ()
    right: bool = False
    narrow: Sequence[RenderableType] | None = None
    importance: int = 0
    wrap: bool = False


@dataclass(frozen=True)
class FittingTable:
    """A table that shows as much as fits the width, its title above it and a remark below.

    Columns are given up as a whole, because half a number or half a name says nothing.
    """

    columns: Sequence[Column]
    title: str = ""
    remark: str = ""
    below_when_narrow: Sequence[RenderableType] = field(default=())
    """What the narrow cells left out."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields the fullest form that fits."""
        if self.title:
            yield Text(self.title, style="bold")
        table, narrow = self._fitting(console, options)
        yield table
        if self.remark:
            yield Text(self.remark, style="dim")
        if narrow:
            yield from self.below_when_narrow

    def _fitting(self, console: Console, options: ConsoleOptions) -> tuple[Table, bool]:
        kept = list(self.columns)
        table = _table(kept, narrow=False)
        if _width(console, options, table) <= options.max_width:
            return table, False
        while _width(console, options, table := _table(kept, narrow=True)) > options.max_width:
            droppable = [column for column in kept if column.importance > 0]
            if not droppable:
                break
            kept.remove(min(droppable, key=lambda column: column.importance))
        return table, True


def by_rows(
    headings: Sequence[Column], rows: Iterable[Sequence[RenderableType]], title: str = "", remark: str = ""
) -> FittingTable:
    """A table whose cells are given row by row; the headings have none yet."""
    cells = list(zip(*rows, strict=True)) or [()] * len(headings)
    columns = [replace(heading, cells=each) for heading, each in zip(headings, cells, strict=True)]
    return FittingTable(columns, title, remark)


def _table(columns: Sequence[Column], narrow: bool) -> Table:
    table = Table(show_header=any(column.name for column in columns))
    for column in columns:
        table.add_column(
            column.name,
            justify="right" if column.right else "left",
            no_wrap=not column.wrap,
            overflow="fold" if column.wrap else "ellipsis",
        )
    cells = [column.narrow if narrow and column.narrow is not None else column.cells for column in columns]
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    return table


def _width(console: Console, options: ConsoleOptions, table: Table) -> int:
    """What the table needs: a column that may wrap asks for a readable part of its text only."""
    for column in table.columns:
        if not column.no_wrap:
            natural = Measurement.get(console, options, Text("\n".join(map(_plain, column._cells)))).maximum
            column.max_width = min(max(natural, len(str(column.header))), _READABLE_CELL)
    width = Measurement.get(console, options.update(width=_UNLIMITED), table).maximum
    for column in table.columns:
        column.max_width = None
    return width


def _plain(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


@dataclass(frozen=True)
class Hanging:
    """A paragraph whose lines all start below the end of `label`."""

    label: Text | str
    text: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields the lines."""
        label = Text(self.label) if isinstance(self.label, str) else self.label
        indent = label.cell_len
        width = max(_LEAST_TEXT, options.max_width - indent)
        for number, line in enumerate(self.text.wrap(console, width)):
            line.rstrip()
            first = label if number == 0 else Text(" " * indent)
            yield Text.assemble(first, line, overflow="fold")
