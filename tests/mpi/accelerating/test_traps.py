"""Traps of collectives on shared memory: a program each, with the library and without it.

The programs are in ``traps/`` and check their own results. A run that hangs fails at its time limit.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import shutil
from itertools import product
from pathlib import Path

import accelerating_runs as runs
import pytest
from conftest import YIELD_ENV
from preload_runs import DEBIANS_MPICH

pytestmark = pytest.mark.first_test

RIGHT = "right"
QUIET = {"OMPI_MCA_osc": "^ucx"}
"""Open MPI complains of a device that no node needs."""
SPAWNING = {"MPIR_CVAR_CH4_NETMOD": "ofi", **YIELD_ENV["openmpi"], **YIELD_ENV["mpich"]}
"""More ranks than the launcher knows of. MPICH 5.0.2 hangs now and then between UCX and spawned processes."""
ONE_COPY = (
    "barrier=-:dissemination;broadcast=2048:root_stage,-:one_copy;allreduce=-:one_shot;gather=-:one_copy;"
    "alltoall=-:one_copy"
)
MEMORY, DIFFERS = "no shared memory left", "processes differ in their settings"
NOT_ONE_NODE = "not all ranks on one node"
OTHER_LAUNCH = "ranks of another launch"
EARLY = "the communicator was not set up yet"
BY_TABLE = "the table leaves it to the MPI"
PLAIN_CASES = [
    (3, "every_collective.c", 2),
    (3, "messages_under_way.c"),
    (4, "many_communicators.c", 60, 1),
    (3, "two_threads.c"),
    (3, "refused_arguments.c"),
    (3, "refused_memory.c", "none"),
    (3, "operands.c"),
    (3, "derived_types.c"),
    (4, "used_while_freed.c"),
    (2, "spawned.c", "spawn"),
]


def trap(name: str, file: str) -> Path:
    """A program of ``traps/``."""
    return runs.program(name, f"traps/{file}")


def ran(
    name: str, n: int, file: str, folder: Path, *words: object, timeout: float = runs.TIMEOUT_S, **more: str
) -> runs.Ran:
    """A run with the library that ends well, with right results."""
    ran = runs.run(name, n, [trap(name, file), *words], folder, more, timeout=timeout).succeeded()
    assert RIGHT in ran.done.stdout.splitlines()
    assert ran.calls.keys() == set(range(n))
    return ran


@pytest.mark.parametrize("case", PLAIN_CASES, ids=lambda case: str(case[1]))
@pytest.mark.parametrize("name", runs.NAMES)
def test_the_programs_are_right_without_the_library(name: str, case: tuple[int, str, object]) -> None:
    n, file, *words = case
    done = (
        runs.run(name, n, [trap(name, file), *words], env=QUIET | (SPAWNING if file == "spawned.c" else {}))
        .succeeded()
        .done
    )
    assert RIGHT in done.stdout.splitlines()


@pytest.mark.parametrize("name", runs.NAMES)
def test_every_collective_is_taken_over(name: str, tmp_path: Path) -> None:
    """All but the first call, which comes before the communicator is set up."""
    done = ran(name, 3, "every_collective.c", tmp_path)
    assert done.taken() == runs.PROCEDURES
    assert (done.reasons(), done.passed_on(EARLY)) == ({EARLY}, 3)


@pytest.mark.parametrize("single_copy", [True, False])
@pytest.mark.parametrize("name", runs.NAMES)
def test_what_is_under_way_goes_on_in_a_collective(name: str, single_copy: bool, tmp_path: Path) -> None:
    """Messages and one-sided calls whose peers come to the collective only when they have them."""
    words = [trap(name, "messages_under_way.c")]
    env = QUIET if single_copy else QUIET | runs.NO_SINGLE_COPY
    done = runs.run(name, 3, words, tmp_path, env=env).succeeded()
    assert RIGHT in done.done.stdout.splitlines()
    assert done.taken() == runs.PROCEDURES


@pytest.mark.parametrize("name", runs.NAMES)
def test_the_mpi_goes_on_where_nobody_waits(name: str, tmp_path: Path) -> None:
    """What rank 1 adds to rank 0's window arrives, though no call of rank 0 has to wait."""
    done = runs.run(name, 2, [trap(name, "never_waits.c")], tmp_path, env=QUIET).succeeded()
    assert RIGHT in done.done.stdout.splitlines()
    assert "MPI_Gatherv" in done.taken()


