"""Which algorithm of a collective is quickest on this host under an MPI, and where that is the MPI's own.

Every candidate is measured through the preload beside the MPI (`preload.Runner`), by a table that holds it
alone; a launch goes through all sizes, and the launches of all candidates take turns. What counts is the
ratio to the MPI within a round. So does what a call costs that is left to the MPI: the library looks at
its arguments first. A candidate is eligible where it is quicker than the MPI beyond chance, or than a call
that is left to it in the median. The best of those wins a size, unless the winner of the size below is as
good within `NEAR`; without one the call is left to the MPI. A collective whose blocks not every rank knows
has one row: its winner is quicker over all sizes taken together, and beyond chance slower at none.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import datetime
import math
import os
import shlex
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from corewise import __version__
from corewise.analysis.selection import Configuration, configuration, rows_of_sweep
from corewise.bench.collectives import COLLECTIVES
from corewise.bench.collectives.preload import WORDS, Cell, Effort, Runner
from corewise.bench.rows import Listener
from corewise.data.copy_hosts import host_name
from corewise.data.tuned_hosts import (
    NO_CMA,
    HostCollectives,
    load_host_tuning,
    mpi_name,
    processor_name,
)
from corewise.data.tuning import COLLECTIVES as NAMES
from corewise.data.tuning import HOST, LEFT_TO_MPI, Choice, Host, Tuning, TuningRow
from corewise.errors import InputError, RunError
from corewise.mpi.find import MpiLibrary

SIZES = (8, 32, 128, 256, 512, *(1 << power for power in (*range(10, 19), 20, 22)))
EAGER_BYTES, EAGER_BYTES_CROWDED = 256, 2048
"""What algorithms that send data inside their flags can do of `SIZES`; the other: where ranks share cores."""
ONE_COPY, ONE_COPY_BYTES, ONE_COPY_LEAST = "one_copy", 2048, (2048, 8192)
"""It asks the system for every copy, which never pays for less; and the least part that an end copies."""
PIECES = (4096, 16384)
"""Bytes moved at a time, beside what a buffer holds."""
FULL, QUICK = Effort(15, 3, 3_000), Effort(6, 1, 1_000)
NEAR = 0.97
UNKNOWN_BLOCKS = ("gatherv", "scatterv", "alltoallv")
"""Their rows have no sizes (`coll::Facts`)."""
_MPI = configuration(LEFT_TO_MPI)


@dataclass(frozen=True)
class Candidates:
    """Algorithms of a collective.

    With data inside their flags, in pieces, in pieces among more than two, by one copy between processes, and
    with data inside their flags among more than two.
    """

    eager: str = ""
    pieces: tuple[str, ...] = ()
    among_more: tuple[str, ...] = ()
    one_copy: bool = False
    eager_among_more: str = ""

    def on(self, ranks: int) -> Iterator[tuple[Configuration, tuple[int, ...]]]:
        """Each with the sizes that it can do."""
        most = EAGER_BYTES_CROWDED if ranks > len(os.sched_getaffinity(0)) else EAGER_BYTES
        for algorithm in (self.eager, self.eager_among_more if ranks > 2 else ""):
            if algorithm:
                yield configuration(algorithm), tuple(size for size in SIZES if size <= most)
        for algorithm in (*self.pieces, *(self.among_more if ranks > 2 else ())):
            yield configuration(algorithm), SIZES
            for piece in PIECES:
                yield (
                    configuration(algorithm, piece=piece),
                    tuple(size for size in SIZES if size > piece // 4),
                )
        for least in ONE_COPY_LEAST if self.one_copy else ():
            yield (
                configuration(ONE_COPY, min_piece=least),
                tuple(size for size in SIZES if size >= ONE_COPY_BYTES),
            )


_SCANS = Candidates("eager_recursive_doubling", ("chain",), ("recursive_doubling",), eager_among_more="eager")
_SCATTERED = Candidates("eager", ("pairwise",), ("recursive_halving",))
CANDIDATES: Mapping[str, Candidates] = MappingProxyType(
    {
        "bcast": Candidates("eager_tree", ("root_stage",), ("local_store_tree",), True),
        "reduce": Candidates("eager_tree", ("peer_stages",), ("tree",)),
        "allreduce": Candidates(
            "recursive_doubling",
            ("one_shot", "peer_stages"),
            ("rabenseifner", "ring"),
            eager_among_more="eager",
        ),
        "gather": Candidates("eager", ("linear",), ("tree",), True),
        "scatter": Candidates("eager", ("linear",), ("tree",), True),
        "allgather": Candidates("eager", ("ring",), ("bruck",), True),
        "alltoall": Candidates("eager", ("pairwise",), ("bruck",), True),
        "scan": _SCANS,
        "exscan": _SCANS,
        "reduce_scatter_block": _SCATTERED,
        "gatherv": Candidates("eager", ("linear",), (), True),
        "scatterv": Candidates("eager", ("linear",), (), True),
        "allgatherv": Candidates("eager", ("ring",), ("bruck",), True),
        "alltoallv": Candidates("eager", ("pairwise",), (), True),
        "reduce_scatter": _SCATTERED,
    }
)
BARRIERS = tuple(
    map(configuration, ("dissemination", "pairwise_exchange", "one_to_all", "tree", "atomic_increment"))
)


def candidates_of(collective: str, ranks: int) -> Iterator[tuple[Configuration, tuple[int, ...]]]:
    """What is tried, each with the sizes that it can do."""
    if collective == "barrier":
        return ((each, (0,)) for each in BARRIERS)
    found = CANDIDATES[collective].on(ranks)
    if collective in UNKNOWN_BLOCKS:
        eager = CANDIDATES[collective].eager
        return ((each, sizes if each.algorithm == eager else SIZES) for each, sizes in found)
    return found


def table_of(collective: str, candidate: Configuration) -> str:
    """The table that holds a candidate alone."""
    return (
        f"{WORDS.get(collective, collective)}=-:{Choice(candidate.algorithm, candidate.parameters, ()).knob}"
    )


def _left(collective: str) -> Iterator[tuple[Configuration, tuple[int, ...]]]:
    """The MPI, behind a library that has looked at a call's arguments, and the sizes."""
    if collective != "barrier" and collective not in UNKNOWN_BLOCKS:
        yield _MPI, SIZES


