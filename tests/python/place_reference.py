"""Every placement on a Cell by brute force, in NumPy: shares nothing with the search.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corewise.cli.main import execute

# Clockwise; from the published measurements of the chip, not read from the machine file.
EIB = ["PPE", "SPE1", "SPE3", "SPE5", "SPE7", "IOIF1", "IOIF0", "SPE6", "SPE4", "SPE2", "SPE0", "MIC"]


RING_GB_PER_S = 2 * 25.6  # two data rings per direction


def link_shares(units: int) -> NDArray[np.float64]:
    """Part of a pair's traffic on each of the 24 directed links: (units, units, 24); ties half and half."""
    shares = np.zeros((units, units, 24))
    for first, second in itertools.permutations(range(units), 2):
        start, end = EIB.index(f"SPE{first}"), EIB.index(f"SPE{second}")
        clockwise = (end - start) % 12
        for step in range(clockwise if clockwise <= 6 else 0):
            shares[first, second, (start + step) % 12] += 0.5 if clockwise == 6 else 1.0
        for step in range(12 - clockwise if clockwise >= 6 else 0):
            shares[first, second, 12 + (start - step) % 12] += 0.5 if clockwise == 6 else 1.0
    return shares


def brute_force(
    matrix: NDArray[np.uint64], units: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Every placement of all ranks on all units: its units, bottleneck in bytes, and hop-bytes."""
    shares = link_shares(units)
    placements = np.array(list(itertools.permutations(range(units))))
    loads = np.zeros((len(placements), 24))
    for sender, receiver in np.argwhere(matrix):
        loads += shares[placements[:, sender], placements[:, receiver]] * int(matrix[sender, receiver])
    return placements, loads.max(axis=1), loads.sum(axis=1)


def ring_file(folder: Path, *parameters: str) -> Path:
    file = folder / "ring.json"
    assert execute(["patterns", "make", "ring", *parameters, "-o", str(file)]) == 0
    return file


def ring_matrix(ranks: int, size_bytes: int) -> NDArray[np.uint64]:
    matrix = np.zeros((ranks, ranks), np.uint64)
    for rank in range(ranks):
        matrix[rank, (rank + 1) % ranks] = matrix[(rank + 1) % ranks, rank] = size_bytes
    return matrix


def cost_of(row: dict[str, object], placements: NDArray[np.int64], costs: NDArray[np.float64]) -> float:
    """What the brute force says about the very placement of a row."""
    return float(costs[(placements == np.array(row["unit_of_rank"])).all(axis=1)][0])
