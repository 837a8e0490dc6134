"""The lever *binding*: every rank bound to a core of its own, in rank order.

For launches whose ranks may move, share a core while another is idle, or are bound otherwise than was asked.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from corewise._core import Machine
from corewise.data.placement import Placement, make_placement
from corewise.trials import binding
from corewise.trials.levers.lever import Case, Prediction, Setting, gain_of_share
from corewise.trials.levers.seats import read_back

_MISTAKES = ("more-ranks-than-cores", "sharing", "ignored-binding", "unbound")


def predict(case: Case) -> Prediction:
    """Promising where ranks have no core of their own, and there are enough cores."""
    found = next((row for kind in _MISTAKES if (row := case.findings.of(kind)) is not None), None)
    units = len(case.machine.units) if case.machine is not None else 0
    if case.ranks > units > 0:
        return Prediction(1.0, f"{case.ranks} ranks cannot have a core each: there are {units}", False)
    if not case.is_host:
        return Prediction(None, "only ranks on this host can be bound", False)
    if found is None:
        return Prediction(1.0, "every rank has a core of its own", False)
    gain = None if found.run_share is None else gain_of_share(found.run_share)
    return Prediction(gain, found.title, True)


def apply(case: Case, setting: Setting, folder: Path) -> Setting:
    """Binds rank r to the host's r-th core."""
    assert case.line is not None and case.machine is not None  # or it would not be promising
    wanted = _in_order(case.machine, case.ranks)
    arguments = binding.arguments(case.line.mpi, case.machine, wanted, folder)
    return replace(setting, binding=arguments, placement=wanted)


def verify(case: Case, profile: Path) -> str:
    """Reads back where the ranks may run."""
    assert case.machine is not None
    return read_back(profile, case.machine, _in_order(case.machine, case.ranks))


def _in_order(machine: Machine, ranks: int) -> Placement:
    return make_placement(machine, tuple(machine.identity_placement(ranks)))
