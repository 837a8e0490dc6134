"""What the launches of `corewise bench pack` say: rows, the paper's statements, and rows taken together.

Ratios are taken round by round (both launches of a round ran one after the other) and their median is
given; spreads are the distance of the quartiles over the median. A ratio above 1: ours is quicker.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from corewise.bench.pack.runs import FLOOR, HANDS, OURS, Study

PAPER_CROSSOVER = 2048
PAPER_EXCEPTION = 4
_BESIDE = {PAPER_EXCEPTION // 2, PAPER_EXCEPTION, PAPER_EXCEPTION * 2}
_SHORT = 256
LEAST = 0.95
"""What no ratio beside the MPI's datatypes may be below."""


@dataclass(frozen=True)
class Row:
    """One case in one direction.

    Attributes
    ----------
    id : str
        ``pack/`` and setting, case and direction, e.g. ``pack/mpich/constant/64/both``.
    what, unit : str
    ours : float
        The unmodified program with datatypes, with the packing library.
    rival : str
        What that program has without the library: the MPI's datatypes, or its MPI_Pack and MPI_Unpack.
    theirs : float
    floor : float or None
        The same message contiguous; None of an engine alone.
    ratio : float
        The rival's time over ours.
    spread : float
        Of ours.
    n : int
        Rounds.
    processor, mpi : str
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
    processor: str
    mpi: str
    ways: dict[str, float]

    def to_json(self) -> dict[str, object]:
        """As ``--json`` prints it."""
        return asdict(self)


def rows_of(study: Study, processor: str = "") -> Iterator[Row]:
    """One per case and direction."""
    for case, direction in study.cases():
        found = study.of(case)
        ways = found.ways(case, direction)
        rival = rival_of(direction)
        ours = found.time(case, direction, OURS)
        yield Row(
            f"pack/{study.setting.name}/{case}/{direction}",
            f"{_doing(direction)}, {study.bytes_of(case)} bytes, {study.setting.title}",
            "us",
            _us(ours.median),
            rival,
            _us(found.time(case, direction, rival).median),
            _us(found.time(case, direction, FLOOR).median) if FLOOR in ways else None,
            round(found.ratio(case, direction, rival).median, 3),
            round(ours.quartiles / ours.median, 3),
            ours.count,
            processor,
            study.setting.title,
            {way: _us(found.time(case, direction, way).median) for way in ways},
        )


def rival_of(direction: str) -> str:
    """What the unmodified program has without the library."""
    return "mpi-pack" if direction in ("pack", "unpack") else "datatype"


def losers_of(study: Study) -> list[str]:
    """Cases in which the library was slower than what the program has without it."""
    if study.part == "mpi-pack":
        return []
    return sorted({case for case, towards in study.cases() if _ratio(study, case, towards) < LEAST})


def _ratio(study: Study, case: str, direction: str) -> float:
    return study.of(case).ratio(case, direction, rival_of(direction)).median


def _doing(direction: str) -> str:
    return {
        "send": "step of Irecv, Send, Wait, the sent message not contiguous",
        "receive": "step of Irecv, Send, Wait, the received message not contiguous",
        "both": "step of Irecv, Send, Wait, both messages not contiguous",
        "pack": "MPI_Pack",
        "unpack": "MPI_Unpack",
    }[direction]


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
    must, must_least : float or None
        What the mean and the smallest ratio must be; None where nothing is asked.
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
        asked = [
            found >= wanted
            for found, wanted in ((self.mean, self.must), (self.least, self.must_least))
            if wanted is not None
        ]
        return all(asked) if asked else None


_APPLICATIONS = {"openmpi": 1.4, "mpich": 2.2, "mpich-no-cma": 1.2}
_SHORT_BLOCKS = {"openmpi": 1.4, "mpich": 5.0, "mpich-no-cma": 1.8}
"""What the geometric means beside the MPI's datatypes must be."""
Cases = Sequence[tuple[str, str]]


def goals_of(study: Study) -> Iterator[Goal]:
    """What a part shows."""
    cases, name = study.cases(), study.setting.name
    if study.part == "paper":
        short = [each for each in cases if _block(each[0]) <= _SHORT]
        yield from _goal(study, f"blocks up to {_SHORT} B", "datatype", short, _SHORT_BLOCKS.get(name), LEAST)
        longer = [each for each in cases if _block(each[0]) > _SHORT]
        yield from _goal(study, f"blocks above {_SHORT} B", "datatype", longer, None, LEAST)
        yield from _goal(study, "both sweeps", "best way", cases)
    elif study.part == "columns":
        yield from _goal(study, "sparse columns, one block a page", "datatype", cases, None, LEAST)
    elif study.part == "applications":
        yield from _goal(study, "applications", "datatype", cases, _APPLICATIONS.get(name), LEAST)
        yield from _goal(study, "applications", "manual", cases)
        yield from _goal(study, "applications", "best way", cases)
    elif study.part == "mpi-pack":
        for direction in ("pack", "unpack"):
            own = [each for each in cases if each[1] == direction]
            yield from _goal(study, f"MPI_{direction.capitalize()}", "mpi-pack", own)


def _block(case: str) -> int:
    return int(case.split("/")[1])


def _goal(
    study: Study,
    what: str,
    rival: str,
    cases: Cases,
    must: float | None = None,
    must_least: float | None = None,
) -> Iterator[Goal]:
    ratios = {}
    for case, direction in cases:
        found = study.of(case)
        others = [way for way in found.ways(case, direction) if way != FLOOR]
        best = found.best(case, direction, others) if rival == "best way" else rival
        ratios[f"{case} {direction}"] = found.ratio(case, direction, best).median
    if not ratios:
        return
    worst = min(ratios, key=lambda each: ratios[each])
    mean = statistics.geometric_mean(ratios.values())
    yield Goal(
        study.setting.title,
        what,
        rival,
        round(ratios[worst], 3),
        round(mean, 3),
        worst,
        len(ratios),
        must,
        must_least,
    )
