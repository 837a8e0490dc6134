"""The rounds of one setting and part, and the ratios that follow from them.

Ratios are taken round by round (the launches of a round ran one after the other) and their median is
given. A ratio above 1: ours is quicker.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from corewise.analysis.spread import Spread, spread_of
from corewise.bench.pack.runs import ALONE, DISTANCE_LIMIT, MAPPED, STRAIGHT, Launch, Setting, distance

FLOOR = "contiguous"
"""The way that arranges nothing."""
OURS, SENDING = "ours", "sending"
"""The unmodified program with the library; where items are mapped the first way of `STRAIGHT`. And with one
that packs what is sent alone: in a tuning's rounds, the launch before that."""
Cell = tuple[str, str]
"""Case and direction, e.g. ``("constant/64", "both")``."""


def rival_of(direction: str) -> str:
    """What the unmodified program has without the library: the way that ours replaces."""
    return "mpi-pack" if direction in ALONE else "datatype"


@dataclass
class Study:
    """Rounds of a part (a key of `PARTS`), each a launch without the library and one with it.

    In mapped memory it is one launch, which has ours. A tuning's rounds on MPICH have one more between them
    (`SENDING`). Also how many rounds `steady` left out, and what was measured once more and longer.
    """

    setting: Setting
    part: str
    rounds: list[tuple[Launch, ...]] = field(default_factory=list)
    left_out: int = 0
    again: Study | None = None

    def of(self, case: str) -> Study:
        """Where a case was measured: here, or once more and longer."""
        return self.again.of(case) if self.again is not None and case in self.again.names() else self

    def names(self) -> set[str]:
        """Of the cases."""
        return {case for case, _ in self.cells()}

    def cells(self) -> list[Cell]:
        """In the order of the program."""
        return list(dict.fromkeys((case, direction) for case, direction, _ in self.rounds[0][0].times))

    def ways(self, cell: Cell) -> list[str]:
        """What was measured without the library, and is not ours."""
        measured = (key for key in self.rounds[0][0].times if key[:2] == cell)
        return [way for _, _, way in measured if way not in STRAIGHT]

    def times(self, cell: Cell, way: str) -> list[float]:
        """By round, ns."""
        if way in (OURS, SENDING):
            own = STRAIGHT[0] if cell[1] == MAPPED else rival_of(cell[1])
            return [launches[-1 if way == OURS else -2].times[(*cell, own)] for launches in self.rounds]
        return [launches[0].times[(*cell, way)] for launches in self.rounds]

    def time(self, cell: Cell, way: str) -> Spread:
        """Over the rounds, ns."""
        return spread_of(self.times(cell, way))

    def best(self, cell: Cell, ways: Iterable[str]) -> str:
        """The quickest of some ways, by median over rounds."""
        had = set(self.ways(cell))
        return min((way for way in ways if way in had), key=lambda way: self.time(cell, way).median)

    def rival(self, cell: Cell) -> str:
        """What ours is held against: `rival_of` its direction, or the best way where items are mapped."""
        if cell[1] != MAPPED:
            return rival_of(cell[1])
        return self.best(cell, [way for way in self.ways(cell) if way != FLOOR])

    def ratios(self, cell: Cell, way: str, ours: str = OURS) -> list[float]:
        """Time of a way over ours, or one of ours, round by round: above 1 where we are quicker.

        Rounds in which the cores were not as far apart in both launches are left out (`steady`). Dividing by
        what contiguous messages took meanwhile, a tenth up or down by itself, made ratios less certain.
        """
        pairs = zip(self.times(cell, way), self.times(cell, ours), strict=True)
        return [theirs / mine for theirs, mine in pairs]

    def ratio(self, cell: Cell, way: str, ours: str = OURS) -> Spread:
        """Over the rounds."""
        return spread_of(self.ratios(cell, way, ours))

    def drift(self) -> Spread | None:
        """Contiguous messages with the library over without: 1 where nothing changed between launches."""
        shared = [key for key in self.rounds[0][0].times if key[2] == FLOOR]
        pairs = [launches for launches in self.rounds if len(launches) == 2]
        found = [library.times[key] / plain.times[key] for plain, library in pairs for key in shared]
        return spread_of(found) if found else None

    def steady(self) -> Study:
        """The rounds in which both launches saw the cores as far apart; all of them where none did."""
        kept = [pair for pair in self.rounds if distance(pair) <= DISTANCE_LIMIT] or self.rounds
        return replace(self, rounds=kept, left_out=len(self.rounds) - len(kept))

    def launches(self) -> list[Launch]:
        """All of them."""
        own = [launch for pair in self.rounds for launch in pair]
        return own if self.again is None else own + self.again.launches()
