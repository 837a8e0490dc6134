"""Reordering without a relaunch: the program's world in the order of a placement, wherever ranks were put.

Which unit a rank runs on is read back inside the rank (`sched_getaffinity`); which launch rank it is, from
what the launcher tells it. The whole conformance suite in a reordered world is in ``test_conformance.py``.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import fortran_runs
import pytest
from conftest import CORES, Mpi, find_mpi
from installed_tool import assert_one_line_error, corewise, document
from preload_runs import MPI_NAMES, described, launcher_options, preload

from corewise.data.machines import load_machine
from corewise.data.placement import make_placement, save_placement
from corewise.errors import InputError
from corewise.mpi import build, find, reorder

SOURCES = Path(__file__).resolve().parent
Table = Sequence[Sequence[int]]
Edges = set[tuple[int, int]]
UNITS = [unit.os_index for unit in load_machine("host").units]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs are built."""
    return tmp_path_factory.mktemp("reorder")


@cache
def program(name: str, stem: str, folder: Path) -> Path:
    """The executable of ``reorder/STEM.c``."""
    flags = ("-D_GNU_SOURCE", "-Wno-deprecated-declarations", "-pthread")
    return find_mpi(name).build(folder / f"{stem}.{name}", SOURCES / f"{stem}.c", flags=flags)


@cache
def library(name: str) -> Path:
    """The reorder library for an MPI."""
    return build.build_reorder(described(name))


def run(
    name: str,
    n: int,
    command: Path | str,
    order: str,
    args: Sequence[object] = (),
    extra: Mapping[str, str] | None = None,
    launcher: Sequence[str] = (),
) -> list[str]:
    """What the ranks print, sorted; the reorder library stands alone. Empty `order`: without the knob."""
    mpi = find_mpi(name)
    variables = {
        "LD_PRELOAD": str(library(name)),
        **({"COREWISE_REORDER": order} if order else {}),
        **(extra or {}),
    }
    options = [*launcher_options(mpi, variables), *launcher]
    done = mpi.run(n, command, args, launcher_args=options)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(done.stdout.splitlines())


def launch_ranks(lines: Sequence[str]) -> list[int]:
    """Of rank 0, 1, ..., as the ranks say it; Hydra may put two ranks' words on one line."""
    said = re.findall(r"rank (\d) is (\d)", "\n".join(lines))
    found = {int(rank): int(launched) for rank, launched in said}
    return [found[rank] for rank in range(len(found))]


def reversed_placement(folder: Path, ranks: int = 2) -> Path:
    """Rank 0 on the last unit, and so on."""
    host = load_machine("host")
    file = folder / "reversed.json"
    save_placement(make_placement(host, list(reversed(range(ranks)))), file)
    return file


def bound_in_order(mpi: Mpi) -> list[str]:
    """Launcher options: rank r on core r."""
    return ["--bind-to", "core"] if mpi.name == "openmpi" else ["-bind-to", "core"]


needs_two_cores = pytest.mark.skipif(min(CORES, len(UNITS)) < 2, reason="capability: two cores")


# --- where ranks run --------------------------------------------------------------------------------------


@needs_two_cores
def test_ranks_run_where_the_placement_says(mpi: Mpi, programs: Path, tmp_path: Path) -> None:
    """`corewise run -n` binds core by core, and rank r of the program sits on the unit of rank r."""
    profile, file = tmp_path / "world.cw", reversed_placement(tmp_path)
    options = ["-n", 2, "--mpi", mpi.prefix, "--reorder", file, "-o", profile]
    done = corewise("run", *options, "--", program(mpi.name, "world", programs))
    assert done.returncode == 0, done.stderr
    cpus = dict(re.findall(r"rank (\d) is \d on (\d+)", done.stdout))
    assert cpus == {"0": str(UNITS[1]), "1": str(UNITS[0])}
    assert launch_ranks(done.stdout.splitlines()) == [1, 0]
    assert "launch ranks of ranks 0, 1, ...: 1 0" in done.stderr
    meta = json.loads((profile / "meta.json").read_text())
    assert meta["reorder"] == {"reordered": True, "reason": "", "launch_ranks": [1, 0]}
    rows = document("report", profile)["rank_rows"]
    assert [int(row["cpus"].replace("-", ",").split(",")[0]) for row in rows] == [UNITS[1], UNITS[0]]


