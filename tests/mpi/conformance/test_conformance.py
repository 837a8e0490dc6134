"""The conformance suite of MPI semantics: plain, and under each library of ours.

Owns which program of ``conformance/`` runs where: each names in comment lines the rank counts it wants,
its exit status (``// exit:``), its arguments and its environment. Every program is built once per MPI.
In ``test_preload`` the ranks, and only they, get the library in LD_PRELOAD; the outcome must be that of the
plain run: the same status, the same lines, nothing more on either stream. In ``test_reordered`` they get the
reorder library as well, and a world whose order is not the launcher's; in ``test_packing`` the packing
library, which packs non-contiguous messages, alone and behind the other two; in ``test_accelerate`` the
accelerate library, which does every collective that it can, alone and, for some programs, behind the other
three, and its counts must say that it did some. No program is left out.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from accelerating_runs import PROCEDURES
from conftest import Mpi, find_mpi

pytestmark = pytest.mark.first_test

HERE = Path(__file__).resolve().parent
MPI_NAMES = ("openmpi", "mpich", "mpich_abi")
TIMEOUT_S = 600.0
BUILDERS = 2
# The last two are about Open MPI's MPI_UNWEIGHTED and about arguments that are garbage on purpose.
FLAGS = (
    "-D_GNU_SOURCE",
    "-O1",
    "-g",
    "-Wno-deprecated-declarations",
    "-Wno-stringop-overread",
    "-Wno-stringop-overflow",
)
LIBRARIES = ("-lpthread", "-ldl")

# Open MPI complains on stderr about a UCX device that no node needs.
QUIET = {"OMPI_MCA_osc": "^ucx"}


@dataclass(frozen=True)
class Program:
    """One program of the suite and what its comment lines ask for."""

    name: str
    ranks: tuple[int, ...]
    exit_status: int
    arguments: tuple[str, ...]
    environment: dict[str, str]
    source: Path


def _words(text: str, what: str) -> list[str]:
    found = re.search(rf"^// {what}: (.*)$", text, re.M)
    return found[1].split() if found else []


def program_name(source: Path) -> str:
    """Its file's name; those about derived types in messages say so."""
    return f"typed_{source.stem}" if source.parent.name == "typed" else source.stem


def read_program(source: Path) -> Program:
    """What the comment lines at the top of ``source`` say."""
    text = source.read_text()
    return Program(
        name=program_name(source),
        ranks=tuple(map(int, _words(text, "ranks"))),
        exit_status=int((_words(text, "exit") or ["0"])[0]),
        arguments=tuple(_words(text, "arguments")),
        environment=dict(word.split("=", 1) for word in _words(text, "environment")),
        source=source,
    )


PROGRAMS = {program_name(source): read_program(source) for source in sorted(HERE.glob("*/*.c"))}
# The standard ABI is the same library behind another header: each program's highest rank count is enough.
CASES = [
    (mpi_name, program.name, n)
    for mpi_name in MPI_NAMES
    for program in PROGRAMS.values()
    for n in (program.ranks if mpi_name in ("openmpi", "mpich") else program.ranks[-1:])
]
# A reordered world needs two ranks, and three for an order that is not its own inverse.
REORDERED_CASES = [
    (mpi_name, program.name, next(n for n in (3, 2, *program.ranks) if n in program.ranks))
    for mpi_name in MPI_NAMES
    for program in PROGRAMS.values()
]


def _long_where(cases: Sequence[tuple[Any, ...]], repeats: Callable[[tuple[Any, ...]], bool]) -> list[Any]:
    return [pytest.param(*case, marks=pytest.mark.long_test) if repeats(case) else case for case in cases]


def _fewer_ranks_are_long(cases: Sequence[tuple[Any, ...]]) -> list[Any]:
    """A program on fewer ranks than it may have, and MPICH by the standard ABI, repeat what others show."""
    return _long_where(cases, lambda case: case[0] == "mpich_abi" or case[2] != PROGRAMS[case[1]].ranks[-1])


