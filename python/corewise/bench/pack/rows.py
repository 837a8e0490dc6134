"""What the launches of `corewise bench pack` say: rows, the paper's statements, and rows taken together.

Ratios are taken round by round (both launches of a round ran one after the other) and their median is
given; spreads are the distance of the quartiles over the median. A ratio above 1: ours is quicker.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from corewise.bench.pack.runs import FLOORS, HANDS, OURS, Study

PAPER_CROSSOVER = 2048
PAPER_EXCEPTION = 4
_BESIDE = {PAPER_EXCEPTION // 2, PAPER_EXCEPTION, PAPER_EXCEPTION * 2}
_BY_HAND = ("loop", *HANDS, "manual")
_SHORT = 256


@dataclass(frozen=True)
class Row:
    """One case in one direction, in microseconds.

    Attributes
    ----------
    id : str
        Setting, case and direction, e.g. ``mpich/constant/64/both``.
    what : str
    unit : str
    ours : float
        The unmodified program with datatypes, with the packing library.
    rival : str
        The quickest other way.
    theirs : float
        What it takes.
    floor : float or None
        The same message contiguous; of an engine alone every line touched once and nothing arranged. None
        where neither was measured.
    ratio : float
        The rival's time over ours.
    spread : float
        Of ours.
    n : int
        Rounds.
    ways : dict of str to float
        Every way that was measured.
    """

    id: str
    what: str
    unit: str
    ours: float
    rival: str
    theirs: float
    floor: float | None
    ratio: float
    spread: float
    n: int
    ways: dict[str, float]

    def to_json(self) -> dict[str, object]:
        """As ``--json`` prints it."""
        return asdict(self)


def rows_of(study: Study) -> Iterator[Row]:
    """One per case and direction."""
    for case, direction in study.cases():
        ways = study.ways(case, direction)
        floors = [way for way in FLOORS if way in ways]
        best = study.best(case, direction, _rivals(study, case, direction))
        ours = study.time(case, direction, OURS)
        yield Row(
            f"{study.setting.name}/{case}/{direction}",
            f"{_doing(direction)}, {study.bytes_of(case)} bytes, {study.setting.title}",
            "us",
            _us(ours.median),
            best,
            _us(study.time(case, direction, best).median),
            _us(study.time(case, direction, floors[0]).median) if floors else None,
            round(study.ratio(case, direction, best).median, 3),
            round(ours.quartiles / ours.median, 3),
            ours.count,
            {way: _us(study.time(case, direction, way).median) for way in ways},
        )


def _doing(direction: str) -> str:
    return {
        "send": "step of Irecv, Send, Wait, the sent message not contiguous",
        "receive": "step of Irecv, Send, Wait, the received message not contiguous",
        "both": "step of Irecv, Send, Wait, both messages not contiguous",
        "pack": "MPI_Pack",
        "unpack": "MPI_Unpack",
    }[direction]


def _rivals(study: Study, case: str, direction: str) -> list[str]:
    """Of an engine the MPI's own; of a message datatypes, MPI_Pack and every loop."""
    if direction in ("pack", "unpack"):
        return ["mpi-pack"]
    return [way for way in study.ways(case, direction) if way not in FLOORS]


def _us(ns: float) -> float:
    return round(ns / 1000, 3)


# ---- the paper's statements ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, held against one setting.

    Attributes
    ----------
    setting, what : str
    reproduced : bool
    found : str
        The numbers that decide.
    """

    setting: str
    what: str
    reproduced: bool
    found: str


def claims_of(study: Study) -> Iterator[Claim]:
    """Of the paper's part, nothing for others; what counts are its three loops and datatypes."""
    if study.part != "paper":
        return
    for name, what in (("constant", "32 KB"), ("elements", "1024 elements")):
        ratios = {size: _hand_over_mpi(study, f"{name}/{size}") for size in _sizes(study, name, "both")}
        yield _below(study, what, ratios)
        yield _above(study, what, ratios)
        yield _crossover(study, what, ratios)
        if ratios.keys() >= _BESIDE:
            yield _exception(study, what, ratios)