@needs_two_cores
def test_the_users_own_launcher_line(mpi: Mpi, programs: Path, tmp_path: Path) -> None:
    """The profile of the reordered run is the plain one's, with the ranks elsewhere."""
    root = ["--allow-run-as-root"] if mpi.name == "openmpi" and os.geteuid() == 0 else []
    line = [mpi.mpiexec, *root, "-n", 2, *bound_in_order(mpi), program(mpi.name, "world", programs)]
    file = reversed_placement(tmp_path)
    found = {}
    for which, options in (("plain", []), ("reordered", ["--reorder", file])):
        profile = tmp_path / f"{which}.cw"
        done = corewise("run", *options, "-o", profile, "--", *line)
        assert done.returncode == 0, done.stderr
        found[which] = (launch_ranks(done.stdout.splitlines()), document("report", profile))
    assert [found[which][0] for which in found] == [[0, 1], [1, 0]]
    plain, moved = found["plain"][1], found["reordered"][1]
    assert plain["matrix"] == moved["matrix"]
    # Rank 0 sends 40 bytes less than rank 1, on whatever core.
    sent = {(row["from"], row["to"]): row["bytes"] for row in moved["matrix"]["sent"]}
    assert sent[1, 0] - sent[0, 1] == 40
    assert [row["cpus"] for row in plain["rank_rows"]] == [row["cpus"] for row in moved["rank_rows"]][::-1]
    assert "reorder" not in json.loads((tmp_path / "plain.cw" / "meta.json").read_text())


@needs_two_cores
def test_unbound_ranks_keep_their_order(mpi: Mpi, programs: Path, tmp_path: Path) -> None:
    """Where a rank may run is not one unit: nothing is guessed, and the reason is told."""
    root = ["--allow-run-as-root"] if mpi.name == "openmpi" and os.geteuid() == 0 else []
    line = [mpi.mpiexec, *root, "-n", 2, "--bind-to", "none", program(mpi.name, "world", programs)]
    profile = tmp_path / "world.cw"
    done = corewise("run", "--reorder", reversed_placement(tmp_path), "-o", profile, "--json", "--", *line)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert row["reorder"]["reordered"] is False
    assert row["reorder"]["reason"].startswith("launch rank 0 is not bound to one unit")
    assert launch_ranks(done.stderr.splitlines()) == [0, 1]


def plan_file(folder: Path, units: Sequence[int]) -> Path:
    """A prepared file: rank r on unit ``units[r]`` of two, whose CPUs are this host's first two."""
    file = folder / "plan"
    file.write_text(
        f"corewise-reorder 1\n{len(units)} 2\n{UNITS[0]} {UNITS[1]}\n{' '.join(map(str, units))}\n0 2\n2 0\n"
    )
    return file


def answer(folder: Path) -> reorder.Answer:
    """What the library left."""
    assert (folder / reorder.ANSWER).exists()
    return reorder.read_answer(folder)


@needs_two_cores
def test_every_node_for_itself(programs: Path, tmp_path: Path) -> None:
    """Four ranks on two nodes that are made up: each node's ranks change places among themselves."""
    script = tmp_path / "on_its_node.sh"
    script.write_text('#!/bin/sh\nexport COREWISE_TRACE_NODE=node$((PMI_RANK / 2))\nexec "$@"\n')
    script.chmod(0o755)
    bound = ["-bind-to", f"user:{UNITS[0]},{UNITS[1]},{UNITS[0]},{UNITS[1]}"]
    plan = str(plan_file(tmp_path, [1, 0]))
    world = program("mpich", "world", programs)
    trace = {"COREWISE_TRACE_DIR": str(tmp_path)}
    assert launch_ranks(run("mpich", 4, script, plan, [world], trace, bound)) == [1, 0, 3, 2]
    assert answer(tmp_path) == reorder.Answer(True, "", (1, 0, 3, 2))


@needs_two_cores
@pytest.mark.parametrize(
    ("cpus", "units", "reason"),
    [
        ([0, 0], [1, 0], "launch ranks 0 and 1 share CPU {0}"),
        ([0, 1], [0], "a node has 2 ranks, the placement places 1"),
        ([0, 1], [0, 1], "the launcher's order is the one that was asked for"),
        ([0, 1], [0, 7], "launch rank 0 could not read the plan"),
    ],
)
def test_what_does_not_fit_stays(
    cpus: list[int], units: list[int], reason: str, programs: Path, tmp_path: Path
) -> None:
    bound = ["-bind-to", f"user:{UNITS[cpus[0]]},{UNITS[cpus[1]]}"]
    plan = str(plan_file(tmp_path, units))
    world = program("mpich", "world", programs)
    trace = {"COREWISE_TRACE_DIR": str(tmp_path)}
    assert launch_ranks(run("mpich", 2, world, plan, (), trace, bound)) == [0, 1]
    found = answer(tmp_path)
    assert (found.reordered, found.reason) == (False, reason.format(*UNITS))


