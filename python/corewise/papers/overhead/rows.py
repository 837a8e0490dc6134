"""What paper 003's section 4.1 says of its profiler's cost, each as a row.

The costs per call of figures 2 and 5 are calibration: a page's cost is fitted to them. Everything else is a
prediction.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from corewise.analysis.result import Row, number_row, statement_row
from corewise.papers.overhead.data import HALF, LONG_MESSAGE, PAPER_EVENT, Point, Study

LOCAL_STORE = 12 * 1024
NEAR = 0.02
"""Points of a curve that differ by less are level."""


def rows_of(study: Study) -> Iterator[Row]:
    """In the order of the figures; then the profiler's size."""
    yield from _figure2(study)
    yield from _figure3(study)
    yield from _figure4(study)
    yield from _figure5(study)
    yield from _size(study)


def _at(points: Sequence[Point], at: float) -> Point:
    """The point there, or the nearest."""
    return min(points, key=lambda each: abs(each.at - at))


def _figure2(study: Study) -> Iterator[Row]:
    last = study.figure2[-1]
    source = "003 figure 2"
    yield number_row("fig2/call", "PS3, 4,800 bytes: per call", source, 6.3, last.per_call_us, "us", "C")
    yield number_row("fig2/slowdown", "PS3, 4,800 bytes: slowdown", source, 6.8, last.slowdown, "times", "C")
    slow = [each.slowdown for each in study.figure2]
    rises = all(after >= (1 - NEAR) * before for before, after in pairwise(slow))
    what = "the slowdown rises with the number of events and saturates"
    yield statement_row("fig2/saturates", what, source, rises and slow[-1] > slow[0], slow[-1], "times")


def _figure3(study: Study) -> Iterator[Row]:
    last = _at(study.figure3, LONG_MESSAGE)
    source = "003 figure 3"
    yield number_row("fig3/call", "PS3, 12.5 KiB: per call", source, 5.6, last.per_call_us, "us", "H")
    yield number_row("fig3/slowdown", "PS3, 12.5 KiB: slowdown", source, 4.0, last.slowdown, "times", "H")
    costs = [each.per_call_us for each in study.figure3]
    what = "longer messages hide more of the profiler's cost"
    falls = costs[-1] < costs[0] and min(costs) == costs[-1]
    yield statement_row("fig3/falls", what, "003 section 4.1.1", falls, costs[0] - costs[-1], "us")


def _figure4(study: Study) -> Iterator[Row]:
    best = min(each.slowdown for each in study.kernel4)
    yield number_row(
        "fig4/slowdown",
        "PS3, 12.5 KiB: slowdown with the best buffers",
        "003 figure 4 (a)",
        3.7,
        best,
        "times",
        "H",
    )
    slow = [each.slowdown for each in study.kernel4]
    what = "larger buffers lower the slowdown of the kernel"
    yield statement_row(
        "fig4/kernel", what, "003 figure 4 (a)", slow[-1] < slow[0], slow[0] / slow[-1], "times"
    )
    larger = _at(study.dynamics4, 2 * HALF)
    share = 100 * (larger.slowdown - 1)
    source = "003 figure 4 (b)"
    what = "molecular dynamics with buffers of 10 KiB: the profiler costs less than 0.5 %"
    yield statement_row("fig4/share", what, source, share < 0.5, share, "%")
    what = "and less than 0.3 us a call"
    yield statement_row("fig4/call", what, source, larger.per_call_us < 0.3, larger.per_call_us, "us")
    costs = [each.per_call_us for each in study.dynamics4]
    what = "larger buffers lower the overhead of molecular dynamics"
    lower = costs[-1] < costs[0]
    why = "here its computation hides the dumps of every size, and what is left is the recorder's own code"
    yield statement_row("fig4/dynamics", what, source, lower, costs[0] - costs[-1], "us a call", refuted=why)


def _figure5(study: Study) -> Iterator[Row]:
    last = study.figure5[-1]
    source = "003 figure 5"
    yield number_row("fig5/call", "QS22, 4,800 bytes: per call", source, 3.2, last.per_call_us, "us", "C")
    yield number_row("fig5/slowdown", "QS22, 4,800 bytes: slowdown", source, 4.2, last.slowdown, "times", "C")
    what = "a call with 4,800 bytes takes about 1 us without the profiler (fitted to that)"
    yield statement_row(
        "fig5/plain", what, "003 section 4.1.2", 0.7 < last.plain < 1.3, last.plain, "us", "C"
    )


def _size(study: Study) -> Iterator[Row]:
    what = "the profiler takes at most 12 KiB of local store with two buffers of 5 KiB"
    held = study.local_store <= LOCAL_STORE
    yield statement_row("size/local-store", what, "003 section 3", held, study.local_store, "bytes")
    named = [name for _, name, _ in study.event_types if name]
    what = "it records the 15 event types of table 1"
    yield statement_row("size/types", what, "003 table 1", len(named) == 15, len(named), "types")
    longest = max(size for _, _, size in study.event_types)
    what = "records that hold what their event needs are shorter than 80 bytes"
    yield statement_row(
        "size/records", what, "003 section 5", longest < PAPER_EVENT, longest, "bytes at most"
    )
    lost = sum(each.lost_bytes for each in study.figure2 + study.figure5)
    what = "no event is lost as long as the PPE reserves enough pages"
    yield statement_row("size/lost", what, "003 section 3.1", lost == 0, lost, "bytes lost")
