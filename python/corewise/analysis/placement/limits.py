"""Which placements a user leaves to a search: ranks that stay where they are, units kept free, shared cores.

Owns the rules as they are given, before machine and number of ranks are known; `corewise._core.Limits` is the
same made ready for both.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass

from corewise._core import Limits, Machine

__all__ = ["LimitRules"]


@dataclass(frozen=True)
class LimitRules:
    """What the result of a search has to keep to.

    Attributes
    ----------
    fixed : tuple of (rank, unit)
        Ranks that run there.
    kept_free : tuple of int
        Units without a rank.
    share_cores : bool
        Two ranks may get hardware threads of one core while another core is idle.
    """

    fixed: tuple[tuple[int, int], ...] = ()
    kept_free: tuple[int, ...] = ()
    share_cores: bool = False

    def on(self, machine: Machine, ranks: int) -> Limits | None:
        """Made ready; None where they forbid nothing.

        Parameters
        ----------
        machine : Machine
        ranks : int
            Of the patterns; more than the machine's units are left to the search to refuse.
        """
        if ranks > len(machine.units):
            return None
        limits = Limits(machine, ranks, list(self.fixed), list(self.kept_free), self.share_cores)
        return limits if limits.any else None

    def of_ranks(self, first: int, ranks: int) -> LimitRules:
        """Those of one of several programs: of `ranks` ranks from `first` on, counted from 0 again."""
        fixed = tuple((rank - first, unit) for rank, unit in self.fixed if first <= rank < first + ranks)
        return LimitRules(fixed, self.kept_free, self.share_cores)