# --- what programs see ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MPI_NAMES)
def test_every_way_to_say_world(name: str, programs: Path) -> None:
    """Static data, structs, PMPI names, threads, callbacks, the end: an order that is not its own inverse."""
    world = program(name, "world", programs)
    assert launch_ranks(run(name, 3, world, "order:1,2,0")) == [1, 2, 0]


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("openmpi", ""),
        ("mpich", ""),
        ("mpich", "order:1,2,0"),
        ("mpich", "order:1,0,1"),
        ("openmpi", "sideways"),
    ],
)
def test_off_unless_asked_for_and_understood(name: str, order: str, programs: Path) -> None:
    """No order, one of another size, no order at all, no such file: the launcher's stays."""
    assert launch_ranks(run(name, 2, program(name, "world", programs), order)) == [0, 1]


def test_the_recording_library_alone_knows_nothing_of_it(programs: Path, tmp_path: Path) -> None:
    """Off by default: without --reorder the library is not even loaded."""
    profile = tmp_path / "world.cw"
    mpich = find_mpi("mpich")
    options = ["-n", 2, "--mpi", mpich.prefix, "-o", profile]
    environment = {**os.environ, "COREWISE_REORDER": "reverse"}
    done = corewise("run", *options, "--", program("mpich", "world", programs), env=environment)
    assert done.returncode == 0, done.stderr
    assert launch_ranks(done.stdout.splitlines()) == [0, 1]
    assert not (profile / reorder.ANSWER).exists()


