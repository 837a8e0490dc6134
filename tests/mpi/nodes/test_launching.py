"""Runs on several nodes: Slurm's, and hosts made of namespaces.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import slurm_daemons
from conftest import Mpi, find_mpi
from installed_tool import corewise
from namespace_hosts import Hosts, hosts

from corewise.data.clusters import Cluster
from corewise.data.export import Export, export_cluster
from corewise.data.placement import Placement
from corewise.data.profile import load_profile

RING = Path(__file__).parent / "ring.c"
MPIS = ("openmpi", "mpich")
NODES = ("alpha", "beta")


@pytest.fixture(scope="module", params=MPIS)
def ring(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Mpi, Path]:
    """An MPI, and a program in which each rank sends ten messages to the next one."""
    mpi = find_mpi(request.param)
    return mpi, mpi.build(tmp_path_factory.mktemp("ring") / "ring", RING, flags=("-Wno-unused-result",))


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """A Slurm with two nodes, which are both this host."""
    with slurm_daemons.running(tmp_path_factory.mktemp("slurm"), NODES) as env:
        yield env


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Hosts]:
    """Two hosts."""
    (tmp_path / "made").mkdir()
    with hosts(tmp_path / "made", NODES) as made:
        yield made


def nodes_of(profile: Path) -> Counter[str]:
    """How many ranks each host recorded."""
    return Counter(rank.host for rank in load_profile(profile).world.ranks)


def test_run_uses_a_job_of_slurm(slurm: Mapping[str, str], ring: tuple[Mpi, Path], tmp_path: Path) -> None:
    """All slots, without -n."""
    mpi, program = ring
    job = ("salloc", "--nodes=2", "--ntasks=4", "--quiet")
    words = ("run", "--mpi", mpi.prefix, "-o", tmp_path / "p.cw", "--", program, 10)
    env = {**os.environ, **slurm, **mpi.yield_env}
    done = corewise(*words, env=env, before=job)
    assert done.returncode == 0, done.stdout + done.stderr
    meta = json.loads((tmp_path / "p.cw" / "meta.json").read_text())
    assert meta["ranks"] == 4 and "alpha:2,beta:2" in meta["command"]
    assert load_profile(tmp_path / "p.cw").world.size == 4


def test_doctor_names_the_job_of_slurm(slurm: Mapping[str, str]) -> None:
    done = corewise(
        "doctor",
        "--json",
        env={**os.environ, **slurm},
        before=("salloc", "--nodes=2", "--ntasks=3", "--quiet"),
    )
    rows = {row["id"]: row for row in json.loads(done.stdout)["rows"]}
    assert rows["allocation"]["found"].startswith("2 nodes of Slurm, 3 slots: alpha (2 slots,")
    assert "-hosts alpha:2,beta:1" in rows["allocation"]["therefore"]


def test_run_uses_a_host_file(two: Hosts, ring: tuple[Mpi, Path], tmp_path: Path) -> None:
    """PRRTE's and Hydra's, on hosts of their own."""
    mpi, program = ring
    env = {**os.environ, **two.variables(mpi.name, 2, tmp_path), **mpi.yield_env}
    done = corewise("run", "--mpi", mpi.prefix, "-o", tmp_path / "p.cw", "--", program, 10, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert nodes_of(tmp_path / "p.cw") == {"alpha": 2, "beta": 2}


def test_a_host_file_that_is_none_is_refused(ring: tuple[Mpi, Path], tmp_path: Path) -> None:
    mpi, program = ring
    (tmp_path / "hosts").write_text("a b c = d\n")
    variable = "HYDRA_HOST_FILE" if mpi.name == "mpich" else "PRTE_MCA_prte_default_hostfile"
    words = ("run", "--mpi", mpi.prefix, "-o", tmp_path / "p.cw", "--", program)
    done = corewise(*words, env={**os.environ, variable: str(tmp_path / "hosts")})
    assert done.returncode == 2 and not (tmp_path / "p.cw").exists()
    assert "field 'line 1': found 'a b c = d', allowed: " in done.stderr


SEATS = (("beta", 1), ("alpha", 1), ("beta", 0), ("alpha", 0))
"""Of ranks 0 to 3: the node, and which of its two cores."""


def exported(form: str, file: Path) -> Export:
    """A placement over two nodes of two cores, as a launcher takes it."""
    cpus = tuple(sorted(os.sched_getaffinity(0))[:2])
    if len(cpus) < 2:
        pytest.skip("capability: one CPU")
    cluster = Cluster(NODES, cpus, (0, 1))
    units = tuple(2 * NODES.index(node) + core for node, core in SEATS)
    export = export_cluster(form, cluster, Placement("two", units, tuple(map(str, units))), str(file))
    file.write_text(export.text)
    return export


def test_a_rank_file_puts_ranks_over_nodes(two: Hosts, tmp_path: Path) -> None:
    """Read back from every rank."""
    mpi = find_mpi("openmpi")
    export = exported("openmpi-rankfile", tmp_path / "rankfile")
    script = 'echo "rank $OMPI_COMM_WORLD_RANK $(hostname)"'
    env = {**os.environ, **mpi.env, **two.variables("openmpi", 2, tmp_path)}
    command = [str(mpi.mpiexec), *export.arguments, "/bin/sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=env, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = sorted(line for line in done.stdout.splitlines() if line.startswith("rank "))
    assert said == [f"rank {rank} {node}" for rank, (node, _) in enumerate(SEATS)]


def test_a_host_file_of_slurm_puts_tasks_over_nodes(slurm: Mapping[str, str], tmp_path: Path) -> None:
    export = exported("slurm", tmp_path / "hosts")
    script = 'echo "rank $SLURM_PROCID $SLURMD_NODENAME"'
    command = ["salloc", "--nodes=2", "--exclusive", "--quiet", export.program, *export.arguments]
    done = subprocess.run(
        [*command, "/bin/sh", "-c", script],
        capture_output=True, text=True, timeout=600, env={**os.environ, **slurm}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.split("\n")[:4]) == [
        f"rank {rank} {node}" for rank, (node, _) in enumerate(SEATS)
    ]
