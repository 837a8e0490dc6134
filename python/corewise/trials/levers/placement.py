"""The lever *placement*: ranks bound to the cores on which the recorded messages load the links least.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from corewise.analysis.profile.findings.choices import NO_BETTER, current_placement
from corewise.analysis.profile.findings.run import LEAST_SHARE
from corewise.data.quantities import share_text
from corewise.trials import binding
from corewise.trials.levers.lever import Case, Prediction, Setting, gain_of_share
from corewise.trials.levers.seats import read_back


def predict(case: Case) -> Prediction:
    """At most the time of messages beside waiting, shortened as the busiest link is relieved."""
    study = case.run.study
    if study is None:
        return Prediction(None, case.placement_note or "there is no machine to place on", False)
    now, name = current_placement(study)
    if now.ratio < NO_BETTER:
        return Prediction(1.0, f"{name} is as good as any on {study.machine.name}", False)
    moving = case.run.share(case.run.moving_ns("message"))
    saved = moving * (1 - 1 / now.ratio)
    reason = (
        f"{name} loads the busiest link of {study.machine.name} {now.ratio:.3g} times as much as the best "
        f"placement, and messages take {share_text(moving)} of the run beside waiting"
    )
    return Prediction(gain_of_share(saved), reason, saved >= LEAST_SHARE)


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
