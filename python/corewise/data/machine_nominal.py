"""Nominal bandwidths of trees whose latencies alone are known.

Round figures of the right order, measured on nothing, the same as those of short texts and hwloc
(`src/machine/nominal.hpp`); they set how the levels relate.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

NOMINAL_GB_PER_S = {"pu": 20.0, "core": 30.0}
"""By the name of a level; every other level has `NOMINAL_GROUP`, the outermost of several
`NOMINAL_OUTERMOST`.
"""
NOMINAL_GROUP = 60.0
NOMINAL_OUTERMOST = 50.0


def nominal_bandwidths(names: list[str]) -> list[float]:
    """GB/s of one node's link in each direction, for the levels of these names, outermost first."""
    groups = sum(name not in NOMINAL_GB_PER_S for name in names)
    values = [NOMINAL_GB_PER_S.get(name, NOMINAL_GROUP) for name in names]
    return [NOMINAL_OUTERMOST, *values[1:]] if groups > 1 else values
