"""Placements of a recorded run, decided by its replay.

The messages that the run sends on a machine, those inside its collectives too, are the pattern for which
placements are searched. What the search finds, rank order and the named placements are replayed each, and the
quickest replay decides: unlike a search's cost it knows who waits for whom. Deterministic.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corewise._core import Machine, Pattern, Recording
from corewise.analysis.placement.comparison import Settings, study_placements
from corewise.analysis.placement.limits import LimitRules
from corewise.sim.replay import Replay, ReplayOptions, replay

RANDOM = ("random", "worst")
"""Rows of a study that nobody would choose."""


@dataclass(frozen=True)
class Replayed:
    """A placement and its replay.

    Attributes
    ----------
    which : str
        ``identity``, ``best`` (of the search) or the name of a named placement.
    unit_of_rank : tuple of int
    run : Replay
    """

    which: str
    unit_of_rank: tuple[int, ...]
    run: Replay


def pattern_of(run: Replay, name: str) -> Pattern:
    """All messages of a replay, those inside collectives too."""
    traffic = run.traffic
    return Pattern.from_coordinates(
        name,
        run.ranks.size,
        np.ascontiguousarray(traffic["sender"]),
        np.ascontiguousarray(traffic["receiver"]),
        np.ascontiguousarray(traffic["bytes"] + traffic["collective_bytes"]),
        np.ascontiguousarray(traffic["messages"] + traffic["collective_messages"]),
    )


def placements_by_replay(
    recording: Recording, machine: Machine, name: str, options: ReplayOptions | None = None
) -> list[Replayed]:
    """Placements worth a replay, the quickest first; of equals rank order, then what the search found.

    Parameters
    ----------
    recording : Recording
    machine : Machine
    name : str
        Of the run, in errors.
    options : ReplayOptions, optional
    """
    order = machine.identity_placement(recording.size)
    tried = [Replayed("identity", tuple(order), replay(recording, machine, order, options))]
    pattern = pattern_of(tried[0].run, name)
    if not pattern.coordinates()[2].any():
        return tried
    limits = LimitRules().on(machine, recording.size)
    study = study_placements(pattern, machine, source=name, settings=Settings(limits=limits), named=True)
    for row in study.rows:
        if row.which not in RANDOM and row.unit_of_rank not in {each.unit_of_rank for each in tried}:
            found = replay(recording, machine, row.unit_of_rank, options)
            tried.append(Replayed(row.which, row.unit_of_rank, found))
    return sorted(tried, key=lambda each: each.run.time_ns)
