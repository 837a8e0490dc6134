"""Runs a pattern on a simulated machine.

Owns which model runs which machine: a machine file that says ``model = "cell"`` runs as a whole Cell, command
by command and packet by packet; every other, and every run by flow, as its interconnect alone. The same input
gives the same result.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from corewise import _core, _lab
from corewise.base import late
from corewise.errors import InputError, bad_field

with late.imports():
    import numpy as np
    from numpy.typing import NDArray

    from corewise._core import Machine, Pattern, PatternResult
    from corewise._core import Timeline as Recorder
    from corewise.data.machines import load_machine
    from corewise.data.placement import Placement
    from corewise.sim.placements import named_placement
    from corewise.sim.result import Simulation
    from corewise.sim.timeline import Timeline

GRANULARITIES = ("packet", "flow")
SEPARATIONS = ("dependence", "barrier")
MAX_EVENTS = 1_000_000
"""Of a timeline; what happens later is only counted."""


def simulate(
    machine: Machine | str,
    pattern: Pattern | NDArray[Any],
    placement: Placement | Sequence[int] | NDArray[Any] | str | None = None,
    *,
    repetitions: int = 1,
    granularity: str = "packet",
    separation: str = "dependence",
    seed: int | None = None,
    trace: bool = False,
    max_events: int = MAX_EVENTS,
) -> Simulation:
    """Simulates every message of a pattern on a machine.

    Parameters
    ----------
    machine : Machine or str
        Where it runs; a text is understood as by ``corewise machines show``: a bundled name, a file, ...
    pattern : Pattern or ndarray, shape (ranks, ranks)
        What is sent; of a matrix, the bytes from row to column, one message per pair that sends.
    placement : Placement, sequence of int, str or None
        Unit of every rank, or a name (`named_placement`); None puts rank r on unit r.
    repetitions : int
        How often the pattern runs, one after the other.
    granularity : str
        ``packet``, or ``flow``: whole messages that share links evenly, quicker and less exact.
    separation : str
        Before its next phase a rank waits for its own messages (``dependence``) or for everybody's
        (``barrier``).
    seed : int, optional
        Of the jitter of a simulated Cell; without one it has none. Other models have nothing to seed.
    trace : bool
        Whether to record a timeline.
    max_events : int
        Of the timeline.

    Returns
    -------
    Simulation
        Times, bandwidths and loads.

    Raises
    ------
    InputError
        Where something of this does not fit together.
    """
    where = load_machine(machine) if isinstance(machine, str) else machine
    what = pattern if isinstance(pattern, Pattern) else _pattern_of(pattern)
    units = _units(placement, where, what.ranks)
    _check_choice("granularity", granularity, GRANULARITIES)
    _check_choice("separation", separation, SEPARATIONS)
    cell = where.model == "cell" and granularity == "packet"
    if seed is not None and not cell:
        allowed = "only where a Cell is simulated by packet; nothing else is random"
        raise InputError(f"seed {seed}: found for '{where.name}' by {granularity}, allowed: {allowed}")
    recorder = Recorder(max_events) if trace else None
    run: PatternResult
    if cell:
        run = _lab.run_cell_pattern(where, what, units, separation, repetitions, seed or 0, recorder)
    else:
        run = _core.run_pattern(
            where, what, units, granularity, separation=separation, repetitions=repetitions, timeline=recorder
        )
    timeline = Timeline.from_core(recorder) if recorder is not None else None
    return Simulation.from_core(where, what, run, seed, timeline)


def _pattern_of(matrix: NDArray[Any]) -> Pattern:
    """The pattern of a matrix of bytes, in whatever number type it comes, as long as it means whole bytes."""
    given = np.asarray(matrix)
    found = None
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        found = f"an array of shape {given.shape}"
    elif given.dtype.kind not in "iuf":
        found = f"an array of {given.dtype}"
    elif given.dtype.kind != "u" and not ((given >= 0) & (given == np.floor(given))).all():
        found = "a negative number or a fraction of a byte"
    if found is not None:
        raise bad_field("", "pattern", found, "a square matrix of bytes, shape (ranks, ranks)")
    return Pattern.from_dense("matrix", np.ascontiguousarray(given, dtype=np.uint64))


def _units(
    placement: Placement | Sequence[int] | NDArray[Any] | str | None, machine: Machine, ranks: int
) -> list[int]:
    if placement is None:
        return machine.identity_placement(ranks)
    if isinstance(placement, str):
        return named_placement(placement, machine, ranks)
    if isinstance(placement, Placement):
        placement = placement.unit_of_rank
    units = [int(unit) for unit in placement]
    if len(units) != ranks:
        raise bad_field("", "placement", f"{len(units)} ranks", f"{ranks}, as many as the pattern has")
    machine.check_placement(units)
    return units


def _check_choice(field: str, found: str, allowed: Sequence[str]) -> None:
    if found not in allowed:
        raise bad_field("", field, f"'{found}'", ", ".join(allowed))
