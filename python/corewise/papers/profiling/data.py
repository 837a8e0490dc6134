"""What paper 003's overhead study measures, and how its rounds become medians and spreads.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass, field

from corewise.analysis.spread import Spread, spread_of

PAPER_BUFFER = 5120
"""Bytes of one of the paper's two buffers: 64 events of 80 bytes."""
PAPER_EVENTS, PAPER_BYTES, PAPER_LARGE = 36000, 4800, 12800
"""Saturation of figure 2, its messages of 600 doubles, and the 12.5 KiB messages of figures 3 and 4."""
MODES = ("drain", "thread", "flight")
Case = tuple[int, int]
"""Events of a rank, bytes of a message."""
SATURATED: Case = (PAPER_EVENTS, PAPER_BYTES)
LARGE: Case = (PAPER_EVENTS, PAPER_LARGE)


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes
    ----------
    rounds : int
        Times that every contestant runs.
    repeat : int
        Repetitions of a case within a run; the fastest counts.
    events, sizes, buffers : tuple of int
        The axes of figures 2, 3 and 4: sends and receives of a rank, bytes of a message, bytes of a buffer.
    steps : int
        Time steps of the application.
    """

    rounds: int
    repeat: int
    events: tuple[int, ...]
    sizes: tuple[int, ...]
    buffers: tuple[int, ...]
    steps: int


FULL = Effort(
    5,
    3,
    (360, 1200, 3600, 12000, 36000, 120000),
    (8, 600, 1200, 2400, 4800, 12800, 25600),
    (4096, 5120, 10240, 20480, 32768, 65536, 262144),
    100,
)
QUICK = Effort(2, 1, (1200, 36000), (8, 4800, 12800), (5120, 65536), 40)


@dataclass(frozen=True)
class CaseTimes:
    """What one run of apps/sweep says of one case, ns per event and ns per call."""

    fastest: float
    p50: float
    p99: float
    p999: float


@dataclass
class SweepRun:
    """One run of apps/sweep."""

    null_ns: float = 0.0
    init_ms: float = 0.0
    finalize_ms: float = 0.0
    cases: dict[tuple[int, int], CaseTimes] = field(default_factory=dict)


Runs = dict[str, list[SweepRun]]
"""Contestant -> one run per round: "none", a mode, or "buffer N"."""


@dataclass(frozen=True)
class AppRuns:
    """The application: seconds per round without and with a recorder, and its calls.

    Attributes
    ----------
    seconds : dict of str to list of float
        Contestant -> net seconds (of the time steps) per round.
    calls_per_second : float
        Recorded calls of the busiest rank in a second.
    """

    seconds: dict[str, list[float]]
    calls_per_second: float


@dataclass(frozen=True)
class Study:
    """Everything that was measured with one MPI.

    Attributes
    ----------
    mpi : str
        Name and version.
    ranks : int
    effort : Effort
    runs : Runs
    application : AppRuns or None
        None for the second MPI.
    """

    mpi: str
    ranks: int
    effort: Effort
    runs: Runs
    application: AppRuns | None

    def added_ns(self, contestant: str, case: tuple[int, int]) -> Spread:
        """Nanoseconds per event that a recorder adds, round by round."""
        pairs = zip(self.runs[contestant], self.runs["none"], strict=True)
        return spread_of([run.cases[case].fastest - none.cases[case].fastest for run, none in pairs])

    def slowdown(self, contestant: str, case: tuple[int, int]) -> Spread:
        """Time with the recorder over time without, round by round."""
        pairs = zip(self.runs[contestant], self.runs["none"], strict=True)
        return spread_of([run.cases[case].fastest / none.cases[case].fastest for run, none in pairs])

    def null_added_ns(self, contestant: str) -> Spread:
        """Thread CPU time that a recorder adds to the cheapest call."""
        pairs = zip(self.runs[contestant], self.runs["none"], strict=True)
        return spread_of([run.null_ns - none.null_ns for run, none in pairs])

    def of(self, contestant: str, value: str) -> Spread:
        """A field of every run, e.g. ``init_ms``."""
        return spread_of([float(getattr(run, value)) for run in self.runs[contestant]])

    def tail(self, contestant: str, case: tuple[int, int], value: str) -> Spread:
        """A percentile of single calls: ``p50``, ``p99`` or ``p999``."""
        return spread_of([float(getattr(run.cases[case], value)) for run in self.runs[contestant]])

    def application_share(self, contestant: str) -> float:
        """Calls per second times the cost of a call: the share of the application's time."""
        assert self.application is not None
        return self.application.calls_per_second * self.null_added_ns(contestant).median * 1e-9
