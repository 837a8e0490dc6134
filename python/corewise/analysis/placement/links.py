"""Loads of a machine's links under a study's placements, for drawings.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass

from corewise._core import Searcher
from corewise.analysis.placement.comparison import PlacementStudy


@dataclass(frozen=True)
class LinkLoads:
    """One placement's traffic on every link, phases summed.

    Attributes
    ----------
    which : str
        The placement, as in `PlacementRow.which`.
    unit_of_rank : tuple of int
        Unit of rank r at [r].
    load_bytes, busy_ns : tuple of float
        Per link of the machine: bytes, and bytes over bandwidth.
    """

    which: str
    unit_of_rank: tuple[int, ...]
    load_bytes: tuple[float, ...]
    busy_ns: tuple[float, ...]


def link_loads(study: PlacementStudy) -> tuple[LinkLoads, ...]:
    """The loads under every placement of the study, in its order."""
    searcher = Searcher(study.machine)
    bandwidths = [link.bandwidth_gb_per_s for link in study.machine.links]
    found = []
    for row in study.rows:
        loads = [
            float(load) for load in searcher.evaluate(study.pattern, list(row.unit_of_rank)).load_bytes()
        ]
        busy = tuple(load / bandwidth for load, bandwidth in zip(loads, bandwidths, strict=True))
        found.append(LinkLoads(row.which, row.unit_of_rank, tuple(loads), busy))
    return tuple(found)
