"""The rows of one thread as properly nested begins and ends, in order of time.

Owns what viewers of traces demand and records do not give: a call's record lies behind everything that
happened inside the call, an arrival's behind the call that completed it, and the exits of functions may be
missing (the rank was killed, the window cuts) or their entries. Invariants of what `nested` yields: times
never fall, every begin has its end, the last begun ends first, and each call and each entry that was
recorded begins exactly once. Memory is two batches and the open calls, but for rows that overlap whole
batches.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corewise.data.events import KINDS, Batch

BEGIN, POINT, END = range(3)
_NEVER_NS = 2**62


class Row(NamedTuple):
    """One row of a batch as Python numbers; `end_ns` is start and duration."""

    kind: int
    start_ns: int
    end_ns: int
    name: int
    calls: int
    bytes: int
    peer: int
    tag: int
    comm: int
    object: int
    offset: int


class Mark(NamedTuple):
    """A begin, an end, or a moment, and the row that it belongs to (of an end, the row that began)."""

    time_ns: int
    what: int
    row: Row


Batches = Callable[[], Iterable[Batch]]
"""Gives the batches of a thread from the start, each time it is called."""


def _numbers(*kinds: str) -> frozenset[int]:
    return frozenset(KINDS.index(kind) for kind in kinds)


ENTERS = _numbers("function_enter", "region_enter")
EXITS = _numbers("function_exit", "region_exit")
COMPLETIONS = _numbers("arrival", "cancel")
_MOMENTS = _numbers("arrival", "cancel", "collective_part", "phase", "recording")
_TABLE = np.zeros((3, 256), bool)
for _row, _kinds in enumerate((ENTERS, EXITS, _MOMENTS)):
    _TABLE[_row, list(_kinds)] = True
_COMPLETES = np.zeros(256, bool)
_COMPLETES[list(COMPLETIONS)] = True


class _Shape(NamedTuple):
    """What the rows of a batch are: each is exactly one of these."""

    enters: NDArray[np.bool_]
    exits: NDArray[np.bool_]
    moments: NDArray[np.bool_]
    spans: NDArray[np.bool_]


def _shape(batch: Batch) -> _Shape:
    enters, exits, moments = _TABLE[:, batch.kind]
    # Further records of a call that one before it stands for: MPI_Startall, the collective of MPI_Start.
    moments = moments | (~enters & ~exits & (batch.calls == 0))
    return _Shape(enters, exits, moments, ~(enters | exits | moments))


def begins(batch: Batch) -> NDArray[np.bool_]:
    """Which rows begin something that lasts."""
    shape = _shape(batch)
    return shape.enters | shape.spans


def _first_ns(batch: Batch) -> int:
    """The earliest time of any mark of a batch."""
    late = _COMPLETES[batch.kind]
    times = np.where(late, batch.start_ns + batch.duration_ns, batch.start_ns)
    return int(times.min())


def _floors(batches: Iterable[Batch]) -> list[int]:
    """Before which time nothing happens any more after a batch, for every batch."""
    firsts = [_first_ns(batch) for batch in batches]
    later = [*firsts[1:], _NEVER_NS] if firsts else []
    floors = np.minimum.accumulate(np.array(later, np.int64)[::-1])[::-1]
    return [int(floor) for floor in floors]


class _Marker:
    """Turns batches into marks; knows the call before the batch, which arrivals belong to."""

    def __init__(self) -> None:
        self._rows = 0
        self._anchor = (-1, -_NEVER_NS, -_NEVER_NS)  # number, begin and end of the newest call

    def marks(self, batch: Batch) -> tuple[NDArray[np.int64], list[Row]]:
        """Columns time, order, what, tie, row number in the list; rows of the list."""
        shape = _shape(batch)
        start, end = batch.start_ns, batch.start_ns + batch.duration_ns
        number = self._rows + np.arange(len(batch))
        at = np.where(_COMPLETES[batch.kind], end, start)
        order = self._anchored(shape, start, end, number, at)
        self._rows += len(batch)
        begins, ends = shape.enters | shape.spans, shape.exits | shape.spans
        parts = []
        for wanted, time, sequence, what in (
            (begins, start, number, BEGIN),
            (shape.moments, at, order, POINT),
            (ends, end, number, END),
        ):
            index = np.flatnonzero(wanted)
            parts.append(
                np.stack([time[index], sequence[index], np.full(len(index), what), start[index], index])
            )
        columns = (batch.kind, start, end, batch.name, batch.calls, batch.bytes, batch.peer, batch.tag)
        places = (batch.comm, batch.object, batch.offset)
        rows = [Row(*values) for values in zip(*(each.tolist() for each in (*columns, *places)), strict=True)]
        return np.concatenate(parts, axis=1), rows

    def _anchored(
        self,
        shape: _Shape,
        start: NDArray[np.int64],
        end: NDArray[np.int64],
        number: NDArray[np.int64],
        at: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Each row's place in the order, were it a moment: inside the newest call if that was running."""
        newest = np.maximum.accumulate(np.where(shape.spans, np.arange(len(number)), -1))
        known = newest >= 0
        anchor = np.where(known, number[newest], self._anchor[0])
        inside = (np.where(known, start[newest], self._anchor[1]) <= at) & (
            at <= np.where(known, end[newest], self._anchor[2])
        )
        if known[-1]:
            last = newest[-1]
            self._anchor = (int(number[last]), int(start[last]), int(end[last]))
        return np.where(inside & (anchor >= 0), anchor, number)


def ordered(batches: Batches) -> Iterator[tuple[int, int, int, Row]]:
    """Begins, moments and ends of a thread's rows by rising time: (time, what, key, row).

    `key` is the same at a call's begin and end; entries and exits have their name's, below zero.
    """
    floors = _floors(batches())
    marker = _Marker()
    held = np.zeros((5, 0), np.int64)
    rows: list[Row] = []
    for batch, floor in zip(batches(), floors, strict=True):
        fresh, more = marker.marks(batch)
        fresh[4] += len(rows)
        rows += more
        held = np.concatenate([held, fresh], axis=1)
        held = held[:, np.lexsort((held[4], held[3], held[2], held[1], held[0]))]
        ready = int(np.searchsorted(held[0], floor, side="left"))
        for time, order, what, _, index in held[:, :ready].T.tolist():
            row = rows[index]
            named = row.kind in ENTERS or row.kind in EXITS
            yield time, what, -2 - row.name if named else order, row
        held = held[:, ready:]
        kept, held[4] = np.unique(held[4], return_inverse=True)
        rows = [rows[index] for index in kept.tolist()]


def nested(batches: Batches) -> Iterator[Mark]:
    """The marks of a thread, properly nested.

    An exit closes what was entered last under its name, and before it everything that is still open
    inside; one whose entry is unknown is left out. What is open at the end is closed at the last time of all.
    """
    open_: list[tuple[int, Row]] = []
    now = 0
    for time, what, key, row in ordered(batches):
        now = time
        if what == BEGIN:
            open_.append((key, row))
            yield Mark(time, BEGIN, row)
        elif what == POINT:
            yield Mark(time, POINT, row)
        elif open_ and (open_[-1][0] == key or any(key == other for other, _ in open_)):
            while True:
                closed, began = open_.pop()
                yield Mark(time, END, began)
                if closed == key:
                    break
    for _, began in reversed(open_):
        yield Mark(now, END, began)