Measured = Mapping[Configuration, Sequence[Cell]]
"""The cells of every candidate, by size."""


def measure(
    mpi: MpiLibrary, ranks: int, collectives: Iterable[str], effort: Effort, listener: Listener
) -> dict[str, Measured]:
    """The cells of every collective."""
    found: dict[str, Measured] = {
        name: {
            candidate: [Cell(mpi, name, size, table_of(name, candidate)) for size in sizes]
            for candidate, sizes in (*candidates_of(name, ranks), *_left(name))
        }
        for name in collectives
    }
    launches = [cells for by in found.values() for cells in by.values()]
    Runner([mpi], ranks, listener).measure(launches, effort, listener)
    return {name: dict(_taken_over(by)) for name, by in found.items()}


def _taken_over(by: Measured) -> Iterator[tuple[Configuration, Sequence[Cell]]]:
    for candidate, cells in by.items():
        if candidate == _MPI or not cells[0].passed:
            yield candidate, cells
        elif candidate.algorithm != ONE_COPY:  # which the system may refuse
            raise RunError(f"{cells[0].table}: not taken over: {cells[0].passed}")


def rows_of(collective: str, ranks: int, measured: Measured) -> list[TuningRow]:
    """Who wins where."""
    if collective in UNKNOWN_BLOCKS:
        measured = _continued(collective, measured)
    by_size: dict[int, dict[Configuration, Cell]] = {}
    for candidate, cells in measured.items():
        for cell in cells:
            by_size.setdefault(cell.size, {})[candidate] = cell
    if collective in UNKNOWN_BLOCKS:
        winners = dict.fromkeys(by_size, _winner_of_all(by_size))
    else:
        winners = _winners(by_size)
    sweep = {size: _times_us(cells) for size, cells in by_size.items()}
    return rows_of_sweep("all", WORDS.get(collective, collective), ranks, sweep, winners)


def _continued(collective: str, measured: Measured) -> Measured:
    """What sends data inside its flags runs the first of `pieces` for more: it has that one's cells there.

    Cells of its own would differ by a launch's luck alone, which then chose between the two.
    """
    eager, whole = (
        configuration(each) for each in (CANDIDATES[collective].eager, CANDIDATES[collective].pieces[0])
    )
    if eager not in measured or whole not in measured:
        return measured
    own = measured[eager]
    more = [cell for cell in measured[whole] if cell.size > max(each.size for each in own)]
    return {**measured, eager: [*own, *more]}


