"""All rules together: three to six findings of a run, the largest part of the run first.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from corewise.analysis.placement.comparison import PlacementStudy
from corewise.analysis.profile.findings import choices, launching, times
from corewise.analysis.profile.findings.finding import Finding, Findings
from corewise.analysis.profile.findings.run import LEAST_SHARE, Run
from corewise.analysis.profile.rows import ProfileAnalysis
from corewise.analysis.profile.tables import analyse_profile
from corewise.analysis.profile.waits import WaitsSummary, summarise_waits
from corewise.data.profile import Profile, load_profile
from corewise.data.quantities import share_text
from corewise.data.tuned_hosts import HostCollectives, known_collectives
from corewise.sim import replay

MOST = 6
"""Findings of a run; the launch's own mistakes are never among those left out."""
RULES: tuple[Callable[[Run], list[Finding]], ...] = (
    times.waiting,
    times.small_messages,
    times.startup,
    choices.algorithms,
    choices.placement,
)
"""Each gives findings of one sort, beside the launch's mistakes; the division of the run comes first."""
_NO_CAUSE = frozenset({"computing", "communication", "placement-best", "startup", "unbound"})
"""Kinds that name nothing which could be done about messages."""


def findings_of(run: Run) -> Findings:
    """What a run shows."""
    mistakes = launching.launch_mistakes(run)
    others = _by_share([finding for rule in RULES for finding in rule(run)])
    opening = _unfinished(run) + times.division(run)
    if not any(each.kind not in _NO_CAUSE for each in (*mistakes, *others)):
        opening += _nothing(run)
    room = max(0, MOST - len(opening) - len(mistakes))
    return Findings(run.efficiency, (*opening, *_by_share(mistakes + others[:room])))


def _by_share(found: list[Finding]) -> list[Finding]:
    return sorted(found, key=lambda each: -(each.run_share or 0.0))


def _unfinished(run: Run) -> list[Finding]:
    """Where a run that did not finish came to its end, or where a rank crashed that had finished."""
    end = run.analysis.end
    if not end.statements:
        return []
    where = "; ".join(f"rank {each.rank}: {each.doing}" for each in end.ranks[:2])
    if run.analysis.ending.finished:
        return [Finding("late-crash", f"a rank crashed after MPI_Finalize: {end.statements[0]}", where)]
    return [Finding("unfinished", f"the run did not finish: {end.statements[0]}", where)]


def _nothing(run: Run) -> list[Finding]:
    """That no rule found anything; silent about runs of which nothing is known, or that did not finish."""
    share = run.analysis.mpi_share
    if share <= 0 or (run.analysis.end.statements and not run.analysis.ending.finished):
        return []
    why = f"MPI takes {share_text(share)} of the run"
    if share >= LEAST_SHARE:
        why += f", and no cause that is known here takes {share_text(LEAST_SHARE, 0)} of it"
    return [Finding("nothing", f"nothing to gain here: {why}", "", "", run_share=0.0, mpi_share=None)]


def look_at(
    profile: Profile,
    *,
    tables: Sequence[HostCollectives] | None = None,
    study: PlacementStudy | None = None,
    quota_cores: float | None = None,
    analysis: ProfileAnalysis | None = None,
    ideal_ns: float | None = None,
) -> Run:
    """A profile as the rules look at it.

    Parameters
    ----------
    profile : Profile
        Read with its waits.
    tables : sequence of HostCollectives, optional
        Measured collectives; the shipped ones by default, those of this processor first.
    study : PlacementStudy, optional
        Placements of its messages on a machine.
    quota_cores : float, optional
        Processor time that the system gave the launch, in cores.
    analysis : ProfileAnalysis, optional
        Of the profile, where it is made already.
    ideal_ns : float, optional
        What the run would take where messages and calls take no time.
    """
    return Run(
        analysis if analysis is not None else analyse_profile(profile),
        waits_of(profile),
        known_collectives(profile.meta.mpi_name) if tables is None else tables,
        study,
        quota_cores,
        ideal_ns,
    )


def waits_of(profile: Profile) -> WaitsSummary:
    """The waits of a profile that was read with them."""
    return summarise_waits(profile.waits, profile.problems, str(profile.path))


def find_out(path: str | Path, study: PlacementStudy | None = None) -> Findings:
    """The findings of a profile's folder.

    Parameters
    ----------
    path : path
        A folder ``NAME.cw``.
    study : PlacementStudy, optional
        Placements of its messages on a machine.

    Raises
    ------
    InputError
        The folder is no profile.
    """
    profile = load_profile(path, waits=True)
    return findings_of(look_at(profile, study=study, ideal_ns=replay.ideal_ns(path)))
