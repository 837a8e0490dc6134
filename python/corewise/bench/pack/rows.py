"""What the launches of `corewise bench pack` say: rows, the paper's statements, and rows taken together.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from corewise.bench.pack.results import FLOOR, OURS, Cell, Study
from corewise.bench.pack.runs import HANDS, MAPPED, STRAIGHT
from corewise.bench.rows import Row

PAPER_CROSSOVER = 2048
PAPER_EXCEPTION = 4
_BESIDE = {PAPER_EXCEPTION // 2, PAPER_EXCEPTION, PAPER_EXCEPTION * 2}
SWEEPS = (("1", "constant", "32 KB by element size"), ("2", "elements", "1024 elements"))
"""The paper's figures: number, set, what it shows."""
LEAST = 0.95
"""What no ratio beside the MPI's datatypes may be below."""
_DOING = {
    "send": "step of Irecv, Send, Wait, the sent message not contiguous",
    "receive": "step of Irecv, Send, Wait, the received message not contiguous",
    "both": "step of Irecv, Send, Wait, both messages not contiguous",
    "pack": "MPI_Pack",
    "unpack": "MPI_Unpack",
    MAPPED: "message from items to items that both ranks map",
}


def rows_of(study: Study, processor: str = "") -> Iterator[Row]:
    """One per case and direction; `ways` has every way that was measured."""
    for cell in study.cells():
        found, (case, direction) = study.of(cell[0]), cell
        measured = [*found.ways(cell), *(STRAIGHT if direction == MAPPED else ())]
        us = {way: _us(found.time(cell, way).median) for way in measured}
        rival = found.rival(cell)
        ratio = found.ratio(cell, rival)
        yield Row(
            f"pack/{study.setting.name}/{case}/{direction}",
            f"{_DOING[direction]}, {study.setting.title}",
            "us",
            _us(found.time(cell, OURS).median),
            rival,
            us[rival],
            us.get(FLOOR),
            round(ratio.median, 3),
            round(ratio.quartiles / ratio.median, 3),
            ratio.count,
            study.setting.title,
            more={"processor": processor, "ways": us},
        )


def losers_of(study: Study) -> list[str]:
    """Cases in which ours was slower than its rival."""
    if study.part == "mpi-pack":
        return []
    lost = [cell for cell in study.cells() if study.ratio(cell, study.rival(cell)).median < LEAST]
    return sorted({case for case, _ in lost})


def _us(ns: float) -> float:
    return round(ns / 1000, 3)


# ---- the paper's statements ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, held against one setting; `found`: the numbers that decide."""

    setting: str
    what: str
    reproduced: bool
    found: str


def claims_of(study: Study) -> Iterator[Claim]:
    """Of the paper's part, nothing for others; what counts are its three loops and datatypes."""
    if study.part != "paper":
        return
    for _, sweep, what in SWEEPS:
        cells = [(case, way) for case, way in study.cells() if way == "both" and case.split("/")[0] == sweep]
        for said, reproduced, found in _statements(
            {_block(cell): _hand_over_mpi(study, cell) for cell in cells}
        ):
            yield Claim(study.setting.title, f"{what}: {said}", reproduced, found)


def _hand_over_mpi(study: Study, cell: Cell) -> float:
    """Time of the quickest of the paper's loops over that of datatypes: above 1 where the MPI wins."""
    hands = map(min, zip(*(study.times(cell, way) for way in HANDS), strict=True))
    theirs = study.times(cell, "datatype")
    return float(statistics.median(hand / mpi for hand, mpi in zip(hands, theirs, strict=True)))


def _statements(ratios: Mapping[int, float]) -> Iterator[tuple[str, bool, str]]:
    """Statement, whether it is so, the numbers; of `_hand_over_mpi` by size of an element."""
    small = [ratio < 1 for size, ratio in ratios.items() if size < PAPER_CROSSOVER]
    large = [ratio > 1 for size, ratio in ratios.items() if size >= PAPER_CROSSOVER]
    yield (
        "below 2 KB packing by hand is usually quicker than datatypes",
        2 * sum(small) > len(small),
        f"at {sum(small)} of {len(small)} sizes",
    )
    yield (
        "from 2 KB on datatypes are quicker",
        bool(large) and all(large),
        f"at {sum(large)} of {len(large)} sizes",
    )
    at = _crossover(ratios)
    yield (
        "the crossing is at 2 KB, within a factor of two",
        at is not None and PAPER_CROSSOVER // 2 <= at <= 2 * PAPER_CROSSOVER,
        "datatypes do not win at the largest size" if at is None else f"datatypes win from {at} bytes on",
    )
    if ratios.keys() >= _BESIDE:
        yield (
            "4-byte elements are an exception, datatypes win there and not beside",
            all((ratios[size] > 1) == (size == PAPER_EXCEPTION) for size in _BESIDE),
            "hand over datatypes: "
            + ", ".join(f"{ratios[size]:.2f} at {size} B" for size in sorted(_BESIDE)),
        )


