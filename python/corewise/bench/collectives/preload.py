"""What a program gets: MPI's collectives through the accelerate library, beside the MPI's own behind it.

Both are measured in one run, in turn within every round (``bench/collectives/through_preload.cpp`` says how).
Every cell, a collective of a size under an MPI, has launches of its own, which take turns with those of all
other cells: processes differ, and the library counts what it took over launch by launch. (A tuning's cells
share launches, of an algorithm each.) A cell that is slower than the MPI beyond chance is measured again,
with `AGAIN` times the rounds, and only that counts.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
import statistics
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from corewise.base import late
from corewise.bench.collectives import COLLECTIVES, PLAIN
from corewise.data.tuned_hosts import BUILT_IN, host_collectives, mpi_name
from corewise.errors import InputError

with late.imports():
    from corewise.analysis.spread import median_interval
    from corewise.bench import mpis
    from corewise.bench.collectives.launches import launched
    from corewise.bench.collectives.port import CORE
    from corewise.bench.programs import Program
    from corewise.bench.rounds import beside, middle, rounded
    from corewise.bench.rows import Listener, Row
    from corewise.data.accelerate import MAPPED, TAKEN, load_accelerate
    from corewise.mpi.build import build_accelerate
    from corewise.mpi.find import MpiLibrary
    from corewise.mpi.launch import ACCELERATE_KNOB

GRID = tuple(1 << power for power in range(23))
"""Every power of two, 1 B to 4 MiB."""
SIZES, QUICK_SIZES = GRID[3::4], (8, 32768)
MOST_BYTES = 1 << 28
AGAIN = 3
"""So many times the rounds for cells that were slower than the MPI."""
IN_MAPPED_MEMORY = ("bcast", "allreduce", "reduce", "reduce_scatter_block", "scan")
MAPPED_SIZES, QUICK_MAPPED_SIZES = GRID[14:21:2], (65536,)
"""What gains by mapped memory."""
COMBINING = frozenset(
    ("barrier", "reduce", "allreduce", "scan", "exscan", "reduce_scatter", "reduce_scatter_block")
)
"""What moves no data as they lie."""
WORDS = {"bcast": "broadcast"}
"""What a table calls a collective, where that is not its MPI name."""
OF_HOST = "host"
"""As a table: what `corewise run --accelerate` takes on this host, with each MPI its own."""
_EARLY = "the communicator was not set up yet"


@dataclass(frozen=True)
class Effort:
    """Rounds of a cell, the launches that share them, and microseconds for a round of each contestant."""

    rounds: int
    launches: int
    budget_us: int

    def shares(self) -> Iterator[tuple[int, int]]:
        """The first round and how many, of each launch."""
        first = 0
        for launch in range(self.launches):
            rounds = (self.rounds - first) // (self.launches - launch)
            if rounds > 0:
                yield first, rounds
            first += rounds


FULL, QUICK = Effort(21, 3, 15_000), Effort(7, 1, 4_000)


@dataclass(frozen=True)
class Wanted:
    """What is measured.

    Attributes
    ----------
    collectives : tuple of str
        Of `COLLECTIVES`.
    sizes : tuple of int
        Bytes, of a block where ranks send or receive several.
    ranks : int
    table : str
        For COREWISE_ACCELERATE: `BUILT_IN`, or a table's text; `OF_HOST`: what a run on this host gets.
    effort : Effort
    mapped : bool
        Buffers are of MPI_Alloc_mem, which the library maps on all ranks.
    gaps : int
        Data lie in runs of so many bytes, with gaps as long; 0: side by side.
    """

    collectives: tuple[str, ...] = PLAIN
    sizes: tuple[int, ...] = SIZES
    ranks: int = 2
    table: str = BUILT_IN
    effort: Effort = FULL
    mapped: bool = False
    gaps: int = 0


@dataclass
class Cell:
    """A collective of a size under an MPI.

    Attributes
    ----------
    table : str
        For COREWISE_ACCELERATE: `BUILT_IN`, or a table's text.
    times : list of (float, float, float)
        Nanoseconds of each round: through the library, the MPI's own, the floor (0: none).
    passed : str
        Why the library left the calls to the MPI; empty where it took them over.
    again : bool
        Whether this is what was found when it was measured again.
    mapped, lent : bool
        Buffers are of MPI_Alloc_mem; and the library did calls there.
    gaps : int
        As of `Wanted`.
    """

    mpi: MpiLibrary
    collective: str
    size: int
    table: str = BUILT_IN
    times: list[tuple[float, float, float]] = field(default_factory=list)
    passed: str = ""
    again: bool = False
    mapped: bool = False
    lent: bool = False
    gaps: int = 0

    @property
    def ratios(self) -> list[float]:
        """By round, above 1 where the library is quicker."""
        return [theirs / ours for ours, theirs, _ in self.times]

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the ratio's median."""
        return median_interval(self.ratios)

    @property
    def lost(self) -> bool:
        """Slower than the MPI beyond chance."""
        return self.interval is not None and self.interval[1] < 1


