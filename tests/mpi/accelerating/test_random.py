"""Random collectives, each done by the library and by the MPI behind it: all bytes are equal.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import accelerating_runs as runs
import pytest

from corewise.mpi import build

pytestmark = pytest.mark.first_test

SHORT = (600, 100_000)
"""Calls, and the largest block in bytes."""
LONG = (1500, 1_000_000)
TIMEOUT_S = 300.0
LONG_RANKS = (2, 3, 4, 5, 8, 11, 16)


ONE_COPY = [
    "broadcast",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
]
"""The collectives that have it."""
_ALL_PAIRS = frozenset(f"MPI_{name}" for name in ["Gatherv", "Scatterv", "Alltoallv", "Alltoallw"]) | {
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
}
"""Without lines between all ranks nothing does these."""
_ONE_COPY_PROCEDURES = frozenset(
    f"MPI_{name}" for name in ("Bcast", "Alltoallw", *(each.capitalize() for each in ONE_COPY[1:]))
)


def check(
    name: str,
    n: int,
    seed: int,
    sizes: tuple[int, int],
    folder: Path,
    *how: str,
    one_copy: int = 0,
    taken: bool = True,
    partners: bool = False,
    **variables: str,
) -> None:
    """One run: no byte differs, and every collective was taken over (with ``taken`` false: none).

    With ``partners`` ranks have lines to those alone, and what needs all pairs is passed on. ``one_copy`` is
    the least part that an end copies; shorter blocks of it ride in the flags, or go through the stages.
    """
    program = runs.program(name, "random_collectives.cpp")
    calls, most = sizes
    words = [program, seed, calls, most if n <= 4 else most // 10, *how]
    # From the first call on: Open MPI's allgatherv of blocks of different lengths may hang.
    more = {"COREWISE_ACCELERATE_AFTER": "0", **variables}
    if one_copy:
        more["COREWISE_ACCELERATE"] = ";".join(f"{each}=-:one_copy/min_piece={one_copy}" for each in ONE_COPY)
    if partners:
        more["COREWISE_ACCELERATE_LINES"] = "partners"
    env = runs.NO_SINGLE_COPY if how in (("refused",), ("never",)) else None
    ran = runs.run(name, n, words, folder, more, env, timeout=TIMEOUT_S).succeeded()
    assert f"{calls} calls, 0 wrong" in ran.done.stdout
    assert ran.calls.keys() == set(range(n))
    wanted = _ONE_COPY_PROCEDURES if one_copy else runs.PROCEDURES - (_ALL_PAIRS if partners else set())
    assert ran.taken() == (wanted if n > 1 and taken else set())
    assert taken or ran.reasons() == {"the table leaves it to the MPI"}


@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, (2, 3, 5, 8))])
def test_no_byte_differs(name: str, n: int, tmp_path: Path) -> None:
    check(name, n, n, SHORT, tmp_path)


def test_no_byte_differs_on_more_ranks_than_a_mask_has_bits(tmp_path: Path) -> None:
    check("mpich", 66, 66, (90, 20_000), tmp_path)


@pytest.mark.parametrize("n", [2, 3, 5, 8, 11, 16])
def test_no_byte_differs_with_lines_between_partners(n: int, tmp_path: Path) -> None:
    check("mpich", n, 60 + n, (200, SHORT[1]), tmp_path, partners=True)


OTHER_ALGORITHMS = [
    "barrier=-:tree;broadcast=-:scatter_allgather;allreduce=-:rabenseifner;allgather=-:bruck;"
    "allgatherv=-:recursive_doubling;scan=-:recursive_doubling;exscan=-:recursive_doubling",
    "barrier=-:pairwise_exchange;broadcast=-:local_store_tree;allreduce=-:ring,-:rabenseifner;reduce=-:tree;"
    "allgather=-:recursive_doubling;allgatherv=-:bruck;gather=-:tree;scatter=-:tree;alltoall=-:bruck",
]
"""What keeps to partners."""


def check_table(n: int, table: str, calls: int, most: int, folder: Path, **variables: str) -> runs.Ran:
    """One run by a table: no byte differs, and every collective of the table was taken over.

    A row for alltoallv serves `MPI_Alltoallw` too.
    """
    program = runs.program("mpich", "random_collectives.cpp")
    by_table = {"COREWISE_ACCELERATE": table, "COREWISE_ACCELERATE_AFTER": "0", **variables}
    ran = runs.run("mpich", n, [program, n, calls, most], folder, by_table, timeout=TIMEOUT_S).succeeded()
    assert f"{calls} calls, 0 wrong" in ran.done.stdout
    assert len(ran.taken()) == len(table.split(";")) + table.count("alltoallv")
    return ran


@pytest.mark.parametrize(("n", "table"), [(7, OTHER_ALGORITHMS[0]), (11, OTHER_ALGORITHMS[1])])
def test_other_algorithms_keep_to_partners(n: int, table: str, tmp_path: Path) -> None:
    check_table(n, table, 200, 10_000, tmp_path, COREWISE_ACCELERATE_LINES="partners")


EAGER = (
    "broadcast=-:eager_tree;reduce=-:eager_tree;allreduce=-:eager;gather=-:eager;scatter=-:eager;"
    "allgather=-:eager;allgatherv=-:eager;alltoall=-:eager;scan=-:eager;exscan=-:eager;"
    "reduce_scatter=-:eager;reduce_scatter_block=-:eager"
)


@pytest.mark.parametrize("n", [2, 3, 5, 8, 11, 16])
def test_no_byte_differs_in_one_phase(n: int, tmp_path: Path) -> None:
    """Everybody's operand to all, or to all behind; where ranks share cores and are few up to 2 KiB of it."""
    check_table(n, EAGER, 600, 2500, tmp_path)


