"""Tables and figures of the profiler's cost on simulated SPEs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from corewise.analysis.result import Figure, Panel, Row, Table, number_table, series, statement_table
from corewise.papers.overhead.data import HALF, PAPER_EVENT, Point, Study

Axis = Literal["sizes", "named", "plain"]


def tables_of(study: Study, rows: Sequence[Row]) -> Iterator[Table]:
    """For people."""
    yield number_table("paper 003, figures 2 to 5: published beside simulated", rows)
    yield _points("figure 2: PS3, 4,800 bytes, by events", "events", study.figure2)
    yield _points("figure 3: PS3, by message size", "bytes", study.figure3)
    yield _points("figure 4 (a): PS3, 12.5 KiB, by buffer", "bytes of a buffer", study.kernel4)
    yield _points("figure 4 (b): PS3, molecular dynamics, by buffer", "bytes of a buffer", study.dynamics4)
    yield _points("figure 5: QS22, 4,800 bytes, by events", "events", study.figure5)
    yield _gains(study)
    yield _types(study)
    yield statement_table("paper 003, sections 3 to 5, in words", rows)


def _cells(each: Point) -> tuple[str, ...]:
    return (
        f"{each.plain:.3f}",
        f"{each.per_call_us:.3f}",
        f"{each.slowdown:.3f}",
        str(each.faults),
    )


_COLUMNS = ("us a call", "profiler, us a call", "slowdown", "page faults")


def _points(title: str, at: str, points: Sequence[Point]) -> Table:
    cells = tuple((f"{each.at:g}" if each.at < 1e6 else f"{each.at:.0f}", *_cells(each)) for each in points)
    return Table(title, (at, *_COLUMNS), cells)


def _gains(study: Study) -> Table:
    """What of the cost is pages, and what shorter records save."""
    events = study.effort.saturated
    paper = [_nearest(study.figure2, events), _nearest(study.figure5, events)]
    names = ("PS3", "QS22")
    cells = [(f"{name}, 80 bytes an event", *_cells(each)) for name, each in zip(names, paper, strict=True)]
    cells += [(f"{name}, 32 bytes", *_cells(each)) for name, each in zip(names, study.ours, strict=True)]
    cells.append(("PS3, 80 bytes, pages that are there", *_cells(study.no_faults)))
    note = "two buffers of 5,120 bytes, messages of 4,800"
    return Table(f"ours: the kernel at {events} events, by record", ("record", *_COLUMNS), tuple(cells), note)


def _nearest(points: Sequence[Point], at: float) -> Point:
    return min(points, key=lambda each: abs(each.at - at))


def _types(study: Study) -> Table:
    cells = tuple(
        (name, table1 or "not there", str(PAPER_EVENT) if table1 else "", str(size))
        for name, table1, size in study.event_types
    )
    note = f"local store: {study.local_store} bytes with two buffers of {HALF}, code and state included"
    return Table(
        "table 1: event types and bytes of a record", ("event", "table 1", "there", "here"), cells, note
    )


# ---- figures ---------------------------------------------------------------------------------------------


def figures_of(study: Study) -> Iterator[Figure]:
    """Figures 2 to 5, two panels each."""
    yield _figure(2, "by number of events, PS3", "events", study.figure2, (6.3, 6.8), axis="named")
    yield _figure(3, "by message size, PS3", "message, bytes", study.figure3, (5.6, 4.0), axis="sizes")
    yield Figure(
        "003-cell-figure-4",
        "Paper 003, figure 4: by buffer size, PS3 (simulated)",
        (
            _panel("(a) kernel", "buffer, bytes", "slowdown", study.kernel4, "slowdown", 3.7),
            Panel(
                "(b) molecular dynamics",
                "buffer, bytes",
                "overhead, %",
                "line",
                (
                    series(
                        "simulated", _x(study.dynamics4), [100 * (p.slowdown - 1) for p in study.dynamics4]
                    ),
                ),
                x_log2=True,
                lines=(("published: less than", 0.5),),
            ),
        ),
    )
    yield _figure(5, "by number of events, QS22", "events", study.figure5, (3.2, 4.2), axis="plain")


def _x(points: Sequence[Point]) -> list[float]:
    return [each.at for each in points]


def _panel(
    title: str,
    label: str,
    unit: str,
    points: Sequence[Point],
    field: str,
    published: float,
    axis: Axis = "sizes",
) -> Panel:
    """Named: the numbers of events, which grow tenfold, stand side by side."""
    named = axis == "named"
    x = list(range(len(points))) if named else _x(points)
    curve = (series("simulated", x, [float(getattr(each, field)) for each in points]),)
    names = tuple(f"{each.at:,.0f}" for each in points) if named else None
    lines = (("published", published),)
    return Panel(title, label, unit, "line", curve, x_log2=axis == "sizes", x_names=names, lines=lines)


def _figure(
    number: int,
    title: str,
    label: str,
    points: Sequence[Point],
    published: tuple[float, float],
    *,
    axis: Axis,
) -> Figure:
    panels = (
        _panel("(a) cost of a call", label, "us a call", points, "per_call_us", published[0], axis),
        _panel("(b) slowdown", label, "times", points, "slowdown", published[1], axis),
    )
    return Figure(f"003-cell-figure-{number}", f"Paper 003, figure {number}: {title} (simulated)", panels)
