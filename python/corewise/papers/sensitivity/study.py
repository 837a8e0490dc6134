"""Runs papers 000 and 001 again on variants of the simulated Cell: assumed numbers halved and doubled.

Every variant runs both papers' programs with few repetitions and few sizes, so that what differs from the
full commands is scatter, not the machine. Variants are independent: a sweep, which any executor does.
Invariant: a result depends on the variants alone, not on how many run at one time.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from corewise.analysis.result import PaperResult, Progress, Row
from corewise.data.machines import load_cell, load_machine
from corewise.errors import CorewiseError
from corewise.papers.affinity import rows as rows_of_affinity
from corewise.papers.affinity import study as study_of_affinity
from corewise.papers.collectives import rows as rows_of_collectives
from corewise.papers.collectives import study as study_of_collectives
from corewise.papers.collectives.cases import MACHINE as BLADE
from corewise.papers.runner import Paper, unseen
from corewise.papers.sensitivity import PAPERS
from corewise.papers.sensitivity.data import (
    Finding,
    Outcome,
    Sensitivity,
    Variant,
    chosen_parameters,
    is_variant_result,
    outcome_json,
    outcome_of,
    outcome_of_json,
    parameters_of,
    variants_of,
)
from corewise.papers.sensitivity.views import rows_of, tables_of
from corewise.sim.sweeps import Sweep, Workers, run

CHIP = "cell-be"
MACHINE = "Cell BE and Cell blade with single parameters changed (simulated)"
PAPER: Paper[Sensitivity] = Paper("sensitivity", rows_of, tables_of, lambda found: ())
_AFFINITY_PLAN = study_of_affinity.Plan(
    table1_repetitions=10,
    step_repetitions=4,
    size_repetitions=4,
    collective_repetitions=3,
    permutation_repetitions=1,
    trials=2,
    permutations=6,
)
_SIZES = (128, 1024, 8 * 1024, 32 * 1024, 1024 * 1024)
_RANKS = (2, 4, 8, 10, 12, 16)


def _affinity_rows(parameters: Mapping[str, float]) -> Iterable[Row]:
    """All findings of paper 000 but those on permutations, which single numbers do not turn."""
    plan = _AFFINITY_PLAN
    machine = load_cell(CHIP, parameters) if parameters else load_machine(CHIP)
    found = study_of_affinity.measure(study_of_affinity.on_machine(plan, machine))
    return [row for row in rows_of_affinity.rows_of(found) if not row.id.startswith("B13")]


def _collective_rows(parameters: Mapping[str, float]) -> Iterable[Row]:
    """The findings of paper 001 itself, not of its future work."""
    machine = load_cell(BLADE, parameters) if parameters else load_machine(BLADE)
    plan = study_of_collectives.Plan(_SIZES, _RANKS, dma_repetitions=6, machine=machine, papers_own=True)
    return rows_of_collectives.papers_own_rows(study_of_collectives.measure(plan))


ROWS: Mapping[str, Callable[[Mapping[str, float]], Iterable[Row]]] = dict(
    zip(PAPERS, (_affinity_rows, _collective_rows), strict=True)
)
"""What each paper's programs say of a machine."""


@dataclass(frozen=True)
class Plan:
    """What is varied.

    Attributes
    ----------
    papers : tuple of str
        Of `PAPERS`.
    parameters : tuple of str
        By name; none: all that are assumed or inferred.
    fitted : bool
        The fitted ones too.
    pairs : bool
        Two at a time too: the square of the work.
    """

    papers: tuple[str, ...] = PAPERS
    parameters: tuple[str, ...] = ()
    fitted: bool = False
    pairs: bool = False


def run_paper(
    plan: Plan,
    progress: Progress = unseen,
    workers: Workers | None = None,
    resume: Path | None = None,
) -> PaperResult:
    """Everything `corewise paper sensitivity` shows."""
    return PAPER.result(MACHINE, measure(plan, progress, workers, resume))


def measure(
    plan: Plan,
    progress: Progress = unseen,
    workers: Workers | None = None,
    resume: Path | None = None,
) -> Sensitivity:
    """Runs every variant.

    Parameters
    ----------
    plan : Plan
    progress : callable
        Told the share that is done.
    workers : Workers, optional
        Who simulates; threads on all cores of this host without them.
    resume : Path, optional
        Keeps what is done until all is.
    """
    parameters = chosen_parameters(parameters_of(load_machine(BLADE)), plan.parameters, plan.fitted)
    variants = variants_of(parameters, plan.pairs)
    items = [[astuple(change) for change in variant] for variant in variants]
    sweep = Sweep("paper sensitivity", variant_job, json.dumps(plan.papers), items, is_variant_result)
    outcomes: dict[Variant, Outcome] = {}
    failed: dict[Variant, str] = {}
    findings: tuple[Finding, ...] = ()
    for variant, result in zip(variants, run(sweep, progress, workers, resume), strict=True):
        if "failed" in result:
            failed[variant] = result["failed"]
            continue
        outcomes[variant], known = outcome_of_json(result)
        findings = known if not variant else findings
    return Sensitivity(parameters, findings, outcomes, failed)


def variant_job(shared: str, item: Sequence[tuple[str, str, float]]) -> dict[str, Any]:
    """What the papers' programs say of a variant, or why they do not run on it, as values of JSON."""
    parameters = {name: value for name, _, value in item}
    try:
        return outcome_json(*outcome_of({paper: ROWS[paper](parameters) for paper in json.loads(shared)}))
    except CorewiseError as error:
        if not item:
            raise
        return {"failed": str(error)}
