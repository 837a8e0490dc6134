"""Exported placements bind exactly as asked.

On this host every form is really launched and the affinity is read back inside each rank. For machines that
are not here, the launchers' dry runs say where they would bind; those machines number their processing units
unlike hwloc does, so that a mixed-up numbering shows. Slurm's daemons are the test's own.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import slurm_daemons
from conftest import Mpi, find_mpi

from corewise._core import Machine
from corewise.data.export import (
    Export,
    export_placement,
    mpich_user,
    openmpi_pe_list,
    openmpi_rankfile,
    slurm_map_cpu,
)
from corewise.data.machines import hwloc_libraries
from corewise.data.placement import make_placement

AFFINITY_C = r"""
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, used = 0;
  char line[16384];
  cpu_set_t set;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  sched_getaffinity(0, sizeof set, &set);
  used += sprintf(line + used, "rank %d cpus", rank);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) used += sprintf(line + used, " %d", cpu);
  puts(line);
  MPI_Finalize();
  return 0;
}
"""
CPUS = sorted(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Launchable:
    """An MPI and a program built for it whose ranks print their own affinity."""

    mpi: Mpi
    program: Path


def launchable(name: str, folders: pytest.TempPathFactory) -> Launchable:
    """Builds the affinity program for one MPI."""
    mpi = find_mpi(name)
    folder = folders.mktemp(f"affinity-{name}")
    source = folder / "affinity.c"
    source.write_text(AFFINITY_C)
    return Launchable(mpi, mpi.build(folder / "affinity", source))


@pytest.fixture(scope="session")
def openmpi(tmp_path_factory: pytest.TempPathFactory) -> Launchable:
    """Open MPI with the affinity program."""
    return launchable("openmpi", tmp_path_factory)


@pytest.fixture(scope="session")
def mpich(tmp_path_factory: pytest.TempPathFactory) -> Launchable:
    """MPICH with the affinity program."""
    return launchable("mpich", tmp_path_factory)


def launch(command: Sequence[str | Path], env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    """Runs to the end and returns standard output; a failure fails the test with everything that was said."""
    full = {**os.environ, **(env or {})}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=600, env=full, cwd=cwd, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def root_env(mpi: Mpi) -> dict[str, str]:
    """The library's environment without its mapping policy: the exported arguments must do without."""
    return {key: value for key, value in mpi.env.items() if "mapping_policy" not in key}


def bound_cpus(ready: Launchable, export: Export, cwd: Path) -> dict[int, list[int]]:
    """Launches exactly the exported arguments and reads every rank's affinity back."""
    if export.needs_file:
        (cwd / "rankfile").write_text(export.text)
    env = root_env(ready.mpi) | dict(ready.mpi.yield_env)
    out = launch([ready.mpi.mpiexec, *export.arguments, ready.program], env, cwd)
    found = re.findall(r"rank (\d+) cpus((?: \d+)+)", out)
    return {int(rank): [int(cpu) for cpu in cpus.split()] for rank, cpus in found}


def host_cores() -> list[int]:
    """OS index of the only processing unit of every logical core, in logical order."""
    host = Machine.from_hwloc(libraries=hwloc_libraries())
    return [unit.os_index for unit in sorted(host.units, key=lambda unit: unit.logical_core)]


@pytest.mark.parametrize("cores", [[1, 0], [0, 1], [1, 0, 0, 1]])
@pytest.mark.parametrize("write", [lambda cores: openmpi_rankfile(cores, "rankfile"), openmpi_pe_list])
def test_openmpi_binds_as_exported(
    openmpi: Launchable, write: Callable[[list[int]], Export], cores: list[int], tmp_path: Path
) -> None:
    """Rank file and ordered pe-list, permuted and with more ranks than cores."""
    pus = host_cores()
    bound = bound_cpus(openmpi, write(cores), tmp_path)
    assert {rank: cpus[0] for rank, cpus in bound.items()} == {r: pus[core] for r, core in enumerate(cores)}
    assert all(set(cpus).isdisjoint(set(pus) - {cpus[0]}) for cpus in bound.values())


@pytest.mark.parametrize("pick", [[1, 0], [0, 1], [1, 0, 0, 1]])
def test_mpich_binds_as_exported(mpich: Launchable, pick: list[int], tmp_path: Path) -> None:
    """Hydra user binding in OS indexes; every rank bound, also those that share a core."""
    cpus = [CPUS[index] for index in pick]
    bound = bound_cpus(mpich, mpich_user(cpus), tmp_path)
    assert bound == {rank: [cpu] for rank, cpu in enumerate(cpus)}


