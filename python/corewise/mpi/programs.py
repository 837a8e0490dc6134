"""The bundled MPI programs (apps/), built for one MPI.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from corewise.errors import RunError
from corewise.mpi.build import compiler
from corewise.mpi.find import MpiLibrary

_NO_CXX_BINDINGS = ("-DOMPI_SKIP_MPICXX=1", "-DMPICH_SKIP_MPICXX=1")
"""Older libraries' mpi.h pulls in the C++ bindings, which need a library of their own."""
_MOST_LINES = 8


def build_program(mpi: MpiLibrary, name: str, folder: Path) -> Path:
    """Builds ``apps/NAME`` into `folder`; its files are compiled beside each other.

    Parameters
    ----------
    mpi : the library to build for.
    name : the program, e.g. ``sweep``.
    folder : where the executable goes; must exist.

    Raises
    ------
    RunError
        The sources are not there, or the compiler failed; the message carries the first lines of its output.
    """
    sources = sources_of(name)
    output = folder / f"{name}.{mpi.name}-{mpi.version}"
    options = ["-O2", "-std=c++20", *_NO_CXX_BINDINGS, *mpi.compile_flags]
    with (
        tempfile.TemporaryDirectory(dir=folder) as scratch,
        ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool,
    ):
        parts = [Path(scratch) / f"{source.stem}.o" for source in sources]
        commands = [
            [*options, "-c", str(source), "-o", str(part)]
            for source, part in zip(sources, parts, strict=True)
        ]
        said = next(filter(None, pool.map(_failure, commands)), None)
        said = said or _failure([*options, *map(str, parts), "-o", str(output), *mpi.link_flags])
    if said:
        raise RunError(f"building {name} for {mpi.name} {mpi.version} failed:\n{said}")
    return output


def _failure(words: Sequence[str]) -> str:
    """Compiles; the first lines of what the compiler says where it fails, empty where it does not."""
    done = subprocess.run([*compiler(), *words], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return "\n".join(done.stderr.strip().splitlines()[:_MOST_LINES]) or f"exit status {done.returncode}"


def sources_of(name: str) -> list[Path]:
    """The sources of ``apps/NAME``, at least one.

    Raises
    ------
    RunError
        They are not there.
    """
    sources = sorted((_sources() / name).glob("*.cpp"))
    if not sources:
        raise RunError(f"{_sources() / name}: no sources of a bundled program: reinstall corewise")
    return sources


def _sources() -> Path:
    here = Path(__file__).resolve().parents[1]
    installed = here / "_apps"
    return installed if installed.is_dir() else here.parents[1] / "apps"
