"""A communication matrix as a terminal heat map.

Rows send, columns receive. Five shades, logarithmic between the smallest and the largest nonzero entry,
because halo faces and corners differ by orders of magnitude and a linear scale would hide the corners.
Shade characters carry the picture where colours do not reach (a pipe, a log file). Larger matrices are
summed into blocks and say so.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.text import Text

SHADES = " ░▒▓█"
_COLOURS = ("", "blue", "cyan", "yellow", "red")
MOST_CELLS = 64
"""Matrices with more ranks than this are drawn as sums of blocks."""


def heat_map(matrix: NDArray[np.uint64], title: str = "bytes sent") -> RenderableType:
    """Draws a square matrix.

    Parameters
    ----------
    matrix : ndarray of uint64, shape (ranks, ranks)
        Bytes from row rank to column rank.
    title : str
        What the numbers are; it stands above the picture.
    """
    cells, block = in_blocks(matrix)
    levels = shade_levels(cells)
    lines = [_header(cells.shape[0], block, title), _ruler(cells.shape[0], block)]
    lines.extend(_row(levels[index], index * block) for index in range(cells.shape[0]))
    return Group(*lines, _legend(cells))


def in_blocks(matrix: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], int]:
    """The matrix summed into the smallest blocks that fit `MOST_CELLS`, and a block's side in ranks."""
    ranks = matrix.shape[0]
    block = -(-ranks // MOST_CELLS)
    if block == 1:
        return matrix, 1
    side = -(-ranks // block)
    padded = np.zeros((side * block, side * block), dtype=np.uint64)
    padded[:ranks, :ranks] = matrix
    return padded.reshape(side, block, side, block).sum(axis=(1, 3), dtype=np.uint64), block


def shade_levels(cells: NDArray[Any]) -> NDArray[np.int64]:
    """Index into `SHADES` of every cell: 0 where nothing was sent, else 1 (least) to 4 (most)."""
    levels = np.zeros(cells.shape, dtype=np.int64)
    used = cells > 0
    if not used.any():
        return levels
    logs = np.log2(cells[used].astype(np.float64))
    low, high = float(logs.min()), float(logs.max())
    levels[used] = 4 if high == low else 1 + np.minimum(3, (4 * (logs - low) / (high - low)).astype(np.int64))
    return levels


def bytes_text(size_bytes: float) -> str:
    """A byte count for people: ``1.5 MiB``."""
    value = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} TiB"


def _header(side: int, block: int, title: str) -> Text:
    unit = "one cell per rank pair" if block == 1 else f"one cell per {block}x{block} ranks"
    return Text(f"{title}: row sends, column receives, {unit}", style="bold")


def _ruler(side: int, block: int) -> Text:
    marks = [f"{index * block:<8}" for index in range(0, side, 4)]
    return Text("      " + "".join(marks).rstrip(), style="dim")


def _row(levels: NDArray[np.int64], first_rank: int) -> Text:
    line = Text(f"{first_rank:5d}", style="dim")
    line.append("▏", style="dim")
    for level in levels:
        line.append(SHADES[level] * 2, style=_COLOURS[level])
    line.append("▕", style="dim")
    return line


def _legend(cells: NDArray[np.uint64]) -> Text:
    used = cells[cells > 0]
    if used.size == 0:
        return Text("      nothing was sent", style="dim")
    if used.min() == used.max():
        return Text("      ██", style=_COLOURS[4]).append(f" {bytes_text(int(used.max()))}", style="none")
    line = Text(f"      {bytes_text(int(used.min()))} ", style="dim")
    for level in range(1, len(SHADES)):
        line.append(SHADES[level] * 2, style=_COLOURS[level])
    line.append(f" {bytes_text(int(used.max()))} (logarithmic)")
    return line


# ---- any quantity, coloured by level ---------------------------------------------------------------------

LEVEL_STYLES = ("white", "blue", "green", "yellow", "red", "bright_black")
"""Colours of same rank, core complex, socket, node, network, unbound."""


def level_map(
    cells: NDArray[np.float64],
    block: int,
    title: str,
    text: Callable[[float], str],
    cell_levels: NDArray[np.int8] | None = None,
    level_names: Sequence[str] = (),
    node_of: Sequence[int] = (),
) -> RenderableType:
    """Draws a square table of any quantity.

    Parameters
    ----------
    cells : ndarray of float64, shape (side, side)
        From row to column.
    block : int
        Ranks per cell side.
    title : str
        What the numbers are.
    text : callable
        Writes a number with its unit.
    cell_levels : ndarray of int8, shape (side, side), optional
        Index into `LEVEL_STYLES` of every cell: then colours mean levels and shades volumes.
    level_names : sequence of str
        Of the levels.
    node_of : sequence of int
        Node of every cell row; a line is drawn where it changes.
    """
    shades = shade_levels(cells)
    side = cells.shape[0]
    cuts = {at for at in range(1, side) if len(node_of) == side and node_of[at] != node_of[at - 1]}
    lines = [_header(side, block, title), _cut_ruler(side, block, cuts)]
    for row in range(side):
        if row in cuts:
            lines.append(_rule(side, cuts))
        lines.append(_level_row(row, block, shades, cell_levels, cuts))
    lines.append(_volume_legend(cells, text, cell_levels is None))
    if cell_levels is not None:
        lines.append(_level_legend(cell_levels[cells > 0], level_names))
    return Group(*lines)


def _cut_ruler(side: int, block: int, cuts: set[int]) -> Text:
    line, width = "      ", 6
    for at in range(side):
        width += at in cuts
        if at % 4 == 0:
            line = line.ljust(width) + str(at * block)
        width += 2
    return Text(line, style="dim")


def _rule(side: int, cuts: set[int]) -> Text:
    return Text(
        "     ▏" + "".join(("┼" if at in cuts else "") + "──" for at in range(side)) + "▕", style="dim"
    )


def _level_row(
    row: int,
    block: int,
    shades: NDArray[np.int64],
    cell_levels: NDArray[np.int8] | None,
    cuts: set[int],
) -> Text:
    line = Text(f"{row * block:5d}▏", style="dim")
    for column, shade in enumerate(shades[row].tolist()):
        if column in cuts:
            line.append("│", style="dim")
        style = _COLOURS[shade] if cell_levels is None else LEVEL_STYLES[int(cell_levels[row, column])]
        line.append(SHADES[shade] * 2, style=style if shade else "")
    return line.append("▕", style="dim")


def _volume_legend(cells: NDArray[np.float64], text: Callable[[float], str], coloured: bool) -> Text:
    used = cells[cells > 0]
    if used.size == 0:
        return Text("      nothing", style="dim")
    if used.min() == used.max():
        return Text("      ██ ", style=_COLOURS[4] if coloured else "").append(text(float(used.max())))
    line = Text(f"      {text(float(used.min()))} ")
    for level in range(1, len(SHADES)):
        line.append(SHADES[level] * 2, style=_COLOURS[level] if coloured else "")
    return line.append(f" {text(float(used.max()))} (logarithmic)")


def _level_legend(used: NDArray[np.int8], names: Sequence[str]) -> Text:
    line = Text("     ")
    for level in sorted(set(used.tolist())):
        line.append(" ██ ", style=LEVEL_STYLES[level]).append(f"{names[level]} ")
    return line
