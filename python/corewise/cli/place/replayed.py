"""The recorded run whose replay is the cost of a placement, for `corewise place` and `corewise explore`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from corewise.base import late
from corewise.cli import console
from corewise.errors import InputError

with late.imports():
    from corewise._core import Machine
    from corewise.data.patterns import is_profile
    from corewise.sim.replay import open_recording
    from corewise.trials.replaying import Replays

OBJECTIVE = "replay"


def replays_of(
    sources: Sequence[Path], machine: Machine, objective: str | None, together: bool, simulated_runs: bool
) -> Replays | None:
    """The run, replayed in rank order once; None by another objective.

    Parameters
    ----------
    sources : sequence of Path
        One profile; anything else is refused.
    machine : Machine
    objective : str or None
    together : bool
        Whether they are programs that run at one time, which is refused.
    simulated_runs : bool
        Whether the user wants placements verified by simulation, which is refused.
    """
    if objective != OBJECTIVE:
        return None
    _check(sources, together, simulated_runs)
    return replays_on(sources[0], machine)


def replays_on(source: Path, machine: Machine) -> Replays:
    """A recorded run on a machine, replayed in rank order once.

    Parameters
    ----------
    source : Path
        A profile.
    machine : Machine
    """
    recording = open_recording(source)
    if recording.unfinished:
        ranks = ", ".join(map(str, recording.unfinished[:8]))
        console.warn(f"corewise: {source}: the recording ends early, or lacks records, on ranks {ranks}")
    found = Replays(recording, machine, source.name)
    with console.progress(f"replaying {source.name}"):
        if found.in_order.messages == 0:
            raise InputError(f"{source}: no messages between ranks: nothing to place")
    return found


def _check(sources: Sequence[Path], together: bool, simulated_runs: bool) -> None:
    """Refuses what a replay cannot be the cost of."""
    if together or len(sources) != 1:
        found = "--together" if together else f"{len(sources)} sources"
        raise InputError(f"--objective {OBJECTIVE}: found {found}, allowed: one profile")
    if not is_profile(sources[0]):
        raise InputError(
            f"{sources[0]}: found no profile with --objective {OBJECTIVE}, allowed: a NAME.cw that "
            "corewise run recorded"
        )
    if simulated_runs:
        raise InputError(
            f"--verify: found with --objective {OBJECTIVE} on a machine that is not this host, allowed: "
            "this host"
        )
