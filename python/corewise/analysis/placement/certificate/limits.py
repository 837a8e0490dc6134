"""Which placements a certificate is about: those within its fixed ranks, free units and cores.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine
from corewise.base.documents import Fields
from corewise.errors import RunError, bad_field, shown


class Limits:
    """Which placements the proof is about: ranks that are fixed, units kept free, ranks spread over cores.

    Spread evenly: no core has two ranks more than another one that has room. The fewest ranks that a core
    has in any such placement come from a level that all cores reach where they can; some have one more.
    """

    def __init__(self, document: Fields | None, machine: Machine, ranks: int) -> None:
        units = len(machine.units)
        self.ranks = ranks
        self.unit_of_fixed: dict[int, int] = {}
        self.kept_free: set[int] = set()
        cores: list[list[int]] = []
        if document is not None:
            self._read_fixed(document, ranks, units)
            self.kept_free = set(document.wholes("kept_free", 0, units - 1, may_be_empty=True))
            cores = [list(core) for core in document.lists_of_wholes("cores", 0, units - 1)]
            if cores not in ([], _cores_of(machine)):
                raise document.wrong("cores", "none, or all cores of the machine that have several units")
        self._spreads = bool(cores)
        self.core_of = list(range(units))
        for core in cores:
            for unit in core:
                self.core_of[unit] = core[0]
        taken = set(self.unit_of_fixed.values())
        self.open = np.array([u not in self.kept_free and u not in taken for u in range(units)])
        self._spread()

    def _read_fixed(self, document: Fields, ranks: int, units: int) -> None:
        pairs = document.lists_of_wholes("fixed", 0, max(ranks, units) - 1)
        for pair in pairs:
            if len(pair) != 2 or pair[0] >= ranks or pair[1] >= units:
                raise bad_field(
                    document.source, "fixed", shown(pair), f"a rank below {ranks}, a unit below {units}"
                )
        self.unit_of_fixed = {pair[0]: pair[1] for pair in pairs}
        if len(self.unit_of_fixed) != len(pairs) or len(set(self.unit_of_fixed.values())) != len(pairs):
            raise document.wrong("fixed", "each rank and each unit once")

    def _spread(self) -> None:
        fixed = np.bincount(
            [self.core_of[u] for u in self.unit_of_fixed.values()], minlength=len(self.core_of)
        )
        room = fixed + np.bincount(
            [core for core, is_open in zip(self.core_of, self.open, strict=True) if is_open],
            minlength=len(self.core_of),
        )
        levels = [np.maximum(fixed, np.minimum(room, level)) for level in range(self.ranks + 2)]
        level = max(at for at in range(self.ranks + 1) if levels[at].sum() <= self.ranks)
        self.least, self.most = levels[level], levels[level + 1]
        self._more = self.ranks - int(self.least.sum())

    def fits(self, units: Sequence[int]) -> bool:
        """Whether ranks on these units, fixed ones among them, can be a part of an allowed placement."""
        if not self._spreads:
            return True
        count = np.bincount([self.core_of[unit] for unit in units], minlength=len(self.core_of))
        more = int(np.maximum(count - self.least, 0).sum())
        return bool((count <= self.most).all()) and more <= self._more

    def domain(self, rank: int) -> NDArray[np.bool_]:
        """Units that the rank may have: bool (units,)."""
        if rank not in self.unit_of_fixed:
            return self.open
        one = np.zeros(len(self.core_of), dtype=bool)
        one[self.unit_of_fixed[rank]] = True
        return one

    def check_placement(self, unit_of_rank: list[int]) -> None:
        """That the placement is one of them."""
        misplaced = [rank for rank, unit in enumerate(unit_of_rank) if not self.domain(rank)[unit]]
        if misplaced or not self.fits(unit_of_rank):
            raise RunError(
                "certificate: unit_of_rank: the placement is not within fixed, kept_free and cores"
            )

    def check_order(self, order: list[int]) -> None:
        """That fixed ranks are placed first."""
        if set(order[: len(self.unit_of_fixed)]) != set(self.unit_of_fixed):
            raise RunError("certificate: order: does not begin with the fixed ranks")

    def check_rank_symmetry(self, image: list[int]) -> None:
        """That no fixed rank is renamed."""
        if any(image[rank] != rank for rank in self.unit_of_fixed):
            raise RunError(f"certificate: rank_symmetries: {image} moves a fixed rank")

    def check_unit_symmetry(self, image: list[int]) -> None:
        """That renamed units lead from allowed placements to allowed ones."""
        moves_fixed = any(image[unit] != unit for unit in self.unit_of_fixed.values())
        core = np.array(self.core_of)
        there = core[image]
        whole = all(len(set(there[core == each].tolist())) == 1 for each in set(self.core_of))
        alike = (self.least[core] == self.least[there]).all() and (self.most[core] == self.most[there]).all()
        if moves_fixed or not whole or not alike or (self.open[image] != self.open).any():
            raise RunError(f"certificate: unit_symmetries: {image} leads out of fixed, kept_free and cores")


def _cores_of(machine: Machine) -> list[list[int]]:
    """Units whose innermost domain is the same core, where it has several."""
    cores: dict[str, list[int]] = {}
    for number, unit in enumerate(machine.units):
        inner = unit.domains[-1] if unit.domains else ""
        if inner.removeprefix("core").isdecimal() and inner.startswith("core"):
            cores.setdefault(inner, []).append(number)
    return sorted(units for units in cores.values() if len(units) > 1)