@pytest.mark.parametrize(
    "library, form", [("openmpi", "openmpi-rankfile"), ("openmpi", "openmpi-pelist"), ("mpich", "mpich")]
)
def test_host_placement_binds_as_exported(
    library: str, form: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The whole way: this host through hwloc, a placement, an export, a launch, the affinity."""
    host = Machine.from_hwloc(libraries=hwloc_libraries())
    placement = make_placement(host, [1, 0])
    wanted = {rank: host.units[unit].os_index for rank, unit in enumerate(placement.unit_of_rank)}
    ready: Launchable = request.getfixturevalue(library)
    bound = bound_cpus(ready, export_placement(form, host, placement), tmp_path)
    assert {rank: cpus[0] for rank, cpus in bound.items()} == wanted


@dataclass(frozen=True)
class Invented:
    """A machine that is not here: its synthetic text without numbering, and the OS numbering of its units."""

    levels: str
    per_core: int
    indexes: tuple[int, ...]

    @property
    def text(self) -> str:
        numbering = ",".join(map(str, self.indexes))
        return f"{self.levels} pu:{self.per_core}(indexes={numbering})"

    def os_index(self, core: int) -> int:
        """OS index of a logical core's first processing unit."""
        return self.indexes[core * self.per_core]

    @property
    def cores(self) -> int:
        return len(self.indexes) // self.per_core


INVENTED = {
    "two packages, interleaved": Invented("pack:2 core:2", 1, (0, 2, 1, 3)),
    "four chiplets, odd and even": Invented("pack:2 l3:2 core:4", 1, (*range(0, 16, 2), *range(1, 16, 2))),
    "threads": Invented(
        "pack:2 core:4", 2, tuple(cpu for core in (0, 2, 4, 6, 1, 3, 5, 7) for cpu in (core, core + 8))
    ),
    "two sockets of 32": Invented(
        "pack:2 l3:4 core:8", 1, tuple(a + 8 * b for a in range(8) for b in range(8))
    ),
}


def write_hwloc_xml(text: str, path: Path, libraries: Sequence[str]) -> None:
    """Describes an invented machine in hwloc's XML, with hwloc itself."""
    for library in libraries:
        try:
            hwloc = ctypes.CDLL(library)
            break
        except OSError:
            continue
    else:
        pytest.fail(f"no libhwloc could be opened among {', '.join(libraries)}")
    topology = ctypes.c_void_p()
    assert hwloc.hwloc_topology_init(ctypes.byref(topology)) == 0
    assert hwloc.hwloc_topology_set_synthetic(topology, text.encode()) == 0, text
    assert hwloc.hwloc_topology_load(topology) == 0
    export = hwloc.hwloc_topology_export_xml
    export.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_ulong)
    assert export(topology, str(path).encode(), 0) == 0
    hwloc.hwloc_topology_destroy(topology)


def dry_openmpi(mpi: Mpi, export: Export, xml: Path, cores: int, cwd: Path) -> list[int]:
    """Per rank the number that Open MPI's map prints after ``core:L``.

    Release 5 prints the unit's OS index there where a core has one unit, else the logical core.
    """
    if export.needs_file:
        (cwd / "rankfile").write_text(export.text)
    described = ["--host", f"localhost:{cores}", "--prtemca", "hwloc_use_topo_file", xml]
    dry = ["--runtime-options", "donotlaunch", "--display", "map", "true"]
    out = launch([mpi.mpiexec, *export.arguments, *described, *dry], root_env(mpi), cwd)
    found = re.findall(r"Data for proc: \[\S+,(\d+)\].*?core:L(\d+)\]", out, re.DOTALL)
    assert [int(rank) for rank, _ in found] == list(range(len(found))), out
    return [int(label) for _, label in found]


def dry_mpich(mpi: Mpi, export: Export, text: str) -> list[int]:
    """Per rank the one OS index that Hydra would bind it to."""
    env = {"HWLOC_SYNTHETIC": text, "HWLOC_THISSYSTEM": "0", "HYDRA_TOPO_DEBUG": "1"}
    # Hydra may die of SIGPIPE when processes end while it still wires them up: these live a moment.
    out = launch([mpi.mpiexec, *export.arguments, "sleep", "1"], env)
    masks = dict(re.findall(r"process (\d+) binding: ([01]+)", out))
    assert all(mask.count("1") == 1 for mask in masks.values()), out
    return [masks[str(rank)].index("1") for rank in range(len(masks))]


@pytest.mark.parametrize("name", INVENTED)
def test_dry_run_on_invented_machine(mpi: Mpi, name: str, tmp_path: Path) -> None:
    """hwloc XML -> machine -> placement -> export -> the launcher's own map."""
    invented = INVENTED[name]
    xml = tmp_path / "machine.xml"
    write_hwloc_xml(invented.text, xml, hwloc_of(mpi))
    machine = Machine.from_hwloc(str(xml), hwloc_libraries())
    assert [unit.logical_core for unit in machine.units] == list(range(invented.cores))
    cores = random.Random(name).sample(range(invented.cores), invented.cores)
    placement = make_placement(machine, cores)
    if mpi.name == "mpich":
        asked = [invented.os_index(core) for core in cores]
        assert dry_mpich(mpi, export_placement("mpich", machine, placement), invented.text) == asked
        return
    labels = [core if invented.per_core > 1 else invented.os_index(core) for core in cores]
    for form in ("openmpi-rankfile", "openmpi-pelist"):
        export = export_placement(form, machine, placement)
        assert dry_openmpi(mpi, export, xml, invented.cores, tmp_path) == labels, form


def hwloc_of(mpi: Mpi) -> list[str]:
    """The MPI's own hwloc first, then the usual ones."""
    own = sorted((mpi.prefix / "lib" / "openmpi").glob("libhwloc.so*"))
    return [*map(str, own), *hwloc_libraries()]


AFFINITY_PY = "import os; print(os.environ['SLURM_PROCID'], *sorted(os.sched_getaffinity(0)), flush=True)"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a running one-node Slurm."""
    with slurm_daemons.running(tmp_path_factory.mktemp("slurm")) as env:
        yield env


@pytest.mark.parametrize("pick", [[1, 0], [0, 1], [1], [1, 0, 0, 1]])
def test_slurm_binds_as_exported(slurm: dict[str, str], pick: list[int]) -> None:
    """map_cpu in a job that holds the node, read back in every task."""
    cpus = [CPUS[index] for index in pick]
    export = slurm_map_cpu(cpus)
    command = [
        "salloc",
        "--nodes=1",
        "--exclusive",
        "--quiet",
        "srun",
        *export.arguments,
        sys.executable,
        "-c",
    ]
    out = launch([*command, AFFINITY_PY], slurm)
    bound = {int(line.split()[0]): [int(cpu) for cpu in line.split()[1:]] for line in out.splitlines()}
    assert bound == {rank: [cpu] for rank, cpu in enumerate(cpus)}
