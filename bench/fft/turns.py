"""A contestant in Python that waits for its turn: a line of standard input is a transform.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import numpy as np

END = "end\n"
"""No more turns."""


def mixed(x: np.ndarray) -> np.ndarray:
    # splitmix64, as apps/fft2d/input.hpp has it.
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def part_of_input(first: int, count: int, seed: int = 1) -> np.ndarray:
    """Elements of the whole input, row by row."""
    with np.errstate(over="ignore"):
        places = np.arange(2 * first, 2 * (first + count), dtype=np.uint64) + mixed(
            np.array([seed], np.uint64)
        )
        numbers = (mixed(places) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
    return numbers.view(np.complex128)


def tell(ms: float) -> None:
    print(f"turn ms={ms:.4f}", flush=True)