@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_more_ranks_than_cores_leave_nothing_of_2_kib_to_the_mpi(n: int, tmp_path: Path) -> None:
    if n <= (os.cpu_count() or 1):
        pytest.skip("capability: fewer cores than ranks")
    ran = check_table(n, EAGER, 300, 2048, tmp_path)
    passed = {name for calls in ran.calls.values() for name, why in calls if why}
    # The operand of a reduce-scatter is as long as all of its blocks.
    assert passed & ran.taken() <= {"MPI_Reduce_scatter", "MPI_Reduce_scatter_block"}


@pytest.mark.parametrize("n", [2, 3, 5, 8, 11, 16])
def test_no_byte_differs_where_some_blocks_are_short(n: int, tmp_path: Path) -> None:
    """Those ride in the lines, or beside them; the others go by streams, or in pairs."""
    check_table(n, "gatherv=-:eager;scatterv=-:eager;alltoallv=-:eager", 600, 6000, tmp_path)


def test_no_byte_differs_with_lines_between_partners_on_many_ranks(tmp_path: Path) -> None:
    check("mpich", 72, 66, (90, 20_000), tmp_path, partners=True)


@pytest.mark.long_test
@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, (1, *LONG_RANKS))])
def test_no_byte_differs_in_long_runs_with_lines_between_partners(name: str, n: int, tmp_path: Path) -> None:
    check(name, n, 400 + n, LONG, tmp_path, partners=True)


def test_no_assertion_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries have no assertions otherwise."""
    usual = str(runs.accelerate_library("mpich"))
    monkeypatch.setenv("COREWISE_PRELOAD_ASSERTS", "1")
    library = str(build.build_accelerate(runs.described("mpich")))
    assert library != usual
    check("mpich", 5, 75, SHORT, tmp_path / "all", LD_PRELOAD=library)
    check("mpich", 11, 76, SHORT, tmp_path / "partners", partners=True, LD_PRELOAD=library)


@pytest.mark.parametrize("name", runs.NAMES)
def test_no_byte_differs_with_many_threads(name: str, tmp_path: Path) -> None:
    """Under MPI_THREAD_MULTIPLE communicators share no stage."""
    check(name, 3, 7, SHORT, tmp_path, "multiple")


@pytest.mark.parametrize(("name", "n", "least"), [*product(runs.NAMES, (2, 5), (64, 4096))])
def test_no_byte_differs_with_one_copy(name: str, n: int, least: int, tmp_path: Path) -> None:
    """Straight between the user memories of processes."""
    check(name, n, 30 + n, SHORT, tmp_path, one_copy=least)


@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, (2, 3))])
def test_no_byte_differs_where_one_copy_is_refused_late(name: str, n: int, tmp_path: Path) -> None:
    """Half way through the system forbids ranks with odd numbers to touch another's memory."""
    check(name, n, 40 + n, SHORT, tmp_path, "refused", one_copy=64 if n == 2 else 1024)


# Calls that are passed on are the MPI's own, and Open MPI's allgatherv may hang in them.
def test_where_one_copy_is_refused_from_the_start_no_rank_tries(tmp_path: Path) -> None:
    """On ranks with odd numbers: the algorithm is none for this communicator."""
    check("mpich", 3, 50, SHORT, tmp_path, "never", one_copy=64, taken=False)


def test_one_copy_can_be_switched_off(tmp_path: Path) -> None:
    check("mpich", 2, 51, SHORT, tmp_path, one_copy=64, taken=False, COREWISE_ACCELERATE_DIRECT="off")


@pytest.mark.long_test
@pytest.mark.parametrize("how", [(), ("refused",)])
@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, LONG_RANKS)])
def test_no_byte_differs_in_long_runs_with_one_copy(
    name: str, n: int, how: tuple[str, ...], tmp_path: Path
) -> None:
    check(name, n, 300, LONG, tmp_path, *how, one_copy=64)


@pytest.mark.long_test
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, LONG_RANKS)])
def test_no_byte_differs_in_long_runs(name: str, n: int, seed: int, tmp_path: Path) -> None:
    check(name, n, 100 + seed, LONG, tmp_path)


@pytest.mark.long_test
@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, (2, 4))])
def test_no_byte_differs_in_long_runs_with_many_threads(name: str, n: int, tmp_path: Path) -> None:
    check(name, n, 200, LONG, tmp_path, "multiple")


@pytest.mark.parametrize("name", runs.NAMES)
def test_one_rank_is_the_mpis(name: str, tmp_path: Path) -> None:
    check(name, 1, 1, SHORT, tmp_path)
