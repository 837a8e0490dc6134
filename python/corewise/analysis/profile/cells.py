"""A sparse matrix as a square table that is small enough to draw, with a level per cell.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corewise.analysis.profile.levels import LEVELS, RankPlaces
from corewise.analysis.profile.matrix import TrafficMatrix


@dataclass(frozen=True)
class Cells:
    """The table.

    Attributes
    ----------
    values : ndarray of float64, shape (side, side)
        From row to column, summed where a cell holds several pairs.
    levels : ndarray of int8, shape (side, side), or None
        Of every cell the level that most of its volume goes over.
    block : int
        Ranks per cell side.
    ranks : int
        Of the whole matrix.
    node, socket, core_complex : tuple of int
        Of the first rank of every row; empty where unknown.
    """

    values: NDArray[np.float64]
    levels: NDArray[np.int8] | None
    block: int
    ranks: int
    node: tuple[int, ...]
    socket: tuple[int, ...]
    core_complex: tuple[int, ...]


def sum_in_blocks(
    ranks: int, most_cells: int, senders: NDArray[Any], receivers: NDArray[Any], values: NDArray[Any]
) -> tuple[NDArray[Any], int]:
    """A matrix as a square table that is small enough to draw.

    Parameters
    ----------
    ranks : int
        Of the whole matrix.
    most_cells : int
        Of a side. More ranks are summed into the smallest blocks that fit.
    senders, receivers, values : ndarray, shape (pairs,)
        The matrix, pair by pair.

    Returns
    -------
    cells : ndarray, shape (side, side)
        From row to column, of the type of `values`.
    block : int
        Ranks per cell side.
    """
    block = max(1, -(-ranks // most_cells))
    side = -(-ranks // block)
    cells = np.zeros((side, side), dtype=values.dtype)
    np.add.at(cells, (senders // block, receivers // block), values)
    return cells, block


def matrix_cells(
    matrix: TrafficMatrix,
    most_cells: int,
    levels: NDArray[np.int8] | None = None,
    places: RankPlaces | None = None,
) -> Cells:
    """Sums ranks into the smallest blocks with at most `most_cells` cells on a side."""
    senders, receivers, values = matrix.senders, matrix.receivers, matrix.values
    cells, block = sum_in_blocks(matrix.ranks, most_cells, senders, receivers, values)
    firsts = range(0, matrix.ranks, block)
    ids = ((), (), ()) if places is None else (places.node, places.socket, places.core_complex)
    node, package, inner = (tuple(of[first] for first in firsts) if of else () for of in ids)
    of_cell = (
        None if levels is None else _most(len(cells), senders // block, receivers // block, values, levels)
    )
    return Cells(cells, of_cell, block, matrix.ranks, node, package, inner)


def _most(
    side: int,
    rows: NDArray[np.int32],
    columns: NDArray[np.int32],
    values: NDArray[np.float64],
    levels: NDArray[np.int8],
) -> NDArray[np.int8]:
    """The level with the largest volume in every cell."""
    largest, winner = np.zeros((side, side)), np.zeros((side, side), dtype=np.int8)
    for level in range(len(LEVELS)):
        volume = np.zeros((side, side))
        of_level = levels == level
        np.add.at(volume, (rows[of_level], columns[of_level]), values[of_level])
        better = volume > largest
        winner[better] = level
        largest[better] = volume[better]
    return winner
