"""A profile as tables: time per MPI call, call sites, ranks, sizes, communicators, and how the run ended.

Pure functions from a `Profile` to frozen rows; prints nothing. Starting and stopping MPI (``MPI_Init`` and
its kin) is kept apart from communication throughout: it dwarfs everything else in a short run and says
nothing about the program. Times are nanoseconds, volumes bytes.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, PairDifference, Pattern, RankSummary, Section, World, procedure_facts
from corewise.analysis.pattern import PatternSummary, summarise_pattern
from corewise.analysis.profile.accelerated import AcceleratedRow
from corewise.analysis.profile.cells import sum_in_blocks
from corewise.analysis.profile.hangs import FINISHED, RunEnd, explain_end
from corewise.data.profile import Profile, datatype_text
from corewise.data.quantities import count_text, cpu_list, share_text
from corewise.data.symbols.addresses import call_site_text, object_state

_NAMED_PAIRS = 4
MOSTLY_MPI = 0.5
"""With less of the run in MPI, most of it is computing."""


def starts_or_stops(procedure: str) -> bool:
    """Whether an MPI procedure starts or stops MPI."""
    return procedure_facts(procedure).sort == "startup"


@dataclass(frozen=True)
class CallRow:
    """One MPI procedure over all ranks.

    Attributes
    ----------
    procedure : str
        Its MPI name.
    calls, misses : int
        Calls, and how many of them were tests or probes that found nothing.
    ranks : int
        That called it.
    time_ns, mean_ns, longest_ns : float
        Total, per call, and longest, without polling.
    polling_ns : float
        Spans of repeated tests and probes that found nothing: an upper bound, the program's own work
        included.
    mpi_share, run_share : float or None
        Of all ranks' time in MPI, and of the whole run's, both without start and stop; None for those
        themselves.
    imbalance : float
        The slowest rank's time over the mean of all ranks.
    slowest : int or None
        The rank that spent most time in it; None where none stands out, because all spent the same.
    lost : float
        The part of the slowest rank's time that it would not spend if all spent the mean: 0 is balanced, 0.5
        says that half of it is imbalance.
    bytes : int
        Sent, received or contributed.
    """

    procedure: str
    calls: int
    misses: int
    ranks: int
    time_ns: float
    mean_ns: float
    longest_ns: float
    polling_ns: float
    mpi_share: float | None
    run_share: float | None
    imbalance: float
    slowest: int | None
    lost: float
    bytes: int


@dataclass(frozen=True)
class SectionRow:
    """A phase, or all visits of a region, over all ranks.

    Attributes
    ----------
    name : str
        Empty for what came before the first phase.
    ranks : int
        That were in it.
    entered, unclosed : int
        Visits of all ranks, and how many of them were never left.
    wall_ns, longest_ns : float
        Mean over those ranks, and of the rank that was in it longest. Starting and stopping MPI is left out.
    slowest : int
        That rank.
    mpi_ns, share : float
        Mean time in MPI calls, and what part of `wall_ns` that is.
    sent_bytes, received_bytes, collective_bytes, one_sided_bytes, file_bytes : int
        Of all ranks; collectives as the calls say, not as modelled.
    """

    name: str
    ranks: int
    entered: int
    unclosed: int
    wall_ns: float
    longest_ns: float
    slowest: int
    mpi_ns: float
    share: float
    calls: int
    sent_bytes: int
    received_bytes: int
    collective_bytes: int
    one_sided_bytes: int
    file_bytes: int


@dataclass(frozen=True)
class OtherTraffic:
    """What is neither point-to-point nor collective, of all ranks.

    Attributes
    ----------
    put_bytes, put_count, get_bytes, get_count : int
        One-sided.
    read_bytes, written_bytes : int
        Of files, through MPI.
    """

    put_bytes: int
    put_count: int
    get_bytes: int
    get_count: int
    read_bytes: int
    written_bytes: int

    @property
    def any(self) -> bool:
        """Whether there was any of it."""
        return bool(self.put_count or self.get_count or self.read_bytes or self.written_bytes)


@dataclass(frozen=True)
class SiteRow:
    """One place in the program that calls MPI, over all ranks.

    Attributes
    ----------
    where : str
        ``function (file.c:42)``; ``function+0x1c`` without debug information, ``program+0x1234`` where the
        function is unknown.
    object : str
        Path of the program or library.
    file_offset : int
        Of the return address in it.
    changed : bool
        The file was modified after the run: it names no function.
    """

    where: str
    object: str
    file_offset: int
    changed: bool
    procedure: str
    ranks: int
    calls: int
    time_ns: float
    polling_ns: float
    bytes: int


@dataclass(frozen=True)
class RankRow:
    """One rank.

    Attributes
    ----------
    ending : str
        ``finalized``, ``aborted``, ``running`` (never finished) or ``missing`` (left no readable file).
    wall_ns : float
        Between the end of MPI_Init and the start of MPI_Finalize, as far as those were recorded.
    mpi_ns, share : float
        In MPI calls except start and stop, and what part of `wall_ns` that is (over 1 with several threads).
    startup_ns : float
        In starting and stopping MPI.
    cpus : str
        Processing units it might run on, as ``0-3,8``; `moved` says that the list changed during the run.
    """

    rank: int
    ending: str
    abort_code: int
    host: str
    threads: int
    wall_ns: float
    mpi_ns: float
    share: float
    startup_ns: float
    polling_ns: float
    sent_bytes: int
    received_bytes: int
    records: int
    cpus: str
    moved: bool


@dataclass(frozen=True)
class SizeRow:
    """Messages from `low_bytes` to `high_bytes`."""

    low_bytes: int
    high_bytes: int
    messages: int
    bytes: int
    collective_calls: int
    collective_bytes: int


@dataclass(frozen=True)
class DatatypeRow:
    """What was sent, and contributed to collectives, of one datatype.

    `elements` are of the messages: bytes over the datatype's size.
    """

    name: str
    size_bytes: int
    extent_bytes: int
    derived: bool
    messages: int
    elements: int
    bytes: int
    collective_calls: int
    collective_bytes: int


@dataclass(frozen=True)
class CommRow:
    """One communicator's traffic."""

    name: str
    size: int
    remote_size: int
    messages: int
    bytes: int
    collective_bytes: int


