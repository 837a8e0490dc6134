"""The packing library of an MPI, and the engine of ``packing/engine.c`` with or without it.

Owns how an engine is started (two ranks that each talk to the test over a socket), asked and ended. An engine
whose ranks end, or do not answer in time, fails the test that asked; the next question starts another one.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest
from conftest import OPENMPI_ENV, YIELD_ENV, Mpi, find_mpi

from corewise.mpi import build, find

SOURCES = Path(__file__).resolve().parent / "packing"
MPI_NAMES = ("openmpi", "mpich", "mpich_abi")
DEBIAN = "openmpi_debian"
"""Debian's Open MPI, of another version than the wheel's; for a test that has asked ``require_debian``."""
START_S = 600.0
ANSWER_S = 600.0
FLAGS = ("-D_GNU_SOURCE", "-O1", "-g", "-Wno-deprecated-declarations")
RANKS = 2


@cache
def library(name: str) -> Mpi:
    """The MPI called ``name``; ``mpich_abi`` is MPICH through the standard ABI."""
    if name == DEBIAN:
        tools = {tool: Path(f"/usr/bin/{tool}.openmpi") for tool in ("mpicc", "mpicxx", "mpiexec")}
        return Mpi(name, Path("/usr"), env=OPENMPI_ENV, yield_env=YIELD_ENV["openmpi"], **tools)
    family, _, suffix = name.partition("_")
    return find_mpi(family, wrapper_suffix=f"_{suffix}" if suffix else "")


def require_debian() -> None:
    """Skip where Debian's Open MPI or its compiler is missing."""
    for tool in ("mpicc.openmpi", "mpiexec.openmpi"):
        if not Path(f"/usr/bin/{tool}").exists():
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


class EngineEndedError(AssertionError):
    """The engine's ranks ended or were silent; the message has what they printed."""


class Engine:
    """Two ranks of ``packing/engine.c`` under an MPI, with variables that only the ranks see."""

    def __init__(self, name: str, program: Path, ranks_env: Mapping[str, str]) -> None:
        self.name, self.program, self.ranks_env = name, program, dict(ranks_env)
        self._connections: list[socket.socket] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None

    def ask(self, *lines: Iterable[int]) -> list[bytes]:
        """Give each rank, in order, its line of integers; their answers."""
        if self._process is None:
            self._start()
        try:
            for connection, line in zip(self._connections, lines, strict=False):
                connection.sendall((" ".join(map(str, line)) + "\n").encode())
            return [self._answer(each) for each, _ in zip(self._connections, lines, strict=False)]
        except OSError as error:
            said = self._stop()
            raise EngineEndedError(f"{self.name} {self.ranks_env}: {error}: {lines}\n{said}") from error

    def end(self) -> None:
        """End the ranks as a program that is done; they must end well."""
        if self._process is None:
            return
        for connection in self._connections:
            connection.close()
        try:
            status = self._process.wait(timeout=START_S)
        finally:
            said = self._stop()
        assert status == 0, f"{self.name} {self.ranks_env}: exit status {status}\n{said}"

    def _start(self) -> None:
        mpi = library(self.name)
        self._folder = Path(tempfile.mkdtemp(prefix="corewise-engine-"))
        path = self._folder / "socket"
        words = [f"{key}={value}" for key, value in self.ranks_env.items()]
        command = [str(mpi.mpiexec), "-n", str(RANKS), "/usr/bin/env", *words, str(self.program), str(path)]
        env = {**os.environ, **mpi.env, **YIELD_ENV[mpi.name.partition("_")[0]]}
        with socket.socket(socket.AF_UNIX) as listening, (self._folder / "output").open("wb") as output:
            listening.bind(str(path))
            listening.listen(RANKS)
            listening.settimeout(START_S)
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env
            )
            try:
                accepted = [listening.accept()[0] for _ in range(RANKS)]
                for connection in accepted:
                    connection.settimeout(ANSWER_S)
                ranks = [int.from_bytes(self._answer(each), "little") for each in accepted]
            except OSError as error:
                raise EngineEndedError(f"{self.name}: no engine: {error}\n{self._stop()}") from error
        self._connections = [accepted[ranks.index(rank)] for rank in range(RANKS)]

    def _stop(self) -> str:
        """End what may still run; what the engine printed."""
        for connection in self._connections:
            connection.close()
        self._connections = []
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=5.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None
        said = ""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                said = (self._folder / "output").read_text(errors="replace")
            shutil.rmtree(self._folder, ignore_errors=True)
        return said

    @staticmethod
    def _read(connection: socket.socket, n: int) -> bytes:
        parts = bytearray()
        while len(parts) < n:
            part = connection.recv(n - len(parts))
            if not part:
                raise ConnectionError("the engine has ended")
            parts += part
        return bytes(parts)

    def _answer(self, connection: socket.socket) -> bytes:
        return self._read(connection, int.from_bytes(self._read(connection, 4), "little"))


@cache
def engine_program(name: str) -> Path:
    """``packing/engine.c`` built for an MPI, beside the caches of this session."""
    folder = Path(tempfile.mkdtemp(prefix="corewise-packing-"))
    _folders.append(folder)
    return library(name).build(folder / f"engine.{name}", SOURCES / "engine.c", flags=FLAGS)


_folders: list[Path] = []


def end_session() -> None:
    """Remove what was built."""
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def built(name: str) -> tuple[Path, Path]:
    """The shim and the program for an MPI."""
    mpi, folder = library(name), engine_program(name).parent
    shim = mpi.build(
        folder / f"shim.{name}.so", SOURCES / "shim.c", flags=(*FLAGS, "-shared", "-fPIC", "-ldl")
    )
    return shim, mpi.build(folder / f"shim_program.{name}", SOURCES / "shim_program.c", flags=FLAGS)


def ran(command: list[str], variables: Mapping[str, str]) -> str:
    """What a launch printed; it must end well."""
    done = subprocess.run(
        command,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=ANSWER_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout
