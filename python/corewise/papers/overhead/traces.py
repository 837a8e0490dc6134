"""The recording of a simulated run as a profile: a trace file per SPE, which the PPE would write.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path

from corewise.base.files import staged_folder, write_bytes, write_text
from corewise.data.profile import FORMAT, META, VERSION
from corewise.papers.overhead.data import (
    ATOMS,
    BOUNDARY,
    PS3,
    STEPS,
    dynamics_run,
)


def write_traces(folder: Path) -> None:
    """Molecular dynamics on a PS3 with function events on, recorded with our own records, as a new profile.

    Parameters
    ----------
    folder : Path
        Must not exist; is there as a whole or not at all.
    """
    run = dynamics_run(PS3, STEPS)
    run.layout = "specific"
    run.functions = True
    run.keep_traces = True
    found = run.run()
    with staged_folder(folder) as inside:
        inside.mkdir()
        for rank, trace in enumerate(found.traces):
            write_bytes(inside / f"rank-{rank:05d}.cwt", trace)
        program = ["molecular dynamics on simulated SPEs", f"{ATOMS} atoms", f"{BOUNDARY} bytes a message"]
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "command": ["corewise", "paper", "overhead", "--traces", str(folder.name)],
            "program": program,
            "mpi": {"name": "simulated Cell", "version": ""},
            "ranks": PS3.spes,
            "host": PS3.name,
            "exit_status": 0,
            "wall_s": found.time_us * 1e-6,
        }
        write_text(inside / META, json.dumps(meta, indent=1) + "\n")
