"""Files of message costs: what messages of a real MPI cost inside a node (docs/formats/messages.md).

Owns the JSON format, and the names of the files that a profile holds. Invariants of what is read: sizes and
columns rise, every row has a time for every column, and no message is sent in more time than it takes to
arrive, nor both ways in less time than one way. A median of tables keeps them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from corewise.base.documents import Fields, read_json
from corewise.base.files import write_text
from corewise.errors import InputError, bad_field

_FORMAT, _VERSION = "corewise-messages", 1
_FIELDS = ("format", "version", "processor", "mpi", "eager_bytes", "moved_bytes", "rows")
_ROW = ("bytes", "send_ns", "one_way_ns", "both_ns")
MOST_BYTES = 1 << 40
MOST_COLUMNS, MOST_ROWS = 16, 256
BEFORE, AFTER = "messages-before.json", "messages-after.json"
"""In a profile: the tables of just before and just after the run."""


@dataclass(frozen=True)
class CostRow:
    """Messages of one size.

    Attributes
    ----------
    bytes : int
    send_ns : float
        The sender's own part: what a call that begins a send takes.
    one_way_ns, both_ns : tuple of float
        By column: from the start of the send to the end of the receive; and while one goes the other way.
    """

    bytes: int
    send_ns: float
    one_way_ns: tuple[float, ...]
    both_ns: tuple[float, ...]


@dataclass(frozen=True)
class MessageCosts:
    """A table that was measured.

    Attributes
    ----------
    processor, mpi : str
        Where, and with which MPI.
    eager_bytes : int
        The longest message whose send ends before its receiver has asked for it.
    moved_bytes : tuple of int
        Of every column: bytes that a rank moved between two uses of a buffer.
    rows : tuple of CostRow
    """

    processor: str
    mpi: str
    eager_bytes: int
    moved_bytes: tuple[int, ...]
    rows: tuple[CostRow, ...]


def save_message_costs(costs: MessageCosts, path: Path) -> None:
    """Writes the JSON file, a row per line."""
    head = {
        "format": _FORMAT,
        "version": _VERSION,
        "processor": costs.processor,
        "mpi": costs.mpi,
        "eager_bytes": costs.eager_bytes,
        "moved_bytes": list(costs.moved_bytes),
    }
    rows = ",\n  ".join(json.dumps({name: getattr(row, name) for name in _ROW}) for row in costs.rows)
    write_text(path, f'{json.dumps(head)[:-1]}, "rows": [\n  {rows}\n]}}\n')


def load_message_costs(path: Path) -> MessageCosts:
    """Reads the JSON file.

    Raises
    ------
    InputError
        It is no such file; the message names the field, what was found and what is allowed.
    """
    fields = read_json(path)
    fields.header(_FORMAT, _VERSION)
    fields.only(_FIELDS)
    moved = fields.wholes("moved_bytes", 0, MOST_BYTES)
    if not 1 <= len(moved) <= MOST_COLUMNS or not _rise(moved):
        raise fields.wrong("moved_bytes", f"1 to {MOST_COLUMNS} numbers that rise")
    tables = fields.tables("rows")
    if not 1 <= len(tables) <= MOST_ROWS:
        raise InputError(f"{path}: rows: found {len(tables)}, allowed: 1 to {MOST_ROWS}")
    rows = tuple(_rows(tables, len(moved)))
    return MessageCosts(
        fields.text("processor"), fields.text("mpi"), fields.whole("eager_bytes", 0, MOST_BYTES), moved, rows
    )


def profile_tables(profile: Path) -> list[Path]:
    """The tables that a profile holds, the one from before its run first; of most profiles none."""
    return [profile / name for name in (BEFORE, AFTER) if (profile / name).is_file()]


def median_costs(files: Sequence[Path], tables: Sequence[MessageCosts]) -> MessageCosts:
    """One table of several: the median of every time, for the sizes that all have.

    They may differ by where the eager limit was found, which is the least one.

    Parameters
    ----------
    files : sequence of Path
        Where the tables are from; messages name them.
    tables : sequence of MessageCosts
        One or more.

    Raises
    ------
    InputError
        They are not of one MPI on one processor, or have not the same columns, or no size in common.
    """
    first = tables[0]
    sizes = {row.bytes for row in first.rows}
    for file, table in zip(files, tables, strict=True):
        for field in ("processor", "mpi", "moved_bytes"):
            if getattr(table, field) != getattr(first, field):
                allowed = f"{getattr(first, field)}, as in {files[0]}"
                raise bad_field(str(file), field, getattr(table, field), allowed)
        sizes &= {row.bytes for row in table.rows}
        if not sizes:
            raise bad_field(str(file), "rows", "no size of the other tables", f"sizes of {files[0]}")
    common = [[row for row in table.rows if row.bytes in sizes] for table in tables]
    rows = tuple(map(_median_row, zip(*common, strict=True)))
    eager_bytes = min(table.eager_bytes for table in tables)
    return MessageCosts(first.processor, first.mpi, eager_bytes, first.moved_bytes, rows)


def _median_row(rows: Sequence[CostRow]) -> CostRow:
    return CostRow(
        rows[0].bytes,
        statistics.median(row.send_ns for row in rows),
        _medians([row.one_way_ns for row in rows]),
        _medians([row.both_ns for row in rows]),
    )


def _medians(columns: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(map(statistics.median, zip(*columns, strict=True)))


def _rise(values: Sequence[int]) -> bool:
    return all(low < high for low, high in pairwise(values))


def _rows(tables: Sequence[Fields], columns: int) -> Iterator[CostRow]:
    least = 0
    for fields in tables:
        fields.only(_ROW)
        size = fields.whole("bytes", least, MOST_BYTES)
        least = size + 1
        one_way = fields.positives("one_way_ns", columns, "column of moved_bytes")
        both = fields.positives("both_ns", columns, "column of moved_bytes")
        send_ns = fields.number("send_ns", 0, min(one_way))
        if any(together < alone for together, alone in zip(both, one_way, strict=True)):
            raise fields.wrong("both_ns", "no less than one_way_ns in any column")
        yield CostRow(size, send_ns, one_way, both)
