"""The variables by which MPIs choose an algorithm of a collective: the MPIs hold what they were told.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Mpi

from corewise.mpi import launch
from corewise.mpi.algorithms import choice
from corewise.mpi.find import from_prefix
from corewise.mpi.lines import line_of

SOURCES = Path(__file__).resolve().parent / "advising"
COLLECTIVES = ("allgather", "allreduce", "alltoall", "barrier", "bcast", "reduce")


@pytest.mark.parametrize("size_bytes", [0, 1 << 20])
def test_mpis_hold_the_variables_that_choose_an_algorithm(mpi: Mpi, tmp_path: Path, size_bytes: int) -> None:
    library = from_prefix(mpi.prefix)
    found = {name: choice(library, name, size_bytes) for name in COLLECTIVES}
    # MPICH has one barrier only, the one that the model prefers.
    assert {name for name, each in found.items() if each is None} == (
        set() if mpi.name == "openmpi" else {"barrier"}
    )
    assert choice(library, "gatherv", size_bytes) is None
    variables: dict[str, str] = {}
    for each in found.values():
        variables.update({} if each is None else each.variables)
    own = [name.removeprefix("OMPI_MCA_") for name in variables]
    program = mpi.build(tmp_path / "variables", SOURCES / "variables.c")
    line = line_of([str(program), *own], 1, str(mpi.prefix)).plain()
    done = mpi.run(1, program, own, env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    held = dict(row.split("=") for row in done.stdout.split())
    for name, value in zip(own, variables.values(), strict=True):
        if value.isdecimal():
            assert held[name] == value, name
        else:
            assert int(held[name]) > 0, name  # MPICH's number of a name; 0 is its own choice
    command = line.with_environment(
        launch.unrecorded(library, launch.RecordOptions(variables=variables), tmp_path)
    )
    flag = "-x" if mpi.name == "openmpi" else "-genv"
    assert command.count(flag) == len(variables)
