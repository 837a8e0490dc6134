"""What messages of an MPI cost between two ranks of this host (docs/formats/messages.md).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from corewise.bench.mpis import output_of, planned, title
from corewise.bench.programs import Program
from corewise.bench.rows import Listener
from corewise.data.message_costs import CostRow, MessageCosts
from corewise.data.tuned_hosts import processor_text
from corewise.errors import RunError
from corewise.mpi import launch
from corewise.mpi.find import MpiLibrary

RANKS = 2
_Cell: TypeAlias = "tuple[float, float, float]"
"""Sending, one way and both ways, in ns."""
_LIMIT_S = 600.0


@dataclass(frozen=True)
class Extent:
    """How much is measured.

    Attributes
    ----------
    rounds : int
        Of small messages; long ones have fewer.
    most_bytes : int
        The longest message.
    moved_bytes : tuple of int
        The columns: what a rank moves between two uses of a buffer.
    launches : int
        Where buffers lie in memory differs between launches, and with it what copies take.
    """

    rounds: int = 400
    most_bytes: int = 16 << 20
    moved_bytes: tuple[int, ...] = (0, 8 << 20, 32 << 20, 128 << 20)
    launches: int = 3


QUICK = Extent(8, 1 << 16, (0, 1 << 20), 1)


def measure(mpi: MpiLibrary, extent: Extent, listener: Listener) -> MessageCosts:
    """Builds the program for an MPI, and runs it on two cores.

    Raises
    ------
    RunError
        It cannot be built, or it fails.
    """
    program = Program("simmpi", f"messages-{mpi.name}", ("messages.c",), mpi=mpi).build(listener)
    columns = ",".join(map(str, extent.moved_bytes))
    words = (str(extent.rounds), str(extent.most_bytes), columns)
    plan = planned(mpi, program, words, RANKS)
    said = [
        output_of(plan.with_environment({}), launch.environment(plan), limit_s=_LIMIT_S)
        for _ in range(extent.launches)
    ]
    return costs_of(said, title(mpi), extent.moved_bytes)


def costs_of(said: Sequence[str], mpi: str, columns: Sequence[int]) -> MessageCosts:
    """The table of what launches of the program printed: medians over them, for the sizes that all have.

    A time that scatter made shorter than one that it contains is raised to that one.

    Raises
    ------
    RunError
        It is not what the program prints.
    """
    eager, cells = zip(*map(_parsed, said), strict=True)
    per_launch = [{size for size, _ in each} for each in cells]
    sizes = sorted(set.intersection(*per_launch))
    whole = all(
        set(each) == {(size, moved) for size in its for moved in columns}
        for each, its in zip(cells, per_launch, strict=True)
    )
    if not sizes or not whole:
        raise RunError(f"messages: its output lacks rows: {said[0].strip()[-200:]}")
    table = tuple(
        _row(size, [_median([each[size, moved] for each in cells]) for moved in columns]) for size in sizes
    )
    return MessageCosts(processor_text(), mpi, min(eager), tuple(columns), table)


def _parsed(said: str) -> tuple[int, dict[tuple[int, int], _Cell]]:
    """The eager limit, and times by size and column."""
    eager, cells = -1, dict[tuple[int, int], _Cell]()
    try:
        for line in said.splitlines():
            word, *numbers = line.split()
            if word == "eager":
                eager = int(numbers[0])
            elif word == "row":
                size, moved, *times = numbers
                send_ns, one_way_ns, both_ns = map(float, times)
                cells[int(size), int(moved)] = (send_ns, one_way_ns, both_ns)
    except ValueError as error:
        raise RunError(f"messages: {error}") from None
    if eager < 0:
        raise RunError(f"messages: its output lacks the eager limit: {said.strip()[-200:]}")
    return eager, cells


def _median(cells: Sequence[_Cell]) -> _Cell:
    send_ns, one_way_ns, both_ns = map(statistics.median, zip(*cells, strict=True))
    return send_ns, one_way_ns, both_ns


def _row(size: int, cells: Sequence[_Cell]) -> CostRow:
    one_way = tuple(one_way_ns for _, one_way_ns, _ in cells)
    both = tuple(max(one_way_ns, both_ns) for _, one_way_ns, both_ns in cells)
    return CostRow(size, min(*(send_ns for send_ns, _, _ in cells), *one_way), one_way, both)
