"""Slices of made-up threads are well nested, whatever is missing from them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corewise.data.events import KINDS, Batch
from corewise.export.nesting import BEGIN, END, ENTERS, EXITS, POINT, Mark, nested


def _batches(rows: list[tuple[int, int, int, int]], cuts: list[int]) -> list[Batch]:
    """(kind, start, duration, name) in order of their ends, cut into batches."""
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    out = []
    for begin, end in itertools.pairwise(edges):
        kind, start, duration, name = (np.array(column) for column in zip(*rows[begin:end], strict=True))
        calls = np.where(np.isin(kind, [*ENTERS, *EXITS, KINDS.index("arrival")]), 0, 1)
        numbers = [np.zeros(end - begin, np.int64) for _ in range(8)]
        out.append(Batch(0, 0, 0, kind, start, duration, name, calls, *numbers))
    return out


@st.composite
def _threads(draw: st.DrawFn) -> tuple[list[tuple[int, int, int, int]], list[int]]:
    """Calls, entries, exits and arrivals, with exits and entries missing, and callbacks inside of calls."""
    kinds = [
        "call",
        "send",
        "miss",
        "function_enter",
        "function_exit",
        "region_enter",
        "region_exit",
        "arrival",
    ]
    events = draw(
        st.lists(st.tuples(st.sampled_from(kinds), st.integers(0, 30), st.integers(0, 60), st.integers(0, 3)))
    )
    now, rows = 0, []
    for kind, gap, duration, name in events:
        now += gap
        moment = kind.startswith(("function", "region"))
        # A record is written when its call ends; it may have begun before anything that lies inside.
        rows.append((KINDS.index(kind), now if moment else max(now - duration, 0), 0, name))
        rows[-1] = (*rows[-1][:2], now - rows[-1][1], name)
    return rows, draw(st.lists(st.integers(0, 40), max_size=6))


def _check(marks: list[Mark]) -> None:
    times = [mark.time_ns for mark in marks]
    assert times == sorted(times)
    open_: list[Any] = []
    for mark in marks:
        if mark.what == BEGIN:
            open_.append(mark.row)
        elif mark.what == END:
            assert open_.pop() is mark.row
    assert open_ == []


@settings(max_examples=200, deadline=None)
@given(_threads())
def test_slices_are_always_well_nested(thread: tuple[list[tuple[int, int, int, int]], list[int]]) -> None:
    rows, cuts = thread
    marks = list(nested(lambda: _batches(rows, cuts)))
    _check(marks)
    assert sum(mark.what == BEGIN for mark in marks) == sum(
        kind not in EXITS and KINDS[kind] != "arrival" for kind, *_ in rows
    )
    assert sum(mark.what == POINT for mark in marks) == sum(KINDS[kind] == "arrival" for kind, *_ in rows)
    # However the rows were cut into batches, the same comes out.
    assert [(m.time_ns, m.what, m.row) for m in marks] == [
        (m.time_ns, m.what, m.row) for m in nested(lambda: _batches(rows, []))
    ]


def test_exits_that_are_missing_are_made_up_and_unknown_ones_left_out() -> None:
    enter, leave, call = (KINDS.index(kind) for kind in ("function_enter", "function_exit", "call"))
    rows = [
        (enter, 0, 0, 1),
        (enter, 5, 0, 2),
        (call, 6, 2, 9),
        (leave, 10, 0, 1),
        (leave, 12, 0, 7),
        (enter, 14, 0, 3),
    ]
    marks = [(m.time_ns, m.what, m.row.name) for m in nested(lambda: _batches(rows, []))]
    assert marks == [
        (0, BEGIN, 1), (5, BEGIN, 2), (6, BEGIN, 9), (8, END, 9),
        (10, END, 2), (10, END, 1), (14, BEGIN, 3), (14, END, 3),
    ]  # fmt: skip
