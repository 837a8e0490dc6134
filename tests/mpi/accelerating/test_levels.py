"""Communicators whose ranks are on several nodes: ours inside each node, the MPI's among their leaders.

Nodes are so many successive ranks that count as one, or user namespaces.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import accelerating_runs as runs
import pytest
from installed_tool import assert_one_line_error, corewise

from corewise.data.accelerate import load_accelerate
from corewise.data.levels import levels_knob

SPREAD = frozenset(f"MPI_{name}" for name in ("Barrier", "Bcast", "Reduce", "Allreduce"))
"""What is taken over on several nodes."""
SEVERAL = "ranks on several nodes"
ONE_NODE = "not all ranks on one node"
OPERANDS = "a reduction that the MPI alone knows"
CALLS, FEW, MOST = 400, 60, 50_000
APART = """
number=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
if [ $((number % 2)) = 0 ]; then exec "$@"; fi
exec nsenter --user=/proc/$0/ns/user --preserve-credentials "$@"
"""
"""Ranks with odd numbers are where another process is: they see nobody else's memory there."""
LEVELS_OVER_LEVELS = ("off", "groups:2", "groups:2/4")
MACHINE = "l3:2 core:1"
TO_TWO_CPUS = 'exec taskset -c $((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} % 2)) "$@"'


def ran(name: str, n: int, folder: Path, levels: str, *before: object, seed: int = 1) -> runs.Ran:
    """Random collectives of those that are spread, compared byte by byte with the MPI's."""
    program = runs.program(name, "random_collectives.cpp")
    variables = {"COREWISE_ACCELERATE_LEVELS": levels, "COREWISE_ACCELERATE_AFTER": "0"}
    words = [*before, program, seed, CALLS, MOST, "spread"]
    done = runs.run(name, n, words, folder, variables, runs.NO_SINGLE_COPY if before else None)
    assert f"{CALLS} calls, 0 wrong" in done.succeeded().done.stdout
    return done


def uneven(name: str, n: int, folder: Path, size: int) -> None:
    done = ran(name, n, folder, str(size), seed=n)
    assert done.taken() == SPREAD
    assert OPERANDS in done.reasons()  # an operator that does not commute


@pytest.mark.parametrize(
    ("name", "n", "size"), [("openmpi", 3, 2), ("mpich", 5, 2), ("openmpi", 8, 3), ("mpich", 4, 3)]
)
def test_no_byte_differs(name: str, n: int, size: int, tmp_path: Path) -> None:
    """The last node has fewer ranks, or one; split communicators have their ranks in other orders."""
    uneven(name, n, tmp_path, size)


