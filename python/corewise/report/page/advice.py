"""The section with an advice: the sentence, the launch to copy, and what became of every lever.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shlex
from dataclasses import replace

from corewise.report.advice import lever_cells, slurm_command
from corewise.report.page import profile
from corewise.report.page.profile import ProfileView
from corewise.report.page.shell import Page, Section, fill
from corewise.trials.advice.study import Advice
from corewise.trials.levers.lever import Case


def page(view: ProfileView, case: Case, found: Advice, slurm: bool) -> Page:
    """The page of the run that was looked at, which opens with the advice.

    Parameters
    ----------
    view : ProfileView
        Of the recorded run.
    case : Case
    found : Advice
    slurm : bool
        Also the launch for Slurm.
    """
    made = profile.page(replace(view, findings=case.findings))
    return replace(made, kind="advise", sections=(_section(case, found, slurm), *made.sections))


def _section(case: Case, found: Advice, slurm: bool) -> Section:
    advised = found.advised
    body = fill(
        "advice.html.j2",
        found=found,
        rows=[lever_cells(row) for row in found.rows],
        launch=shlex.join(found.plain if advised is None else advised.command),
        slurm=shlex.join(slurm_command(case, advised)) if slurm and advised is not None else "",
    )
    return Section("advice", "Advice", body)