def collectives_in(table: str) -> tuple[str, ...]:
    """Those that a table has rows for."""
    if table in (BUILT_IN, "always", OF_HOST):
        return PLAIN
    words = set(re.findall(r"\w+", table))
    found = tuple(name for name in COLLECTIVES if WORDS.get(name, name) in words)
    if not found:
        raise InputError(
            f"--table: found '{table}', allowed: {BUILT_IN}, {OF_HOST}, always, or rows such as "
            "allreduce=1024:recursive_doubling,-:peer_stages"
        )
    return found


def _table_with(mpi: MpiLibrary, table: str) -> str:
    """The text for COREWISE_ACCELERATE."""
    return host_collectives(mpi_name(mpi.family, os.environ), mpi.version).knob if table == OF_HOST else table


def cells_of(libraries: Iterable[MpiLibrary], wanted: Wanted) -> list[Cell]:
    """In the order of the rows."""
    return [
        Cell(mpi, collective, size, table, mapped=wanted.mapped, gaps=wanted.gaps)
        for mpi in libraries
        for table in (_table_with(mpi, wanted.table),)
        for collective in wanted.collectives
        for size in ((0,) if collective == "barrier" else wanted.sizes)
    ]


class Runner:
    """Programs and libraries of some MPIs, and launches with them."""

    def __init__(self, libraries: Iterable[MpiLibrary], ranks: int, listener: Listener) -> None:
        self._ranks = ranks
        self._built = {mpi: (program_for(mpi, listener), build_accelerate(mpi)) for mpi in libraries}

    def measure(self, launches: Sequence[Sequence[Cell]], effort: Effort, listener: Listener) -> None:
        """Appends the rounds to the cells', launch by launch in turns.

        Parameters
        ----------
        launches : cells of one MPI, collective and table each.
        effort : of each.
        listener : hears of the progress.
        """
        shares = list(effort.shares())
        for turn, (first, rounds) in enumerate(shares):
            for place, cells in enumerate(launches):
                self._launch(cells, first, rounds, effort.budget_us)
                listener.progress((turn * len(launches) + place + 1) / (len(shares) * len(launches)))

    def _launch(self, cells: Sequence[Cell], first: int, rounds: int, budget_us: int) -> None:
        one = cells[0]
        program, library = self._built[one.mpi]
        words = [
            str(rounds),
            str(first),
            str(budget_us),
            *(("mapped",) if one.mapped else ()),
            *((f"gaps:{one.gaps}",) if one.gaps else ()),
            *(f"{cell.collective}:{cell.size}" for cell in cells),
        ]
        with tempfile.TemporaryDirectory(prefix="corewise-bench-") as folder:
            variables = {
                "LD_PRELOAD": str(library),
                ACCELERATE_KNOB: one.table,
                f"{ACCELERATE_KNOB}_AFTER": "1",
                "COREWISE_TRACE_DIR": folder,
            }
            said = launched(one.mpi, program, words, self._ranks, variables)
            passed = passed_in(Path(folder), one.collective)
            lent = one.mapped and lent_in(Path(folder), one.collective)
        by_size = {cell.size: cell for cell in cells}
        for cell in cells:
            cell.passed, cell.lent = passed, lent
        for line in said.splitlines():
            if line.startswith("round "):
                _, _, size, _, ours, theirs, floor = line.split()
                by_size[int(size)].times.append((float(ours), float(theirs), float(floor)))


def program_for(mpi: MpiLibrary, listener: Listener) -> Path:
    """The measuring program, built for an MPI."""
    name = f"through_preload-{mpis.slug(mpi)}"
    return Program(
        "collectives", name, ("through_preload.cpp",), CORE, libraries=("-ldl", "-pthread"), mpi=mpi
    ).build(listener)