def _sizes(study: Study, name: str, direction: str) -> list[int]:
    return [
        int(case.split("/")[1])
        for case, towards in study.cases()
        if towards == direction and case.split("/")[0] == name
    ]


def _hand_over_mpi(study: Study, case: str) -> float:
    """Time of the quickest of the paper's loops over that of datatypes: above 1 where the MPI wins."""
    hands = [study.rounds(case, "both", way) for way in HANDS]
    theirs = study.rounds(case, "both", "datatype")
    return float(
        statistics.median(min(hand) / mpi for hand, mpi in zip(zip(*hands, strict=True), theirs, strict=True))
    )


def _below(study: Study, what: str, ratios: dict[int, float]) -> Claim:
    small = {size: ratio for size, ratio in ratios.items() if size < PAPER_CROSSOVER}
    wins = sum(ratio < 1 for ratio in small.values())
    return Claim(
        study.setting.title,
        f"{what}: below 2 KB packing by hand is usually quicker than datatypes",
        2 * wins > len(small),
        f"at {wins} of {len(small)} sizes",
    )


def _above(study: Study, what: str, ratios: dict[int, float]) -> Claim:
    large = {size: ratio for size, ratio in ratios.items() if size >= PAPER_CROSSOVER}
    wins = sum(ratio > 1 for ratio in large.values())
    return Claim(
        study.setting.title,
        f"{what}: from 2 KB on datatypes are quicker",
        bool(large) and wins == len(large),
        f"at {wins} of {len(large)} sizes",
    )


def crossover(ratios: dict[int, float]) -> int | None:
    """The smallest size from which on the MPI wins at every measured size; None where it never does."""
    found = None
    for size in sorted(ratios, reverse=True):
        if ratios[size] <= 1:
            break
        found = size
    return found


def _crossover(study: Study, what: str, ratios: dict[int, float]) -> Claim:
    at = crossover(ratios)
    # Between the last size where a hand wins and the first where it does not any more.
    near = at is not None and PAPER_CROSSOVER // 2 <= at <= 2 * PAPER_CROSSOVER
    said = "datatypes do not win at the largest size" if at is None else f"datatypes win from {at} bytes on"
    return Claim(study.setting.title, f"{what}: the crossing is at 2 KB, within a factor of two", near, said)


def _exception(study: Study, what: str, ratios: dict[int, float]) -> Claim:
    alone = all((ratios[size] > 1) == (size == PAPER_EXCEPTION) for size in _BESIDE)
    numbers = ", ".join(f"{ratios[size]:.2f} at {size} B" for size in sorted(_BESIDE))
    return Claim(
        study.setting.title,
        f"{what}: 4-byte elements are an exception, datatypes win there and not beside",
        alone,
        f"hand over datatypes: {numbers}",
    )


