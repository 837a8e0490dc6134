"""SharedMap as a contestant: maps a problem with chszlablib's `process_map` (hierarchy leaf first).

Prints the CPU time of the call in seconds, then the unit of every rank; corewise checks whether it is valid.

Usage: python sharedmap_mapping.py PROBLEM fast|eco|strong SEED

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import sys
import time

from problem import Problem


def main() -> int:
    """Maps once."""
    # Its libraries print what they find; only our numbers may reach the pipe.
    pipe = os.dup(1)
    os.dup2(2, 1)
    from chszlablib import Decomposition, Graph

    problem = Problem.read(sys.argv[1])
    first, peers, weights = problem.lists()
    graph = Graph.from_csr(first, peers, edge_weights=weights)
    begin = time.process_time()
    found = Decomposition.process_map(
        graph,
        problem.hierarchy,
        problem.distances,
        mode=sys.argv[2],
        imbalance=0.0,
        threads=1,
        seed=int(sys.argv[3]),
    )
    cpu = time.process_time() - begin
    text = "\n".join([f"{cpu:.9f}", *(str(int(unit)) for unit in found.assignment)]) + "\n"
    os.write(pipe, text.encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
