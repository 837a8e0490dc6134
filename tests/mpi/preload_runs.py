"""Building the programs of tests/mpi/recording and running them with every rank recorded.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import trace_decoder
from conftest import YIELD_ENV, Mpi, find_mpi
from trace_decoder import PROC_NULL, Trace

from corewise.mpi import build, find

SOURCES = Path(__file__).resolve().parent / "recording"
MPI_NAMES = ("openmpi", "mpich")
KNOWN_CALLS = 5000
"""Of the program ends.c."""
ALL_NAMES = (*MPI_NAMES, "mpich_abi")
DEBIANS_MPICH = "mpich_debian"
# Call sites are return addresses: a tail call would name the caller's caller.
FLAGS = (
    "-O1",
    "-g",
    "-D_GNU_SOURCE",
    "-Wall",
    "-Wno-deprecated-declarations",
    "-Wno-stringop-overread",  # Open MPI's MPI_UNWEIGHTED
    "-fno-optimize-sibling-calls",
)
COREWISE = (
    sys.executable,
    "-c",
    "import sys; from corewise.cli.main import execute; sys.exit(execute(sys.argv[1:]))",
)
"""The command line in a process of its own."""
_pool = ThreadPoolExecutor(2)
_folder = Path(tempfile.mkdtemp(prefix="corewise-preload-"))
_built: dict[tuple[str, str], Future[Path]] = {}


def end_session() -> None:
    """Remove what was built."""
    _pool.shutdown(cancel_futures=True)
    shutil.rmtree(_folder, ignore_errors=True)


@cache
def library(name: str) -> Mpi:
    """The MPI called ``name``; ``mpich_abi`` is MPICH through the standard ABI."""
    if name == DEBIANS_MPICH:
        tools = {tool: Path(f"/usr/bin/{tool}.mpich") for tool in ("mpicc", "mpicxx", "mpiexec")}
        return Mpi(name, Path("/usr"), yield_env=YIELD_ENV["mpich"], **tools)
    family, _, suffix = name.partition("_")
    return find_mpi(family, wrapper_suffix=f"_{suffix}" if suffix else "")


@cache
def described(name: str) -> find.MpiLibrary:
    """The same MPI as corewise sees it."""
    if name == DEBIANS_MPICH:
        return find.from_launcher(library(name).mpiexec)
    return find.from_prefix(library(name).prefix, abi=name.endswith("_abi"))


@cache
def preload(name: str) -> Path:
    """The recording preload for an MPI."""
    return build.build_preload(described(name))


def _build(mpi: Mpi, stem: str) -> Path:
    output = _folder / f"{stem}.{mpi.name}"
    command = [str(mpi.mpicc), "-std=c11", *FLAGS, "-o", str(output), str(SOURCES / f"{stem}.c")]
    done = subprocess.run([*command, "-lpthread", "-ldl"], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{mpi.name}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return output


def program(name: str, stem: str) -> Path:
    """The executable of ``preload/STEM.c``; the first question about an MPI starts building all."""
    if (name, stem) not in _built:
        for source in sorted(SOURCES.glob("*.c")):
            _built[name, source.stem] = _pool.submit(_build, library(name), source.stem)
    return _built[name, stem].result()


@dataclass
class Traced:
    """A recorded run."""

    status: int
    out: str
    err: str
    folder: Path

    @cached_property
    def ranks(self) -> dict[int, trace_decoder.Trace]:
        """What each rank left, decoded."""
        return trace_decoder.decode_folder(self.folder)

    def succeeded(self) -> Traced:
        """Itself, after looking at the exit status and the error stream."""
        assert (self.status, self.err) == (0, ""), f"exit status {self.status}\n{self.out}\n{self.err}"
        return self


def launcher_options(mpi: Mpi, variables: Mapping[str, str]) -> list[str]:
    """Options that give variables to the ranks and not to the launcher."""
    options: list[str] = []
    for key, value in variables.items():
        options += ["-x", f"{key}={value}"] if mpi.name == "openmpi" else ["-genv", key, value]
    return options


def record(
    name: str,
    n: int,
    command: Path | str,
    folder: Path,
    args: Sequence[object] = (),
    knobs: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 600.0,
) -> Traced:
    """Run a program with its records going to ``folder``."""
    mpi = library(name)
    variables = {"LD_PRELOAD": str(preload(name)), "COREWISE_TRACE_DIR": str(folder), **(knobs or {})}
    done = mpi.run(n, command, args, env=env, timeout=timeout, launcher_args=launcher_options(mpi, variables))
    return Traced(done.returncode, done.stdout, done.stderr, folder)


def assert_known_calls(trace: Trace) -> None:
    """All known calls, in order, and both sides of what came before and after."""
    sends = [r for r in trace.records if r.procedure == "MPI_Send"]
    assert [(r.role, r.peer, r.bytes) for r in sends] == [("send", PROC_NULL, 4)] * KNOWN_CALLS
    assert [r.tag for r in sends] == list(range(KNOWN_CALLS))
    others = [r.procedure for r in trace.records if r.procedure != "MPI_Send"]
    assert others[:4] == ["MPI_Init", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Barrier"]
    assert trace.losses() == {}


# How rank 1 ends: rank 1's state in its file. The launcher then ends rank 0 in its own way.
SUDDEN = {"kill": "running", "term": "running", "segv": "running", "_exit": "running", "exit": "running"}
