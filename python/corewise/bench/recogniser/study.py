"""`corewise bench recogniser`: how long it takes to name the matrix of 4096 ranks.

A row per family, with the ranks as they are and relabelled (a new numbering per round), beside the limit of
one second. A wrong name ends the run: a fast wrong name is worth nothing. No floor is known.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corewise import _core
from corewise.bench.rounds import beside
from corewise.bench.rows import Listener, Outcome, Row
from corewise.errors import RunError

LIMIT_S = 1.0
RANKS = 4096
ROUNDS, QUICK_ROUNDS = 5, 3


@dataclass(frozen=True)
class Case:
    """A template: its family, parameters, and other families that are the same matrix."""

    family: str
    parameters: Mapping[str, str]
    also: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """For an id."""
        return "-".join([self.family, *self.parameters.values()])


CASES = (
    Case("ring", {}),
    Case("halo_1d", {"periodic": "no"}),
    Case("halo_2d", {}),
    Case("halo_2d", {"periodic": "no", "stencil": "faces+edges"}),
    Case("halo_3d", {}),
    Case("halo_3d", {"stencil": "faces+edges+corners"}),
    Case("halo_3d", {"periodic": "no", "stencil": "faces+edges+corners"}),
    Case("wavefront", {"octants": "1"}),
    Case("hypercube", {}, ("recursive_doubling",)),
    Case("dissemination", {}),
    Case("binomial_tree", {"root": "3"}),
    Case("k_ary_tree", {"direction": "to_root"}),
    Case("manager_worker", {"manager": "5"}),
    Case("transpose", {"groups": "rows"}),
    Case("transpose", {"groups": "both"}),
    Case("random", {"degree": "6"}),
)


def made(case: Case, ranks: int) -> _core.Pattern:
    """The template for so many ranks."""
    return _core.generate(case.family, {**case.parameters, "ranks": str(ranks)})


def relabelled(pattern: _core.Pattern, seed: int) -> _core.Pattern:
    """The same with another numbering of the ranks."""
    order = np.random.default_rng(seed).permutation(pattern.ranks).astype(np.int32)
    senders, receivers, sizes, messages = pattern.coordinates()
    return _core.Pattern.from_coordinates(
        pattern.name, pattern.ranks, order[senders], order[receivers], sizes, messages
    )


def is_found(naming: _core.Naming, case: Case) -> bool:
    """Whether the name is right."""
    if case.family == "random":
        return naming.random_sparse
    if len(naming.components) != 1 or naming.components[0].match.degree < 1:
        return False
    return naming.components[0].match.family in (case.family, *case.also)


def seconds(pattern: _core.Pattern, case: Case) -> float:
    """To name it; a `RunError` where the name is wrong."""
    begin = time.perf_counter()
    naming = _core.name_pattern(pattern, most_components=1)
    taken = time.perf_counter() - begin
    if not is_found(naming, case):
        raise RunError(f"bench recogniser: {case.slug} is named {naming.label}")
    return taken


def row(case: Case, kind: str, patterns: Sequence[_core.Pattern]) -> Row:
    """One family in one numbering, a pattern per round."""
    times = [seconds(pattern, case) for pattern in patterns]
    blank = Row(
        f"recogniser-{case.slug}-{kind}",
        f"naming {' '.join([case.family, *case.parameters.values()])} of {patterns[0].ranks}, {kind}",
        "s",
        None,
        "limit",
        demand=1.0,
    )
    return beside(blank, times, [LIMIT_S] * len(times))


def run_bench(
    listener: Listener, *, rounds: int | None = None, quick: bool = False, ranks: int = RANKS
) -> Outcome:
    """Every family, in both numberings."""
    count = rounds or (QUICK_ROUNDS if quick else ROUNDS)
    found = []
    for index, case in enumerate(CASES):
        pattern = made(case, ranks).summed()
        found.append(row(case, "as-is", [pattern] * count))
        found.append(row(case, "relabelled", [relabelled(pattern, turn + 1) for turn in range(count)]))
        listener.progress((index + 1) / len(CASES))
    return Outcome("recogniser", tuple(found))
