"""Where ranks stood still in MPI because another was late, and how unevenly they worked.

Owns the sums over what the core matched: by kind, call site, pair, rank and phase. docs/recording/waits.md
defines the kinds.
 Times are nanoseconds, added up over ranks; starting and stopping MPI is in none of them, as in
the report.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from corewise._core import Wait, WaitWorld, read_run
from corewise.analysis.profile.tables import call_site_name
from corewise.base.executors import Workers
from corewise.data.profile import profile_folder
from corewise.data.shards import read_in_parts
from corewise.errors import InputError

NO_PHASE = "(before the first)"
WHOLE_RUN = "(whole run)"
Key = TypeVar("Key", bound=Hashable)
_Named = tuple[str, str, int | None, int | None, str]
"""What the fields of a row but its sums are: name, kind, rank, cause, procedure."""


@dataclass(frozen=True)
class WaitRow:
    """Waits added up.

    Attributes
    ----------
    name : str
        What they have in common, as text: a kind, a call site, a pair or a rank.
    kind : str
        "late sender", ...; empty where kinds are added up.
    rank, cause : int or None
        Who waited, and for whom; None where ranks are added up.
    procedure : str
        The MPI procedure; empty where several are added up.
    count : int
    wait_ns, longest_ns : float
    share, mpi_share, run_share : float
        Of all waiting, of the time in MPI, and of the run, 0 to 1.
    """

    name: str
    kind: str
    rank: int | None
    cause: int | None
    procedure: str
    count: int
    wait_ns: float
    longest_ns: float
    share: float
    mpi_share: float
    run_share: float


@dataclass(frozen=True)
class RankWait:
    """What a rank waited for others, and others for it."""

    rank: int
    waited_ns: float
    caused_ns: float
    mpi_ns: float
    span_ns: float


@dataclass(frozen=True)
class PhaseBalance:
    """How evenly ranks worked in a phase: time outside MPI, largest over mean.

    Attributes
    ----------
    phase : str
    mean_ns, max_ns : float
        Time outside MPI.
    imbalance : float
        Largest over mean; 1 is even.
    slowest : int
        The rank with the largest.
    """

    phase: str
    mean_ns: float
    max_ns: float
    imbalance: float
    slowest: int


@dataclass(frozen=True)
class CollectiveBalance:
    """How far apart ranks came to one kind of collective on one communicator."""

    procedure: str
    communicator: str
    count: int
    spread_ns: float
    latest: int
    latest_count: int


@dataclass(frozen=True)
class WaitsSummary:
    """All of it, each table sorted by time, longest first.

    Attributes
    ----------
    world : str
    phase : str
        The phase asked for, or that it is the whole run.
    causes : tuple of WaitRow
        By the rank that was late, kind and call site.
    total_ns : float
        All waiting, added up over ranks.
    mpi_ns, run_ns : float
        All time in MPI, and of the run.
    clocks : str
        What the common time line rests on.
    """

    world: str
    size: int
    phase: str
    total_ns: float
    mpi_ns: float
    run_ns: float
    kinds: tuple[WaitRow, ...]
    sites: tuple[WaitRow, ...]
    pairs: tuple[WaitRow, ...]
    causes: tuple[WaitRow, ...]
    ranks: tuple[RankWait, ...]
    balance: tuple[PhaseBalance, ...]
    collectives: tuple[CollectiveBalance, ...]
    matched: int
    collective_count: int
    clocks: str
    notes: tuple[str, ...]


def analyse_waits(
    folder: str | Path, phase: str | None = None, workers: Workers | None = None
) -> WaitsSummary:
    """The waits of a profile's main world, read from its folder.

    Parameters
    ----------
    folder : path
        A folder ``NAME.cw``.
    phase : str, optional
        Only what happened in the phase of that name.
    workers : Workers, optional
        One of them reads; this process without them.

    Raises
    ------
    InputError
        Where the folder is no profile or knows no such phase.
    """
    checked = profile_folder(folder)
    if workers is None:
        found = read_run(str(folder), totals=False, waits=True)
    else:
        found = read_in_parts(checked, workers, totals=False, waits=True)
    return summarise_waits(found.waits, found.problems, str(folder), phase)


def summarise_waits(
    worlds: Sequence[WaitWorld], problems: Sequence[str], source: str, phase: str | None = None
) -> WaitsSummary:
    """The same from what was read.

    Parameters
    ----------
    worlds : sequence of WaitWorld
        The main one first.
    problems : sequence of str
        What is wrong with single files.
    source : str
        Begins the message where there is no such phase.
    phase : str, optional
        Only what happened in the phase of that name.
    """
    world = worlds[0]
    waits: Sequence[Wait] = world.waits
    if phase is not None:
        _check_phase(world, phase, source)
        waits = [wait for wait in waits if wait.phase == phase]
    notes = (*problems, *world.notes, *_more_worlds(worlds))
    times = [time for time in world.phases if phase is None or time.phase == phase]
    of = _Whole(
        sum(wait.wait_ns for wait in waits),
        sum(time.mpi_ns for time in times),
        sum(time.span_ns for time in times),
    )
    return WaitsSummary(
        world=world.name,
        size=world.size,
        phase=WHOLE_RUN if phase is None else phase,
        total_ns=of.waiting_ns,
        mpi_ns=of.mpi_ns,
        run_ns=of.run_ns,
        kinds=_sum_up(waits, of, lambda wait: (wait.kind,), _kind_row),
        sites=_sum_up(
            waits,
            of,
            lambda wait: (wait.kind, wait.procedure, wait.object, wait.offset),
            partial(_site_row, world.started_realtime_ns),
        ),
        pairs=_sum_up(waits, of, lambda wait: (wait.kind, wait.rank, wait.cause), _pair_row),
        causes=_sum_up(
            waits,
            of,
            lambda wait: (wait.cause, wait.kind, wait.procedure, wait.object, wait.offset),
            partial(_cause_row, world.started_realtime_ns),
        ),
        ranks=_ranks(world, waits, phase),
        balance=_balance(world, phase),
        collectives=() if phase is not None else _collectives(world),
        matched=world.matched,
        collective_count=world.collectives,
        clocks=_clocks(world),
        notes=notes,
    )


def _check_phase(world: WaitWorld, phase: str, source: str) -> None:
    known = sorted({time.phase for time in world.phases if time.phase})
    if phase not in known:
        allowed = ", ".join(known) or "none: the program named no phase"
        raise InputError(f"{source}: --phase: found '{phase}', allowed: {allowed}")


def _more_worlds(worlds: Sequence[WaitWorld]) -> tuple[str, ...]:
    return tuple(f"a further world is not shown: {world.name}, {world.size} ranks" for world in worlds[1:])


@dataclass(frozen=True)
class _Whole:
    """What shares are of."""

    waiting_ns: float
    mpi_ns: float
    run_ns: float

    def shares(self, wait_ns: float) -> tuple[float, float, float]:
        """Of all waiting, of MPI and of the run."""
        waiting, mpi, run = (
            wait_ns / whole if whole > 0 else 0.0 for whole in (self.waiting_ns, self.mpi_ns, self.run_ns)
        )
        return waiting, mpi, run


@dataclass
class _Sum:
    count: int = 0
    wait_ns: float = 0.0
    longest_ns: float = 0.0

    def add(self, wait: Wait) -> None:
        self.count += wait.count
        self.wait_ns += wait.wait_ns
        self.longest_ns = max(self.longest_ns, wait.longest_ns)


def _sum_up(
    waits: Iterable[Wait],
    of: _Whole,
    key_of: Callable[[Wait], Key],
    describe: Callable[[Key], _Named],
) -> tuple[WaitRow, ...]:
    sums: defaultdict[Key, _Sum] = defaultdict(_Sum)
    for wait in waits:
        sums[key_of(wait)].add(wait)
    rows = [
        WaitRow(*describe(key), each.count, each.wait_ns, each.longest_ns, *of.shares(each.wait_ns))
        for key, each in sums.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.wait_ns, row.name, row.kind)))


def _kind_row(key: tuple[str]) -> _Named:
    return key[0], key[0], None, None, ""


def _site_row(started_ns: int, key: tuple[str, str, str, int]) -> _Named:
    kind, procedure, path, offset = key
    where, changed = call_site_name(path, offset, started_ns) if path else ("unknown place", False)
    return (
        f"{procedure} in {where}{' (program changed since)' if changed else ''}",
        kind,
        None,
        None,
        procedure,
    )


def _cause_row(started_ns: int, key: tuple[int, str, str, str, int]) -> _Named:
    name, kind, rank, _, procedure = _site_row(started_ns, key[1:])
    return name, kind, rank, key[0], procedure


def _pair_row(key: tuple[str, int, int]) -> _Named:
    kind, rank, cause = key
    return f"{rank} for {cause}", kind, rank, cause, ""


def _ranks(world: WaitWorld, waits: Iterable[Wait], phase: str | None) -> tuple[RankWait, ...]:
    waited: defaultdict[int, float] = defaultdict(float)
    caused: defaultdict[int, float] = defaultdict(float)
    mpi: defaultdict[int, float] = defaultdict(float)
    span: defaultdict[int, float] = defaultdict(float)
    for wait in waits:
        waited[wait.rank] += wait.wait_ns
        caused[wait.cause] += wait.wait_ns
    for time in world.phases:
        if phase is None or time.phase == phase:
            mpi[time.rank] += time.mpi_ns
            span[time.rank] += time.span_ns
    rows = [RankWait(rank, waited[rank], caused[rank], mpi[rank], span[rank]) for rank in world.ranks]
    return tuple(sorted(rows, key=lambda row: (-row.waited_ns, row.rank)))


def _balance(world: WaitWorld, phase: str | None) -> tuple[PhaseBalance, ...]:
    work: defaultdict[str, dict[int, float]] = defaultdict(dict)
    phased = any(time.phase for time in world.phases)
    for time in world.phases:
        if phase is not None and time.phase != phase:
            continue
        name = time.phase or (NO_PHASE if phased else WHOLE_RUN)
        outside_ns = max(0.0, time.span_ns - time.mpi_ns)
        work[name][time.rank] = work[name].get(time.rank, 0.0) + outside_ns
    rows = [_balance_row(name, by_rank, len(world.ranks)) for name, by_rank in work.items()]
    return tuple(sorted(rows, key=lambda row: (row.mean_ns - row.max_ns, row.phase)))


def _balance_row(name: str, by_rank: dict[int, float], ranks: int) -> PhaseBalance:
    """A rank that was never in the phase did no work in it."""
    mean = sum(by_rank.values()) / ranks
    slowest = max(by_rank, key=lambda rank: (by_rank[rank], -rank))
    largest = by_rank[slowest]
    return PhaseBalance(name, mean, largest, largest / mean if mean > 0 else 1.0, slowest)


def _collectives(world: WaitWorld) -> tuple[CollectiveBalance, ...]:
    rows = [
        CollectiveBalance(
            each.procedure,
            each.communicator or "unnamed",
            each.count,
            each.spread_ns,
            each.latest,
            each.latest_count,
        )
        for each in world.arrivals
    ]
    return tuple(sorted(rows, key=lambda row: (-row.spread_ns, row.procedure, row.communicator)))


def _clocks(world: WaitWorld) -> str:
    nodes = {clock.node for clock in world.clocks}
    if len(nodes) <= 1:
        return "all ranks read one clock"
    compared = [clock.uncertainty_ns for clock in world.clocks if clock.source == "compared"]
    realtime = sum(clock.source == "realtime" for clock in world.clocks)
    if realtime:
        return f"{len(nodes)} nodes; {realtime} ranks placed by CLOCK_REALTIME only"
    doubt_us = max(compared, default=0.0) * 1e-3
    moved = ""
    if world.corrections:
        moved = (
            f"; {world.corrections} effects before their cause, by up to"
            f" {world.largest_correction_ns * 1e-3:.1f} µs, put right"
        )
    return f"{len(nodes)} nodes, clocks compared to within {doubt_us:.1f} µs{moved}"