def test_a_program_of_another_mpi_is_left_alone(programs: Path, tmp_path: Path) -> None:
    """Both libraries step aside together: the program starts again without either."""
    openmpi = find_mpi("openmpi")
    variables = {
        "LD_PRELOAD": f"{preload('mpich')}:{library('mpich')}",
        "COREWISE_REORDER": "reverse",
        "COREWISE_TRACE_DIR": str(tmp_path),
    }
    words = [*(f"{name}={value}" for name, value in variables.items()), program("openmpi", "world", programs)]
    done = openmpi.run(2, "/usr/bin/env", words)
    assert done.returncode == 0, done.stderr
    assert launch_ranks(done.stdout.splitlines()) == [0, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["other-mpi.txt"]


PYTHON = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
assert world.sendrecv(rank, (rank + 1) % size, source=(rank - 1) % size) == (rank - 1) % size
assert world.group.rank == rank and MPI.Comm.Compare(world, MPI.COMM_WORLD) == MPI.IDENT
assert world.Get_name() == "MPI_COMM_WORLD" and world.Get_attr(MPI.TAG_UB) >= 32767
print("rank", rank, "is", os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")))
"""


@pytest.mark.parametrize("name", MPI_NAMES)
def test_python_program(name: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PYTHON)
    assert launch_ranks(run(name, 3, sys.executable, "order:1,2,0", [script])) == [1, 2, 0]


@pytest.mark.parametrize("language", fortran_runs.LANGUAGES)
@pytest.mark.parametrize("name", fortran_runs.NAMES)
def test_fortran_program(name: str, language: str) -> None:
    """The handle in a COMMON block, attributes, handlers; with the recording library and alone."""
    fortran_runs.require(name)
    for each in fortran_runs.LANGUAGES:
        fortran_runs.start_building(name, "world", f"-DLANGUAGE_{each}")
    built = fortran_runs.program(name, "world", f"-DLANGUAGE_{language}")
    with_recording = language == "f08"
    libraries = [fortran_runs.preload(name)] if with_recording else []
    libraries.append(build.build_reorder(find.from_launcher(f"mpiexec.{name}")))
    variables = {"LD_PRELOAD": ":".join(map(str, libraries)), "COREWISE_REORDER": "order:1,2,0"}
    options: list[str] = []
    for key, value in variables.items():
        options += ["-x", f"{key}={value}"] if name == "openmpi" else ["-genv", key, value]
    done = subprocess.run(
        [f"mpiexec.{name}", *options, "-n", "3", str(built)],
        check=False, capture_output=True, text=True, timeout=600,
        env={**os.environ, **fortran_runs.ENVIRONMENT},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert launch_ranks(done.stdout.splitlines()) == [1, 2, 0]


# --- topologies -------------------------------------------------------------------------------------------


def chain(lines: Sequence[str], head: str) -> list[int]:
    """The launch rank at every place of a chain."""
    said = re.findall(rf"{head}place (\d) launch (\d)", "\n".join(lines))
    found = {int(place): int(launched) for place, launched in said}
    return [found[place] for place in range(len(found))]


@pytest.mark.parametrize("name", MPI_NAMES)
def test_topologies_may_reorder(name: str, programs: Path) -> None:
    """In a scrambled world a chain finds back to neighbours side by side; without leave it stays."""
    lines = run(name, 4, program(name, "grid", programs), "order:0,2,1,3")
    assert chain(lines, "chain 0 4 ") == [0, 2, 1, 3]
    assert chain(lines, "chain 1 4 ") in ([0, 1, 2, 3], [3, 2, 1, 0])
    assert chain(lines, "chain 1 3 ") in ([0, 1, 2], [2, 1, 0])
    assert chain(lines, "graph 4 ") in ([0, 1, 2, 3], [3, 2, 1, 0])
    assert chain(lines, "graph 3 ") in ([0, 1, 2], [2, 1, 0])


@pytest.mark.parametrize("name", MPI_NAMES)
def test_maps_answer_what_creating_gives(name: str, programs: Path) -> None:
    """Three ranks on a line, where the two once differed; the program itself compares."""
    lines = run(name, 3, program(name, "grid", programs), "order:1,0,2")
    assert chain(lines, "chain 1 3 ") in ([0, 1, 2], [2, 1, 0])


@cache
def search(folder: Path) -> Path:
    """The preload's own search, as a program."""
    source = Path(build.source_root())
    words = [*build.compiler(), "-std=c++20", "-O1", f"-I{source}", "-o", str(folder / "search")]
    files = [str(SOURCES / "search.cpp"), str(source / "preload" / "reordering" / "grid.cpp")]
    subprocess.run([*words, *files], check=True)
    return folder / "search"


def searched(
    program: Path, dims: Sequence[int], periods: Sequence[int], table: Table
) -> tuple[list[int], Edges]:
    """The member at every place, and the edges of the grid."""
    rows = [[len(dims)], dims, periods, [len(table)], *table]
    text = "\n".join(" ".join(map(str, row)) for row in rows)
    done = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    first, *edges = done.stdout.splitlines()
    pairs = [tuple(map(int, edge.split())) for edge in edges]
    assert len(set(pairs)) == len(pairs)
    return [int(member) for member in first.split()], {(a, b) for a, b in pairs}


def expected_edges(dims: Sequence[int], periods: Sequence[int]) -> Edges:
    """Both directions between coordinates that differ by one step in one dimension."""
    places = list(itertools.product(*(range(length) for length in dims)))
    number = {place: i for i, place in enumerate(places)}
    found = set()
    for place, d, step in itertools.product(places, range(len(dims)), (-1, 1)):
        at = place[d] + step
        if periods[d] or 0 <= at < dims[d]:
            other = (*place[:d], at % dims[d], *place[d + 1 :])
            found.add((number[place], number[other]))
    return {(a, b) for a, b in found if a != b}


@pytest.mark.parametrize(
    ("dims", "periods"),
    [
        ((6,), (1,)),
        ((2, 3), (0, 1)),
        ((2, 2, 2), (1, 1, 0)),
        ((4, 4), (1, 0)),
        ((1, 5), (1, 1)),
        ((3, 1, 4), (0, 1, 1)),
    ],
)
def test_the_search_of_a_grid(dims: tuple[int, ...], periods: tuple[int, ...], programs: Path) -> None:
    """Its edges are the grid's; the result is valid, no worse than the identity, and no swap betters it."""
    places = math.prod(dims)
    chance = random.Random(places)
    table = [[0] * places for _ in range(places)]
    for a, b in itertools.combinations(range(places), 2):
        table[a][b] = table[b][a] = chance.randrange(1, 9)
    members, edges = searched(search(programs), dims, periods, table)
    assert edges == expected_edges(dims, periods)
    assert sorted(members) == list(range(places))

    def cost(order: Sequence[int]) -> int:
        return sum(table[order[a]][order[b]] for a, b in edges)

    assert cost(members) <= cost(range(places))
    for a, b in itertools.combinations(range(places), 2):
        swapped = list(members)
        swapped[a], swapped[b] = members[b], members[a]
        assert cost(swapped) >= cost(members)


# --- the command line, advice -----------------------------------------------------------------------------


def test_wrong_input(programs: Path, tmp_path: Path) -> None:
    mpich = find_mpi("mpich")
    world = program("mpich", "world", programs)
    one = tmp_path / "one.json"
    save_placement(make_placement(load_machine("host"), [0]), one)
    foreign = tmp_path / "cell.json"
    save_placement(make_placement(load_machine("cell-be"), [0, 1]), foreign)
    other = tmp_path / "other.json"
    other.write_text('{"format": "a shopping list"}')
    profile = tmp_path / "x.cw"

    def refused(file: object, *words: str, more: Sequence[object] = ()) -> None:
        options = ["--mpi", mpich.prefix, "-n", 2, "-o", profile, "--reorder", file, *more]
        assert_one_line_error(corewise("run", *options, "--", world), *words)
        assert not profile.exists()

    refused(one, "one.json", "places 1 ranks", "-n is 2")
    refused(foreign, "cell.json", "cell-be")
    refused(other, "other.json", "format")
    refused(tmp_path / "nothing.json", "nothing.json")
    refused(one, "--reorder", "--placement", more=["--placement", one])


ADVICE_C = """
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, before;
  MPI_Init(&argc, &argv);
  @ADVICE@
  MPI_Comm_rank(corewise_world, &rank);
  MPI_Comm_rank(MPI_COMM_WORLD, &before);
  printf("rank %d is %d\\n", rank, before);
  MPI_Finalize();
  return 0;
}
"""


@needs_two_cores
@pytest.mark.parametrize("by_cpu", [False, True])
def test_split_advice_in_c(mpi: Mpi, by_cpu: bool, tmp_path: Path) -> None:
    """The printed code does what it says."""
    host = load_machine("host")
    placement = make_placement(host, [1, 0])
    advice = reorder.split_advice(placement, "c", host if by_cpu else None)
    (tmp_path / "advice.c").write_text(ADVICE_C.replace("@ADVICE@", advice))
    built = mpi.build(tmp_path / "advice", tmp_path / "advice.c", flags=("-w",))
    done = mpi.run(2, built, launcher_args=bound_in_order(mpi))
    assert done.returncode == 0, done.stderr
    assert launch_ranks(sorted(done.stdout.splitlines())) == [1, 0]


@needs_two_cores
def test_split_advice_in_python(tmp_path: Path) -> None:
    host = load_machine("host")
    advice = reorder.split_advice(make_placement(host, [1, 0]), "python", host)
    script = tmp_path / "advice.py"
    script.write_text(
        f"{advice}\nprint('rank', corewise_world.Get_rank(), 'is', MPI.COMM_WORLD.Get_rank())\n"
    )
    # The library, off, brings the MPI with it that mpi4py shall find.
    bound = bound_in_order(find_mpi("mpich"))
    assert launch_ranks(run("mpich", 2, sys.executable, "", [script], launcher=bound)) == [1, 0]


ADVICE_F90 = """
program advice
  use mpi
  implicit none
{declared}  integer :: rank, before
  call MPI_Init(corewise_error)
{executed}  call MPI_Comm_rank(corewise_world, rank, corewise_error)
  call MPI_Comm_rank(MPI_COMM_WORLD, before, corewise_error)
  print '(a, i0, a, i0)', 'rank ', rank, ' is ', before
  call MPI_Finalize(corewise_error)
end program
"""


@pytest.mark.parametrize("by_cpu", [False, True])
def test_split_advice_in_fortran(by_cpu: bool, tmp_path: Path) -> None:
    """Declarations first, then the calls, as the text stands."""
    fortran_runs.require("mpich")
    host = load_machine("host")
    order = [1, 0] if len(UNITS) > 1 else [0]
    lines = reorder.split_advice(make_placement(host, order), "fortran", host if by_cpu else None).splitlines(
        True
    )
    first = next(i for i, line in enumerate(lines) if line.startswith("call "))
    source = tmp_path / "advice.F90"
    source.write_text(ADVICE_F90.format(declared="".join(lines[:first]), executed="".join(lines[first:])))
    built = tmp_path / "advice"
    subprocess.run(["mpif90.mpich", "-o", str(built), str(source)], check=True, cwd=tmp_path)
    done = subprocess.run(
        ["mpiexec.mpich", "-n", str(len(order)), "-bind-to", "core", str(built)],
        check=True, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert launch_ranks(sorted(done.stdout.splitlines())) == order


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(InputError, match="allowed: c, fortran, python"):
        reorder.split_advice(make_placement(load_machine("host"), [0]), "cobol")