def _one_mpi_is_short(cases: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Each program runs on one of the two MPIs every time, and on the other among the long tests."""
    turn = {name: ("openmpi", "mpich")[place % 2] for place, name in enumerate(PROGRAMS)}
    return _long_where(cases, lambda case: case[0] != turn[case[1]])


NO_WORLD = ("session",)
"""Programs of sessions that never call MPI_Init: there is no MPI_COMM_WORLD to reorder."""


@cache
def library(name: str) -> Mpi:
    """The MPI called ``name``; ``mpich_abi`` is MPICH through the standard ABI."""
    family, _, suffix = name.partition("_")
    return find_mpi(family, wrapper_suffix=f"_{suffix}" if suffix else "")


def _build(mpi: Mpi, program: Program, output: Path) -> Path:
    command = [
        str(mpi.mpicc),
        "-std=c11",
        *FLAGS,
        "-I.",
        "-o",
        str(output),
        str(program.source.relative_to(HERE)),
        *LIBRARIES,
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=HERE)
    if done.returncode != 0:
        raise RuntimeError(f"{mpi.name}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return output


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Mpi, Program], Path]]:
    """Gives a program's executable; the first question about an MPI starts building all of its programs."""
    folder = tmp_path_factory.mktemp("conformance")
    futures: dict[tuple[str, str], Future[Path]] = {}
    with ThreadPoolExecutor(BUILDERS) as pool:

        def build(mpi: Mpi, program: Program) -> Path:
            if (mpi.name, program.name) not in futures:
                for each in PROGRAMS.values():
                    output = folder / f"{each.name}.{mpi.name}"
                    futures[mpi.name, each.name] = pool.submit(_build, mpi, each, output)
            return futures[mpi.name, program.name].result()

        yield build


@cache
def ours(mpi_name: str, kind: str) -> str:
    """A library of ours for an MPI, built once; one that cannot be built fails the test."""
    from corewise.mpi import build
    from corewise.mpi.find import from_prefix

    make = getattr(build, f"build_{kind}")
    return str(make(from_prefix(library(mpi_name).prefix, abi=mpi_name.endswith("_abi"))))


def preloaded(mpi_name: str, *kinds: str) -> dict[str, str]:
    """The variable by which ranks load libraries of ours."""
    return {"LD_PRELOAD": ":".join(ours(mpi_name, kind) for kind in kinds)}


@dataclass(frozen=True)
class Outcome:
    """How a launch ended and what it printed."""

    status: int
    out: str
    err: str

    def check(self, program: Program) -> None:
        """The program's own verdict: its status, and "ok NAME" once."""
        text = f"exit status {self.status}\n{self.out}\n{self.err}"
        assert self.status == program.exit_status, text
        assert self.out.splitlines().count(f"ok {program.name}") == 1, text

    def lines(self) -> tuple[Counter[str], Counter[str]]:
        """What stdout and stderr say, whatever the order of lines and the numbers of processes and jobs."""
        return Counter(self.out.splitlines()), Counter(_without_numbers(self.err).splitlines())


def launch(mpi: Mpi, program: Program, executable: Path, n: int, ranks_env: dict[str, str]) -> Outcome:
    """Run one program on ``n`` ranks, which alone see ``ranks_env``: ``env`` stands before the program."""
    variables = [f"{name}={value}" for name, value in ranks_env.items()]
    words = [*variables, str(executable), *program.arguments]
    done = mpi.run(n, "/usr/bin/env", words, env={**QUIET, **program.environment}, timeout=TIMEOUT_S)
    return Outcome(done.returncode, done.stdout, done.stderr)


def _without_numbers(text: str) -> str:
    return re.sub(r"[0-9]+", "0", text.replace("\0", ""))


@pytest.fixture(scope="session")
def plain_run(built: Callable[[Mpi, Program], Path]) -> Callable[[Mpi, Program, int], Outcome]:
    """Runs a program without the preload, once per rank count, for both modes to look at."""

    @cache
    def run(mpi_name: str, name: str, n: int) -> Outcome:
        mpi, program = library(mpi_name), PROGRAMS[name]
        return launch(mpi, program, built(mpi, program), n, {})

    return lambda mpi, program, n: run(mpi.name, program.name, n)


@pytest.fixture(scope="session")
def same_as_plain(
    built: Callable[[Mpi, Program], Path], plain_run: Callable[[Mpi, Program, int], Outcome]
) -> Callable[[str, str, int, dict[str, str]], None]:
    """Runs a program whose ranks see some variables: it says the very same, and nothing of corewise."""

    def run(mpi_name: str, name: str, n: int, ranks_env: dict[str, str]) -> None:
        mpi, program = library(mpi_name), PROGRAMS[name]
        plain = plain_run(mpi, program, n)
        plain.check(program)
        done = launch(mpi, program, built(mpi, program), n, ranks_env)
        done.check(program)
        assert "corewise" not in (done.out + done.err).lower()
        # Where a program fails on purpose, what the launcher says of it varies from run to run.
        if program.exit_status == 0:
            assert done.lines() == plain.lines()

    return run


@pytest.mark.parametrize(("mpi_name", "name", "n"), _fewer_ranks_are_long(CASES))
def test_plain(mpi_name: str, name: str, n: int, plain_run: Callable[[Mpi, Program, int], Outcome]) -> None:
    """The program says that the semantics hold."""
    plain_run(library(mpi_name), PROGRAMS[name], n).check(PROGRAMS[name])


@pytest.mark.parametrize(("mpi_name", "name", "n"), _fewer_ranks_are_long(CASES))
def test_preload(
    mpi_name: str,
    name: str,
    n: int,
    same_as_plain: Callable[[str, str, int, dict[str, str]], None],
    tmp_path: Path,
) -> None:
    """Under the recording preload the program says so in the very same words, and was recorded."""
    same_as_plain(mpi_name, name, n, {**preloaded(mpi_name, "preload"), "COREWISE_TRACE_DIR": str(tmp_path)})
    assert list(tmp_path.iterdir()), "nothing was recorded: the preload took no part in this run"


@pytest.mark.parametrize(("mpi_name", "name", "n"), _one_mpi_is_short(REORDERED_CASES))
def test_reordered(
    mpi_name: str,
    name: str,
    n: int,
    same_as_plain: Callable[[str, str, int, dict[str, str]], None],
    tmp_path: Path,
) -> None:
    """The launcher's rank 1 is the program's rank 0, and so on: the program says the same all the same."""
    launch_ranks = [(rank + 1) % n for rank in range(n)]
    ranks_env = {
        **preloaded(mpi_name, "preload", "reorder"),
        "COREWISE_TRACE_DIR": str(tmp_path),
        "COREWISE_REORDER": f"order:{','.join(map(str, launch_ranks))}",
    }
    same_as_plain(mpi_name, name, n, ranks_env)
    answer = tmp_path / "reorder.json"
    assert answer.exists() == (name not in NO_WORLD)
    if answer.exists():
        found = json.loads(answer.read_text())
        assert (found["reordered"], found["launch_ranks"]) == (True, launch_ranks)


REQUESTS = ("request", "many", "persistent", "status", "typed_requests", "typed_errors", "thread")
"""Programs that complete several requests at once."""
PACKING_CASES = [
    (mpi_name, program.name, program.ranks[-1], mpi_name == "mpich_abi")
    for mpi_name in MPI_NAMES
    for program in PROGRAMS.values()
]


@pytest.mark.parametrize(("mpi_name", "name", "n", "all_three"), _one_mpi_is_short(PACKING_CASES))
def test_packing(
    mpi_name: str,
    name: str,
    n: int,
    all_three: bool,
    same_as_plain: Callable[[str, str, int, dict[str, str]], None],
    tmp_path: Path,
) -> None:
    """Our loops move every non-contiguous message, and the program says the same; also behind the others.

    On MPICH such messages are packed, on Open MPI its own engine uses our loops.
    """
    before = ("preload", "reorder") if all_three else ()
    order = ",".join(map(str, reversed(range(n))))
    traced = {"COREWISE_TRACE_DIR": str(tmp_path), "COREWISE_REORDER": f"order:{order}"} if all_three else {}
    ranks_env = {**preloaded(mpi_name, *before, "packing"), "COREWISE_PACKING": "always", **traced}
    same_as_plain(mpi_name, name, n, ranks_env)


@pytest.mark.parametrize("name", REQUESTS)
def test_packing_without_memory(
    name: str, same_as_plain: Callable[[str, str, int, dict[str, str]], None]
) -> None:
    """Where there is no memory for the entries of three requests and more, they are completed one by one."""
    from corewise.mpi.build import build_packing
    from corewise.mpi.find import from_prefix

    poor = build_packing(from_prefix(library("mpich").prefix), definitions=("COREWISE_PACKING_NO_MEMORY",))
    ranks_env = {"LD_PRELOAD": str(poor), "COREWISE_PACKING": "always"}
    same_as_plain("mpich", name, PROGRAMS[name].ranks[-1], ranks_env)


COLLECTIVES = ("collective", "icollective", "operator", "communicator", "intercomm", "topology", "session")
"""Programs that do many collectives: on every number of ranks, and with all four libraries at once."""
_REPEATED = """atexit_finalize collective communicator datatype error fork io many matching modes operator
partitioned persistent pmpi probe request rma session_world signal thread typed_errors typed_exchange
typed_requests"""
TAKEN_OVER = frozenset(_REPEATED.split())
"""Programs with several blocking collectives on one communicator of the launch: the first is the MPI's."""
ACCELERATE_CASES = [
    (mpi_name, program.name, n)
    for mpi_name in MPI_NAMES
    for program in PROGRAMS.values()
    for n in (program.ranks if program.name in COLLECTIVES else program.ranks[-1:])
]


def _accelerated(folder: Path, mpi_name: str, *before: str) -> dict[str, str]:
    """What makes the accelerate library do every collective that it can, from the second one on."""
    return {
        **preloaded(mpi_name, *before, "accelerate"),
        "COREWISE_ACCELERATE": "always",
        "COREWISE_ACCELERATE_AFTER": "1",
        "COREWISE_TRACE_DIR": str(folder),
    }


def _check_taken_over(program: Program, n: int, folder: Path) -> None:
    """Every rank's counts say that calls were taken over; in ``collective``, those of every procedure."""
    from corewise.data.accelerate import COPIES, TAKEN, load_accelerate

    if n == 1 or program.name not in TAKEN_OVER:
        return
    ranks = load_accelerate(folder)
    assert list(ranks) == list(range(n))
    for rows in ranks.values():
        taken = {row.procedure for row in rows if row.outcome == TAKEN} - {COPIES}
        assert (taken == PROCEDURES) if program.name == "collective" else taken, rows


@pytest.mark.parametrize(("mpi_name", "name", "n"), _fewer_ranks_are_long(ACCELERATE_CASES))
def test_accelerate(
    mpi_name: str,
    name: str,
    n: int,
    same_as_plain: Callable[[str, str, int, dict[str, str]], None],
    tmp_path: Path,
) -> None:
    """Our collectives take the place of the MPI's, and the program says the same."""
    same_as_plain(mpi_name, name, n, _accelerated(tmp_path, mpi_name))
    _check_taken_over(PROGRAMS[name], n, tmp_path)


@pytest.mark.parametrize(("mpi_name", "name"), _one_mpi_is_short([*product(MPI_NAMES, COLLECTIVES)]))
def test_accelerate_by_levels(
    mpi_name: str,
    name: str,
    same_as_plain: Callable[[str, str, int, dict[str, str]], None],
    tmp_path: Path,
) -> None:
    """Every two ranks of the launch count as a node."""
    ranks_env = {**_accelerated(tmp_path, mpi_name), "COREWISE_ACCELERATE_LEVELS": "2"}
    same_as_plain(mpi_name, name, PROGRAMS[name].ranks[-1], ranks_env)


@pytest.mark.parametrize(("mpi_name", "name"), _one_mpi_is_short([*product(MPI_NAMES, COLLECTIVES)]))
def test_accelerate_behind_the_others(
    mpi_name: str,
    name: str,
    same_as_plain: Callable[[str, str, int, dict[str, str]], None],
    tmp_path: Path,
) -> None:
    """With the order of the ranks turned round, packed messages and every call recorded."""
    n = PROGRAMS[name].ranks[-1]
    ranks_env = {
        **_accelerated(tmp_path, mpi_name, "preload", "reorder", "packing"),
        "COREWISE_REORDER": f"order:{','.join(map(str, reversed(range(n))))}",
        "COREWISE_PACKING": "always",
    }
    same_as_plain(mpi_name, name, n, ranks_env)
    _check_taken_over(PROGRAMS[name], n, tmp_path)


def test_every_program_asks_for_ranks() -> None:
    """A program whose comment line was forgotten would never run."""
    assert len(PROGRAMS) >= 30
    assert all(program.ranks for program in PROGRAMS.values())


def test_lists_of_programs_name_programs() -> None:
    """A name that was misspelt would leave out what it stands for."""
    assert {*NO_WORLD, *REQUESTS, *COLLECTIVES, *TAKEN_OVER} <= PROGRAMS.keys()


@pytest.mark.parametrize("mpi_name", MPI_NAMES)
def test_failed_check_is_seen(mpi_name: str, tmp_path: Path) -> None:
    """The assertions can fail: a wrong expectation names file, line and both values, and ends the job."""
    source = tmp_path / "wrong.c"
    source.write_text(
        '#include "check.h"\nint main(void) {\n  start();\n  EQ(3, size);\n  return finish("wrong");\n}\n'
    )
    mpi = library(mpi_name)
    executable = mpi.build(tmp_path / "wrong", source, flags=(f"-I{HERE}",))
    done = mpi.run(2, executable)
    assert done.returncode != 0
    assert re.search(r"wrong\.c:4: rank [01] of 2: size: expected 3, found 2", done.stdout), done.stdout
    assert "ok wrong" not in done.stdout
