"""The lever *placement*: ranks bound to the cores on which the recorded messages load the links least.

What it gains is predicted by a replay of the run, now and with that placement. Where the run cannot be
replayed, the time of its messages is a bound.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from corewise.analysis.placement.comparison import PlacementRow, PlacementStudy
from corewise.analysis.profile.findings.choices import NO_BETTER, current_placement
from corewise.analysis.profile.findings.run import LEAST_SHARE
from corewise.data.quantities import share_text, time_text
from corewise.errors import InputError, RunError
from corewise.trials import binding
from corewise.trials.levers.lever import Case, Prediction, Setting, gain_of_share
from corewise.trials.levers.seats import read_back
from corewise.trials.replaying import Replays


def predict(case: Case) -> Prediction:
    """By replay; without one at most the time of messages, shortened as the busiest link is relieved."""
    study = case.run.study
    if study is None:
        return Prediction(None, case.placement_note or "there is no machine to place on", False)
    now, name = current_placement(study)
    if now.ratio < NO_BETTER:
        return Prediction(1.0, f"{name} is as good as any on {study.machine.name}", False)
    bound = _bound(case, now, name, study)
    times = None if case.replays is None else _replayed(case.replays, now, study.best)
    if times is None:
        return bound
    before, after = times
    reason = (
        f"replayed on {study.machine.name} the run takes {time_text(before, 4)} with {name} and "
        f"{time_text(after, 4)} with the placement that loads links least"
    )
    # A description of this host may be too kind to it, and here a try costs only runs.
    promising = 1 - after / before >= LEAST_SHARE or (case.is_host and bound.promising)
    return Prediction(before / after, reason, promising)


def _bound(case: Case, now: PlacementRow, name: str, study: PlacementStudy) -> Prediction:
    moving = case.run.share(case.run.moving_ns("message"))
    saved = moving * (1 - 1 / now.ratio)
    reason = (
        f"{name} loads the busiest link of {study.machine.name} {now.ratio:.3g} times as much as the best "
        f"placement, and messages take {share_text(moving)} of the run beside waiting"
    )
    return Prediction(gain_of_share(saved), reason, saved >= LEAST_SHARE)


def _replayed(replays: Replays, now: PlacementRow, best: PlacementRow) -> tuple[float, float] | None:
    """Predicted times in ns of both; None where the run cannot be replayed to its end."""
    try:
        times = replays(now.unit_of_rank), replays(best.unit_of_rank)
    except (InputError, RunError):
        return None
    return times if min(times) > 0 else None


def apply(case: Case, setting: Setting, folder: Path) -> Setting:
    """Binds ranks as the best placement says."""
    assert case.line is not None and case.machine is not None  # or it would not be tried
    wanted = case.best_placement()
    arguments = binding.arguments(case.line.mpi, case.machine, wanted, folder)
    return replace(setting, binding=arguments, placement=wanted)


def verify(case: Case, profile: Path) -> str:
    """Reads back where the ranks may run."""
    assert case.machine is not None
    return read_back(profile, case.machine, case.best_placement())
