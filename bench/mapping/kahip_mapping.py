"""KaHIP as a contestant: maps a problem with `process_mapping`, which the wheel's extension exports in C.

Prints the CPU time of the call in seconds, then the unit of every rank. At imbalance 0 it has been seen
to put several ranks on one unit, in every mode: corewise checks, and such a mapping does not count.

Usage: python kahip_mapping.py PROBLEM fast|eco|strong SEED

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from pathlib import Path

from problem import Problem

MODES = {"fast": 0, "eco": 1, "strong": 2}
"""Of kaHIP_interface.h."""
MAP_MULTISECTION = 0


def library() -> ctypes.CDLL:
    """The wheel's extension module, loaded as a plain library."""
    import kahip

    folder = Path(kahip.__file__).parent
    return ctypes.CDLL(str(next(folder.glob("kahip*.so"))))


def array(values: list[int]) -> ctypes.Array[ctypes.c_int]:
    """Of C ints."""
    return (ctypes.c_int * len(values))(*values)


def main() -> int:
    """Maps once."""
    pipe = os.dup(1)
    os.dup2(2, 1)
    problem = Problem.read(sys.argv[1])
    first, peers, weights = (array(values) for values in problem.lists())
    sizes = array(problem.hierarchy)
    distances = array(problem.distances)
    ranks = ctypes.c_int(problem.ranks)
    imbalance = ctypes.c_double(0.0)
    cut, cost = ctypes.c_int(), ctypes.c_int()
    units = array([0] * problem.ranks)
    mode = ctypes.c_int(MODES[sys.argv[2]])
    mapping = library().process_mapping
    mapping.restype = None
    begin = time.process_time()
    mapping(
        ctypes.byref(ranks),
        None,
        first,
        weights,
        peers,
        sizes,
        distances,
        ctypes.c_int(len(sizes)),
        mode,
        ctypes.c_int(MAP_MULTISECTION),
        ctypes.byref(imbalance),
        ctypes.c_bool(True),
        ctypes.c_int(int(sys.argv[3])),
        ctypes.byref(cut),
        ctypes.byref(cost),
        units,
    )
    cpu = time.process_time() - begin
    os.write(pipe, ("\n".join([f"{cpu:.9f}", *map(str, units)]) + "\n").encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
