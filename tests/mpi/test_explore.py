"""`corewise explore` on this host: a program under both placements of two ranks on two cores, unpinned."""

from __future__ import annotations

import os
from pathlib import Path

import documents
import pytest
from conftest import Mpi

from corewise.cli.main import execute
from corewise.data.machines import load_machine
from corewise.trials.launches import Launches, Program

CPUS = sorted(os.sched_getaffinity(0))
# Every rank writes the cores it may use into a file of its own; the unpinned one may use all.
PROGRAM_C = r"""
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size, token = 0;
  char name[4096];
  cpu_set_t set;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  sched_getaffinity(0, sizeof set, &set);
  if (argc > 1) {
    snprintf(name, sizeof name, "%s/%d.%d", argv[1], rank, (int)getpid());
    FILE* file = fopen(name, "w");
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) fprintf(file, "%d ", cpu);
    fclose(file);
  }
  MPI_Finalize();
  return 0;
}
"""
needs_two_cores = pytest.mark.skipif(
    len(CPUS) != 2, reason="capability: exactly two cores, so that two ranks have two placements"
)


@pytest.fixture
def program(mpi: Mpi, tmp_path: Path) -> Path:
    """The program, built for one MPI."""
    source = tmp_path / "who.c"
    source.write_text(PROGRAM_C)
    return mpi.build(tmp_path / "who", source)


@pytest.fixture(autouse=True)
def quiet(mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment in which this MPI runs here."""
    for name, value in mpi.env.items():
        monkeypatch.setenv(name, value)


@needs_two_cores
def test_every_placement_is_bound_and_unpinned_is_not(
    mpi: Mpi, program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    arguments = ["-m", "host", "-n", "2", "--mpi", str(mpi.prefix), "--runs", "2", "--json"]
    assert execute(["explore", *arguments, "--", str(program), str(seen)]) == 0
    found = documents.read(capsys.readouterr().out)
    assert (found["source"], found["population"], found["complete"], found["runs"]) == ("host", 2, True, 2)
    assert sorted(row["unit_of_rank"] for row in found["rows"]) == [[0, 1], [1, 0]]
    assert all(time > 0 for row in found["rows"] for time in row["runs_ns"])
    assert len(found["unpinned_runs_ns"]) == 2 and min(found["unpinned_runs_ns"]) > 0
    cores: dict[str, list[tuple[int, ...]]] = {"0": [], "1": []}
    for file in seen.iterdir():
        cores[file.name.split(".")[0]].append(tuple(map(int, file.read_text().split())))
    # Two runs of each placement, two unpinned ones, and the one whose migrations are counted.
    for rank in ("0", "1"):
        assert sorted(cores[rank]) == sorted([(CPUS[0],)] * 2 + [(CPUS[1],)] * 2 + [tuple(CPUS)] * 3)
    assert any("migrations" in note for note in found["notes"])


@needs_two_cores
def test_a_profile_is_run_again_and_models_are_asked(
    mpi: Mpi, program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = tmp_path / "who.cw"
    record = ["run", "-n", "2", "--mpi", str(mpi.prefix), "-o", str(profile), "--", str(program)]
    assert execute(record) == 0
    capsys.readouterr()
    assert execute(["explore", str(profile), "-m", "host", "--runs", "1", "--json"]) == 0
    found = documents.read(capsys.readouterr().out)
    assert found["source"] == "host" and found["population"] == 2
    assert all(row["models"]["hop-bytes"] > 0 for row in found["rows"])
    # The same profile, simulated on this host's description instead.
    assert execute(["explore", str(profile), "-m", "host", "--simulate", "--runs", "1", "--json"]) == 0
    assert documents.read(capsys.readouterr().out)["source"] == "simulated"


def test_a_failing_program_is_one_line(mpi: Mpi, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "fails.c"
    source.write_text("int main(void) { return 3; }\n")
    fails = mpi.build(tmp_path / "fails", source)
    common = ["explore", "-m", "host", "-n", "1", "--mpi", str(mpi.prefix), "--runs", "1", "--samples", "1"]
    assert execute([*common, "--", str(fails)]) == 1
    assert "ended with exit status" in capsys.readouterr().err.splitlines()[-1]
    assert execute([*common, "--", str(mpi.mpiexec)]) == 2
    assert "found a launcher" in capsys.readouterr().err
    assert execute([*common, "--unpinned", "--", str(fails)]) == 2
    assert "--unpinned" in capsys.readouterr().err


@needs_two_cores
def test_migrations_of_a_long_run_are_counted_or_none(mpi: Mpi, program: Path) -> None:
    machine = load_machine("host")
    found = Launches(machine, Program((str(program),), 2, str(mpi.prefix))).migrations()
    assert found is not None and found >= 0
    assert len(machine.units) == 2
