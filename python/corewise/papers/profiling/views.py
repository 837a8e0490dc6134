"""Tables and figures of paper 003's overhead study.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from corewise.analysis.result import (
    Figure,
    Panel,
    Row,
    Series,
    Table,
    series,
    statement_table,
)
from corewise.analysis.spread import Spread
from corewise.data.quantities import number_text
from corewise.papers.profiling.data import LARGE, MODES, PAPER_BYTES, PAPER_EVENTS, SATURATED, Case, Study

_NAMES = {"none": "no tool", "drain": "drain", "thread": "helper thread", "flight": "flight recorder"}


# ---- tables ----------------------------------------------------------------------------------------------


def tables_of(studies: Sequence[Study], rows: Sequence[Row]) -> Iterator[Table]:
    """Numbers, statements, and what each experiment measured."""
    yield Table(
        "paper 003: published on a Cell beside measured here",
        ("what", "published", "here", "unit"),
        tuple(
            (row.what, number_text(row.published), number_text(row.ours), row.unit)
            for row in rows
            if row.published is not None
        ),
        "different machines: figures of merit, not a prediction",
    )
    columns = ("statement", "holds", "here", "source")
    yield replace(statement_table("paper 003 in words", rows), columns=columns)
    for study in studies:
        yield _null_table(study)
        yield _case_table(study)
        yield _life_table(study)
        yield _tail_table(study)
    yield _buffer_table(studies[0])
    yield _application_table(studies[0])


def _text(spread: Spread, digits: int = 1) -> str:
    return f"{spread.median:.{digits}f} ({spread.quartiles:.{digits}f})"


def _null_table(study: Study) -> Table:
    rows = [(_NAMES[mode], _text(study.null_added_ns(mode))) for mode in MODES]
    return Table(
        f"{study.mpi}: added to the cheapest call, a send of 8 bytes to MPI_PROC_NULL",
        ("recorder", "thread CPU ns"),
        tuple(rows),
        f"without a tool {_text(study.of('none', 'null_ns'))} ns; median of {study.effort.rounds} rounds "
        "(distance of quartiles)",
    )


def _case_table(study: Study) -> Table:
    cases = list(study.runs["none"][0].cases)
    rows = [
        (
            f"{events} events of {size} B",
            f"{spread.median:.0f}",
            *(_text(study.added_ns(mode, (events, size)), 0) for mode in MODES),
            f"{study.slowdown('drain', (events, size)).median:.2f}",
        )
        for events, size in cases
        for spread in [_plain(study, (events, size))]
    ]
    return Table(
        f"{study.mpi}: figures 2, 3 and 5, added ns per event",
        ("case", "no tool", *(_NAMES[mode] for mode in MODES), "slowdown, drain"),
        tuple(rows),
        "sends and receives of one rank; a difference below the quartile distance is noise",
    )


def _plain(study: Study, case: Case) -> Spread:
    values = sorted(run.cases[case].fastest for run in study.runs["none"])
    return Spread(values[len(values) // 2], 0.0, len(values))


def _life_table(study: Study) -> Table:
    rows = [
        (
            _NAMES[name],
            _text(study.of(name, "init_ms")),
            _text(study.tail(name, SATURATED, "p50"), 0),
            _text(study.of(name, "finalize_ms")),
        )
        for name in ("none", *MODES)
    ]
    return Table(
        f"{study.mpi}: Init, net and Finalize apart",
        ("recorder", "MPI_Init ms", "an event ns (p50)", "MPI_Finalize ms"),
        tuple(rows),
    )


def _tail_table(study: Study) -> Table:
    rows = [
        (_NAMES[name], *(_text(study.tail(name, SATURATED, share), 0) for share in ("p50", "p99", "p999")))
        for name in ("none", *MODES)
    ]
    return Table(
        f"{study.mpi}: single calls, {PAPER_EVENTS} events of {PAPER_BYTES} B, all ranks",
        ("recorder", "p50 ns", "p99 ns", "p99.9 ns"),
        tuple(rows),
        "a call's own time, waiting for its peer included",
    )


def _buffer_table(study: Study) -> Table:
    rows = [
        (
            f"{size / 1024:g} KiB",
            _text(study.added_ns(f"buffer {size}", LARGE), 0),
            _text(study.null_added_ns(f"buffer {size}")),
            f"{study.slowdown(f'buffer {size}', LARGE).median:.2f}",
        )
        for size in study.effort.buffers
    ]
    return Table(
        f"{study.mpi}: figure 4, by the size of each of the two buffers",
        ("buffer", "added ns per event of 12.5 KiB", "added CPU ns per cheapest call", "slowdown"),
        tuple(rows),
    )


def _application_table(study: Study) -> Table:
    app = study.application
    assert app is not None
    plain = sorted(app.seconds["none"])[len(app.seconds["none"]) // 2]
    rows = [
        (
            _NAMES[mode],
            f"{app.calls_per_second:.0f}",
            f"{study.null_added_ns(mode).median:.1f}",
            f"{100 * study.application_share(mode):.4f} %",
            f"{100 * (sorted(app.seconds[mode])[len(app.seconds[mode]) // 2] / plain - 1):+.1f} %",
        )
        for mode in MODES
    ]
    return Table(
        f"{study.mpi}: figure 4, an application (lbm, 32x32x32 cells)",
        ("recorder", "calls/s", "ns per call", "rate times cost", "wall time"),
        tuple(rows),
        "wall time on a shared machine varies by more than what recording costs: rate times cost decides",
    )


# ---- figures ---------------------------------------------------------------------------------------------


def figures_of(studies: Sequence[Study]) -> Iterator[Figure]:
    """Figures 2 to 5."""
    first = studies[0]
    yield _two_panels(
        "003-figure-2", "overhead by number of events", first, _by_events(first), "events", log2=True
    )
    yield _two_panels(
        "003-figure-3", "overhead by message size", first, _by_size(first), "message", log2=True
    )
    yield _buffer_figure(first)
    for study in studies[1:]:
        yield _two_panels("003-figure-5", "the second MPI", study, _by_events(study), "events", log2=True)


def _by_events(study: Study) -> list[tuple[float, Case]]:
    return [(float(events), (events, PAPER_BYTES)) for events in study.effort.events]


def _by_size(study: Study) -> list[tuple[float, Case]]:
    return [(float(size), (PAPER_EVENTS, size)) for size in study.effort.sizes]


def _two_panels(
    name: str, title: str, study: Study, points: list[tuple[float, Case]], axis: str, *, log2: bool
) -> Figure:
    label = "events of one rank" if axis == "events" else "message size"
    x = tuple(at for at, _ in points)
    names = tuple(f"{at:g}" for at in x) if axis == "events" else None
    places = tuple(float(i) for i in range(len(x))) if names else x
    cost = [
        _series(_NAMES[mode], places, [study.added_ns(mode, case) for _, case in points]) for mode in MODES
    ]
    slow = [
        _series(_NAMES[mode], places, [study.slowdown(mode, case) for _, case in points]) for mode in MODES
    ]
    log2 = log2 and names is None
    return Figure(
        name,
        f"Paper 003, {name[4:].replace('-', ' ')}: {title}, {study.mpi}, {study.ranks} ranks",
        (
            Panel(
                "a. per recorded event",
                label,
                "added ns",
                "line",
                tuple(cost),
                log2,
                x_names=names,
                from_zero=False,
            ),
            Panel(
                "b. slowdown",
                label,
                "with / without",
                "line",
                tuple(slow),
                log2,
                x_names=names,
                from_zero=False,
            ),
        ),
    )


def _series(label: str, x: tuple[float, ...], spreads: list[Spread]) -> Series:
    return series(label, x, (each.median for each in spreads), (each.quartiles / 2 for each in spreads))


def _buffer_figure(study: Study) -> Figure:
    sizes = study.effort.buffers
    x = tuple(float(size) for size in sizes)
    kernel = [study.slowdown(f"buffer {size}", LARGE) for size in sizes]
    assert study.application is not None
    rate = study.application.calls_per_second * 1e-7
    costs = [study.null_added_ns(f"buffer {size}") for size in sizes]
    app = [Spread(cost.median * rate, cost.quartiles * rate, cost.count) for cost in costs]
    return Figure(
        "003-figure-4",
        f"Paper 003, figure 4: overhead by buffer size, {study.mpi}, {study.ranks} ranks",
        (
            Panel(
                "a. the kernel",
                "buffer",
                "with / without",
                "line",
                (_series("drain", x, kernel),),
                True,
                from_zero=False,
            ),
            Panel(
                "b. an application (lbm)",
                "buffer",
                "rate times cost, %",
                "line",
                (_series("drain", x, app),),
                True,
            ),
        ),
    )