@dataclass(frozen=True)
class Ending:
    """How the run ended.

    Attributes
    ----------
    finished : bool
        Every rank reached the end of MPI_Finalize.
    statement : str
        One sentence for people.
    """

    finished: bool
    statement: str


@dataclass(frozen=True)
class Consistency:
    """Whether what was sent is what arrived.

    Attributes
    ----------
    pairs : int
        Pairs of ranks that exchanged messages.
    differing : tuple
        The `PairDifference` of every pair whose two ends disagree.
    statement : str
        One sentence for people.
    """

    pairs: int
    differing: tuple[PairDifference, ...]
    statement: str


@dataclass(frozen=True)
class ProfileAnalysis:
    """Everything that a report shows of the main world.

    `end` says where every rank of a run was that did not finish. `functions` counts records of functions
    entered and left; `stopped` has (rank, stops, nanoseconds)
    of every rank whose program switched recording off. `accelerated` is not in the trace: who read the
    counts of the accelerate library puts it there.
    """

    profile: Profile
    world: World
    pattern: Pattern
    summary: PatternSummary
    ending: Ending
    records: int
    wall_ns: float
    startup_ns: float
    calls: tuple[CallRow, ...]
    sites: tuple[SiteRow, ...]
    ranks: tuple[RankRow, ...]
    sizes: tuple[SizeRow, ...]
    communicators: tuple[CommRow, ...]
    phases: tuple[SectionRow, ...]
    regions: tuple[SectionRow, ...]
    other: OtherTraffic
    functions: int
    stopped: tuple[tuple[int, int, float], ...]
    consistency: Consistency
    collective_bytes: int
    one_sided_bytes: int
    imbalance: float
    warnings: tuple[str, ...]
    accelerated: tuple[AcceleratedRow, ...] = ()
    end: RunEnd = FINISHED
    datatypes: tuple[DatatypeRow, ...] = ()

    @property
    def empty(self) -> bool:
        """Ranks came, but nothing was recorded."""
        return self.records == 0

    @property
    def mpi_share(self) -> float:
        """What part of the run all ranks spent in MPI, both without start and stop; 0 where nobody knows."""
        run_ns = sum(row.wall_ns for row in self.ranks)
        return sum(row.mpi_ns for row in self.ranks) / run_ns if run_ns > 0 else 0.0

    @property
    def balance(self) -> str:
        """One sentence on where the time went; empty where no call was timed."""
        if self.mpi_share <= 0:
            return ""
        spent = f"{share_text(self.mpi_share)} of the run in MPI"
        return (
            f"{spent}: most of the time goes into computing (use a CPU profiler)" if self.computing else spent
        )

    @property
    def computing(self) -> bool:
        """Whether most of the run is not MPI's."""
        return 0 < self.mpi_share < MOSTLY_MPI


