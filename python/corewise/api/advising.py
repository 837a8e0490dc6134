"""What makes a program slow, and a launch that makes it faster, for a Python program.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from corewise.api import display
from corewise.api.machine import Machine
from corewise.api.machine import machine as machine_of
from corewise.api.profile import Found, Profile
from corewise.data.profile import Profile as Recorded
from corewise.errors import InputError
from corewise.mpi.lines import Line, line_of
from corewise.report import advice as view
from corewise.trials.advice import cases, study
from corewise.trials.levers.lever import Case

_HOST = "host"


@dataclass(frozen=True, repr=False)
class Advised:
    """What is advised, and why.

    Attributes
    ----------
    case : corewise.trials.levers.lever.Case
        What the levers looked at.
    advice : corewise.trials.advice.study.Advice
        All of the result: every lever with its prediction and its gain, and the rounds that confirmed one.
    """

    case: Case
    advice: study.Advice

    @property
    def statement(self) -> str:
        """The advice in one sentence."""
        return self.advice.statement

    @property
    def command(self) -> tuple[str, ...]:
        """The launch that was confirmed to be faster, else the plain one; empty where none is possible."""
        advised = self.advice.advised
        return self.advice.plain if advised is None else tuple(advised.command)

    def findings(self) -> Found:
        """What the run shows."""
        return Found(self.case.findings)

    def __repr__(self) -> str:
        return f"<corewise.Advised: {self.statement}>"

    def _repr_html_(self) -> str:
        told = display.terminal_text(*view.views(self.case, self.advice))
        launch = view.lines(self.case, self.advice, "SLURM_JOB_ID" in os.environ)
        return display.preformatted("\n".join([told, *launch]))


def advise(
    source: Profile | str | Path | Sequence[str],
    ranks: int | None = None,
    *,
    output: str | Path | None = None,
    machine: str | Machine = _HOST,
    mpi: str | None = None,
    budget_s: float = 0.0,
) -> Advised:
    """Finds out what slows a program down, predicts what every lever gains, and tries the promising ones.

    Parameters
    ----------
    source : Profile, str, Path, or sequence of str
        A profile or its folder; or a program with its arguments, which is then recorded.
    ranks : int, optional
        Of a program that has no launcher in front.
    output : str or Path, optional
        The folder for the profile of a program; needed for one.
    machine : str or Machine
        What placements are predicted for; runs are on this host only.
    mpi : str, optional
        The MPI of a program: a name, a prefix or a launcher.
    budget_s : float
        Seconds for all runs; 0 only predicts.

    Returns
    -------
    Advised

    Raises
    ------
    InputError
        There is no such profile, program or machine, or a program has no folder for its profile.
    RunError
        The program failed.
    """
    began = time.monotonic()
    where = machine_of(machine)
    is_host = machine == _HOST
    line: Line | None = None
    why = "" if is_host else f"for {where.name}"
    if isinstance(source, (Profile, str, Path)):
        folder = source.path if isinstance(source, Profile) else Path(source)
        reasons: list[str] = []

        def line_from(profile: Recorded) -> Line | None:
            found, reason = cases.line_of_profile(folder, profile)
            reasons.append(reason)
            return found

        case = cases.case_of(folder, where.core, is_host, line_from)
        why = reasons[0] or why
    else:
        if output is None:
            raise InputError("output: found nothing, allowed: a new folder NAME.cw for the program's profile")
        folder = Path(output)
        line = line_of(list(source), ranks, mpi)
        cases.record(line, folder, budget_s or None)
        case = cases.case_of(folder, where.core, is_host, lambda _: line)
    why = why or ("" if budget_s else "budget_s is 0")
    if why:
        return Advised(case, study.predict_only(case, why))
    left_s = budget_s - (time.monotonic() - began)
    return Advised(case, study.advise(case, left_s, folder.resolve(), _silent))


@contextmanager
def _silent(title: str) -> Iterator[Callable[[float], None]]:
    """Shows no progress: nothing here prints."""
    yield lambda share: None
