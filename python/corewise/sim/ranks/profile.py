"""The profile that a simulated run leaves behind: its folder, and what `meta.json` says of the run.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corewise.base.files import staged_folder, write_text
from corewise.data.profile import FORMAT, META, VERSION

LIBRARY = "simulated MPI"


@contextmanager
def new_profile(path: Path) -> Iterator[Path]:
    """A folder for rank files, which becomes the profile if the block ends well.

    Raises
    ------
    InputError
        There is something at `path` already, or it cannot be written.
    """
    with staged_folder(path) as inside:
        inside.mkdir()
        yield inside


def write_meta(
    folder: Path,
    program: Sequence[str],
    ranks: int,
    machine: str,
    exit_status: int,
    found: Mapping[str, Any],
) -> None:
    """Describes the run; its time is the simulated one."""
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "command": ["corewise", "simrun", "-n", str(ranks), "-m", machine, *program],
        "program": list(program),
        "mpi": {"name": LIBRARY, "version": "3.1"},
        "ranks": ranks,
        "host": machine,
        "exit_status": exit_status,
        "wall_s": found["time_ns"] * 1e-9,
    }
    write_text(folder / META, json.dumps(meta, indent=1) + "\n")
