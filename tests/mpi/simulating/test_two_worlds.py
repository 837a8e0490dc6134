"""One source, two worlds: the bundled programs on a real MPI and on simulated ranks.

The same results (to the last bit where a program promises that of any number of ranks, else within rounding)
and the same communication matrix, which the programs count themselves; on simulated ranks the run counts the
same.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Mpi
from installed_tool import corewise, document
from test_apps import APPS, build_app, nonzero, read_matrix

from corewise.sim.ranks import RankRun, compile_program, run_program

pytestmark = pytest.mark.first_test

SWEEP = ["--size", "8x9x10", "--iterations", "2", "--check"]
PROGRAMS = {
    "sweep3d": ([SWEEP, [*SWEEP, "--modified", "--group", "2"]], r"flux_sum=(\S+)"),
    "lbm": ([["--size", "8x8x8", "--steps", "3", "--check"]], r" viscosity=(\S+)"),
    "md": ([["--cells", "6x6x6", "--steps", "4", "--every", "2"]], r"(?:total |energy=)(\S+)"),
}
"""Runs' arguments, and where the result stands in the output; all runs of a program have one result."""
WITHIN = {"sweep3d": 0.0, "lbm": 0.0, "md": 1e-12}
"""Of the result: MPIs add an allreduce up in orders of their own."""
RANKS = [1, 2, 6, *(pytest.param(many, marks=pytest.mark.long_test) for many in (8, 16, 32))]


@pytest.fixture(scope="session", params=sorted(PROGRAMS))
def both(
    request: pytest.FixtureRequest, mpi: Mpi, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, Path]:
    """A program's name, built for the real MPI and for simulated ranks."""
    name: str = request.param
    folder = tmp_path_factory.mktemp(f"{name}-{mpi.name}")
    simulated = folder / f"{name}.sim"
    sources = [str(each) for each in sorted((APPS / name).glob("*.cpp"))]
    assert compile_program(["-O1", "-std=c++20", *sources, "-o", str(simulated)]) == 0
    return name, build_app(mpi, name, folder, flags=["-O1"]), simulated


def observed(run: RankRun) -> dict[tuple[int, int], tuple[int, int]]:
    """What the simulated run counted, as the programs write it."""
    return {
        (int(row["sender"]), int(row["receiver"])): (int(row["bytes"]), int(row["messages"]))
        for row in run.traffic
        if row["messages"] > 0
    }


def results(name: str, output: str) -> list[float]:
    """The result as a program printed it."""
    return list(map(float, re.findall(PROGRAMS[name][1], output)))


@pytest.mark.parametrize("ranks", RANKS)
def test_same_result_and_same_matrix(
    mpi: Mpi, both: tuple[str, Path, Path], ranks: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    name, real, simulated = both
    counted = {world: tmp_path / f"{world}.csv" for world in ("real", "simulated")}
    first: list[float] = []
    for words in PROGRAMS[name][0]:
        done = mpi.run(ranks, real, [*words, "--count-file", counted["real"]])
        assert done.returncode == 0, done.stdout + done.stderr
        capfd.readouterr()
        told = [*words, "--count-file", str(counted["simulated"])]
        run = run_program(simulated, told, ranks, f"flat:{ranks}")
        said = capfd.readouterr().out
        assert run.exit_status == 0, said
        ours = results(name, said)
        first = first or ours
        assert ours == first != []
        assert ours == pytest.approx(results(name, done.stdout), rel=WITHIN[name], abs=0.0)
        matrix = nonzero(read_matrix(counted["real"]))
        assert nonzero(read_matrix(counted["simulated"])) == matrix
        assert observed(run) == matrix


@pytest.mark.long_test
def test_placements_of_a_recorded_program_are_explored_by_replay(
    mpi: Mpi, both: tuple[str, Path, Path], tmp_path: Path
) -> None:
    name, real, _ = both
    profile = tmp_path / f"{name}.cw"
    words = PROGRAMS[name][0][0]
    done = corewise("run", "-n", 4, "--mpi", mpi.prefix, "-o", profile, "--", real, *words)
    assert done.returncode == 0, done.stderr
    explored = document("explore", profile, "-m", "mesh:3x2", "--model", "replay", "--samples", "6")
    time_of = {tuple(row["unit_of_rank"]): row["runs_ns"] for row in explored["rows"]}
    assert explored["source"] == "replay" and len(time_of) >= 6
    (identity,) = time_of[0, 1, 2, 3]
    replayed = document("replay", profile, "-m", "mesh:3x2")["rows"]
    assert identity == pytest.approx(replayed[0]["time_ns"])
