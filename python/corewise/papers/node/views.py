"""Tables and figures of paper 004 on this host.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from corewise.analysis.result import (
    Figure,
    Panel,
    Row,
    Series,
    Table,
    series,
    statement_table,
)
from corewise.data.quantities import number_text
from corewise.papers.node.data import NODE_CORES, Found, Transformed, Underused

_KERNELS = ("blocked", "read-allocate", "streamed", "memcpy", "copy-streamed")
_WAYS = ("counter", "mutex", "deques", "flow-static", "flow-dynamic", "openmp", "onetbb")
_KINDS = ("uniform", "loaded", "disturbed", "uneven", "repeated", "empty")
_QUANTILES = (0.5, 0.9, 0.99, 1.0)


# ---- tables ----------------------------------------------------------------------------------------------


def tables_of(found: Found, rows: Sequence[Row]) -> Iterator[Table]:
    """Numbers, statements, and what sections 5 to 7 measured."""
    yield Table(
        "paper 004: published on a node of eight POWER3, beside measured here",
        ("what", "published", "here", "unit"),
        tuple(
            (row.what, number_text(row.published), number_text(row.ours), row.unit)
            for row in rows
            if row.published is not None
        ),
        "different machines: figures of merit, not a prediction",
    )
    columns = ("statement", "holds", "here", "source")
    yield replace(
        statement_table("paper 004 in words: NO is where this host disagrees", rows), columns=columns
    )
    yield from _contention_tables(found)
    yield from _share_tables(found)
    if found.underused:
        yield _underused_table(found)
        yield _ranks_table(found.underused)
    if found.transformed:
        yield _transformed_table(found.transformed)


def _contention_tables(found: Found) -> Iterator[Table]:
    for order in _orders(found):
        points = {kernel: _points(found, order, kernel) for kernel in _KERNELS}
        counts = sorted({count for each in points.values() for count, _ in each})
        cells = tuple(
            (str(count), *(number_text(dict(points[kernel]).get(count)) for kernel in _KERNELS))
            for count in counts
        )
        figure = "3.A" if order == "alternating" else "3.B"
        yield Table(f"figure {figure}: GB/s in sum, {order} order", ("threads", *_KERNELS), cells)


def _orders(found: Found) -> list[str]:
    rows = found.having("node-contention-")
    known = ("alternating", "incremental", "given")
    return [order for order in known if any(key.startswith(f"{order}-") for key in rows)]


def _points(found: Found, order: str, kernel: str) -> list[tuple[int, float]]:
    rows = found.having(f"node-contention-{order}-{kernel}-")
    return sorted((int(key), row.ours) for key, row in rows.items() if key.isdigit() and row.ours is not None)


def _share_tables(found: Found) -> Iterator[Table]:
    if not found.having("node-shares-"):
        return
    cells = []
    for way in _WAYS:
        ratios = [found.rows.get(f"node-shares-{way}-{kind}-{found.cores}-32") for kind in _KINDS]
        if any(ratios):
            cells.append((way, *("" if row is None else number_text(row.ratio) for row in ratios)))
    title = f"figure 4: times of static shares over those of other ways, {found.cores} threads"
    yield Table(title, ("way", *_KINDS), tuple(cells), "above 1 the other way is quicker")


def _underused_table(found: Found) -> Table:
    cells = tuple(
        (
            f"{each.collective}, {each.nodes * (NODE_CORES - 1)} and {each.nodes * NODE_CORES} ranks",
            number_text(each.seven_ns / 1e6),
            number_text(each.eight_ns / 1e6),
            f"{each.eight_ns / each.seven_ns:.3f}",
            "" if each.assumed_ns is None else number_text(each.assumed_ns / 1e6),
        )
        for each in found.underused
    )
    columns = ("all-to-all", "7 a node ms", "8 a node ms", "7 is so many times as fast", "7, 8 assumed ms")
    return Table(
        "figure 5 of the text: a 2D FFT on 7 and 8 processes a node, modelled", columns, cells, found.noise
    )


def _transformed_table(transformed: Sequence[Transformed]) -> Table:
    cells = tuple(
        (
            f"{each.side}",
            f"{each.processors}",
            number_text(each.pure_us / 1e3, 4),
            number_text(each.threaded_us / 1e3, 4),
            f"{each.ratio:.2f}",
            f"{each.slowed_ratio:.2f}",
        )
        for each in transformed
    )
    columns = (
        "side",
        "processors",
        "pure MPI ms",
        "threaded ms",
        "so many times as fast",
        "with slow workers",
    )
    note = "published: threaded is slower on fewer than 512 processors and wins there"
    return Table("figure 8: a 2D FFT on nodes of eight processors, simulated", columns, cells, note)


def _ranks_table(modelled: Sequence[Underused]) -> Table:
    last = max(each.nodes for each in modelled)
    cells = tuple(
        (
            each.collective,
            *(number_text(float(np.quantile(each.seven_ranks_ns, part)) / 1e6, 4) for part in _QUANTILES),
        )
        for each in modelled
        if each.nodes == last
    )
    return Table(
        f"how long processes took, 7 a node on {last} nodes, ms of an iteration, modelled",
        ("all-to-all", *(f"{100 * part:g} % of them" for part in _QUANTILES)),
        cells,
        "the paper saw half to 99 % of its processes end early: who waits for all does not",
    )


# ---- figures ---------------------------------------------------------------------------------------------


def figures_of(found: Found) -> Iterator[Figure]:
    """1 and 2 by MPI, 3, 4, 5 and 8."""
    for each in found.figures:
        yield replace(each, name=f"004-figures-1-2-{each.name}")
    if orders := _orders(found):
        panels = tuple(_contention_panel(found, each) for each in orders)
        yield Figure("004-figure-3", "Contention for the memory", panels)
    if found.having("node-shares-"):
        yield Figure("004-figure-4", "Static against dynamic shares", (_share_panel(found),))
    if found.underused:
        names = list(dict.fromkeys(each.collective for each in found.underused))
        panels = tuple(_underused_panel(found.underused, name) for name in names)
        yield Figure("004-figure-5", "Seven or eight processes a node, modelled", panels)
    if found.transformed:
        sides = list(dict.fromkeys(each.side for each in found.transformed))
        panels = tuple(_transformed_panel(found.transformed, side) for side in sides)
        yield Figure("004-figure-8", "Threaded FFT and pure MPI, simulated", panels)


def _contention_panel(found: Found, order: str) -> Panel:
    curves = []
    for kernel in _KERNELS:
        points = _points(found, order, kernel)
        if points:
            curves.append(series(kernel, [count for count, _ in points], [rate for _, rate in points]))
    figure = "3.A" if order == "alternating" else "3.B"
    return Panel(f"{figure} {order}", "threads", "GB/s in sum", "line", tuple(curves))


def _share_panel(found: Found) -> Panel:
    bars = []
    for way in _WAYS:
        ratios = [found.rows.get(f"node-shares-{way}-{kind}-{found.cores}-32") for kind in _KINDS[:-1]]
        if all(row is not None and row.ratio is not None for row in ratios):
            values = [row.ratio for row in ratios if row is not None and row.ratio is not None]
            bars.append(series(way, range(len(values)), values))
    return Panel(
        "4 threaded transpose", "work", "time of static over it", "bars", tuple(bars),
        x_names=_KINDS[:-1], lines=(("static", 1.0),),
    )  # fmt: skip


def _underused_panel(modelled: Sequence[Underused], name: str) -> Panel:
    mine = [each for each in modelled if each.collective == name]
    nodes = [each.nodes for each in mine]
    curves: list[Series] = [
        series("7 a node", nodes, [each.seven_ns / 1e6 for each in mine]),
        series("8 a node", nodes, [each.eight_ns / 1e6 for each in mine]),
    ]
    if all(each.assumed_ns is not None for each in mine):
        curves.append(series("7, 8 assumed", nodes, [(each.assumed_ns or 0) / 1e6 for each in mine]))
    return Panel(f"5 {name}", "nodes", "ms", "line", tuple(curves), y_log=True)


def _transformed_panel(transformed: Sequence[Transformed], side: int) -> Panel:
    mine = [each for each in transformed if each.side == side]
    counts = [each.processors for each in mine]
    curves = (
        series("pure MPI", counts, [each.pure_us / 1e3 for each in mine]),
        series("threaded", counts, [each.threaded_us / 1e3 for each in mine]),
        series("threaded, slow workers", counts, [each.slowed_us / 1e3 for each in mine]),
    )
    return Panel(f"8 {side} x {side}", "processors", "ms", "line", curves, y_log=True)
