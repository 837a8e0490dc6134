"""What `corewise bench copy` shows: goals, tables and figures of a result.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corewise.analysis.result import Figure, Panel, Series, Table
from corewise.bench.copy.messages import RIVAL, MessageTimes
from corewise.bench.copy.races import PAPERS, ratios, streaming_kernels
from corewise.bench.copy.study import KIB, MIB, CopyTimes, Result, Row, is_bound
from corewise.bench.noise import FOREIGN_LIMIT
from corewise.data.quantities import size_text

_LOUD = "!"
_MOST_LINES = 8
"""Of kernels in a picture that can be read; more of them are drawn by their kind."""
_SAID = {
    "copy.self": "the choice",
    "bound.read": "(loads alone)",
    "bound.write": "(stores alone)",
    "bound.write_past": "(stores past the caches alone)",
}
"""Contestants that are no kernels, in words."""


@dataclass(frozen=True)
class Goal:
    """A ratio that the project wants, and the one measured.

    Attributes
    ----------
    what : str
    must, aim : float
    measured : float
    bound : float
        What it would be at the floor (of a copy its parts alone, of a message one of one byte), or of the
        quickest contestant, where that was quicker still.
    reached : str
        ``no``, ``must`` or ``aim``.
    """

    what: str
    must: float
    aim: float
    measured: float
    bound: float

    @property
    def reached(self) -> str:
        """How far it went."""
        return "aim" if self.measured >= self.aim else "must" if self.measured >= self.must else "no"

    @property
    def within_reach(self) -> bool:
        """Whether the floor allows what it must be."""
        return self.bound >= self.must


def bound_of(found: CopyTimes | MessageTimes) -> float:
    """The rival's time over the floor, or over the quickest contestant where that was quicker still."""
    names = found.names if isinstance(found, CopyTimes) else tuple(way.name for way in found.ways)
    tried = [
        float(np.median(ratios(found.times, 0, i))) for i, name in enumerate(names) if not is_bound(name)
    ]
    rival = float(np.median(found.times[:, 0]))
    return round(max(*tried, rival / found.floor if found.floor else 0.0), 3)


def goals(result: Result) -> Iterator[Goal]:
    """Those for which the result has the sizes; messages until they are there, and until they are read."""
    by_id = {row.id: row.ratio for row in result.rows}
    bounds = {f"copy-{each.bytes}-{result.wanted.alignment}": bound_of(each) for each in result.copies}
    bounds |= {f"copy-message-{each.bytes}" + "-read" * each.read: bound_of(each) for each in result.messages}
    for size, must, aim in ((4 * KIB, 1.2, 1.3), (64 * MIB, 1.4, 1.6)):
        if (key := f"copy-{size}-same") in by_id:
            yield Goal(f"copy of {size_text(size)} over memcpy", must, aim, by_id[key], bounds[key])
    chosen = [key for each in result.copies if (key := f"copy-{each.bytes}-same") in by_id]
    if chosen:
        yield _least("copy of every size over memcpy, the least", 0.98, 1.0, chosen, by_id, bounds)
    for end, until in (("", ""), ("-read", ", read")):
        for sizes, must, aim in (((32 * KIB,), 2.0, 2.3), ((256 * KIB, 512 * KIB, MIB), 2.5, 2.9)):
            found = [key for size in sizes if (key := f"copy-message-{size}{end}") in by_id]
            if len(found) == len(sizes):
                name = " to ".join(size_text(size) for size in dict.fromkeys((sizes[0], sizes[-1])))
                what = f"message of {name}{until}, over two memcpys, the least"
                yield _least(what, must, aim, found, by_id, bounds)


def _least(
    what: str,
    must: float,
    aim: float,
    keys: Sequence[str],
    measured: Mapping[str, float],
    bounds: Mapping[str, float],
) -> Goal:
    return Goal(what, must, aim, min(measured[key] for key in keys), min(bounds[key] for key in keys))


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
                rows[key] for each in found if (key := f"copy-message-{each.bytes}" + "-read" * read) in rows
            ]
            title = "Message from core to core" + (", until its receiver has read it" if read else "")
            yield _row_table(f"{title}: the quickest way against two memcpys through a slot", of_size)
            yield _way_table(result, read)
    if reached := list(goals(result)):
        yield Table(
            "Goals",
            ("what", "must", "aim", "measured", "bound", "reached"),
            tuple(
                (
                    each.what,
                    f"{each.must}",
                    f"{each.aim}",
                    f"{each.measured:.2f}",
                    f"{each.bound:.2f}",
                    each.reached if each.within_reach else "no, out of reach",
                )
                for each in reached
            ),
            note="bound: at the floor, or as the quickest contestant where that was quicker",
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
                _SAID.get(name, name),
                *(
                    f"{each.bytes / times[index]:.1f}"
                    for each, times in zip(result.copies, medians, strict=True)
                ),
            )
            for index, name in enumerate(names)
        ),
        note="loads and stores alone: from 4 KB on no copy is quicker than the slower of both."
        if any(map(is_bound, names))
        else "",
    )