def analyse_profile(profile: Profile) -> ProfileAnalysis:
    """Builds all tables of the main world that come from its trace."""
    world = profile.world
    pattern = profile.pattern()
    ranks = _rank_rows(world)
    present = [row for row in ranks if row.ending != "missing"]
    return ProfileAnalysis(
        profile=profile,
        world=world,
        pattern=pattern,
        summary=summarise_pattern(pattern),
        ending=_ending(world, ranks, profile.meta.exit_status is not None),
        records=sum(row.records for row in ranks),
        wall_ns=max((rank.wall_ns for rank in world.ranks), default=0.0),
        startup_ns=_mean([row.startup_ns for row in present]),
        calls=call_rows(world),
        sites=_site_rows(world),
        ranks=ranks,
        sizes=_size_rows(world),
        communicators=_comm_rows(world),
        phases=_phase_rows(world),
        regions=_section_rows(world.regions, world.region_totals),
        other=_other(world),
        functions=sum(rank.functions for rank in world.ranks),
        stopped=tuple((rank.rank, rank.stops, rank.stopped_ns) for rank in world.ranks if rank.stops),
        consistency=_consistency(world),
        collective_bytes=collective_bytes(world),
        one_sided_bytes=int(world.coordinates("put")[2].sum() + world.coordinates("get")[2].sum()),
        imbalance=_ratio([row.mpi_ns for row in present]),
        warnings=_warnings(profile, world),
        end=explain_end(world),
        datatypes=_datatype_rows(world),
    )


def collective_bytes(world: World) -> int:
    """Bytes of all collectives, as modelled."""
    return int(world.coordinates("collective")[2].sum())


def placement_scope(world: World, machine: Machine | None = None) -> tuple[bool, str]:
    """What a placement made from the world's point-to-point messages goes by.

    Returns
    -------
    possible : bool
        False where no message carries a byte (every placement is as good as any other), or where the machine
        has fewer units than the world has ranks.
    note : str
        One sentence on what is left out, or on why nothing can be placed; else empty.
    """
    if machine is not None and world.size > len(machine.units):
        few = f"{len(machine.units)} units, and every rank needs one of its own"
        return False, f"{world.size} ranks are not placed: '{machine.name}' has {few}"
    _, _, size_bytes, messages = world.coordinates("sent")
    collective = collective_bytes(world)
    if int(size_bytes.sum()) == 0:
        found = "all point-to-point messages are empty" if messages.size else "no point-to-point messages"
        left = f"; {count_text(collective)} bytes of collectives are not considered" if collective else ""
        return False, f"{found}: nothing to place{left}"
    return (
        True,
        f"{count_text(collective)} bytes of collectives are not in the placement" if collective else "",
    )


def matrix_blocks(world: World, kind: str, most_cells: int) -> tuple[NDArray[np.uint64], int]:
    """One kind of traffic as a square table that is small enough to draw.

    Parameters
    ----------
    world : World
        Whose traffic.
    kind : str
        ``sent``, ``received``, ``collective``, ``put`` or ``get``.
    most_cells : int
        Of a side. More ranks are summed into blocks.

    Returns
    -------
    cells : ndarray of uint64, shape (side, side)
        Bytes from row to column.
    block : int
        Ranks per cell side.
    """
    senders, receivers, size_bytes, _ = world.coordinates(kind)
    return sum_in_blocks(world.size, most_cells, senders, receivers, size_bytes)


# ---- calls and sites -------------------------------------------------------------------------------------


