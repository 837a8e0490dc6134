"""mpi4py-fft on all ranks: slabs, planned by measurement; the result is spread along the other axis.

Usage: turns_mpi4py_fft.py N, and a line of standard input for each transform.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray
from turns import END, part_of_input, tell


def next_turn(world: MPI.Comm) -> bool:
    """Whether rank 0 has read another line; the others sleep until then."""
    more = np.array([0 if world.rank == 0 and sys.stdin.readline() in ("", END) else 1])
    request = world.Ibcast(more, root=0)
    while not request.Test():
        time.sleep(0.001)
    return bool(more[0])


def main(n: int) -> None:
    world = MPI.COMM_WORLD
    plan = PFFT(world, (n, n), axes=(0, 1), dtype=np.complex128, grid=(-1,), planner_effort="FFTW_MEASURE")
    values, out = newDistArray(plan, False), newDistArray(plan, True)
    rows, columns = values.local_slice()
    if columns != slice(0, n):
        raise SystemExit("mpi4py-fft: found an input that is not spread along its rows")
    values[:] = part_of_input(rows.start * n, (rows.stop - rows.start) * n).reshape(values.shape)
    if world.rank == 0:
        print("ready", flush=True)
    while next_turn(world):
        world.Barrier()
        begin = time.perf_counter()
        plan.forward(values, out, normalize=False)
        ms = world.allreduce(1e3 * (time.perf_counter() - begin), MPI.MAX)
        if world.rank == 0:
            tell(ms)


main(int(sys.argv[1]))
