"""Several programs on one node at the same time: their patterns as one, and what belongs to each of them.

The ranks of the programs are counted on, one program after the other. Nothing keeps programs in step, so
which of their phases meet is not known: the k-th phases are taken to run together.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from corewise._core import Pattern
from corewise.analysis.placement.limits import LimitRules

__all__ = ["Programs"]


@dataclass(frozen=True)
class Programs:
    """Programs that run at the same time.

    Attributes
    ----------
    patterns : tuple of Pattern
        One per program; their ranks may differ.
    weights : tuple of float
        How much a program's bytes count.
    rules : LimitRules
        Ranks in them are counted on over the programs.
    """

    patterns: tuple[Pattern, ...]
    weights: tuple[float, ...]
    rules: LimitRules = field(default_factory=LimitRules)

    @property
    def firsts(self) -> tuple[int, ...]:
        """The first rank of every program, and last the number of all ranks."""
        return tuple(accumulate((pattern.ranks for pattern in self.patterns), initial=0))

    def joint(self) -> Pattern:
        """All messages as one pattern; the k-th phases of the programs are one."""
        longest = max(len(pattern.phases) for pattern in self.patterns)
        phases = [self._phase(number) for number in range(longest)]
        name = " + ".join(pattern.name or "program" for pattern in self.patterns)
        return Pattern.from_phases(name, self.firsts[-1], phases)

    def _phase(self, number: int) -> tuple[Any, ...]:
        names, columns = [], []
        for pattern, weight, first in zip(self.patterns, self.weights, self.firsts, strict=False):
            if number >= len(pattern.phases):
                continue
            phase = pattern.phases[number]
            senders, receivers, sizes, counts = phase.coordinates()
            columns.append((senders + first, receivers + first, np.rint(sizes * weight), counts))
            names.append(phase.name)
        joined = [np.concatenate(column) for column in zip(*columns, strict=True)]
        name = " + ".join(dict.fromkeys(each for each in names if each))
        senders, receivers, sizes, counts = joined
        return name, senders, receivers, sizes.astype(np.uint64), counts

    def parts(self, unit_of_rank: Sequence[int]) -> list[tuple[int, ...]]:
        """The units of every program's ranks."""
        return [tuple(unit_of_rank[first:end]) for first, end in pairwise(self.firsts)]

    def rules_of(self, program: int) -> LimitRules:
        """Of one program, its ranks counted from 0."""
        return self.rules.of_ranks(self.firsts[program], self.patterns[program].ranks)