def call_rows(world: World) -> tuple[CallRow, ...]:
    """Time per MPI procedure, longest total first, start and stop last."""
    calls, misses, time_ns = world.calls, world.misses, world.time_ns
    polling_ns, longest_ns, size_bytes = world.polling_ns, world.longest_ns, world.bytes
    counted = [index for index, name in enumerate(world.procedures) if not starts_or_stops(name)]
    in_mpi = float(time_ns[:, counted].sum()) or 1.0
    in_run = sum(row.wall_ns for row in _rank_rows(world)) or 1.0
    rows = []
    for index, procedure in enumerate(world.procedures):
        total = float(time_ns[:, index].sum())
        timed = int(calls[:, index].sum() - misses[:, index].sum())
        rows.append(
            CallRow(
                procedure=procedure,
                calls=int(calls[:, index].sum()),
                misses=int(misses[:, index].sum()),
                ranks=int((calls[:, index] > 0).sum()),
                time_ns=total,
                mean_ns=total / timed if timed else 0.0,
                longest_ns=float(longest_ns[:, index].max()),
                polling_ns=float(polling_ns[:, index].sum()),
                mpi_share=None if starts_or_stops(procedure) else total / in_mpi,
                run_share=None if starts_or_stops(procedure) else total / in_run,
                imbalance=_ratio([float(value) for value in time_ns[:, index]]),
                slowest=_slowest(world, time_ns[:, index]),
                lost=_lost(time_ns[:, index]),
                bytes=int(size_bytes[:, index].sum()),
            )
        )
    rows.sort(key=lambda row: (row.mpi_share is None, -row.time_ns, row.procedure))
    return tuple(rows)


def _slowest(world: World, times: NDArray[np.float64]) -> int | None:
    """The rank with the largest time, where it is the only one."""
    most = times.max()
    return (
        int(world.ranks[int(times.argmax())].rank)
        if int((times == most).sum()) == 1 and times.size > 1
        else None
    )


def _lost(times: NDArray[np.float64]) -> float:
    most = float(times.max())
    return 1 - float(times.mean()) / most if most > 0 else 0.0


def _site_rows(world: World) -> tuple[SiteRow, ...]:
    started = min((rank.started_realtime_ns for rank in world.ranks), default=0)
    rows = []
    for site in world.sites:
        where, changed = call_site_name(site.object, site.file_offset, started)
        rows.append(
            SiteRow(
                where=where,
                object=site.object,
                file_offset=site.file_offset,
                changed=changed,
                procedure=world.procedures[site.procedure],
                ranks=site.ranks,
                calls=site.calls,
                time_ns=site.time_ns,
                polling_ns=site.polling_ns,
                bytes=site.bytes,
            )
        )
    rows.sort(key=lambda row: (starts_or_stops(row.procedure), -row.time_ns, row.where))
    return tuple(rows)


def call_site_name(path: str, file_offset: int, started_ns: int) -> tuple[str, bool]:
    """A call site for people, and whether its file was modified after the run: then it names no function.

    Parameters
    ----------
    path, file_offset : str, int
        The file and the return address in it.
    started_ns : int
        When the run began, in nanoseconds since 1970; 0 unknown.
    """
    if object_state(path, started_ns) == "changed":
        return f"{Path(path).name}+0x{file_offset:x}", True
    return call_site_text(path, file_offset), False


def _datatype_rows(world: World) -> tuple[DatatypeRow, ...]:
    """Those that carried something, most bytes first. Derived ones that look alike stand in one row."""
    rows = [
        DatatypeRow(
            name=datatype_text(each.name, each.size_bytes, each.derived),
            size_bytes=each.size_bytes,
            extent_bytes=each.extent_bytes,
            derived=each.derived,
            messages=each.messages,
            elements=each.bytes // each.size_bytes if each.size_bytes else 0,
            bytes=each.bytes,
            collective_calls=each.collective_calls,
            collective_bytes=each.collective_bytes,
        )
        for each in world.datatypes
        if each.messages or each.collective_calls
    ]
    return tuple(sorted(rows, key=lambda row: (-row.bytes - row.collective_bytes, row.name)))


# ---- phases and regions, one-sided, files ----------------------------------------------------------------


def _phase_rows(world: World) -> tuple[SectionRow, ...]:
    """Empty where the program named no phase."""
    return _section_rows(world.phases, world.phase_totals) if len(world.phases) > 1 else ()


