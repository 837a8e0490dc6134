"""The lever *acceleration*: blocking collectives inside the node by corewise's own algorithms.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from corewise._core import procedure_facts
from corewise.analysis.profile.accelerated import accelerated_rows
from corewise.analysis.profile.findings.choices import quicker_collectives
from corewise.analysis.profile.findings.run import LEAST_SHARE
from corewise.data.accelerate import load_accelerate
from corewise.data.quantities import bytes_text, number_text, share_text
from corewise.data.tuned_hosts import host_collectives, mpi_name
from corewise.trials.levers.lever import Case, Prediction, Setting, gain_of_share


def predict(case: Case) -> Prediction:
    """By measured times of each collective at its mean size; where nobody measured any, no number is given.

    Waiting inside collectives is counted among what may be gained, as far as whether it is worth a try: where
    calls follow each other closely, ranks come apart in one call and wait in the next.
    """
    run = case.run
    calls = [row for row in run.analysis.calls if procedure_facts(row.procedure).sort == "collective"]
    if not calls:
        return Prediction(1.0, "the program calls no collective", False)
    share = run.share(sum(row.time_ns for row in calls))
    names = f"{calls[0].procedure}, {bytes_text(calls[0].bytes / max(1, calls[0].calls))} a call in the mean"
    if len({rank.node for rank in run.analysis.world.ranks}) > 1:
        return Prediction(
            None, "ranks are on several nodes: only collectives inside one are taken over", False
        )
    if share < LEAST_SHARE:
        return Prediction(gain_of_share(share), f"collectives take {share_text(share)} of the run", False)
    quicker = quicker_collectives(run)
    if quicker:
        most, saved = quicker[0], run.share(sum(each.saved_ns for each in quicker))
        reason = (
            f"collectives take {share_text(share)} of the run, most in {names}; {most.what} took "
            f"{number_text(most.ours_us)} us by {most.algorithm} where the MPI took "
            f"{number_text(most.mpi_us)} us, on {most.measured_on}"
        )
        return Prediction(gain_of_share(saved), reason, True)
    reason = (
        f"collectives take {share_text(share)} of the run, most in {names}; no table has them on "
        f"{case.ranks} ranks"
    )
    return Prediction(None, reason, True)


def apply(case: Case, setting: Setting, folder: Path) -> Setting:
    """Loads the accelerate library with the table of this processor and MPI."""
    del folder
    assert case.line is not None  # or it would not be tried
    mpi = case.line.mpi
    knob = host_collectives(mpi_name(mpi.family, os.environ), mpi.version).knob
    return replace(setting, options=replace(setting.options, accelerate=knob))


def verify(case: Case, profile: Path) -> str:
    """Counts the calls that were taken over."""
    del case
    rows = accelerated_rows(load_accelerate(profile))
    if any(row.taken for row in rows):
        return ""
    reasons = [reason.why for row in rows for reason in row.reasons]
    return f"no collective was taken over: {reasons[0] if reasons else 'no rank wrote its counts'}"
