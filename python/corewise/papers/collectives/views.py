"""Paper 001's tables and figures, laid out from the measurements.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from corewise.analysis.result import (
    Figure,
    Panel,
    Row,
    Table,
    error_text,
    series,
    statement_table,
    summarise,
    summary_text,
)
from corewise.data.quantities import number_text, size_text
from corewise.papers.collectives import beyond
from corewise.papers.collectives.algorithm_rows import good_bandwidth, memory_gb_per_s
from corewise.papers.collectives.cases import Case, Timing
from corewise.papers.collectives.data import (
    BARRIER_ALTERNATIVES,
    BARRIER_KINDS,
    BARRIER_RELEASES,
    BARRIER_TREES,
    BROADCAST_KINDS,
    BROADCAST_PIECES,
    BROADCAST_SHIFTS,
    BROADCAST_TREES,
    BROADCAST_TREES_MM,
    COMPARED,
    COMPARED_RANKS,
    CONTROLLER_GB_PER_S,
    FIGURE_RANKS,
    KB,
    MEMORIES,
    MEMORY_NAMES,
    PAIRWISE_EXCHANGE,
    REDUCE_KINDS,
    TABLE_SIZES,
    Curves,
    Measurements,
    good_choice,
    good_reduce,
    other_machines,
)
from corewise.papers.collectives.rows import compared_sizes, gain

_SIZE = "data size"
_LATENCY = "latency, us"
_SHOWN_SETS = {"C": "set C, calibration", "H": "set H, held out"}


# ---- tables ----------------------------------------------------------------------------------------------


def tables_of(found: Measurements, rows: Sequence[Row]) -> tuple[Table, ...]:
    """All tables, in the order in which they are printed."""
    return (
        *_published(rows),
        _other_machines(found),
        _barriers(found),
        _latency_and_throughput(found),
        _elsewhere(found),
        *(_compared(found, collective) for collective in COMPARED if _was_compared(found, collective)),
        _strided(found),
        *(beyond.tables_of(found.beyond) if found.beyond.small else ()),
        statement_table("What the paper says in words, and its future work", [*_statements(rows)]),
    )


def _statements(rows: Iterable[Row]) -> Iterator[Row]:
    return (row for row in rows if row.holds is not None)


def _published(rows: Sequence[Row]) -> Iterator[Table]:
    for name, set_name in _SHOWN_SETS.items():
        mine = [row for row in rows if row.set == name and row.published is not None]
        cells = tuple(
            (
                row.what,
                row.source,
                number_text(row.published),
                number_text(row.ours),
                row.unit,
                error_text(row.error),
            )
            for row in mine
        )
        yield Table(
            f"Tables 1 to 3 and section 2, {set_name}",
            ("what", "source", "published", "simulated", "unit", "error"),
            cells,
            summary_text(summarise(mine)),
        )


def _simulated(found: Measurements, what: str, ranks: int) -> float:
    """The simulated Cell beside a row of tables 1 to 3."""
    if what == "barrier":
        return found.barrier_us(ranks, PAIRWISE_EXCHANGE)
    collective, _, size_name = what.partition(" ")
    size = next(size for size in TABLE_SIZES[collective] if size_text(size) == size_name)
    chosen = good_choice(ranks, size) if collective == "broadcast" else good_reduce(ranks, size)
    return found.us(collective, ranks, size, chosen)


def _other_machines(found: Measurements) -> Table:
    cells = []
    for what, machine, times in other_machines():
        ours = (number_text(_simulated(found, what, ranks)) for ranks in COMPARED_RANKS)
        theirs = (f"≈ {times[ranks]:g}" if ranks in times else "" for ranks in COMPARED_RANKS)
        cells.append((what, machine, *theirs, *ours))
    return Table(
        "Other machines, as tables 1 to 3 have them, us",
        ("what", "machine", "on 8", "on 16", "simulated Cell, 8", "16"),
        tuple(cells),
    )


def _barriers(found: Measurements) -> Table:
    curves: dict[str, object] = {}
    shown = {**BARRIER_RELEASES, **BARRIER_TREES, **BARRIER_KINDS, **BARRIER_ALTERNATIVES}
    ranks = [count for count in found.barrier_ranks if count in (2, 4, 8, 10, 12, 16)]
    for label, chosen in shown.items():
        curves[label] = tuple(number_text(found.barrier_us(count, chosen)) for count in ranks)
    return Table(
        "Figure 3, barriers: latency in us by number of processes",
        ("barrier", *map(str, ranks)),
        tuple((label, *cells) for label, cells in curves.items()),  # type: ignore[misc]
    )


def _latency_and_throughput(found: Measurements) -> Table:
    cells = []
    for ranks in COMPARED_RANKS:
        cases = [Case("barrier", ranks, 0, PAIRWISE_EXCHANGE)]
        cases += [
            Case("broadcast", ranks, size, good_choice(ranks, size)) for size in TABLE_SIZES["broadcast"]
        ]
        for case in cases:
            timing = found.times[case]
            total = memory_gb_per_s(ranks, case.bytes, timing.period_us) if case.bytes else None
            cells.append((_case_name(case), *_timing_cells(timing), number_text(total)))
    return Table(
        "Latency, and throughput of calls back to back",
        ("call", "latency us", "us per call", "memory GB/s, back to back"),
        tuple(cells),
        "Latency: synchronised start to last rank done. Broadcasts: the paper's good choice.",
    )


def _case_name(case: Case) -> str:
    size = f", {size_text(case.bytes)}" if case.bytes else ""
    return f"{case.collective} on {case.ranks}{size}, {case.configuration.name}"


def _timing_cells(timing: Timing) -> tuple[str, str]:
    return number_text(timing.latency_us, 4), number_text(timing.period_us, 4)


def _elsewhere(found: Measurements) -> Table:
    """Latencies by where the data are."""
    by_place: dict[tuple[str, int, int], dict[str, float]] = {}
    for case, timing in found.times.items():
        if case.memory != "first":
            key = (case.collective, case.ranks, case.bytes)
            beside = found.times[Case(case.collective, case.ranks, case.bytes, case.configuration)]
            by_place.setdefault(key, {"first": beside.latency_us})[case.memory] = timing.latency_us
    cells = tuple(
        (
            f"{collective} on {ranks}, {size_text(size)}",
            *(number_text(times.get(memory), 4) for memory in MEMORIES),
        )
        for (collective, ranks, size), times in sorted(by_place.items())
    )
    return Table(
        "Where the data are: latency in us", ("call", *(MEMORY_NAMES[memory] for memory in MEMORIES)), cells
    )


def _was_compared(found: Measurements, collective: str) -> bool:
    return any(compared_sizes(found, collective, ranks) for ranks in COMPARED_RANKS)


def _compared(found: Measurements, collective: str) -> Table:
    cells = []
    for ranks in COMPARED_RANKS:
        for size in compared_sizes(found, collective, ranks):
            best, time = found.all_best(collective, ranks, size)
            cells.append(
                (
                    f"{size_text(size)} on {ranks}",
                    number_text(found.paper_best(collective, ranks, size), 4),
                    number_text(time, 4),
                    f"{gain(found, collective, ranks, size):.2f}",
                    best.name,
                )
            )
    return Table(
        f"Future work: {collective}, the paper's best beside the best of all, us",
        ("size", "paper's best", "best of all", "times as fast", "algorithm"),
        tuple(cells),
    )


def _strided(found: Measurements) -> Table:
    cells = tuple(
        (size_text(block), *(number_text(time / 1000, 4) for time in times), f"{times[0] / times[2]:.2f}")
        for block, times in found.strided_ns.items()
    )
    return Table(
        "Strided data: 16 KB from main memory, us, in blocks at twice their size",
        ("block", "DMA list", "a command each", "contiguous", "list over contiguous"),
        cells,
    )


# ---- figures ---------------------------------------------------------------------------------------------


def figures_of(found: Measurements) -> tuple[Figure, ...]:
    """Figures 2 to 7 of the paper, then ours."""
    return (
        _figure_2(found),
        _figure_3(found),
        _sizes_figure(
            found, 4, "broadcast", (("OTA on 4", 4, BROADCAST_SHIFTS), ("AG on 16", 16, BROADCAST_PIECES))
        ),
        _sizes_figure(
            found,
            5,
            "broadcast",
            (("TREEMM on 12", 12, BROADCAST_TREES_MM), ("TREE on 16", 16, BROADCAST_TREES)),
        ),
        _figure_6(found),
        _sizes_figure(
            found,
            7,
            "reduce",
            tuple((f"{ranks} processes", ranks, REDUCE_KINDS) for ranks in FIGURE_RANKS),
        ),
        *_future_figure(found),
        *_memory_figure(found),
    )


def _figure_2(found: Measurements) -> Figure:
    names = {
        ("local_store", 1): "LS of another SPE",
        ("memory", 1): "main memory",
        ("other_local_store", 1): "LS on the other chip",
        ("other_memory", 1): "the other chip's memory",
        ("local_store", 8): "LS, 8 SPEs at once",
        ("memory", 8): "main memory, 8 SPEs at once",
    }
    left = []
    for (target, spes), label in names.items():
        cases = sorted(
            (
                case
                for case in found.dma
                if (case.target, case.spes, case.way, case.command_bytes) == (target, spes, "put", 16 * KB)
            ),
            key=lambda case: case.bytes,
        )
        if cases:
            times = [found.dma[case] for case in cases]
            left.append(
                series(
                    label,
                    [case.bytes for case in cases],
                    [time.mean_ns / 1000 for time in times],
                    [time.deviation_ns / 1000 for time in times],
                )
            )
    right = []
    for buffer, buffers in sorted({(buffer, buffers) for _, buffer, buffers in found.copies_ns}):
        sizes = sorted(size for size, *rest in found.copies_ns if rest == [buffer, buffers])
        times_us = [found.copies_ns[size, buffer, buffers] / 1000 for size in sizes]
        right.append(
            series(f"{'double' if buffers == 2 else 'single'}, {size_text(buffer)}", sizes, times_us)
        )
    sizes = sorted(found.ppe_copies_ns)
    right.append(series("memcpy on the PPE", sizes, [found.ppe_copies_ns[size] / 1000 for size in sizes]))
    return Figure(
        "001-figure-2",
        "Figure 2: DMA put, and copies from memory to memory",
        (
            Panel("put by one SPE (bar: sd)", _SIZE, _LATENCY, "line", tuple(left), x_log2=True, y_log=True),
            Panel("memory to memory", _SIZE, _LATENCY, "line", tuple(right), x_log2=True, y_log=True),
        ),
    )


def _figure_3(found: Measurements) -> Figure:
    def panel(title: str, curves: Curves) -> Panel:
        drawn = tuple(
            series(
                label,
                found.barrier_ranks,
                [found.barrier_us(ranks, chosen) for ranks in found.barrier_ranks],
            )
            for label, chosen in curves.items()
        )
        return Panel(title, "processes", _LATENCY, "line", drawn)

    return Figure(
        "001-figure-3",
        "Figure 3: barriers",
        (
            panel("OTA with and without list, SIG", BARRIER_RELEASES),
            panel("TREE with different degrees", BARRIER_TREES),
            panel("four algorithms", BARRIER_KINDS),
        ),
    )


def _sizes_panel(found: Measurements, collective: str, title: str, ranks: int, curves: Curves) -> Panel:
    drawn = tuple(
        series(label, found.sizes, found.curve(collective, ranks, chosen)) for label, chosen in curves.items()
    )
    return Panel(title, _SIZE, _LATENCY, "line", drawn, x_log2=True, y_log=True)


def _sizes_figure(
    found: Measurements, number: int, collective: str, panels: Sequence[tuple[str, int, Curves]]
) -> Figure:
    return Figure(
        f"001-figure-{number}",
        f"Figure {number}: {collective}",
        tuple(_sizes_panel(found, collective, *panel) for panel in panels),
    )


def _figure_6(found: Measurements) -> Figure:
    bandwidth = tuple(
        series(
            f"{ranks} processes", found.sizes, [good_bandwidth(found, ranks, size) for size in found.sizes]
        )
        for ranks in FIGURE_RANKS
    )
    return Figure(
        "001-figure-6",
        "Figure 6: broadcast",
        (
            *(
                _sizes_panel(found, "broadcast", f"{ranks} processes", ranks, BROADCAST_KINDS)
                for ranks in FIGURE_RANKS
            ),
            Panel(
                "main memory with the good choice",
                _SIZE,
                "total bandwidth, GB/s",
                "line",
                bandwidth,
                x_log2=True,
                lines=(("limit 25.6 GB/s", CONTROLLER_GB_PER_S),),
            ),
        ),
    )


def _future_figure(found: Measurements) -> Iterator[Figure]:
    panels = []
    for collective in COMPARED:
        drawn = []
        for ranks in COMPARED_RANKS:
            sizes = [size for size in compared_sizes(found, collective, ranks) if size > 0]
            if sizes:
                drawn.append(
                    series(
                        f"{ranks} processes",
                        sizes,
                        [gain(found, collective, ranks, size) for size in sizes],
                    )
                )
        if drawn:
            panels.append(
                Panel(
                    collective, _SIZE, "times as fast as the paper's best", "line", tuple(drawn), x_log2=True
                )
            )
    if panels:
        yield Figure(
            "001-future-work", "Payloads in the metadata, no closing barrier (section 8)", tuple(panels)
        )


def _memory_figure(found: Measurements) -> Iterator[Figure]:
    panels = []
    for ranks in COMPARED_RANKS:
        sizes = TABLE_SIZES["broadcast"]
        drawn = []
        for memory in MEMORIES:
            points = [
                (size, found.times[case].latency_us)
                for size in sizes
                if (case := Case("broadcast", ranks, size, good_choice(ranks, size), memory)) in found.times
            ]
            if points:
                drawn.append(series(MEMORY_NAMES[memory], *zip(*points, strict=True)))
        if len(drawn) > 1:
            panels.append(
                Panel(f"{ranks} processes", _SIZE, _LATENCY, "line", tuple(drawn), x_log2=True, y_log=True)
            )
    if panels:
        yield Figure(
            "001-memories", "Broadcast by where the data are, the paper's good choice", tuple(panels)
        )
