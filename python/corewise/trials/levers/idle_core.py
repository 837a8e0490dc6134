"""The lever *idle_core*: one rank less than cores, so that the system does its work on a core of its own.

It is predicted only, by the model of `corewise.analysis.noise`: on fewer ranks a program does another job,
and how long that takes says nothing about this one. Whoever wants it launches it so.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from corewise._core import Machine, procedure_facts
from corewise.analysis.noise.spare import CLEARLY, FEWEST_CORES, compare, cores_of
from corewise.data.placement import Placement, make_placement
from corewise.data.quantities import time_text
from corewise.trials import binding
from corewise.trials.levers.lever import Case, Prediction, Setting
from corewise.trials.levers.seats import read_back


def predict(case: Case) -> Prediction:
    """By the mean time between two collectives of a rank, and the noise of this host."""
    if not case.is_host or case.machine is None:
        return Prediction(None, "only this host's noise is known", False)
    cores = cores_of(case.machine)
    if cores < FEWEST_CORES:
        return Prediction(
            None, f"nothing is claimed of a node of {cores} cores: it takes {FEWEST_CORES} and more", False
        )
    if case.ranks != cores:
        what = (
            f"{cores - case.ranks} of {cores} cores are idle" if case.ranks < cores else "ranks share cores"
        )
        return Prediction(1.0, what, False)
    interval_ns = _interval_ns(case)
    if interval_ns is None:
        return Prediction(1.0, "no rank waits for all others in a collective", False)
    if case.noise is None:
        return Prediction(None, "the noise of this host was not measured", False)
    found = compare(case.noise, cores, 1, interval_ns)
    often = f"a collective every {time_text(interval_ns)} on average"
    if found.gain < CLEARLY:
        return Prediction(found.gain, f"with {often} an idle core does not pay, by a model", False)
    reason = (
        f"with {often} {cores - 1} ranks would be {found.gain:.2f} times as fast (predicted by a model, and "
        "not tried: fewer ranks do another job)"
    )
    return Prediction(found.gain, reason, False)


def apply(case: Case, setting: Setting, folder: Path) -> Setting:
    """One rank less, bound in order to all cores but the first, where systems do most of their work."""
    assert case.line is not None and case.machine is not None
    wanted = _all_but_the_first(case.machine, case.ranks)
    arguments = binding.arguments(case.line.mpi, case.machine, wanted, folder)
    return replace(setting, binding=arguments, placement=wanted)


def verify(case: Case, profile: Path) -> str:
    """Reads back where the ranks may run."""
    assert case.machine is not None
    return read_back(profile, case.machine, _all_but_the_first(case.machine, case.ranks))


def _all_but_the_first(machine: Machine, ranks: int) -> Placement:
    in_order = machine.identity_placement(ranks)
    return make_placement(machine, tuple(in_order[1:]))


def _interval_ns(case: Case) -> float | None:
    """Mean time between collectives of a rank; None where there are none."""
    rows = case.run.analysis.calls
    calls = sum(row.calls for row in rows if procedure_facts(row.procedure).sort == "collective")
    return case.run.run_ns / calls if calls else None