def _section_rows(names: Sequence[str], totals: Sequence[Section]) -> tuple[SectionRow, ...]:
    of_name: dict[int, list[Section]] = {}
    for section in totals:
        of_name.setdefault(section.name, []).append(section)
    return tuple(
        _section_row(names[index], of_name[index]) for index in range(len(names)) if index in of_name
    )


def _section_row(name: str, sections: Sequence[Section]) -> SectionRow:
    wall_ns = _mean([each.wall_ns for each in sections])
    mpi_ns = _mean([each.mpi_ns for each in sections])
    longest = max(sections, key=lambda each: each.wall_ns)
    return SectionRow(
        name=name,
        ranks=len(sections),
        entered=sum(each.entered for each in sections),
        unclosed=sum(each.unclosed for each in sections),
        wall_ns=wall_ns,
        longest_ns=longest.wall_ns,
        slowest=longest.rank,
        mpi_ns=mpi_ns,
        share=mpi_ns / wall_ns if wall_ns > 0 else 0.0,
        calls=sum(each.calls for each in sections),
        sent_bytes=sum(each.sent_bytes for each in sections),
        received_bytes=sum(each.received_bytes for each in sections),
        collective_bytes=sum(each.collective_bytes for each in sections),
        one_sided_bytes=sum(each.one_sided_bytes for each in sections),
        file_bytes=sum(each.file_bytes for each in sections),
    )


def _other(world: World) -> OtherTraffic:
    put, got = world.coordinates("put"), world.coordinates("get")
    return OtherTraffic(
        put_bytes=int(put[2].sum()),
        put_count=int(put[3].sum()),
        get_bytes=int(got[2].sum()),
        get_count=int(got[3].sum()),
        read_bytes=sum(rank.file_read_bytes for rank in world.ranks),
        written_bytes=sum(rank.file_written_bytes for rank in world.ranks),
    )


# ---- ranks -----------------------------------------------------------------------------------------------


def _rank_rows(world: World) -> tuple[RankRow, ...]:
    sent, received = _per_rank_bytes(world)
    startup = [index for index, name in enumerate(world.procedures) if starts_or_stops(name)]
    startup_ns = world.time_ns[:, startup].sum(axis=1)
    found = {
        rank.rank: _rank_row(rank, float(startup_ns[index]), sent, received)
        for index, rank in enumerate(world.ranks)
    }
    return tuple(found.get(rank) or _missing(rank) for rank in range(world.size))


