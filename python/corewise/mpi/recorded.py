"""What a profile says about the program that it was recorded from.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from corewise.errors import InputError
from corewise.mpi import launch


def recorded_program(profile: Path) -> tuple[list[str], int, str]:
    """What a profile was recorded from: the program's words, its ranks, its launcher.

    The launcher says which MPI it was: under one prefix several may lie, as in a system's /usr.

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
    return list(program), int(ranks), str(meta["command"][0])