@pytest.mark.parametrize("name", runs.NAMES)
def test_one_look_after_a_collective_finds_what_was_sent_before_it(name: str, tmp_path: Path) -> None:
    """By MPI_Iprobe, Improbe, Testany, Testall, Testsome and Win_test, as after the MPI's own collectives."""
    done = runs.run(name, 4, [trap(name, "looks.c")], tmp_path, env=QUIET).succeeded()
    assert "missed: 0 0 0 0 0 0" in done.done.stdout.splitlines()
    assert done.taken() == runs.PROCEDURES


@pytest.mark.parametrize("name", runs.NAMES)
def test_many_communicators_freed_in_any_order(name: str, tmp_path: Path) -> None:
    """Twice 900 alive at once, used and freed: files and mappings are those of the beginning."""
    done = ran(name, 4, "many_communicators.c", tmp_path, 900, 2)
    maps = next(line.split() for line in done.done.stdout.splitlines() if line.startswith("mappings:"))
    assert int(maps[3]) >= int(maps[1]) + 900
    assert done.taken() == runs.PROCEDURES
    assert done.reasons() == {EARLY}


@pytest.mark.parametrize("name", runs.NAMES)
def test_a_communicator_is_used_while_it_is_freed(name: str, tmp_path: Path) -> None:
    """By a delete callback of the program, before and after ours."""
    taken = ran(name, 4, "used_while_freed.c", tmp_path).taken()
    assert taken == runs.PROCEDURES - {"MPI_Barrier"}  # the first call on each, before its set-up


@pytest.mark.parametrize("name", runs.NAMES)
def test_where_memory_ends_communicators_are_the_mpis(name: str, tmp_path: Path) -> None:
    """Of the 300 of 16 ranks the later ones have lines between partners alone, and the last have none.

    Where threads may call at once, each has stages of its own, so that memory ends sooner.
    """
    done = ran(name, 16, "many_communicators.c", tmp_path, 300, 1, "threads")
    assert done.taken() == runs.PROCEDURES
    assert done.reasons() == {EARLY, BY_TABLE, MEMORY}


@pytest.mark.parametrize(("kind", "numbers"), [(0, 1), (1, 1 << 17), (2, 1 << 17)])
@pytest.mark.parametrize("name", runs.NAMES)
def test_a_killed_rank_ends_the_run(name: str, kind: int, numbers: int, tmp_path: Path) -> None:
    """While the others wait for it in a barrier, a broadcast and an all-reduce of 1 MiB."""
    words = [trap(name, "killed_rank.c"), kind, numbers, tmp_path]
    assert runs.run(name, 3, words, tmp_path, timeout=60.0).done.returncode != 0


@pytest.mark.parametrize(("kind", "numbers"), [(0, 1), (1, 1 << 17), (2, 1 << 17)])
@pytest.mark.parametrize("name", runs.NAMES)
def test_ranks_are_told_of_a_killed_one(name: str, kind: int, numbers: int, tmp_path: Path) -> None:
    """A launcher that does not see it, behind a shell, lets the others live: their call returns an error."""
    program = [trap(name, "killed_rank.c"), kind, numbers, tmp_path, "hidden"]
    runs.run(name, 3, ["/bin/sh", "-c", '"$0" "$@"; sleep 1', *program], tmp_path, timeout=60.0)
    told = {path.name: path.read_text() for path in tmp_path.glob("told.*")}
    assert told == {"told.0": "an error", "told.1": "an error"}


