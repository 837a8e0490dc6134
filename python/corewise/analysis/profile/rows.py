"""The rows of a profile's tables, and all that a report shows of a run; frozen.

Times are nanoseconds, volumes bytes; start and stop of MPI are kept apart from communication (`tables`).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass

from corewise._core import PairDifference, Pattern, World
from corewise.analysis.pattern import PatternSummary
from corewise.analysis.profile.accelerated import AcceleratedRow
from corewise.analysis.profile.hangs import FINISHED, RunEnd
from corewise.data.profile import Profile
from corewise.data.quantities import share_text

MOSTLY_MPI = 0.5
"""With less of the run in MPI, most of it is computing."""


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
