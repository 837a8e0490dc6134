"""How an advice reads: on the terminal and as the fields of a JSON object; and its launch for a shell.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import RenderableType
from rich.text import Text

from corewise.data.export import export_placement
from corewise.data.quantities import ratio_text
from corewise.report.document import findings_fields
from corewise.report.layout import Column, Hanging, by_rows
from corewise.report.terminal import findings_parts
from corewise.trials.advice.study import Advice, Launch, LeverRow
from corewise.trials.levers.lever import Case, Prediction


def views(case: Case, found: Advice) -> list[RenderableType]:
    """The findings, the levers and the verdict; `lines` come after them.

    Parameters
    ----------
    case : Case
        What was looked at.
    found : Advice
    """
    verdict = Text(found.statement, style="bold green" if found.advised else "bold")
    return [*findings_parts(case.findings), "", _levers(found.rows), "", Hanging("", verdict)]


def lines(case: Case, found: Advice, slurm: bool) -> list[str]:
    """The launch, each command on a line of its own, however long: it is there to be copied.

    Parameters
    ----------
    case : Case
    found : Advice
    slurm : bool
        Also the launch for Slurm.
    """
    if found.advised is None:
        return [f"launch as before: {shlex.join(found.plain)}"] if found.plain else []
    told = [f"launch: {shlex.join(found.advised.command)}"]
    if slurm:
        told.append(f"the same for Slurm, not run: {shlex.join(slurm_command(case, found.advised))}")
    return told


def _levers(rows: Sequence[LeverRow]) -> RenderableType:
    return by_rows(
        [
            Column("lever"),
            Column("predicted", right=True),
            Column("tried", right=True),
            Column("why", wrap=True),
        ],
        [lever_cells(row) for row in rows],
        title="levers",
        remark="predicted: at most so many times faster; tried: times as fast as the plain launch",
    )


def lever_cells(row: LeverRow) -> tuple[str, str, str, str]:
    """Its name, what it promised, what it gave when it was tried, and why."""
    return row.lever, _predicted(row.prediction), _tried(row), _why(row)


def _predicted(found: Prediction) -> str:
    if found.gain is None:
        return "?"
    return f"{found.gain:.2f}" if found.promising else "-"


def _tried(row: LeverRow) -> str:
    if row.outcome:
        return "no"
    if row.gain is not None:
        return ratio_text(row.gain)
    return "yes" if row.tried else "-"


def _why(row: LeverRow) -> str:
    return f"{row.prediction.reason}; {row.outcome}" if row.outcome else row.prediction.reason


def slurm_command(case: Case, launched: Launch) -> list[str]:
    """A launch in Slurm's words: srun hands its environment on, so the program's variables are given by env.

    Parameters
    ----------
    case : Case
    launched : Launch
    """
    placement, program = launched.setting.placement, launched.plan.program or ()
    arguments: Sequence[str] = (f"--ntasks={case.ranks}",)
    if placement is not None and case.machine is not None:
        arguments = export_placement("slurm", case.machine, placement).arguments
    variables = [f"{name}={value}" for name, value in launched.variables.items()]
    return ["srun", *arguments, *(["env", *variables] if variables else []), *program]


def fields(case: Case, found: Advice, slurm: bool) -> Mapping[str, object]:
    """Everything beside the rows of levers."""
    confirmed = found.confirmed
    return {
        **findings_fields(case.findings),
        "profile": str(case.run.analysis.profile.path),
        "ranks": case.ranks,
        "statement": found.statement,
        "difference": found.advised is not None,
        "chosen": found.chosen or None,
        "gain": None if confirmed is None else confirmed.gain,
        "low": None if confirmed is None or confirmed.low <= 0 else confirmed.low,
        "high": None if confirmed is None or not math.isfinite(confirmed.high) else confirmed.high,
        "choosing_rounds": found.choosing_rounds,
        "confirming_rounds": 0 if confirmed is None else confirmed.rounds,
        "plain": list(found.plain),
        "launch": None if found.advised is None else found.advised.command,
        "slurm": slurm_command(case, found.advised) if slurm and found.advised is not None else None,
        "spent_s": found.spent_s,
    }


def rows(found: Advice) -> list[dict[str, object]]:
    """A row per lever."""
    return [{"id": row.lever, **asdict(row)} for row in found.rows]
