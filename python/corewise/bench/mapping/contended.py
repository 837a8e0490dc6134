"""Contended time of hundreds of ranks on a tree: corewise beside what Scotch, SharedMap and KaHIP place.

The others minimise weighted distance; what counts in the end is the time when messages share links. Their
placements are those of the case `trees`, by every variant and seed; the quickest valid one by flow counts.
corewise searches by flow for its ten seconds of one core. The machine is the tree of the problem with
nominal links (packages, L3 caches, cores).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from corewise import _core
from corewise.analysis.placement.search import Costs, Settings, search_placements
from corewise.analysis.placement.starts import named_starts
from corewise.bench.mapping.problems import Problem
from corewise.bench.mapping.reference import cpu_clock
from corewise.bench.mapping.trees import Contestant, contestants
from corewise.bench.peers import Peer
from corewise.bench.rounds import rounded
from corewise.bench.rows import Listener, Row

LEVELS = ("core", "l3", "pack")
"""Of the machine, leaf first."""


def machine_of(problem: Problem) -> _core.Machine:
    """The problem's tree with nominal links."""
    sizes = problem.hierarchy.split(":")
    words = [f"{level}:{size}" for level, size in zip(LEVELS, sizes, strict=False)]
    return _core.Machine.from_synthetic(" ".join(reversed(words)))


def pattern_of(problem: Problem) -> _core.Pattern:
    """The problem's bytes, both ways between every pair."""
    low, high = (np.array(side, np.int32) for side in zip(*problem.pairs, strict=True))
    sizes = np.array(list(problem.pairs.values()), np.uint64)
    ones = np.ones(2 * len(sizes), np.uint64)
    phase = (
        "",
        np.concatenate([low, high]),
        np.concatenate([high, low]),
        np.concatenate([sizes, sizes]),
        ones,
    )
    return _core.Pattern.from_phases("problem", problem.ranks, [phase])


def ours_ns(costs: Costs, seconds: float) -> float:
    """Of the default search by flow, on one core."""
    settings = costs.settings.with_(should_stop=cpu_clock(seconds), workers=1)
    timed = Costs(costs.machine, costs.patterns, costs.weights, settings)
    found = search_placements(timed, named_starts(costs.machine, costs.patterns))
    return costs.of(found.unit_of_rank)


def quickest(
    problem: Problem, costs: Costs, runners: Sequence[Contestant], seeds: int
) -> dict[str, tuple[float, str]]:
    """Of every other tool the least contended time of a valid placement, and which variant found it."""
    best: dict[str, tuple[float, str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.txt"
        problem.write(path)
        for runner in runners:
            for seed in range(1, seeds + 1):
                _, units = runner.run(path, seed)
                if problem.is_valid(units):
                    found = (costs.of(units), runner.variant)
                    best[runner.tool] = min(found, best.get(runner.tool, found))
    return best


def rows_of(
    case: str, problem: Problem, runners: Sequence[Contestant], seconds: float, seeds: int
) -> list[Row]:
    """A row per other tool; one without a rival where there is none."""
    costs = Costs(machine_of(problem), [pattern_of(problem)], [1.0], Settings("flow"))
    ours = ours_ns(costs, seconds)
    order_ns = costs.of(costs.in_order())
    what = f"contended time of {case}, searched for {seconds:g} s; theirs: quickest valid"
    blank = Row(
        f"mapping-contended-{case}", what, "ns", rounded(ours), more={"rank_order": rounded(order_ns)}
    )
    others = quickest(problem, costs, [each for each in runners if each.tool != "corewise"], seeds)
    made = [
        replace(
            blank, id=f"{blank.id}-{tool}", rival=f"{tool} {variant}", theirs=rounded(theirs),
            ratio=rounded(theirs / ours), n=seeds,
        )
        for tool, (theirs, variant) in others.items()
    ]  # fmt: skip
    return made or [blank]


def rows(
    problems: Mapping[str, Problem], seconds: float, seeds: int, python: str, listener: Listener
) -> tuple[list[Row], list[Peer]]:
    """Every problem, and who is absent."""
    runners, absent = contestants(python, listener)
    found: list[Row] = []
    for index, (name, problem) in enumerate(problems.items()):
        found += rows_of(name, problem, runners, seconds, seeds)
        listener.progress((index + 1) / len(problems))
    return found, absent
