"""The lever *algorithm*: the MPI's own algorithm of the collective that costs most, chosen by its variables.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from corewise._core import World, procedure_facts
from corewise.analysis.profile.findings.run import LEAST_SHARE
from corewise.analysis.profile.rows import CallRow
from corewise.data.profile import load_profile
from corewise.data.quantities import bytes_text, share_text
from corewise.mpi.algorithms import FEWEST_RANKS, Choice, choice
from corewise.trials.levers.lever import Case, Prediction, Setting


def predict(case: Case) -> Prediction:
    """Promising where blocking collectives take time and the MPI lets their algorithm be chosen.

    Which algorithm the MPI takes by itself is not known, nor how long the other takes: no number is given.
    """
    calls = _collectives(case)
    if not calls:
        return Prediction(1.0, "the program calls no blocking collective", False)
    most = calls[0]
    share = case.run.share(most.time_ns)
    if share < LEAST_SHARE:
        return Prediction(1.0, f"{most.procedure} takes {share_text(share)} of the run", False)
    if case.ranks < FEWEST_RANKS:
        return Prediction(
            1.0, f"between {case.ranks} ranks the algorithms of a collective hardly differ", False
        )
    if case.line is None:
        return Prediction(None, "which MPI would run it is not known", False)
    chosen = _choice(case)
    size = bytes_text(_size(most))
    if chosen is None:
        reason = (
            f"{case.line.mpi.name} {case.line.mpi.version} has no variable for {most.procedure} of {size}"
        )
        return Prediction(None, reason, False)
    reason = (
        f"{most.procedure} takes {share_text(share)} of the run, {size} a call in the mean; the usual model "
        f"prefers {chosen.algorithm}, and whether {case.line.mpi.name} takes it by itself is not known"
    )
    return Prediction(None, reason, True)


def apply(case: Case, setting: Setting, folder: Path) -> Setting:
    """Sets the MPI's variables."""
    del folder
    chosen = _choice(case)
    assert chosen is not None  # or it would not be tried
    variables = {**setting.options.variables, **chosen.variables}
    return replace(setting, options=replace(setting.options, variables=variables))


def verify(case: Case, profile: Path) -> str:
    """Whether the collective is called still; the MPI does not say which algorithm it took."""
    wanted = _collectives(case)[0].procedure
    return "" if _count(load_profile(profile).world, wanted) else f"the run did not call {wanted}"


def _collectives(case: Case) -> list[CallRow]:
    """Blocking ones that were called, the longest first."""
    rows = [row for row in case.run.analysis.calls if row.calls and _name(row.procedure)]
    return sorted(rows, key=lambda row: -row.time_ns)


def _name(procedure: str) -> str:
    """Of a blocking collective, as variables of MPIs call it; empty for all else."""
    facts = procedure_facts(procedure)
    name = procedure.lower().removeprefix("mpi_").removesuffix("_c")
    return name if facts.sort == "collective" and name == facts.row else ""


def _choice(case: Case) -> Choice | None:
    most = _collectives(case)[0]
    assert case.line is not None
    return choice(case.line.mpi, _name(most.procedure), _size(most))


def _size(row: CallRow) -> int:
    return int(row.bytes) // int(row.calls)


def _count(world: World, procedure: str) -> int:
    calls = world.calls.sum(axis=0).tolist()
    return sum(int(count) for count, name in zip(calls, world.procedures, strict=True) if name == procedure)