# ---- rows taken together ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Goal:
    """Ratios of several rows together.

    Attributes
    ----------
    setting, what, rival : str
    least, mean : float
        The smallest ratio and the geometric mean; above 1 ours is quicker.
    worst : str
        Where the smallest is.
    count : int
    must, must_least, aim : float or None
        What the mean and the smallest ratio must be, and what the mean is wanted to be; None where nothing
        is asked.
    holds : bool or None
        Whether what they must be is so here; None where nothing is asked.
    bound, bound_least : float
        What the geometric mean and the smallest ratio would be of a library whose packing took no time: the
        rival's time over that of the same bytes contiguous (of an engine alone: over touching every line that
        packing must touch), or over the quickest way measured, where that was quicker still.
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
    aim: float | None = None
    holds: bool | None = None
    bound: float = math.inf
    bound_least: float = math.inf

    @property
    def within_reach(self) -> bool:
        """Whether a library whose packing took no time would have what is asked."""
        return self.bound >= (self.must or 0) and self.bound_least >= (self.must_least or 0)


@dataclass(frozen=True)
class Asked:
    """What a goal asks: of the geometric mean, of the smallest ratio, and what is wanted of the mean."""

    must: float | None = None
    must_least: float | None = None
    aim: float | None = None


_SWEEPS = Asked(1.2, 0.95, 1.3)
_COLUMNS = Asked(1.0, None, 1.3)
_ENGINE = Asked(1.5, None, 2.0)
_MANUAL = Asked(None, 1.0)
_APPLICATIONS = {"openmpi": Asked(aim=1.5), "mpich": Asked(aim=2.0), "mpich-no-cma": Asked(aim=2.0)}
_SHORT_BLOCKS = {"mpich": Asked(5.0, None, 14.0), "mpich-no-cma": Asked(1.5, None, 5.0)}
_NOTHING = Asked()


def goals_of(study: Study) -> Iterator[Goal]:
    """What a part shows."""
    if study.part == "paper":
        yield from _sweeps(study)
    elif study.part == "columns":
        yield from _goal(study, "sparse columns, one block a page", "best way", study.cases(), _COLUMNS)
    elif study.part == "applications":
        wanted = _APPLICATIONS.get(study.setting.name, _NOTHING)
        yield from _goal(study, "application datatypes", "best way", study.cases(), wanted)
        yield from _goal(study, "application datatypes", "manual", study.cases(), _MANUAL)
        yield from _goal(study, "application datatypes", "datatype", study.cases())
    elif study.part == "mpi-pack":
        for direction in ("pack", "unpack"):
            cases = [each for each in study.cases() if each[1] == direction]
            yield from _goal(study, f"MPI_{direction.capitalize()}", "mpi-pack", cases)
            middle = [each for each in cases if _in_table(study, _block(each[0]))]
            yield from _goal(
                study, f"MPI_{direction.capitalize()}, {_table_range(study)}", "mpi-pack", middle, _ENGINE
            )
            yield from _goal(study, f"MPI_{direction.capitalize()}, beside a loop by hand", "loop", cases)


def _sweeps(study: Study) -> Iterator[Goal]:
    yield from _goal(study, "strided, both sweeps", "best way", study.cases(), _SWEEPS)
    for name, what in (("constant", "strided, 32 KB"), ("elements", "strided, 1024 elements")):
        cases = [each for each in study.cases() if each[0].split("/")[0] == name]
        yield from _goal(study, what, "best way", cases)
    short = [each for each in study.cases() if _block(each[0]) <= _SHORT]
    asked = _SHORT_BLOCKS.get(study.setting.name, _NOTHING)
    yield from _goal(study, f"strided, blocks up to {_SHORT} B", "datatype", short, asked)
    yield from _goal(
        study, "strided, blocks up to 256 B, both ways", "datatype", [e for e in short if e[1] == "both"]
    )


def _block(case: str) -> int:
    return int(case.split("/")[1])


def _in_table(study: Study, block: int) -> bool:
    low, high = (16, 64) if study.setting.mpi.name == "openmpi" else (128, 8192)
    return low <= block <= high


def _table_range(study: Study) -> str:
    return "16 to 64 B" if study.setting.mpi.name == "openmpi" else "128 B to 8 KB"


def _goal(
    study: Study, what: str, rival: str, cases: Sequence[tuple[str, str]], asked: Asked = _NOTHING
) -> Iterator[Goal]:
    ratios, bounds = {}, []
    for case, direction in cases:
        ways = study.ways(case, direction)
        others = [way for way in _BY_HAND if way in ways] if rival == "hand" else [rival]
        if rival == "best way":
            others = _rivals(study, case, direction)
        best = study.best(case, direction, others)
        ratios[f"{case} {direction}"] = study.ratio(case, direction, best).median
        bounds.append(study.bound(case, direction, best))
    if not ratios:
        return
    worst = min(ratios, key=lambda each: ratios[each])
    mean = statistics.geometric_mean(ratios.values())
    least = ratios[worst]
    conditions = [(mean, asked.must), (least, asked.must_least)]
    held = [found >= wanted for found, wanted in conditions if wanted is not None]
    yield Goal(
        study.setting.title,
        what,
        rival,
        round(least, 3),
        round(mean, 3),
        worst,
        len(ratios),
        asked.must,
        asked.must_least,
        asked.aim,
        all(held) if held else None,
        round(statistics.geometric_mean(bounds), 3),
        round(min(bounds), 3),
    )
