"""Which MPIs a benchmark runs under, and how it launches a contestant.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from corewise.errors import InputError, RunError
from corewise.mpi import find, launch

_MOST_LETTERS = 500


def chosen(wanted: str | None) -> list[find.MpiLibrary]:
    """The MPI that the user names; without a name the first Open MPI and the first MPICH that are found."""
    if wanted is not None:
        return [find.find(wanted)]
    found: dict[str, find.MpiLibrary] = {}
    for library in find.find_all():
        if library.name != "abi":
            found.setdefault(library.name, library)
    if not found:
        raise InputError("no MPI found: name one with --mpi PREFIX (corewise doctor says what was looked at)")
    return list(found.values())


def newest(wanted: str | None) -> list[find.MpiLibrary]:
    """The MPI that the user names, of several with that name the newest; otherwise the newest of each."""

    def number(mpi: find.MpiLibrary) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", mpi.version)]

    of_name: dict[str, find.MpiLibrary] = {}
    for mpi in find.find_all():
        of_name[mpi.name] = max(of_name.get(mpi.name, mpi), mpi, key=number)
    if wanted is not None:
        return [of_name.get(wanted) or find.find(wanted)]
    if not (found := [of_name[name] for name in ("openmpi", "mpich") if name in of_name]):
        raise InputError(f"no MPI found: name one with --mpi PREFIX; found here: {find.found_here()}")
    return found


def title(mpi: find.MpiLibrary) -> str:
    """Name and version."""
    return f"{mpi.name} {mpi.version}"


def slug(mpi: find.MpiLibrary) -> str:
    """The same for an id."""
    return f"{mpi.name}-{mpi.version}"


def planned(
    mpi: find.MpiLibrary, program: Path, arguments: Sequence[str], ranks: int, binding: Sequence[str] = ()
) -> launch.LaunchPlan:
    """A launch of a contestant."""
    return launch.plan([str(program), *arguments], ranks=ranks, mpi=str(mpi.launcher), binding=binding)


def output_of(
    words: Sequence[str],
    environment: Mapping[str, str],
    folder: Path | None = None,
    limit_s: float | None = None,
) -> str:
    """What a contestant prints; a `RunError` with what it said where it fails, or is not done in time."""
    try:
        done = subprocess.run(
            list(words),
            env=dict(environment),
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        raise RunError(f"{' '.join(words)}: not done after {limit_s:g} s") from None
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()[-_MOST_LETTERS:]
        raise RunError(f"{' '.join(words)}: ended with {done.returncode}: {said}")
    return done.stdout
