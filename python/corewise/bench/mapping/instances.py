"""How long does a proof of the least weighted distance take? Instances of Nugent, Vollmann and Ruml (1968).

Flows, and optima as QAPLIB (Burkard, Karisch, Rendl 1997) has them; distances are Manhattan distances of grid
cells, row by row. The run ends with an error where a proof is missing or its cost is not the published one.
No rival installs here. CPU time of the process.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from corewise import _core
from corewise.bench.rounds import alone
from corewise.bench.rows import Listener, Row
from corewise.errors import RunError

NODES = 100_000_000


@dataclass(frozen=True)
class Instance:
    """Facilities on a grid.

    Attributes
    ----------
    name : str
    size, width : int
        Facilities, and cells of a row of the grid.
    optimum : int
        Over ordered pairs, as QAPLIB counts.
    flows : str
        Above the diagonal, a line per facility; the first `size` facilities count.
    """

    name: str
    size: int
    width: int
    optimum: int
    flows: str

    def pattern(self) -> _core.Pattern:
        """Every flow in both directions."""
        matrix = np.zeros((self.size, self.size), dtype=np.uint64)
        for low, line in enumerate(self.flows.strip().splitlines()):
            for step, flow in enumerate(line.split(), start=1):
                if low + step < self.size:
                    matrix[low, low + step] = matrix[low + step, low] = int(flow)
        return _core.Pattern.from_dense(self.name, matrix)

    def distances(self) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Between the cells."""
        rows, columns = np.divmod(np.arange(self.size), self.width)
        apart = np.abs(rows[:, None] - rows) + np.abs(columns[:, None] - columns)
        return np.asarray(apart, dtype=np.float64)


_NUG12 = """
5 2 4 1 0 0 6 2 1 1 1
3 0 2 2 2 0 4 5 0 0
0 0 0 0 5 5 2 2 2
5 2 2 10 0 0 5 5
10 0 0 0 5 1 1
5 1 1 5 4 0
10 5 2 3 3
0 0 5 0
0 10 10
5 0
2
"""
_NUG15 = """
10 0 5 1 0 1 2 2 2 2 0 4 0 0
1 3 2 2 2 3 2 0 2 0 10 5 0
10 2 0 2 5 4 5 2 2 5 5 5
1 1 5 0 0 2 1 0 2 5 0
3 5 5 5 1 0 3 0 5 5
2 2 1 5 0 0 2 5 10
6 0 1 5 5 5 1 0
5 2 10 0 5 0 0
0 10 5 10 0 2
0 4 0 0 5
5 0 5 0
3 3 0
10 2
4
"""
_NUG16B = """
0 5 0 2 10 3 1 5 5 0 0 4 4 0 0
3 10 1 5 1 2 2 5 0 10 3 0 5 10
2 5 2 4 4 0 0 0 5 0 0 5 0
0 5 2 1 10 2 2 0 1 5 2 5
5 2 1 0 0 10 0 0 1 0 1
0 0 5 10 2 2 1 2 1 0
1 10 10 2 0 2 5 2 2
0 3 5 5 5 0 0 0
5 2 5 10 0 2 2
2 10 0 1 1 2
2 1 0 0 0
5 1 5 5
0 0 2
5 2
1
"""
INSTANCES = (
    Instance("nug12", 12, 4, 578, _NUG12),
    Instance("nug14", 14, 5, 1014, _NUG15),
    Instance("nug15", 15, 5, 1150, _NUG15),
    Instance("nug16b", 16, 4, 1240, _NUG16B),
)


def proven_ms(instance: Instance) -> float:
    """One proof."""
    pattern, distances = instance.pattern(), instance.distances()
    searcher = _core.Searcher(_core.Machine.from_synthetic(f"core:{instance.size}"))
    begin = time.process_time()
    found = searcher.search(
        pattern, objective="distance", distances=distances, nodes=NODES, method="branch-and-bound"
    )
    taken = 1e3 * (time.process_time() - begin)
    if not found.proven_optimal or found.cost != instance.optimum:
        raise RunError(
            f"bench mapping: {instance.name}: found {found.cost:g}, the proven optimum is {instance.optimum}"
        )
    return taken


def rows(rounds: int, listener: Listener) -> list[Row]:
    """A row per instance."""
    found = []
    for index, instance in enumerate(INSTANCES):
        what = f"least weighted distance of {instance.name} ({instance.optimum}), proven"
        blank = Row(f"mapping-instance-{instance.name}", what, "ms", None)
        found.append(alone(blank, [proven_ms(instance) for _ in range(rounds)]))
        listener.progress((index + 1) / len(INSTANCES))
    return found