@pytest.mark.parametrize("world", ["alone", "inside", "after"])
@pytest.mark.parametrize("name", runs.NAMES)
def test_sessions(name: str, world: str, tmp_path: Path) -> None:
    """Without a world; with one that begins and ends inside a session, or begins inside and outlives it."""
    again = ["again"] if name == "mpich" else []  # Open MPI 5.0.11 crashes when it begins anew
    done = ran(name, 3, "sessions.c", tmp_path, world, *again)
    assert done.taken() == runs.PROCEDURES
    assert done.reasons() == {EARLY}


@pytest.mark.parametrize("name", runs.NAMES)
def test_a_rank_that_has_left_is_no_dead_one(name: str, tmp_path: Path) -> None:
    """It has done its part in the collective in which others wait, and has ended its session."""
    assert "MPI_Gather" in ran(name, 3, "leaves_early.c", tmp_path).taken()


def with_spawned(name: str, how: str, folder: Path, knob: str = "on") -> runs.Ran:
    words = [trap(name, "spawned.c"), how]
    done = runs.run(name, 2, words, folder, {"COREWISE_ACCELERATE_SPAWNED": knob}, SPAWNING).succeeded()
    assert RIGHT in done.done.stdout.splitlines()
    return done


@pytest.mark.parametrize("name", runs.NAMES)
def test_spawned_processes_take_part(name: str, tmp_path: Path) -> None:
    """Merged with those that were launched, in either order; Open MPI's launcher gives them no variables."""
    done = with_spawned(name, "spawn", tmp_path)
    assert done.taken() == runs.PROCEDURES
    assert done.reasons() == {EARLY}


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("openmpi", "half"),
        ("mpich", "half"),
        ("mpich", "connect"),
        pytest.param("openmpi", "connect", marks=pytest.mark.long_test),
        *(pytest.param(name, "bare", marks=pytest.mark.long_test) for name in runs.NAMES),
    ],
)
def test_who_may_lack_the_library_is_left_to_the_mpi(name: str, how: str, tmp_path: Path) -> None:
    """All spawned processes lack it, or one does; or nobody can know, since they met by a port."""
    done = with_spawned(name, how, tmp_path)
    assert done.taken() == runs.PROCEDURES  # on the world
    assert done.reasons() == {EARLY, OTHER_LAUNCH}


def test_spawned_processes_are_the_mpis_unless_asked_for(tmp_path: Path) -> None:
    assert OTHER_LAUNCH in with_spawned("mpich", "spawn", tmp_path, "off").reasons()


WRONG_CALLS = {
    "bcast-more": "truncated",
    "bcast-fewer": "truncated",
    "short": "truncated",
    "allreduce": "truncated",
    "gather": "truncated",
    "alltoall": "truncated",
    "root": "root",
    "collective": "other",
}
"""What the last rank does otherwise, and what ranks are told."""


@pytest.mark.parametrize("variables", [{}, {"COREWISE_ACCELERATE": ONE_COPY}, {"MAPPED": "1"}])
@pytest.mark.parametrize("name", runs.NAMES)
def test_a_wrong_call_is_an_error_and_no_hang(name: str, variables: dict[str, str], tmp_path: Path) -> None:
    """All ranks that are told of an error are told of the same one."""
    done = runs.run(name, 3, [trap(name, "wrong_calls.c")], tmp_path, variables, QUIET).succeeded().done
    for case, error in WRONG_CALLS.items():
        told = re.findall(rf"{case}: rank \d: (\w+)", done.stdout)
        assert len(told) == 3 and error in told, case
        assert set(told) <= {error, "nothing"}, case
    assert RIGHT in done.stdout.splitlines()


@pytest.mark.parametrize("name", runs.NAMES)
def test_a_call_before_a_wrong_one_ends_well(name: str, tmp_path: Path) -> None:
    """Where ranks that have done their part in it are told of the wrong one before it ends."""
    assert {"MPI_Gather", "MPI_Bcast"} <= ran(name, 4, "late_rank.c", tmp_path).taken()