def passed_in(folder: Path, collective: str) -> str:
    """Why calls were left to the MPI, as the library counted on any rank; empty: they were taken over."""
    procedure = f"MPI_{collective.capitalize()}"
    ranks = load_accelerate(folder)
    rows = [row for some in ranks.values() for row in some if row.procedure == procedure]
    reasons = [row.why for row in rows if row.outcome != TAKEN and row.why != _EARLY]
    if reasons:
        return reasons[0]
    return "" if any(row.outcome == TAKEN for row in rows) else "the library is not at work"


def lent_in(folder: Path, collective: str) -> bool:
    """Whether every rank counted calls that were done in mapped memory."""
    procedure = f"MPI_{collective.capitalize()}"
    ranks = load_accelerate(folder).values()
    return all(any(row.procedure == procedure and row.why == MAPPED for row in rows) for rows in ranks)


def measured_again(runner: Runner, cells: Sequence[Cell], effort: Effort, listener: Listener) -> list[Cell]:
    """The cells, new ones in the place of those that lost."""
    found = [replace(cell, times=[], again=True) if cell.lost else cell for cell in cells]
    longer = replace(effort, rounds=AGAIN * effort.rounds)
    runner.measure([[cell] for cell in found if cell.again], longer, listener)
    listener.progress(1.0)
    return found


def row_of(cell: Cell, wanted: Wanted) -> Row:
    """One cell."""
    title = mpis.title(cell.mpi)
    where = (", in mapped memory" if cell.lent else ", not in mapped memory") if cell.mapped else ""
    what = cell.collective if cell.collective == "barrier" else f"{cell.collective} of {cell.size} bytes"
    what += f" in runs of {cell.gaps}" if cell.gaps else ""
    low, high = cell.interval or (None, None)
    kind = ("mapped" if cell.mapped else "preload") + (f"-gaps{cell.gaps}" if cell.gaps else "")
    ours, theirs, floors = map(list, zip(*cell.times, strict=True)) if cell.times else ([], [], [])
    over_floor = [own / floor for own, _, floor in cell.times if floor > 0]
    blank = Row(
        f"collectives-{kind}-{cell.collective}-{cell.size}-{wanted.ranks}-{mpis.slug(cell.mpi)}",
        f"{what}, {wanted.ranks} processes, "
        + ("left to the MPI" if cell.passed else f"through the preload{where}"),
        "ns",
        None,
        title,
        floor=middle([floor for floor in floors if floor > 0]),
        mpi=title,
        more={
            "low": None if low is None else rounded(low),
            "high": None if high is None else rounded(high),
            "taken": not cell.passed,
            "passed": cell.passed or None,
            "again": cell.again,
            "table": cell.table,
            **({"mapped": cell.lent, "over_floor": middle(over_floor)} if cell.mapped else {}),
        },
    )
    return beside(blank, ours, theirs)


def remarks_of(cells: Sequence[Cell]) -> Iterator[str]:
    """A line per MPI: how much was taken over, how much quicker, what is slower."""
    by_mpi: dict[str, list[Cell]] = {}
    for cell in cells:
        by_mpi.setdefault(mpis.title(cell.mpi), []).append(cell)
    for title, some in by_mpi.items():
        taken = [statistics.median(cell.ratios) for cell in some if not cell.passed]
        mean = (
            f", {statistics.geometric_mean(taken):.2f} times as fast as by the MPI (geometric mean)"
            if taken
            else ""
        )
        lost = ", ".join(f"{cell.collective} {cell.size}" for cell in some if cell.lost and not cell.passed)
        passed = sum(cell.lost for cell in some if cell.passed)
        yield (
            f"through the preload, {title}: {len(taken)} of {len(some)} taken over{mean}; slower beyond "
            f"chance: {lost or 'none'} of these, and {passed} of those left to the MPI"
        )


def rows_of(
    listener: Listener, libraries: Sequence[MpiLibrary], wanted: Wanted
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Rows of all cells, and what they say together."""
    runner = Runner(libraries, wanted.ranks, listener)
    cells = cells_of(libraries, wanted)
    runner.measure([[cell] for cell in cells], wanted.effort, listener.part(0, 0.6))
    if wanted.table not in (BUILT_IN, OF_HOST) and all(cell.passed for cell in cells):
        raise InputError(
            f"--table: found '{wanted.table}', allowed: a table that takes a call over "
            f"(none was: {cells[0].passed})"
        )
    cells = measured_again(runner, cells, wanted.effort, listener.part(0.6, 1))
    return tuple(row_of(cell, wanted) for cell in cells), tuple(remarks_of(cells))