def _winners(by_size: Mapping[int, Mapping[Configuration, Cell]]) -> dict[int, Configuration]:
    found: dict[int, Configuration] = {}
    before = _MPI
    for size in sorted(by_size):
        cells = dict(by_size[size])
        left = cells.pop(_MPI, None)
        least = _ratio(left) if left is not None and _ratio(left) < 1 else math.inf
        ratios = {
            each: _ratio(cell) for each, cell in cells.items() if _low(cell) > 1 or _ratio(cell) > least
        }
        best = max(ratios, key=ratios.__getitem__, default=_MPI)
        if best == _MPI or ratios.get(before, 0.0) < NEAR * ratios[best]:
            before = best
        found[size] = before
    return found


def _winner_of_all(by_size: Mapping[int, Mapping[Configuration, Cell]]) -> Configuration:
    means: dict[Configuration, float] = {}
    for candidate in {each for cells in by_size.values() for each in cells}:
        cells = [each[candidate] for each in by_size.values() if candidate in each]
        if len(cells) == len(by_size) and not any(cell.lost for cell in cells):
            means[candidate] = statistics.geometric_mean(map(_ratio, cells))
    best = max(means, key=means.__getitem__, default=_MPI)
    return best if means.get(best, 0.0) > 1 else _MPI


def _ratio(cell: Cell) -> float:
    return statistics.median(cell.ratios)


def _low(cell: Cell) -> float:
    return cell.interval[0] if cell.interval else 0.0


def _times_us(cells: Mapping[Configuration, Cell]) -> dict[Configuration, float]:
    """The MPI's median, and what the ratios make of it: a host's speed differs from launch to launch.

    Where it was measured, the MPI's is that of a call which is left to it.
    """
    mpi_us = statistics.median(theirs for cell in cells.values() for _, theirs, _ in cell.times) / 1000
    return {_MPI: mpi_us, **{each: mpi_us / _ratio(cell) for each, cell in cells.items()}}


def tune(
    mpi: MpiLibrary, ranks: int, collectives: Sequence[str], quick: bool, folder: Path, listener: Listener
) -> HostCollectives:
    """Measures, and says what the file of this host and the MPI is to hold.

    Rows that it has of other collectives and ranks stay.

    Parameters
    ----------
    mpi, ranks : under which, and how many.
    collectives : of `COLLECTIVES`; empty: all.
    quick : with few rounds.
    folder : where the file is, or will be.
    listener : hears of the progress.
    """
    name = mpi_name(mpi.family, os.environ)
    on = Host(processor_name(), host_name(), f"{name} {mpi.version}", len(os.sched_getaffinity(0)))
    path = folder / f"collectives-shm-{on.processor.lower()}-{name}-{on.cores}.csv"
    kept, commands = _kept(path, on)
    found = measure(mpi, ranks, collectives or COLLECTIVES, QUICK if quick else FULL, listener)
    rows = [row for each, measured in found.items() for row in rows_of(each, ranks, measured)]
    new = {row.collective for row in rows}
    rows += [row for row in kept if row.ranks != ranks or row.collective not in new]
    words = ["env", NO_CMA] if name != mpi.family else []
    words += ["corewise", "bench", "collectives", "--mpi", mpi.name, "--ranks", str(ranks)]
    words += ["--collectives", ",".join(collectives)] if collectives else []
    words += [*(["--quick"] if quick else []), "--tune", "tuning"]
    tuning = Tuning(
        port="shm",
        machine=HOST,
        description="through the preload, the slowest rank's median; ratios to the MPI are of pairs of runs",
        who=f"corewise {__version__}",
        when=datetime.date.today().isoformat(),
        command=" && ".join(dict.fromkeys([*commands, shlex.join(words)])),
        rows=tuple(sorted(rows, key=lambda row: (row.ranks, NAMES.index(row.collective), row.bytes_from))),
        on=on,
    )
    return HostCollectives(path, on, tuning)


def _kept(path: Path, on: Host) -> tuple[tuple[TuningRow, ...], list[str]]:
    """What a file that is there already holds, and what made it."""
    if not path.exists():
        return (), []
    found = load_host_tuning(path)
    if replace(found.on, host=on.host) != on:
        raise InputError(
            f"--tune: found {path}, measured on {found.on}, allowed: one of {on}, or a folder without it"
        )
    return found.tuning.rows, found.tuning.command.split(" && ")
