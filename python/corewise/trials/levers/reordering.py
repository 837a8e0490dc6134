"""The lever *reordering*: MPI_COMM_WORLD renumbered, so that ranks are on the cores of the best placement.

It is for launches that bind each rank to a core already: nothing about the binding has to change.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from corewise.data.placement import make_placement
from corewise.mpi import reorder
from corewise.trials import binding
from corewise.trials.levers import placement
from corewise.trials.levers.lever import Case, Prediction, Setting


def predict(case: Case) -> Prediction:
    """What placement gains, for ranks that are bound each to a core."""
    found = placement.predict(case)
    study = case.run.study
    if not found.promising or (study is not None and any(row.which == "given" for row in study.rows)):
        return found
    return Prediction(found.gain, "ranks are not bound to a core each: they are placed by binding", False)


def apply(case: Case, setting: Setting, folder: Path) -> Setting:
    """Binds ranks core by core, and gives the program a world in the placement's order."""
    assert case.line is not None and case.machine is not None  # or it would not be tried
    wanted = case.best_placement()
    order = make_placement(case.machine, reorder.launch_order(wanted))
    return replace(
        setting,
        binding=binding.arguments(case.line.mpi, case.machine, order, folder),
        placement=order,
        options=replace(setting.options, reordering=reorder.Wanted(wanted, case.machine)),
    )


def verify(case: Case, profile: Path) -> str:
    """Asks what became of the order."""
    del case
    answer = reorder.read_answer(profile)
    return "" if answer.reordered else answer.reason
