"""Room coll's barrier, broadcast and allreduce on shared memory, among the ranks of a real MPI.

The same text as on simulated SPEs; the results are held against the MPI's own.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT, Mpi

pytestmark = pytest.mark.first_test

SOURCES = (
    ROOT / "tests/mpi/collectives/shm_against_mpi.cpp",
    ROOT / "src/shm/mapping.cpp",
    ROOT / "src/shm/segment.cpp",
    ROOT / "src/shm/processes.cpp",
    ROOT / "src/shm/wait_policy.cpp",
    ROOT / "src/pattern/schedule.cpp",
    *sorted((ROOT / "src/kernels/reduce").glob("*.cpp")),
    *(ROOT / f"src/kernels/copy/{name}.cpp" for name in ("copy", "paper", "avx2", "avx512", "neon")),
)
FLAGS = (f"-I{ROOT / 'src'}", f"-I{ROOT / 'bench/collectives'}", "-pthread")


@pytest.fixture(scope="module")
def program(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The comparing program, built with the MPI under test."""
    return mpi.build(tmp_path_factory.mktemp("shm") / f"against_{mpi.name}", *SOURCES, flags=FLAGS)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_barrier_broadcast_and_allreduce_agree_with_the_mpi(mpi: Mpi, program: Path, ranks: int) -> None:
    done = mpi.run(ranks, program, env=mpi.yield_env, timeout=600)
    assert done.returncode == 0, done.stderr
    found = re.search(r"compared (\d+), process (\d+)", done.stdout)
    assert found is not None, done.stdout
    # 12 sizes, two ways to close, two degrees: at least two broadcasts from every root, and two allreduces.
    assert int(found.group(1)) >= 12 * 2 * 2 * 2 * (ranks + 1)
    left = list(Path("/dev/shm").glob(f"corewise-{found.group(2)}-*"))
    assert left == [], "a name stays behind in /dev/shm"