@pytest.mark.parametrize("name", runs.NAMES)
def test_a_rank_may_be_any_number_of_calls_ahead(name: str, tmp_path: Path) -> None:
    assert "MPI_Gatherv" in ran(name, 3, "far_ahead.c", tmp_path).taken()


@pytest.mark.parametrize("name", runs.NAMES)
def test_a_wrong_call_ends_a_program_that_handles_no_errors(name: str, tmp_path: Path) -> None:
    done = runs.run(name, 3, [trap(name, "wrong_calls.c"), "allreduce"], tmp_path, timeout=60.0).done
    assert done.returncode != 0
    assert "truncat" in (done.stdout + done.stderr).lower()


@pytest.mark.parametrize("name", runs.NAMES)
def test_a_handler_may_free_the_communicator_whose_call_failed(name: str, tmp_path: Path) -> None:
    """What is freed holds other bytes at once: a count that is read there is another."""
    done = ran(name, 2, "freeing_handler.c", tmp_path, MALLOC_PERTURB_="165")
    assert done.calls[0]["MPI_Bcast", ""] == 1 and not any(done.mapped.values())


@pytest.mark.parametrize("first", [0, 3, 8])
@pytest.mark.parametrize("name", runs.NAMES)
def test_a_call_with_refused_arguments_is_none(name: str, first: int, tmp_path: Path) -> None:
    """Before a communicator is set up, in the call that sets it up, and after it."""
    words = [trap(name, "refused_arguments.c"), first]
    done = runs.run(name, 3, words, tmp_path, {"COREWISE_ACCELERATE_AFTER": "4"}, timeout=60.0).succeeded()
    assert RIGHT in done.done.stdout.splitlines()
    assert "MPI_Allreduce" in done.taken()


@pytest.mark.parametrize("name", runs.NAMES)
def test_two_threads_on_two_communicators(name: str, tmp_path: Path) -> None:
    assert ran(name, 3, "two_threads.c", tmp_path).taken() == runs.PROCEDURES


@pytest.mark.parametrize("name", runs.NAMES)
def test_a_window_comes_while_another_thread_is_in_a_collective(name: str, tmp_path: Path) -> None:
    """It is known to the rank that comes to the collective later, not to the one that is in it."""
    words = [trap(name, "window_meanwhile.c")]
    done = runs.run(name, 2, words, tmp_path, env=QUIET, timeout=60.0).succeeded()
    assert RIGHT in done.done.stdout.splitlines()
    assert "MPI_Allreduce" in done.taken()


@pytest.mark.parametrize("name", runs.NAMES)
def test_ranks_with_different_tables_leave_all_to_the_mpi(name: str, tmp_path: Path) -> None:
    change = 'test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 && export COREWISE_ACCELERATE=on; exec "$0" "$@"'
    words = ["/bin/sh", "-c", change, trap(name, "every_collective.c")]
    done = runs.run(name, 3, words, tmp_path).succeeded()
    assert RIGHT in done.done.stdout.splitlines()
    assert (done.taken(), done.reasons()) == (set(), {EARLY, DIFFERS})


@pytest.mark.parametrize(
    ("why", "reasons"),
    [
        ("none", set()),
        ("files", {MEMORY, NOT_ONE_NODE}),
        ("space", {MEMORY}),
        ("length", {MEMORY}),
        ("peers", {NOT_ONE_NODE}),
    ],
)
@pytest.mark.parametrize("name", runs.NAMES)
def test_what_one_rank_cannot_have_no_rank_uses(
    name: str, why: str, reasons: set[str], tmp_path: Path
) -> None:
    """No file, no address space, no room in files; or its peers' memory is not for it to open."""
    done = ran(name, 3, "refused_memory.c", tmp_path, why)
    assert done.taken() == (set() if reasons else runs.PROCEDURES)
    found = done.reasons() - {EARLY}
    assert len(found) == (1 if reasons else 0)
    assert found <= reasons