def _per_rank_bytes(world: World) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Point-to-point bytes as each rank itself saw them leave and arrive."""
    sent = np.zeros(world.size, dtype=np.uint64)
    received = np.zeros(world.size, dtype=np.uint64)
    senders, _, size_bytes, _ = world.coordinates("sent")
    np.add.at(sent, senders, size_bytes)
    _, receivers, size_bytes, _ = world.coordinates("received")
    np.add.at(received, receivers, size_bytes)
    return sent, received


def _rank_row(
    rank: RankSummary, startup_ns: float, sent: NDArray[np.uint64], received: NDArray[np.uint64]
) -> RankRow:
    wall_ns = max(0.0, rank.wall_ns - startup_ns)
    mpi_ns = max(0.0, rank.mpi_ns - startup_ns)
    return RankRow(
        rank=rank.rank,
        ending=rank.ending,
        abort_code=rank.abort_code,
        host=rank.host,
        threads=rank.threads,
        wall_ns=wall_ns,
        mpi_ns=mpi_ns,
        share=mpi_ns / wall_ns if wall_ns > 0 else 0.0,
        startup_ns=startup_ns,
        polling_ns=rank.polling_ns,
        sent_bytes=int(sent[rank.rank]),
        received_bytes=int(received[rank.rank]),
        records=rank.records,
        cpus=cpu_list(rank.cpus_start),
        moved=bool(rank.cpus_end) and list(rank.cpus_end) != list(rank.cpus_start),
    )


def _missing(rank: int) -> RankRow:
    return RankRow(rank, "missing", 0, "", 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0, "", False)


# ---- how it ended ----------------------------------------------------------------------------------------


def _ending(world: World, ranks: Sequence[RankRow], over: bool) -> Ending:
    unfinished = [row.rank for row in ranks if row.ending == "running"]
    aborted = [row for row in ranks if row.ending == "aborted"]
    missing = [row.rank for row in ranks if row.ending == "missing"]
    if not unfinished and not aborted and not missing:
        return Ending(True, f"finished: {_all(world.size)} reached the end of MPI_Finalize")
    parts = []
    if aborted:
        codes = ", ".join(sorted({str(row.abort_code) for row in aborted}))
        parts.append(f"{_ranks([row.rank for row in aborted])} called MPI_Abort (code {codes})")
    if unfinished:
        parts.append(_unfinished(unfinished, explained=bool(aborted), over=over))
    if missing:
        parts.append(f"{_ranks(missing)} left no readable trace")
    kept = f"all {count_text(sum(row.records for row in ranks))} records up to then are here"
    if missing or any(_lost_bytes(rank) for rank in world.ranks):
        kept = f"{count_text(sum(row.records for row in ranks))} records are here"
    return Ending(False, f"did not finish: {'; '.join(parts)}; {kept}")


def _unfinished(unfinished: Sequence[int], explained: bool, over: bool) -> str:
    """Which of them died first cannot be told: the one that waited longest has the oldest last record."""
    if explained:
        return f"{_ranks(unfinished)} ended with it"
    running = "" if over else " or is still running" if len(unfinished) == 1 else " or are still running"
    return f"{_ranks(unfinished)} ended without MPI_Finalize{running}"


def _ranks(ranks: Sequence[int]) -> str:
    text = cpu_list(sorted(ranks))
    return f"rank {text}" if len(ranks) == 1 else f"ranks {text}"


def _all(size: int) -> str:
    return "the one rank" if size == 1 else f"all {size} ranks"


def _lost_bytes(rank: RankSummary) -> int:
    losses = rank.losses
    return int(losses.record_bytes + losses.missing_bytes + losses.overwritten_bytes + losses.damaged_blocks)


# ---- warnings --------------------------------------------------------------------------------------------

_LOSSES = (
    ("record_bytes", "bytes of records lost: the file system was full"),
    (
        "missing_bytes",
        "bytes missing at the trace file's end: cut short, or the file system was full",
    ),
    ("damaged_blocks", "damaged blocks in the trace file"),
    ("overwritten_bytes", "bytes of older records given up (flight recorder)"),
    ("requests", "requests did not fit in the table: their arrival is unknown"),
    ("sites", "calls whose call site did not fit in the table"),
    ("communicators", "communicators beyond the trace's index"),
    ("nested", "events dropped because a signal handler interrupted the recorder"),
    ("bad_peers", "records name a rank that does not exist"),
    ("names", "records of regions and phases whose name did not fit in the table"),
    ("functions", "records of functions that could not be kept before MPI_Init"),
)


def _warnings(profile: Profile, world: World) -> tuple[str, ...]:
    warnings = list(profile.problems)
    for name, what in _LOSSES:
        lost = {rank.rank: int(getattr(rank.losses, name)) for rank in world.ranks}
        losers = [rank for rank, value in lost.items() if value]
        if losers:
            warnings.append(f"{_ranks(losers)}: {count_text(sum(lost.values()))} {what}")
    warnings.extend(_clock_warnings(world))
    warnings.extend(_choice_warnings(world))
    outside = sum(rank.outside_sent_bytes + rank.outside_received_bytes for rank in world.ranks)
    if outside:
        warnings.append(
            f"{count_text(outside)} bytes to or from processes of other worlds are not in the matrix"
        )
    unmodelled = sum(rank.unmodelled_bytes for rank in world.ranks)
    if unmodelled:
        warnings.append(f"{count_text(unmodelled)} bytes of collectives are not in the collective matrix")
    if len(profile.worlds) > 1:
        others = ", ".join(f"{other.name} ({other.size} ranks)" for other in profile.worlds[1:])
        warnings.append(f"shown is the main world; this profile also holds {others}")
    status = profile.meta.exit_status
    if status:
        warnings.append(f"the launcher ended with exit status {status}")
    return tuple(warnings)


_KINDS = (
    (1, "calls that move nothing"),
    (2, "point-to-point messages"),
    (4, "collectives"),
    (8, "one-sided data"),
    (16, "files"),
    (64, "regions and phases"),
    (128, "call sites"),
)


def _choice_warnings(world: World) -> list[str]:
    """What is not in the tables because nobody asked for it."""
    left_out = [
        what for bit, what in _KINDS if world.ranks and not any(rank.kinds & bit for rank in world.ranks)
    ]
    found = [f"not recorded, as asked: {', '.join(left_out)}"] if left_out else []
    stopped = [rank for rank in world.ranks if rank.stops]
    if stopped:
        longest = max(stopped, key=lambda rank: rank.stopped_ns)
        part = share_text(longest.stopped_ns / longest.wall_ns) if longest.wall_ns > 0 else "all"
        found.append(
            f"{_ranks([rank.rank for rank in stopped])}: the program stopped recording; at most {part} of a "
            f"rank's time is not in the tables (rank {longest.rank})"
        )
    return found


def _clock_warnings(world: World) -> list[str]:
    unknown = [rank.rank for rank in world.ranks if not rank.clock_known]
    rough = [rank.rank for rank in world.ranks if rank.clock_known and not rank.clock_precise]
    found = []
    if unknown:
        found.append(f"{_ranks(unknown)}: the clock was never calibrated: times are clock ticks")
    if rough:
        found.append(f"{_ranks(rough)}: the clock was calibrated over less than 10 ms: times are rough")
    return found


# ---- traffic ---------------------------------------------------------------------------------------------


def _consistency(world: World) -> Consistency:
    pairs = len(world.coordinates("sent")[0])
    differing = tuple(world.differences())
    if not differing:
        statement = (
            f"what was sent arrived: {pairs} pairs agree in bytes and messages" if pairs else "no messages"
        )
        return Consistency(pairs, differing, statement)
    statement = f"{len(differing)} of {max(pairs, len(differing))} pairs differ: {_difference(differing)}"
    return Consistency(pairs, differing, statement)


def _difference(differing: Sequence[PairDifference]) -> str:
    lost = [(pair, pair.sent_bytes - pair.received_bytes) for pair in differing]
    parts = (
        ("sent but not received", [(pair, size_bytes) for pair, size_bytes in lost if size_bytes > 0]),
        ("received but not sent", [(pair, -size_bytes) for pair, size_bytes in lost if size_bytes < 0]),
        (
            "as many bytes, but not as many messages",
            [(pair, 0) for pair, size_bytes in lost if size_bytes == 0],
        ),
    )
    return "; ".join(f"{what}: {_pairs(pairs)}" for what, pairs in parts if pairs)


def _pairs(pairs: Sequence[tuple[PairDifference, int]]) -> str:
    """The largest differences by name, the others counted."""
    ordered = sorted(pairs, key=lambda entry: (-entry[1], entry[0].sender, entry[0].receiver))
    names = [f"{pair.sender}→{pair.receiver}" for pair, _ in ordered[:_NAMED_PAIRS]]
    if len(ordered) > _NAMED_PAIRS:
        names.append("...")
    total = sum(size_bytes for _, size_bytes in ordered)
    return f"{count_text(total)} B ({', '.join(names)})" if total else ", ".join(names)


def _size_rows(world: World) -> tuple[SizeRow, ...]:
    counts, size_bytes = world.histogram("sent")
    calls, call_bytes = world.histogram("collective")
    used = np.flatnonzero((counts > 0) | (calls > 0))
    return tuple(
        SizeRow(
            low_bytes=0 if bin_ == 0 else 1 << (int(bin_) - 1),
            high_bytes=0 if bin_ == 0 else (1 << int(bin_)) - 1,
            messages=int(counts[bin_]),
            bytes=int(size_bytes[bin_]),
            collective_calls=int(calls[bin_]),
            collective_bytes=int(call_bytes[bin_]),
        )
        for bin_ in used
    )


def _comm_rows(world: World) -> tuple[CommRow, ...]:
    rows = []
    for index, comm in enumerate(world.communicators):
        _, _, size_bytes, messages = world.coordinates("sent", index)
        collective = int(world.coordinates("collective", index)[2].sum())
        name = comm.name or f"from {comm.created_by or 'MPI'}"
        rows.append(
            CommRow(name, comm.size, comm.remote_size, int(messages.sum()), int(size_bytes.sum()), collective)
        )
    rows.sort(key=lambda row: -(row.bytes + row.collective_bytes))
    return tuple(rows)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _ratio(values: Sequence[float]) -> float:
    """The largest value over the mean; 1 where nothing is there to balance."""
    mean = _mean(values)
    return max(values) / mean if mean > 0 else 1.0
