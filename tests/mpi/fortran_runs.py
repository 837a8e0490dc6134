"""Debian's MPIs with their Fortran compilers: building tests/mpi/recording/fortran and recording the runs.

Where gfortran or an MPI's Fortran is not installed, tests that ask for it are skipped: the wheels have none.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
import trace_decoder
from conftest import OPENMPI_ENV, YIELD_ENV
from trace_decoder import Trace

from corewise.mpi import build, find

SOURCES = Path(__file__).resolve().parent / "recording" / "fortran"
NAMES = ("openmpi", "mpich")
LANGUAGES = ("mpif", "mpi", "f08")
RANKS = 3
FLAGS = ("-O1", "-cpp", "-ffree-line-length-none", "-fallow-argument-mismatch")
ENVIRONMENT = {
    **OPENMPI_ENV,
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    **YIELD_ENV["openmpi"],
    **YIELD_ENV["mpich"],
}
_folder = Path(tempfile.mkdtemp(prefix="corewise-fortran-"))
_pool = ThreadPoolExecutor(2)
_built: dict[tuple[str, ...], Future[Path]] = {}


def end_session() -> None:
    """Remove what was built."""
    _pool.shutdown(cancel_futures=True)
    shutil.rmtree(_folder, ignore_errors=True)


def require(name: str) -> None:
    """Skip where the capability is missing."""
    if shutil.which("gfortran") is None:
        pytest.skip("capability: no gfortran")
    if shutil.which(f"mpif90.{name}") is None or shutil.which(f"mpiexec.{name}") is None:
        pytest.skip(f"capability: no Debian MPI ({name})")


@cache
def described(name: str) -> find.MpiLibrary:
    """The MPI as corewise sees it."""
    return find.from_launcher(f"mpiexec.{name}")


@cache
def preload(name: str) -> Path:
    """The recording preload for an MPI."""
    return build.build_preload(described(name))


def _compile(command: Sequence[str], output: Path) -> Path:
    with tempfile.TemporaryDirectory(dir=_folder) as modules:
        done = subprocess.run(
            [*command, "-o", str(output)], cwd=modules, check=False, capture_output=True, text=True
        )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return output


def start_building(name: str, stem: str, *flags: str) -> Future[Path]:
    """The executable of ``fortran/STEM``, or, with -shared, the library."""
    key = (name, stem, *flags)
    if key not in _built:
        source = next(SOURCES.glob(f"{stem}.[cF]*"))
        words = (
            (f"mpicc.{name}", "-std=c11", "-O1")
            if source.suffix == ".c"
            else (f"mpif90.{name}", *FLAGS, f"-I{SOURCES}")
        )
        output = _folder / ".".join((*key, "out")).replace("-", "")
        _built[key] = _pool.submit(_compile, [*words, *flags, str(source)], output)
    return _built[key]


def program(name: str, stem: str, *flags: str) -> Path:
    """The same, built."""
    return start_building(name, stem, *flags).result()


def run(name: str, command: Path | str, folder: Path, *args: object, ranks: int = RANKS) -> str:
    """Run a program with its records going to ``folder``; what it printed."""
    folder.mkdir()
    variables = {"LD_PRELOAD": str(preload(name)), "COREWISE_TRACE_DIR": str(folder)}
    options: list[str] = []
    for key, value in variables.items():
        options += ["-x", f"{key}={value}"] if name == "openmpi" else ["-genv", key, value]
    words = [f"mpiexec.{name}", *options, "-n", str(ranks), str(command), *map(str, args)]
    done = subprocess.run(
        words, check=False, capture_output=True, text=True, timeout=600, env={**os.environ, **ENVIRONMENT}
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


def traces(folder: Path) -> dict[int, Trace]:
    """What each rank left: complete."""
    found = trace_decoder.decode_folder(folder)
    assert sorted(found) == list(range(RANKS))
    for trace in found.values():
        assert (trace.state, trace.losses()) == ("finalized", {})
    return found
