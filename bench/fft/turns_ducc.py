"""DUCC's transform by threads, out of place; the result is in natural order.

Usage: turns_ducc.py N THREADS, and a line of standard input for each transform.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import sys
import time

import ducc0
import numpy as np
from turns import END, part_of_input, tell


def main(n: int, threads: int) -> None:
    values = part_of_input(0, n * n).reshape(n, n)
    out = np.empty_like(values)
    ducc0.fft.c2c(values, out=out, nthreads=threads)
    print("ready", flush=True)
    for _ in iter(sys.stdin.readline, END):
        begin = time.perf_counter()
        ducc0.fft.c2c(values, out=out, nthreads=threads)
        tell(1e3 * (time.perf_counter() - begin))


main(int(sys.argv[1]), int(sys.argv[2]))
