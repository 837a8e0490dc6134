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
    """The MPI that the user names, of several with that name the newest; without, the newest of each."""
    newest: dict[str, find.MpiLibrary] = {}
    for library in find.find_all():
        other = newest.setdefault(library.name, library)
        newest[library.name] = max(other, library, key=_number)
    if wanted is not None:
        return [newest.get(wanted) or find.find(wanted)]
    if not (found := [library for name, library in newest.items() if name != "abi"]):
        raise InputError("no MPI found: name one with --mpi PREFIX (corewise doctor says what was looked at)")
    return found


def _number(mpi: find.MpiLibrary) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", mpi.version)]


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
