"""The two MPI wheels lie in prefixes of their own, so that neither overwrites the other's programs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import subprocess

import pytest
from conftest import Mpi, find_mpi

LAUNCHER_SAYS = {"openmpi": "Open MPI", "mpich": "HYDRA"}
SONAME = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}


def says(*command: object) -> str:
    """Everything that a command prints."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


@pytest.mark.both_mpis
def test_each_prefix_has_its_own_launcher(mpi: Mpi) -> None:
    said = says(mpi.mpiexec, "--version")
    assert {name for name, word in LAUNCHER_SAYS.items() if word in said} == {mpi.name}
    assert mpi.mpiexec.resolve().is_relative_to(mpi.prefix.resolve())


@pytest.mark.both_mpis
def test_each_prefix_has_its_own_library(mpi: Mpi) -> None:
    found = {path.name for path in (mpi.prefix / "lib").glob("libmpi.so.*")}
    assert found & set(SONAME.values()) == {SONAME[mpi.name]}
    # A relocated wheel must compile against itself, not against where it was packed.
    shown = says(mpi.mpicc, "-show")
    assert f"-I{mpi.prefix.resolve()}/include" in shown
    assert f"-L{mpi.prefix.resolve()}/lib" in shown


def test_the_prefixes_are_apart() -> None:
    first, second = (find_mpi(name).prefix.resolve() for name in LAUNCHER_SAYS)
    assert not first.is_relative_to(second)
    assert not second.is_relative_to(first)
