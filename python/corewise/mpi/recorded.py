"""What a profile says about the program that it was recorded from.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

from corewise.base.documents import read_json
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
    meta = read_json(profile / launch.META)
    if "program" not in meta or "ranks" not in meta:
        raise meta.wrong(
            "program",
            "a profile recorded with corewise run -n RANKS -- PROGRAM "
            "(only then is the program known apart from its launcher)",
        )
    program, command = (meta.texts(field, may_be_blank=True) for field in ("program", "command"))
    if not program or not command:
        raise meta.wrong("command" if program else "program", "one or more texts")
    return list(program), meta.whole("ranks", 1), command[0]
