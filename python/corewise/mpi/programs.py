"""The bundled MPI programs (apps/), built for one MPI.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from corewise.errors import RunError
from corewise.mpi.build import compiler
from corewise.mpi.find import MpiLibrary

_NO_CXX_BINDINGS = ("-DOMPI_SKIP_MPICXX=1", "-DMPICH_SKIP_MPICXX=1")
"""Older libraries' mpi.h pulls in the C++ bindings, which need a library of their own."""
_MOST_LINES = 8


def build_program(mpi: MpiLibrary, name: str, folder: Path) -> Path:
    """Builds ``apps/NAME`` into `folder`.

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
    command = [*compiler(), *options, *map(str, sources), "-o", str(output)]
    done = subprocess.run([*command, *mpi.link_flags], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = "\n".join(done.stderr.strip().splitlines()[:_MOST_LINES])
        raise RunError(f"building {name} for {mpi.name} {mpi.version} failed:\n{said}")
    return output


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
