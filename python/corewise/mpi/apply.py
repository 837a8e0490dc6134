"""Runs a program under several placements of this host, interleaved, and times them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from corewise.errors import InputError, RunError
from corewise.mpi import launch

Binding = Callable[[str, Path], Sequence[str]]
"""Launcher family ("openmpi", "mpich") and a folder for files -> binding arguments; empty: unbound."""


def recorded_program(profile: Path) -> tuple[list[str], int, str]:
    """What a profile was recorded from: the program's words, its ranks, the MPI's prefix.

    Parameters
    ----------
    profile : the profile directory.

    Raises
    ------
    InputError
        The profile does not say (no meta.json, or the user's own launcher line).
    """
    path = profile / launch.META
    try:
        meta: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    program, ranks = meta.get("program"), meta.get("ranks")
    if not program or not ranks:
        raise InputError(
            f"{path}: field 'program': found none, allowed: a profile recorded with corewise run -n RANKS -- "
            "PROGRAM (only then is the program known apart from its launcher)"
        )
    return list(program), int(ranks), str(meta["mpi"]["prefix"])


def time_placements(
    program: Sequence[str], ranks: int, mpi: str | None, bindings: Mapping[str, Binding], rounds: int
) -> dict[str, list[float]]:
    """Wall times of the whole launch, in seconds.

    The order rotates from round to round, so that a slow minute of the machine meets every placement.

    Parameters
    ----------
    program : the program's words.
    ranks : number of ranks.
    mpi : see `corewise.mpi.find.find`; None: the MPI of the program.
    bindings : name -> how to bind; asked once per run.
    rounds : runs of each.

    Returns
    -------
    dict of name -> list of float
        One value per round.

    Raises
    ------
    RunError
        A run failed; nothing is reported from a set with a failed run.
    """
    names = list(bindings)
    times: dict[str, list[float]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="corewise-apply-") as folder:
        for turn in range(rounds):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                decided = launch.plan(program, ranks=ranks, mpi=mpi)
                arguments = bindings[name](decided.mpi.family, Path(folder))
                decided = launch.plan(program, ranks=ranks, mpi=mpi, binding=arguments)
                outcome = launch.execute(decided.command, launch.environment(decided), subprocess.DEVNULL)
                if outcome.exit_status != 0:
                    raise RunError(
                        f"{' '.join(decided.command)}: ended with exit status {outcome.exit_status}"
                    )
                times[name].append(outcome.wall_s)
    return times
