"""The packing library of an MPI, and launches of programs with it and without it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from conftest import OPENMPI_ENV, YIELD_ENV, Mpi, find_mpi

from corewise.mpi import build, find

SOURCES = Path(__file__).resolve().parent / "packing"
MPI_NAMES = ("openmpi", "mpich", "mpich_abi")
DEBIAN = "openmpi_debian"
"""Debian's Open MPI, of another version than the wheel's; for a test that has called ``require``."""
TIMEOUT_S = 600.0
FLAGS = ("-D_GNU_SOURCE", "-O1", "-g", "-Wno-deprecated-declarations")
_built = tempfile.TemporaryDirectory(prefix="corewise-packing-")


@cache
def library(name: str) -> Mpi:
    """The MPI called ``name``; ``mpich_abi`` is MPICH through the standard ABI."""
    if name == DEBIAN:
        tools = {tool: Path(f"/usr/bin/{tool}.openmpi") for tool in ("mpicc", "mpicxx", "mpiexec")}
        env = {**OPENMPI_ENV, "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        return Mpi(name, Path("/usr"), env=env, yield_env=YIELD_ENV["openmpi"], **tools)
    family, _, suffix = name.partition("_")
    return find_mpi(family, wrapper_suffix=f"_{suffix}" if suffix else "")


def require(name: str) -> None:
    """Skip where it is Debian's Open MPI that is asked for, and missing."""
    for tool in ("mpicc.openmpi", "mpiexec.openmpi"):
        if name == DEBIAN and not Path(f"/usr/bin/{tool}").exists():
            pytest.skip(f"capability: no Debian Open MPI ({tool})")


@cache
def described(name: str) -> find.MpiLibrary:
    """The MPI as corewise sees it."""
    if name == DEBIAN:
        return find.from_launcher("mpiexec.openmpi")
    return find.from_prefix(library(name).prefix, abi=name.endswith("_abi"))


@cache
def packing_library(name: str) -> Path:
    """The packing library for an MPI, built once."""
    return build.build_packing(described(name))


def packing_environment(name: str, mode: str = "always") -> dict[str, str]:
    """What makes our loops move every message whose type has gaps, on Open MPI inside its own engine."""
    return {"LD_PRELOAD": str(packing_library(name)), "COREWISE_PACKING": mode}


def with_variables(variables: Mapping[str, str]) -> list[str]:
    """The words before a program that give its ranks, and only them, some variables."""
    return ["/usr/bin/env", *(f"{name}={value}" for name, value in variables.items())]


@cache
def program(name: str, source: Path, *flags: str) -> Path:
    """A program in C, or a library, built for an MPI."""
    return library(name).build(Path(_built.name) / f"{source.stem}.{name}", source, flags=(*FLAGS, *flags))


def shim(name: str) -> Path:
    """``packing/shim.c`` for an MPI."""
    return program(name, SOURCES / "shim.c", "-shared", "-fPIC", "-ldl")


def ran(command: list[str], variables: Mapping[str, str]) -> str:
    """What a launch printed; it must end well."""
    done = subprocess.run(
        command,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def launched(name: str, groups: list[tuple[int, list[str]]]) -> list[str]:
    """Run groups of ranks (how many, their words) as one world; the lines that it printed."""
    mpi, family = library(name), name.partition("_")[0]
    words = [str(mpi.mpiexec)]
    for index, (ranks, command) in enumerate(groups):
        words += [*([":"] if index else []), "-n", str(ranks), *command]
    # mpi4py's wheel takes the first MPI that the loader finds.
    found = {"MPI4PY_MPIABI": family, **({} if name == DEBIAN else {"LD_LIBRARY_PATH": f"{mpi.prefix}/lib"})}
    quiet = {"OMPI_MCA_osc": "^ucx"}  # Open MPI complains about a device that no node needs
    return ran(words, {**mpi.env, **YIELD_ENV[family], **found, **quiet}).splitlines()
