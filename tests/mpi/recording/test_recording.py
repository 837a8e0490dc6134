"""What a user chooses to record (paper 003, section 5), at run time and when the preload is built.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from functions_runs import HOOKS
from installed_tool import assert_one_line_error, corewise
from preload_runs import library
from trace_decoder import Trace, decode_folder

from corewise.mpi import build

EVERYTHING_C = r"""
#include <mpi.h>

#include "corewise.h"

__attribute__((noinline)) int called(int value) {
  return value + 1;
}

int main(int argc, char** argv) {
  int rank, size, data = 0, got = 0, flag = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  corewise_begin("region");
  data = called(rank);
  MPI_Sendrecv(&data, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT, (rank + size - 1) % size, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  MPI_Allreduce(MPI_IN_PLACE, &data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  corewise_end();
  MPI_Finalize();
  return 0;
}
"""
RANKS = 2
ROLES = {
    "calls": {"plain", "miss"},
    "messages": {"send", "arrival"},
    "collectives": {"collective"},
    "functions": {"function_enter", "function_exit"},
    "regions": {"region_enter", "region_exit"},
}
ALL = set().union(*ROLES.values())


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One event of every kind that needs no window and no file."""
    folder = tmp_path_factory.mktemp("everything")
    source = folder / "everything.c"
    source.write_text(EVERYTHING_C)
    return library("mpich").build(folder / "everything", source, flags=[HOOKS, f"-I{build.include_folder()}"])


def recorded(program: Path, folder: Path, *options: object) -> list[Trace]:
    """The traces of a run with these options, in order of rank."""
    profile = folder / "chosen.cw"
    run = ["run", "-n", RANKS, "--mpi", library("mpich").prefix, "-o", profile, *options]
    done = corewise(*run, "--", program)
    assert (done.returncode, done.stdout) == (0, "")
    traces = decode_folder(profile)
    assert [trace.losses() for trace in traces.values()] == [{}] * RANKS
    return [traces[rank] for rank in range(RANKS)]


def roles(trace: Trace) -> set[str]:
    """What its records are."""
    return {each.role for each in trace.records}


def sites(trace: Trace) -> set[bool]:
    """Whether calls have sites."""
    return {each.site != 0 for each in trace.records if each.procedure}


def test_the_choice_at_run_time(program: Path, tmp_path: Path) -> None:
    """Nothing asked for is everything; a word adds, a word with ! takes away."""
    for options, expected, sited in (
        ([], ALL, {True}),
        (["--record", "messages,collectives"], ROLES["messages"] | ROLES["collectives"], {False}),
        (["--record", "!calls,!functions"], ALL - ROLES["calls"] - ROLES["functions"], {True}),
        (["--record", "all,!sites,!messages", "--mode", "flight"], ALL - ROLES["messages"], {False}),
        (["--record", "regions,functions", "--mode", "thread"], ROLES["regions"] | ROLES["functions"], set()),
    ):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for trace in recorded(program, folder, *options):
            assert (roles(trace), sites(trace)) == (expected, sited), options


def test_the_choice_when_the_preload_is_built(program: Path, tmp_path: Path) -> None:
    """Another library with another key, without the hooks; what it cannot record leaves nothing."""
    mpich = library("mpich").prefix
    built = corewise("build-preload", "--mpi", mpich, "--without", "functions,sites", "--json")
    assert built.returncode == 0, built.stderr
    (row,) = json.loads(built.stdout)["rows"]
    whole = corewise("build-preload", "--mpi", mpich).stdout.strip()
    assert row["library"] != whole
    listed = {
        path: subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True)
        for path in (row["library"], whole)
    }
    assert ["__cyg_profile" in done.stdout for done in listed.values()] == [False, True]
    assert all(" T corewise_begin" in done.stdout for done in listed.values())
    for trace in recorded(program, tmp_path, "--preload", row["library"]):
        assert (roles(trace), sites(trace)) == (ALL - ROLES["functions"], {False})
        assert trace.number("kinds") == 255 - 32 - 128


def test_wrong_choices_are_refused(program: Path, tmp_path: Path) -> None:
    run = ["run", "-n", RANKS, "--mpi", library("mpich").prefix, "-o", tmp_path / "x.cw"]
    for options, words in (
        (["--record", "mesages"], ("--record", "'mesages'", "messages, collectives")),
        (["--record", "messages,"], ("--record", "''", "allowed")),
        (["--record", "messages,!messages"], ("--record", "nothing to record")),
        (["--mode", "ring"], ("--mode", "'ring'", "drain, thread, flight")),
        (["--mode", "drain", "--flight-recorder"], ("--flight-recorder", "drain")),
        (["--clock", "sun"], ("--clock", "'sun'", "auto, tsc, os")),
        (["--sync-clocks", "often"], ("--sync-clocks", "'often'", "never, ends, collectives")),
        (["--files", "one"], ("--files", "'one'", "rank, node")),
        (["--buffer", "1 KiB"], ("--buffer", "'1 KiB'", "4 KiB to 64 MiB")),
        (["--preload", program.with_suffix(".c")], ("--preload", "everything.c", "shared library")),
    ):
        assert_one_line_error(corewise(*run, *options, "--", program), *words)
    assert not (tmp_path / "x.cw").exists()
    for text, words in (
        ("tea", ("--without", "'tea'", "allowed")),
        ("all", ("--without", "'all'", "nothing")),
    ):
        assert_one_line_error(corewise("build-preload", "--without", text), *words)


def test_where_the_header_is() -> None:
    done = corewise("build-preload", "--include")
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip())
    assert {path.name for path in folder.iterdir()} >= {"corewise.h", "corewise.f90"}