@pytest.mark.parametrize("name", runs.NAMES)
def test_groups_that_one_rank_cannot_have_no_rank_has(name: str, tmp_path: Path) -> None:
    """The leader of one fails: the other leader does not wait for it."""
    done = ran(name, 4, "refused_group.c", tmp_path, timeout=60.0, COREWISE_ACCELERATE_LEVELS="groups:2")
    assert (done.taken(), done.reasons()) == (runs.PROCEDURES, {EARLY})


@pytest.mark.parametrize("name", runs.NAMES)
def test_more_ranks_than_cores(name: str, tmp_path: Path) -> None:
    """Ranks that spun would need each other's cores: 2000 barriers took half a minute."""
    done = ran(name, 8, "barriers.c", tmp_path, 2000)
    assert done.taken() == {"MPI_Barrier"}
    assert done.reasons() == {EARLY}


@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, (2, 5))])
def test_operators_addresses_and_nothing(name: str, n: int, tmp_path: Path) -> None:
    """The program's own operators, absolute addresses, and no data at null pointers."""
    null_types = ["null"] if name == "mpich" else []
    done = ran(name, n, "operands.c", tmp_path, *null_types)
    assert done.taken() >= {
        "MPI_Bcast",
        "MPI_Allreduce",
        "MPI_Allgather",
        "MPI_Alltoallv",
        "MPI_Reduce_scatter",
    }
    assert done.reasons() == {EARLY}


@pytest.mark.parametrize("name", runs.NAMES)
def test_an_operator_gets_no_more_elements_than_the_call_has(name: str, tmp_path: Path) -> None:
    """Operands of several ranks lie side by side where they ride in the metadata."""
    table = "allreduce=1024:eager,-:peer_stages;reduce=1024:eager_tree/degree=8"
    done = ran(name, 5, "operands.c", tmp_path, COREWISE_ACCELERATE=table)
    assert done.taken() >= {"MPI_Allreduce", "MPI_Reduce"}


@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, (2, 3))])
def test_types_that_are_used_again_and_handles_too(name: str, n: int, tmp_path: Path) -> None:
    moving = {"Bcast", "Gather", "Scatter", "Allgather", "Alltoall", "Alltoallv", "Alltoallw"}
    assert ran(name, n, "derived_types.c", tmp_path).taken() == {f"MPI_{kind}" for kind in moving}


@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, (2, 3))])
def test_data_with_gaps_are_not_copied(name: str, n: int, tmp_path: Path) -> None:
    """A rank that has no memory for a copy ends."""
    assert "MPI_Alltoall" in ran(name, n, "derived_types.c", tmp_path, "no-copies").taken()


def test_the_built_in_table_has_lists_of_blocks_between_two_ranks(tmp_path: Path) -> None:
    ran_by_it = ran("openmpi", 2, "derived_types.c", tmp_path, COREWISE_ACCELERATE="on")
    assert {"MPI_Alltoallv", "MPI_Alltoallw"} <= ran_by_it.taken()


def test_absolute_addresses_under_debians_mpich(tmp_path: Path) -> None:
    """MPICH 4.0 packs nothing at MPI_BOTTOM, where MPI-IO has what it broadcasts."""
    if shutil.which("mpiexec.mpich") is None:
        pytest.skip("capability: no Debian MPI (mpich)")
    assert "MPI_Bcast" in ran(DEBIANS_MPICH, 3, "operands.c", tmp_path).taken()


@pytest.mark.long_test
@pytest.mark.parametrize("name", runs.NAMES)
def test_more_bytes_than_an_int_counts(name: str, tmp_path: Path) -> None:
    """2 ranks with 2.2 GB each, twice: a type of the program's goes through other memory."""
    done = ran(name, 2, "more_than_2_gib.c", tmp_path, timeout=300.0)
    assert "MPI_Bcast" in done.taken()
