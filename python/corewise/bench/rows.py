"""A row of a benchmark, and all that one command found.

Invariant: the ids of a result's rows are unique and begin with the question. Nothing here prints.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields

from corewise.bench.peers import Peer


@dataclass(frozen=True)
class Listener:
    """Who is told how far a measurement is.

    Attributes
    ----------
    progress : callable
        Told the share of the work that is done, 0 to 1.
    note : callable
        Told a line to know, such as a first build.
    """

    progress: Callable[[float], None] = lambda share: None
    note: Callable[[str], None] = lambda text: None

    def part(self, begin: float, end: float) -> Listener:
        """For a part of the work, from one share to another."""
        return Listener(lambda share: self.progress(begin + share * (end - begin)), self.note)


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes
    ----------
    id, what, unit : str
        The id is unique and begins with the question.
    ours : float or None
        Median of the rounds.
    rival : str or None
        Whom ours is compared with.
    theirs : float or None
        Median of the rounds.
    floor : float or None
        What nobody can be better than, where that is known.
    ratio : float or None
        Median over the rounds, above 1 where ours is better.
    spread : float or None
        Distance between the quartiles over the median: of the ratio, of ours where there is no ratio.
    n : int
        Rounds.
    mpi : str or None
        Name and version, where one took part.
    demand : float or None
        The ratio that the project demands.
    more : mapping
        Further fields of the question.
    """

    id: str
    what: str
    unit: str
    ours: float | None
    rival: str | None = None
    theirs: float | None = None
    floor: float | None = None
    ratio: float | None = None
    spread: float | None = None
    n: int = 1
    mpi: str | None = None
    demand: float | None = None
    more: Mapping[str, object] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """The fields by name, the further ones among them."""
        named = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "more"}
        return {**named, **self.more}

    @property
    def missed(self) -> str | None:
        """Why the demand is not met; None where it is, or where nothing is demanded."""
        if self.demand is None:
            return None
        if self.ratio is None:
            return f"{self.id}: not compared"
        if self.ratio < self.demand:
            return f"{self.id}: ratio {self.ratio}, demanded: {self.demand} or more"
        return None


@dataclass(frozen=True)
class Outcome:
    """All that one command found.

    Attributes
    ----------
    question : str
        The command's name: ``sim`` of ``corewise bench sim``.
    rows : tuple of Row
    absent : tuple of Peer
        Rivals that are not here.
    remarks : tuple of str
        What the rows say together.
    """

    question: str
    rows: tuple[Row, ...]
    absent: tuple[Peer, ...] = ()
    remarks: tuple[str, ...] = ()

    def missed(self) -> list[str]:
        """A line per row that does not meet its demand."""
        return [line for row in self.rows if (line := row.missed) is not None]


def stamped(question: str, processor: str, rows: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Rows as ``--json`` prints them: with processor and MPI, every id unique and of the question."""
    made = [{"processor": processor, "mpi": None, **row} for row in rows]
    ids = [str(row["id"]) for row in made]
    twice = sorted({each for each in ids if ids.count(each) > 1})
    foreign = [each for each in ids if not each.startswith((f"{question}-", f"{question}/"))]
    if twice or foreign:
        raise AssertionError(f"bench {question}: ids repeated: {twice}, of no question: {foreign}")
    return made
