"""Programs under the packing library: mpi4py, mpi4py-fft and Fortran; and with the library on one rank alone.

mpi4py-fft is Debian's, unmodified, in the environment ``build/fft`` that ``packing/README.md`` makes
for both MPIs; Fortran runs on Debian's MPIs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import fortran_runs
import packing_runs
import pytest
from conftest import ROOT, YIELD_ENV
from packing_runs import MPI_NAMES, SOURCES

from corewise.mpi import build

CONFORMANCE = Path(__file__).resolve().parents[1] / "conformance"
FFT_PYTHON = ROOT / "build" / "fft" / "bin" / "python"
# What has a rank of its own in each role: rank 0 sends, rank 1 receives, or both do both.
ALONE = ("matching", "exchange")
TIMEOUT_S = 900.0


def launched(name: str, groups: list[tuple[int, list[str]]]) -> list[str]:
    """Run groups of ranks (how many, their words) as one world; the lines that it printed."""
    mpi = packing_runs.library(name)
    words = [str(mpi.mpiexec)]
    for index, (ranks, command) in enumerate(groups):
        words += [":"] if index else []
        words += ["-n", str(ranks), *command]
    # mpi4py's wheel takes the first MPI that the loader finds.
    env = {**os.environ, **mpi.env, **YIELD_ENV[name.partition("_")[0]]}
    env["LD_LIBRARY_PATH"] = str(mpi.prefix / "lib")
    done = subprocess.run(
        words,
        env=env,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout.splitlines()


def packed(name: str) -> list[str]:
    """The words before a program that give its rank the packing library."""
    return ["/usr/bin/env", *(f"{k}={v}" for k, v in packing_runs.packing_environment(name).items())]


@pytest.mark.parametrize("name", MPI_NAMES[:2])
def test_mpi4py(name: str) -> None:
    command = [sys.executable, str(SOURCES / "arrays.py")]
    assert launched(name, [(3, [*packed(name), *command])]) == ["ok"]


@pytest.mark.parametrize("name", MPI_NAMES[:2])
def test_mpi4py_fft(name: str) -> None:
    """The same digits with the library and without."""
    packages = (FFT_PYTHON.parents[1] / "lib").glob("python3*/site-packages")
    if not any((each / "mpi4py_fft").exists() for each in packages):
        pytest.skip("capability: no mpi4py-fft in build/fft")
    command = [str(FFT_PYTHON), str(SOURCES / "fft.py")]
    plain = launched(name, [(4, command)])
    assert plain[0].startswith("ok ")
    assert launched(name, [(4, [*packed(name), *command])]) == plain


@cache
def conformance(name: str, stem: str) -> Path:
    """A program of the conformance suite's folder about derived types."""
    output = packing_runs.engine_program(name).with_name(f"{stem}.{name}")
    flags = (*packing_runs.FLAGS, f"-I{CONFORMANCE}")
    return packing_runs.library(name).build(output, CONFORMANCE / "typed" / f"{stem}.c", flags=flags)


@pytest.mark.parametrize("with_library", [0, 1])
@pytest.mark.parametrize("stem", ALONE)
@pytest.mark.parametrize("name", MPI_NAMES[:2])
def test_one_rank_alone_has_it(name: str, stem: str, with_library: int) -> None:
    """What a rank packs, the MPI's engine on the other one takes apart, and the other way round."""
    program = [str(conformance(name, stem))]
    groups = [(1, [*packed(name), *program] if rank == with_library else program) for rank in range(2)]
    assert launched(name, groups) == [f"ok typed_{stem}"]


@pytest.mark.parametrize("name", MPI_NAMES[:2])
def test_null_pointers_are_the_mpis_to_refuse(name: str, tmp_path: Path) -> None:
    program = packing_runs.library(name).build(tmp_path / "nulls", SOURCES / "nulls.c")
    for words in ([], packed(name)):
        assert launched(name, [(1, [*words, str(program)])]) == ["ok nulls"]


@pytest.mark.parametrize("name", fortran_runs.NAMES)
def test_fortran(name: str, tmp_path: Path) -> None:
    fortran_runs.require(name)
    library = build.build_packing(fortran_runs.described(name))
    program = tmp_path / "typed"
    command = [f"mpif90.{name}", *fortran_runs.FLAGS, "-o", str(program), str(SOURCES / "typed.F90")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    env = {**os.environ, **fortran_runs.ENVIRONMENT}
    for words in ([], ["/usr/bin/env", f"LD_PRELOAD={library}", "COREWISE_PACKING=always"]):
        launch = [f"mpiexec.{name}", "-n", "3", *words, str(program)]
        done = subprocess.run(launch, capture_output=True, text=True, check=False, timeout=TIMEOUT_S, env=env)
        assert (done.returncode, done.stdout.split()) == (0, ["ok"]), f"{launch}\n{done.stdout}{done.stderr}"
