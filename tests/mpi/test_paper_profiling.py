"""Paper 003's overhead study on a real MPI, as small as it gets: every contestant runs and is understood.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import ROOT, Mpi, find_mpi

from corewise.mpi import elf, find
from corewise.mpi.programs import build_program
from corewise.papers.profiling.data import PAPER_BYTES, PAPER_EVENTS, PAPER_LARGE, Effort
from corewise.papers.profiling.study import study

TINY = Effort(1, 1, (40,), (8,), (4096,), 2)


def test_the_study_measures_every_contestant() -> None:
    mpi = find.from_prefix(find_mpi("mpich").prefix)
    shares: list[float] = []
    found = study(mpi, 2, TINY, application=True, progress=shares.append)
    assert set(found.runs) == {"none", "drain", "thread", "flight", "buffer 4096"}
    wanted = {(40, PAPER_BYTES), (PAPER_EVENTS, 8), (PAPER_EVENTS, PAPER_LARGE)}
    assert set(found.runs["thread"][0].cases) == wanted
    assert all(case.p50 <= case.p99 <= case.p999 for case in found.runs["drain"][0].cases.values())
    assert all(run.init_ms > 0 for runs in found.runs.values() for run in runs)
    assert found.application is not None and found.application.calls_per_second > 0
    assert shares == sorted(shares) and shares[-1] == 1


def test_programs_build_where_the_mpi_declares_cxx_bindings(tmp_path: Path) -> None:
    """Debian's Open MPI 4 does; a program that uses none of them must not need their library."""
    launcher = shutil.which("mpiexec.openmpi")
    if launcher is None or shutil.which("mpicc.openmpi") is None:
        pytest.skip("capability: no Debian Open MPI")
    program = build_program(find.from_launcher(launcher), "sweep", tmp_path)
    assert "mpi_cxx" not in " ".join(elf.needed_libraries(program))


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mpi, Path]:
    """The kernel of the study, built for MPICH."""
    mpi = find_mpi("mpich")
    folder = tmp_path_factory.mktemp("sweep")
    return mpi, mpi.build(folder / "sweep", *sorted((ROOT / "apps" / "sweep").glob("*.cpp")))


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 6])
def test_sweep_delivers_every_message(ranks: int, sweep: tuple[Mpi, Path]) -> None:
    mpi, program = sweep
    done = mpi.run(ranks, program, ["--cases", "10x16,7x1", "--repeat", "2"])
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 3
    assert all(line.endswith("wrong_messages=0") for line in lines[:2])
    events = [int(line.split()[1].removeprefix("events=")) for line in lines[:2]]
    assert events == [0, 0] if ranks == 1 else events[0] >= 10 and events[1] >= 7


def test_sweep_refuses_a_case_without_events(sweep: tuple[Mpi, Path]) -> None:
    mpi, program = sweep
    done = mpi.run(1, program, ["--cases", "0x16"])
    assert done.returncode == 2 and "--cases" in done.stderr
