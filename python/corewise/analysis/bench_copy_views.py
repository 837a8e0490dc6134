"""What `corewise bench copy` shows: goals, tables and figures of a result.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from corewise.analysis.bench_copy import KIB, MIB, Result, Row, size_text
from corewise.analysis.bench_copy_noise import FOREIGN_LIMIT
from corewise.analysis.paper import Figure, Panel, Series, Table

_LOUD = "!"


@dataclass(frozen=True)
class Goal:
    """A ratio that the project wants, and the one measured.

    Attributes
    ----------
    what : str
    must, aim : float
    measured : float
    reached : str
        ``no``, ``must`` or ``aim``.
    """

    what: str
    must: float
    aim: float
    measured: float

    @property
    def reached(self) -> str:
        """How far it went."""
        return "aim" if self.measured >= self.aim else "must" if self.measured >= self.must else "no"


def goals(result: Result) -> Iterator[Goal]:
    """Those for which the result has the sizes."""
    by_id = {row.id: row.ratio for row in result.rows}
    for size, must, aim in ((4 * KIB, 1.2, 1.3), (64 * MIB, 1.4, 1.6)):
        if (key := f"copy-{size}-same") in by_id:
            yield Goal(f"copy of {size_text(size)} over memcpy", must, aim, by_id[key])
    chosen = [by_id[key] for each in result.copies if (key := f"copy-{each.bytes}-same") in by_id]
    if chosen:
        yield Goal("copy of every size over memcpy, the least", 0.98, 1.0, min(chosen))
    for sizes, must, aim in (((32 * KIB,), 2.0, 2.3), ((256 * KIB, 512 * KIB, MIB), 2.5, 2.9)):
        found = [by_id[key] for size in sizes if (key := f"message-{size}") in by_id]
        if len(found) == len(sizes):
            name = " to ".join(size_text(size) for size in dict.fromkeys((sizes[0], sizes[-1])))
            yield Goal(f"message of {name} over two memcpys, the least", must, aim, min(found))


def tables(result: Result) -> Iterator[Table]:
    """Choices, kernels, messages, goals: those that the result has."""
    rows = {row.id: row for row in result.rows}
    if result.copies:
        yield _kernel_table(result)
    if result.copies and not result.wanted.kernels:
        chosen = [rows[f"copy-{each.bytes}-{result.wanted.alignment}"] for each in result.copies]
        yield _row_table("The kernel chosen against memcpy", chosen)
    for read in (False, True):
        found = [each for each in result.messages if each.read == read]
        if found:
            of_size = [
                rows[key] for each in found if (key := f"message-{each.bytes}" + "-read" * read) in rows
            ]
            title = "Message from core to core" + (", until its receiver has read it" if read else "")
            yield _row_table(f"{title}: the quickest way against two memcpys through a slot", of_size)
            yield _way_table(result, read)
    if reached := list(goals(result)):
        yield Table(
            "Goals",
            ("what", "must", "aim", "measured", "reached"),
            tuple(
                (each.what, f"{each.must}", f"{each.aim}", f"{each.measured:.2f}", each.reached)
                for each in reached
            ),
        )


def _row_table(title: str, rows: list[Row]) -> Table:
    return Table(
        title,
        ("what", "ours, us", "theirs, us", "ratio", "spread", "rounds", "foreign"),
        tuple(
            (
                row.what,
                f"{row.ours / 1000:.3f}",
                f"{row.theirs / 1000:.3f}",
                f"{row.ratio:.2f}",
                f"{100 * row.spread:.0f} %",
                str(row.n),
                foreign_text(row.foreign),
            )
            for row in rows
        ),
        note="spread: between the quartiles of the ratio, over its median. foreign: share of the processors "
        f"that others took; {_LOUD}: more than {100 * FOREIGN_LIMIT:.0f} %, do not trust it.",
    )


def foreign_text(share: float) -> str:
    """``1.2 %``, with a mark where it was too much."""
    return f"{100 * share:.1f} %" + (f" {_LOUD}" if share > FOREIGN_LIMIT else "")


def _kernel_table(result: Result) -> Table:
    names = result.copies[0].names
    medians = [np.median(each.times, axis=0) for each in result.copies]
    return Table(
        f"GB/s copied by one core, addresses {result.wanted.alignment}",
        ("kernel", *(size_text(each.bytes) for each in result.copies)),
        tuple(
            (
                "the choice" if name == "copy.self" else name,
                *(
                    f"{each.bytes / times[index]:.1f}"
                    for each, times in zip(result.copies, medians, strict=True)
                ),
            )
            for index, name in enumerate(names)
        ),
    )


def _way_table(result: Result, read: bool) -> Table:
    found = [each for each in result.messages if each.read == read]
    ways = list(dict.fromkeys(way for each in found for way in each.ways))
    cells = {
        (way, each.bytes): f"{np.median(each.times[:, index]) / 1000:.2f}"
        for each in found
        for index, way in enumerate(each.ways)
    }
    return Table(
        "Every way, us" + (", read" if read else ""),
        ("way", *(size_text(each.bytes) for each in found)),
        tuple((way.name, *(cells.get((way, each.bytes), "") for each in found)) for way in ways),
    )


def figures(result: Result) -> Iterator[Figure]:
    """Rates of the kernels by size, times of the ways by size."""
    if result.copies:
        yield Figure("copy", f"Copies of one core: {result.host}", (_copy_panel(result),))
    if result.messages:
        panels = tuple(_message_panel(result, read) for read in (False, True))
        yield Figure("message", f"Messages from core to core: {result.host}", panels)


def _copy_panel(result: Result) -> Panel:
    names = result.copies[0].names
    sizes = tuple(float(each.bytes) for each in result.copies)
    rates = [each.bytes / np.median(each.times, axis=0) for each in result.copies]
    series = tuple(
        Series("the choice" if name == "copy.self" else name, sizes, tuple(float(rate[i]) for rate in rates))
        for i, name in enumerate(names)
    )
    return Panel(
        f"addresses {result.wanted.alignment}", "bytes", "GB/s", "line", series, x_log2=True, y_log=True
    )


def _message_panel(result: Result, read: bool) -> Panel:
    found = [each for each in result.messages if each.read == read]
    ways = list(dict.fromkeys(way for each in found for way in each.ways))
    series = []
    for way in ways:
        here = [each for each in found if way in each.ways]
        series.append(
            Series(
                way.name,
                tuple(float(each.bytes) for each in here),
                tuple(float(np.median(each.times[:, each.ways.index(way)])) / 1000 for each in here),
            )
        )
    title = "until it is read" if read else "until it is there"
    return Panel(title, "bytes", "us", "line", tuple(series), x_log2=True, y_log=True)
