"""Ranks that cannot do their part in a collective on shared memory, and threads and jumps that leave one.

The programs are in ``failures/`` and check their own results. A run that hangs fails at its time limit.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from pathlib import Path

import accelerating_runs as runs
import pytest

pytestmark = pytest.mark.first_test

RIGHT = "right"
BAD = "1"
"""The rank that cannot pack."""


def failing(
    name: str, n: int, file: str, folder: Path, *words: object, timeout: float = 60.0, **more: str
) -> runs.Ran:
    """A run with the library that ends well, with right results."""
    program = runs.program(name, f"failures/{file}")
    done = runs.run(name, n, [program, *words], folder, more, timeout=timeout).succeeded()
    assert RIGHT in done.done.stdout.splitlines()
    return done


@pytest.mark.parametrize("levels", ["off", "groups:2"])
@pytest.mark.parametrize("name", runs.NAMES)
def test_who_cannot_pack_takes_no_part_and_the_others_are_told(
    name: str, levels: str, tmp_path: Path
) -> None:
    """Each handler hears of one error at most, and nobody who was told of none has other bytes.

    By groups a broadcast goes from the rank to its group's leader first, and from there to the other leaders.
    """
    n = 3 if levels == "off" else 5
    done = failing(name, n, "failed_pack.c", tmp_path, COREWISE_ACCELERATE_LEVELS=levels).done
    told = re.findall(r"([\w-]+): rank (\d): (\w+) (\d)", done.stdout)
    assert len(told) == 10 * n
    assert {error for _, rank, error, _ in told if rank == BAD} == {"type"}
    assert {(error, heard) for _, _, error, heard in told} <= {("type", "1"), ("nothing", "0")}
    for case in ("bcast", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv"):
        assert {error for which, _, error, _ in told if which == case} == {"type"}, case


@pytest.mark.parametrize("name", runs.NAMES)
def test_a_session_goes_on_when_the_world_ends(name: str, tmp_path: Path) -> None:
    """In another thread, in whichever of its collectives each rank is just then; all are counted."""
    done = failing(name, 3, "world_ends.c", tmp_path, 400)
    assert done.taken() == runs.PROCEDURES
    assert {sum(calls.values()) for calls in done.calls.values()} == {len(runs.PROCEDURES) + 400}


@pytest.mark.parametrize("name", runs.NAMES)
def test_error_handlers_may_leave_by_longjmp(name: str, tmp_path: Path) -> None:
    """A call that is left so counts on no rank, and none is under way any more."""
    done = failing(name, 3, "jumps.c", tmp_path, COREWISE_ACCELERATE_AFTER="4")
    assert done.taken() == runs.PROCEDURES - {"MPI_Barrier", "MPI_Bcast", "MPI_Reduce"}