def _crossover(ratios: Mapping[int, float]) -> int | None:
    """The smallest size from which on the MPI wins at every measured size; None where it never does."""
    lost = max((size for size, ratio in ratios.items() if ratio <= 1), default=0)
    return min((size for size in ratios if size > lost), default=None)


# ---- rows taken together ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Goal:
    """Ratios of several rows together: the smallest, where that is, and the geometric mean.

    `must` and `must_least` are what the mean and the smallest must be; None where nothing is asked.
    """

    setting: str
    what: str
    rival: str
    least: float
    mean: float
    worst: str
    count: int
    must: float | None = None
    must_least: float | None = None

    @property
    def holds(self) -> bool | None:
        """Whether what they must be is so here; None where nothing is asked."""
        pairs = ((self.mean, self.must), (self.least, self.must_least))
        asked = [found >= wanted for found, wanted in pairs if wanted is not None]
        return all(asked) if asked else None


@dataclass(frozen=True)
class _Group:
    """Rows of a part that are taken together, what they are held against, and what they must be."""

    part: str
    what: str
    rival: str
    has: Callable[[Cell], bool] = lambda cell: True
    least: float | None = None
    means: tuple[float, ...] = ()
    """By setting, as `_SETTINGS` has them."""
    ours: str = OURS


_SWEPT = "blocks of 64 B and more"
_SETTINGS = ("openmpi", "mpich", "mpich-no-cma")


def _is_swept(cell: Cell) -> bool:
    return cell[0].split("/")[0] in {sweep for _, sweep, _ in SWEEPS}


def _is_transposed(cell: Cell) -> bool:
    return not _is_swept(cell)


_GROUPS = (
    _Group(
        "paper", "blocks up to 256 B", "datatype", lambda cell: _block(cell) <= 256, LEAST, (1.4, 5.0, 1.8)
    ),
    _Group("paper", "blocks above 256 B", "datatype", lambda cell: _block(cell) > 256, LEAST),
    _Group("paper", "both sweeps", "best way"),
    _Group("columns", "sparse columns, one block a page", "datatype", least=LEAST),
    _Group("applications", "applications", "datatype", least=LEAST, means=(1.4, 2.2, 1.2)),
    _Group("applications", "applications", "manual"),
    _Group("applications", "applications", "best way"),
    _Group("mpi-pack", "MPI_Pack", "mpi-pack", lambda cell: cell[1] == "pack"),
    _Group("mpi-pack", "MPI_Unpack", "mpi-pack", lambda cell: cell[1] == "unpack"),
    _Group("mpi-pack", "both, blocks of 8 to 16 B", "loop", lambda cell: 8 <= _block(cell) <= 16),
    _Group(MAPPED, f"{_SWEPT}, the receiver copies", "best way", _is_swept, means=(2.0,) * 3),
    _Group(MAPPED, f"{_SWEPT}, each copies a half", "best way", _is_swept, None, (2.5,) * 3, STRAIGHT[1]),
    _Group(MAPPED, "received transposed, the receiver copies", "best way", _is_transposed),
    _Group(MAPPED, "received transposed, each copies a half", "best way", _is_transposed, ours=STRAIGHT[1]),
)


def goals_of(study: Study) -> Iterator[Goal]:
    """What a part shows."""
    for group in _GROUPS:
        cells = [cell for cell in study.cells() if group.part == study.part and group.has(cell)]
        if cells:
            yield _goal(study, group, cells)


def _block(cell: Cell) -> int:
    return int(cell[0].split("/")[1])


def _goal(study: Study, group: _Group, cells: Sequence[Cell]) -> Goal:
    ratios = {}
    for cell in cells:
        found = study.of(cell[0])
        others = [way for way in found.ways(cell) if way != FLOOR]
        way = found.best(cell, others) if group.rival == "best way" else group.rival
        ratios[" ".join(cell)] = found.ratio(cell, way, group.ours).median
    worst = min(ratios, key=lambda each: ratios[each])
    return Goal(
        study.setting.title,
        group.what,
        group.rival,
        round(ratios[worst], 3),
        round(statistics.geometric_mean(ratios.values()), 3),
        worst,
        len(ratios),
        dict(zip(_SETTINGS, group.means, strict=False)).get(study.setting.name),
        group.least,
    )
