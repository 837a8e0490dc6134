"""Paper 003's overhead study on simulated SPEs: what runs where, and what its figures 2 to 5 say.

Two numbers are fitted, to one published cost per call each: what a page that an MFC has never used costs on a
QS22 (figure 5), and what the PS3's hypervisor adds to it (figure 2). The software of a call with a message is
fitted to the time that both figures leave for it. Figures 3 and 4 are predictions.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from corewise import _lab
from corewise._core import Machine
from corewise.data.machines import load_cell

PAGE_FAULT_CYCLES = 568_000
"""Of a page's first use on a QS22: fitted to figure 5."""
HYPERVISOR_FAULT_CYCLES = 364_000
"""That the PS3's hypervisor adds: fitted to figure 2."""
CALL_CYCLES = 600
"""Of the messages' software in every call: fitted to what figures 2 and 5 leave for a call without the
profiler: 1.1 and 1.0 us."""
MEMORY_LIMIT = 200_000_000
"""Bytes of a PS3's memory for event pages (section 3.1: less than 200 MB)."""
PAGES = 10_000
"""Event pages per SPE on a QS22 (section 3.1)."""
MESSAGE = 4800
LONG_MESSAGE = 12_800
HALF = 5120
SATURATED = 36_000
"""Events, where the paper's figure 2 begins to saturate."""
PAPER_EVENT = 80

ATOMS, PAIRS, PAIR_CYCLES = 1000, 28, 20
"""Molecular dynamics on an SPE, assumed: atoms, pairs within the cutoff per atom, cycles of a pair."""
STEPS = 100
BOUNDARY = 4800
"""Bytes of a molecular dynamics message, assumed: as many as figure 2's."""


@dataclass(frozen=True)
class Host:
    """A Cell of the study.

    Attributes
    ----------
    name : str
        Of its machine file.
    columns, rows : int
        Grid of its SPEs.
    parameters : mapping of str to float
        Of the simulation, instead of the file's.
    memory_limit : int
        Bytes of event pages of all SPEs; 0: as many as asked for.
    """

    name: str
    columns: int
    rows: int
    parameters: Mapping[str, float]
    memory_limit: int

    @property
    def spes(self) -> int:
        """How many take part."""
        return self.columns * self.rows

    def machine(self) -> Machine:
        """As it is simulated."""
        return load_cell(self.name, self.parameters)


_FAULTS = {"mfc_page_fault_cycles": PAGE_FAULT_CYCLES, "mfc_hits_under_fault": 1}
PS3 = Host(
    "ps3",
    3,
    2,
    MappingProxyType({**_FAULTS, "hypervisor_fault_cycles": HYPERVISOR_FAULT_CYCLES}),
    MEMORY_LIMIT,
)
QS22 = Host("qs22", 4, 2, MappingProxyType(_FAULTS), 0)


@dataclass(frozen=True)
class Effort:
    """How much is simulated.

    Attributes
    ----------
    events : tuple of int
        Of all SPEs, in figure 2.
    linear : tuple of int
        In figure 5.
    sizes : tuple of int
        Of messages, in bytes, in figure 3.
    halves : tuple of int
        Of one buffer, in bytes, in figure 4.
    saturated : int
        Events in figures 3 and 4 (a).
    steps : int
        Of molecular dynamics, in figure 4 (b).
    """

    events: tuple[int, ...]
    linear: tuple[int, ...]
    sizes: tuple[int, ...]
    halves: tuple[int, ...]
    saturated: int
    steps: int


FULL = Effort(
    (100, 300, 1000, 3000, 10_000, SATURATED, 100_000, 1_000_000),
    (1000, 5000, 10_000, 20_000, SATURATED, 60_000),
    (16, 256, 1024, 2400, MESSAGE, 8000, LONG_MESSAGE),
    (1280, 2560, HALF, 2 * HALF, 4 * HALF),
    SATURATED,
    STEPS,
)
QUICK = Effort(
    (300, 3000, 10_000),
    (3000, 10_000),
    (256, MESSAGE, LONG_MESSAGE),
    (HALF, 2 * HALF, 4 * HALF),
    10_000,
    STEPS,
)


@dataclass(frozen=True)
class Point:
    """A program with the profiler against the same one without.

    Attributes
    ----------
    at : float
        Events, bytes of a message, or bytes of a buffer.
    per_call_us : float
        What the profiler added to a call of an SPE.
    slowdown : float
        Time with it over time without.
    plain : float
        Microseconds of a call without it.
    faults : int
        Pages that MFCs used for the first time.
    lost_bytes : int
        Of events that found no page.
    """

    at: float
    per_call_us: float
    slowdown: float
    plain: float
    faults: int
    lost_bytes: int


@dataclass(frozen=True)
class Study:
    """Everything that was simulated; `ours` is figure 2's and figure 5's saturation with our own records."""

    effort: Effort
    figure2: tuple[Point, ...]
    figure3: tuple[Point, ...]
    kernel4: tuple[Point, ...]
    dynamics4: tuple[Point, ...]
    figure5: tuple[Point, ...]
    ours: tuple[Point, Point]
    no_faults: Point
    event_types: tuple[tuple[str, str, int], ...]
    local_store: int


def point(at: float, spes: int, plain: _lab.ProfiledResult, recorded: _lab.ProfiledResult) -> Point:
    """From a run without and a run with the profiler."""
    per_spe = plain.calls / spes
    return Point(
        at,
        (recorded.time_us - plain.time_us) / per_spe,
        recorded.time_us / plain.time_us,
        plain.time_us / per_spe,
        recorded.page_faults,
        recorded.lost_bytes,
    )


def run_of(host: Host, machine: Machine, message: int, half: int = HALF) -> _lab.ProfiledRun:
    """A run of the communication kernel with the paper's records."""
    run = _lab.ProfiledRun(machine)
    run.columns, run.rows = host.columns, host.rows
    run.call_cycles = CALL_CYCLES
    run.message_bytes = message
    run.memory_limit_bytes = host.memory_limit
    run.half_bytes = half
    share = host.memory_limit // host.spes if host.memory_limit else PAGES * HALF
    run.pages = min(PAGES * HALF, share) // half
    run.layout = "paper"
    return run


def dynamics_run(host: Host, steps: int, half: int = HALF) -> _lab.ProfiledRun:
    """A run of molecular dynamics with function events off (figure 4, b)."""
    run = run_of(host, host.machine(), BOUNDARY, half)
    run.program = "dynamics"
    run.rounds = steps
    run.compute_cycles = ATOMS * PAIRS * PAIR_CYCLES
    run.functions = False
    return run