def _way_table(result: Result, read: bool) -> Table:
    found = [each for each in result.messages if each.read == read]
    names = list(dict.fromkeys(way.name for each in found for way in each.ways))
    cells = {
        (way.name, each.bytes): f"{np.median(each.times[:, index]) / 1000:.2f}"
        for each in found
        for index, way in enumerate(each.ways)
    }
    return Table(
        "Every way, us" + (", read" if read else ""),
        ("way", *(size_text(each.bytes) for each in found)),
        tuple((name, *(cells.get((name, each.bytes), "") for each in found)) for name in names),
    )


def figures(result: Result) -> Iterator[Figure]:
    """Rates of the kernels by size, times of the ways by size."""
    if result.copies:
        yield Figure("copy", f"Copies of one core\n{result.host}", tuple(_copy_panels(result)))
    if result.messages:
        panels = tuple(_message_panel(result, read) for read in (False, True))
        yield Figure("message", f"Messages from core to core\n{result.host}", panels)


def _copy_panels(result: Result) -> Iterator[Panel]:
    """A line each for few kernels; of many, those of today by their kind, and the paper's."""
    names = [name for name in result.copies[0].names if not is_bound(name)]
    where = f"addresses {result.wanted.alignment}"
    if len(names) <= _MOST_LINES:
        yield _copy_panel(result, where, [(_SAID.get(name, name), (name,)) for name in names])
        return
    streams = streaming_kernels()
    vectors = [name for name in names if name not in ("memcpy", "copy.self", "rep_movsb", *PAPERS)]
    kinds = [
        ("memcpy", ("memcpy",)),
        ("the choice", ("copy.self",)),
        ("rep_movsb", ("rep_movsb",)),
        ("through the caches, the quickest", tuple(name for name in vectors if name not in streams)),
        ("past the caches, the quickest", tuple(name for name in vectors if name in streams)),
    ]
    yield _copy_panel(result, where, kinds)
    paper = [("memcpy", ("memcpy",)), *((name, (name,)) for name in PAPERS)]
    yield _copy_panel(result, f"{where}: paper 004's kernels", paper)


def _copy_panel(result: Result, title: str, kinds: Sequence[tuple[str, tuple[str, ...]]]) -> Panel:
    """One line for each kind: the rate of its quickest kernel at every size."""
    sizes = tuple(float(each.bytes) for each in result.copies)
    medians = [dict(zip(each.names, np.median(each.times, axis=0), strict=True)) for each in result.copies]
    series = [
        Series(
            label,
            sizes,
            tuple(
                size / float(min(times[name] for name in found))
                for size, times in zip(sizes, medians, strict=True)
            ),
        )
        for label, kernels in kinds
        if (found := [name for name in kernels if name in medians[0]])
    ]
    limits = {float(each.bytes): each.bytes / floor for each in result.copies if (floor := each.floor)}
    if limits:
        series.append(Series("no copy is quicker", tuple(limits), tuple(limits.values())))
    return Panel(title, "bytes", "GB/s", "line", tuple(series), x_log2=True, y_log=True)


_WAYS = {
    "slot": "two copies past the caches",
    "pipeline": "two copies in chunks, the quickest",
    "direct": "one copy by the receiver, the quickest",
    "halves": "one copy by both, the quickest",
}


def _message_panel(result: Result, read: bool) -> Panel:
    """The rival, and of every other kind of way the quickest at every size."""
    found = [each for each in result.messages if each.read == read]
    quickest: dict[str, dict[float, float]] = {}
    for each in found:
        for way, took in zip(each.ways, np.median(each.times, axis=0), strict=True):
            of_kind = quickest.setdefault(RIVAL.name if way == RIVAL else _WAYS[way.way], {})
            of_kind[float(each.bytes)] = min(of_kind.get(float(each.bytes), np.inf), float(took) / 1000)
    series = [Series(label, tuple(times), tuple(times.values())) for label, times in quickest.items()]
    series.append(
        Series(
            "a message of one byte",
            tuple(float(each.bytes) for each in found),
            tuple(each.floor / 1000 for each in found),
        )
    )
    title = "until it is read" if read else "until it is there"
    apart = sorted(each.apart[1] for each in found)
    title += f", cores {apart[0]:.0f} to {apart[-1]:.0f} ns apart" if apart else ""
    return Panel(title, "bytes", "us", "line", tuple(series), x_log2=True, y_log=True)