def grouped(name: str, n: int, folder: Path, size: int, kinds: str = "spread") -> runs.Ran:
    """Groups of ``size`` ranks inside this node: all is done by corewise's own algorithms."""
    program = runs.program(name, "random_collectives.cpp")
    variables = {"COREWISE_ACCELERATE_LEVELS": f"groups:{size}", "COREWISE_ACCELERATE_AFTER": "0"}
    words = [program, n, CALLS, MOST // 10, *([kinds] if kinds else [])]
    done = runs.run(name, n, words, folder, variables).succeeded()
    assert f"{CALLS} calls, 0 wrong" in done.done.stdout
    assert not done.reasons()
    return done


@pytest.mark.parametrize(("name", "n", "size"), [("openmpi", 4, 2), ("mpich", 5, 2), ("mpich", 7, 3)])
def test_no_byte_differs_by_groups_inside_a_node(name: str, n: int, size: int, tmp_path: Path) -> None:
    """Groups of equal ranks, or with one or two ranks left; what does not go by groups is done by all."""
    assert grouped(name, n, tmp_path, size).taken() == SPREAD


@pytest.mark.parametrize("name", runs.NAMES)
def test_the_others_need_no_groups(name: str, tmp_path: Path) -> None:
    assert grouped(name, 4, tmp_path, 3, "").taken() == runs.PROCEDURES


def most_mappings(folder: Path, n: int, levels: str) -> int:
    """Of shared memory, beyond what is there before, while 20 communicators live."""
    words = [runs.program("mpich", "traps/many_communicators.c"), 20, 1]
    done = runs.run("mpich", n, words, folder, {"COREWISE_ACCELERATE_LEVELS": levels}).succeeded().done
    line = next(line.split() for line in done.stdout.splitlines() if line.startswith("mappings:"))
    return int(line[3]) - int(line[1])


def test_groups_have_lines_of_their_own(tmp_path: Path) -> None:
    """The lines of all, of the group, and of the leaders; and of groups of these."""
    off, two, both = (most_mappings(tmp_path / str(i), 5, of) for i, of in enumerate(LEVELS_OVER_LEVELS))
    assert off + 10 <= two and two + 10 <= both


@pytest.mark.parametrize(("name", "n"), [("openmpi", 5), ("mpich", 8)])
def test_no_byte_differs_by_groups_of_groups(name: str, n: int, tmp_path: Path) -> None:
    program = runs.program(name, "random_collectives.cpp")
    variables = {"COREWISE_ACCELERATE_LEVELS": "groups:2/4", "COREWISE_ACCELERATE_AFTER": "0"}
    done = runs.run(name, n, [program, n, CALLS // 4, MOST // 10], tmp_path, variables).succeeded()
    assert f"{CALLS // 4} calls, 0 wrong" in done.done.stdout
    assert done.taken() == runs.PROCEDURES and not done.reasons()


@pytest.fixture
def two_cpus() -> None:
    """Those of `MACHINE`."""
    if not {0, 1} <= os.sched_getaffinity(0):
        pytest.skip("capability: CPUs 0 and 1")


@pytest.mark.usefixtures("two_cpus")
@pytest.mark.parametrize(("name", "n"), [("openmpi", 4), ("mpich", 5)])
def test_no_byte_differs_by_the_levels_of_a_machine(name: str, n: int, tmp_path: Path) -> None:
    """More ranks than cores, bound to two of them in turn, which the machine has in two domains."""
    levels = {"COREWISE_ACCELERATE_LEVELS": levels_knob(MACHINE, ""), "COREWISE_ACCELERATE_AFTER": "0"}
    words = [
        "/bin/sh",
        "-c",
        TO_TWO_CPUS,
        "sh",
        runs.program(name, "random_collectives.cpp"),
        n,
        FEW,
        MOST // 10,
    ]
    done = runs.run(name, n, words, tmp_path, levels).succeeded()
    assert f"{FEW} calls, 0 wrong" in done.done.stdout
    assert not done.reasons()


@pytest.mark.usefixtures("two_cpus")
@pytest.mark.parametrize("name", runs.NAMES)
def test_a_run_by_the_levels_of_a_machine(name: str, tmp_path: Path) -> None:
    """What the ranks get, and that the program works with it."""
    profile, mpi, n = tmp_path / "run.cw", runs.described(name), 4
    options = ["-n", n, "--mpi", mpi.prefix, "-o", profile, "--accelerate", "--accelerate-levels", MACHINE]
    shell = f'echo "levels $COREWISE_ACCELERATE_LEVELS"; {TO_TWO_CPUS}'
    program = runs.program(name, "traps/every_collective.c")
    done = corewise("run", *options, "--", "/bin/sh", "-c", shell, "sh", program)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert said.count("levels cpus:0|1") == n and "right" in said
    assert load_accelerate(profile).keys() == set(range(n))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--accelerate-levels", "found"], ("'found' without --accelerate",)),
        (["--accelerate", "--accelerate-levels", "roadrunner"], ("--accelerate-levels", "has 8 nodes")),
        (["--accelerate", "--accelerate-levels", "groups:4/2"], ("'groups:4/2'", "allowed: off, nodes")),
        (["--accelerate"], ("COREWISE_ACCELERATE_LEVELS: found 'rings'", "allowed: off, nodes")),
    ],
)
def test_wrong_levels_are_refused_before_the_launch(
    options: list[str], words: tuple[str, ...], tmp_path: Path
) -> None:
    env = {**os.environ, "COREWISE_ACCELERATE_LEVELS": "rings"}
    done = corewise("run", "-n", 2, *options, "--", "true", env=env, cwd=tmp_path)
    assert_one_line_error(done, *words)
    assert not list(tmp_path.iterdir())


@pytest.mark.long_test
@pytest.mark.parametrize(("name", "n", "size"), [*product(runs.NAMES, (4, 11, 16), (2, 3))])
def test_no_byte_differs_in_other_shapes(name: str, n: int, size: int, tmp_path: Path) -> None:
    uneven(name, n, tmp_path, size)


@pytest.fixture
def elsewhere() -> Iterator[int]:
    """A process in a user namespace of its own."""
    words = ["unshare", "--user", "--map-root-user", "sh", "-c", "echo there && exec sleep 600"]
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        pytest.skip("capability: no unshare or nsenter (util-linux)")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        there = process.stdout.readline() == "there\n"
        enter = ["nsenter", f"--user=/proc/{process.pid}/ns/user", "--preserve-credentials", "true"]
        if there and subprocess.run(enter, check=False, capture_output=True).returncode == 0:
            yield process.pid
        process.kill()
    if not there:
        pytest.skip("capability: no user namespaces")


@pytest.mark.parametrize("name", runs.NAMES)
def test_nodes_are_found(name: str, elsewhere: int, tmp_path: Path) -> None:
    """Ranks 0 and 2 are in one namespace, 1 and 3 in another."""
    before = ("/bin/sh", "-c", APART, elsewhere)
    on = ran(name, 4, tmp_path / "on", "nodes", *before)
    assert on.taken() == SPREAD and ONE_NODE not in on.reasons()
    assert ONE_NODE in ran(name, 4, tmp_path / "off", "off", *before).reasons()


def test_a_rank_on_each_node_is_the_mpis(tmp_path: Path) -> None:
    done = ran("mpich", 3, tmp_path, "1")
    assert not done.taken() and ONE_NODE in done.reasons()


def test_one_node_needs_no_levels(tmp_path: Path) -> None:
    done = ran("mpich", 3, tmp_path, "4")
    assert done.taken() == SPREAD and ONE_NODE not in done.reasons()


@pytest.mark.parametrize("name", runs.NAMES)
def test_the_others_are_passed_on(name: str, tmp_path: Path) -> None:
    words = [runs.program(name, "traps/every_collective.c")]
    done = runs.run(name, 3, words, tmp_path, {"COREWISE_ACCELERATE_LEVELS": "2"}).succeeded()
    assert "right" in done.done.stdout.splitlines()
    assert done.taken() == SPREAD and SEVERAL in done.reasons()


@pytest.mark.parametrize("name", runs.NAMES)
def test_communicators_go_in_any_order(name: str, tmp_path: Path) -> None:
    """Those behind them go, too: many live at once, freed in different orders on different ranks."""
    words = [runs.program(name, "traps/many_communicators.c"), 100, 2]
    done = runs.run(name, 4, words, tmp_path, {"COREWISE_ACCELERATE_LEVELS": "3"}).succeeded()
    assert "right" in done.done.stdout.splitlines()
    assert done.taken() == SPREAD
