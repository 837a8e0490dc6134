"""A communication matrix as a terminal heat map, and the scale that every heat map has.

Rows send, columns receive. Shades are logarithmic between the smallest and the largest nonzero entry, because
halo faces and corners differ by orders of magnitude and a linear scale would hide the corners. Where colours
do not reach (a pipe, a log file), the shade characters still show the picture.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.text import Text

from corewise.data.quantities import bytes_text

SHADES = " ░▒▓█"
_COLOURS = ("", "blue", "cyan", "yellow", "red")
MOST_CELLS = 64
"""Of a side; more ranks are summed into blocks."""
LEVEL_STYLES = ("white", "blue", "green", "yellow", "red", "bright_black")
"""Colours of same rank, core complex, socket, node, network, unbound."""


def log_levels(values: NDArray[Any], most: int) -> NDArray[np.int64]:
    """0 where there is nothing, else 1 (least) to `most`, in equal steps of the logarithm."""
    levels = np.zeros(values.shape, dtype=np.int64)
    used = values > 0
    if not used.any():
        return levels
    logs = np.log2(values[used].astype(np.float64))
    low, high = float(logs.min()), float(logs.max())
    parts = np.ones_like(logs) if high == low else (logs - low) / (high - low)
    levels[used] = 1 + np.minimum(most - 1, (most * parts).astype(np.int64))
    return levels


def heat_map(
    cells: NDArray[Any],
    block: int,
    title: str = "bytes sent",
    text: Callable[[float], str] = bytes_text,
    cell_levels: NDArray[np.int8] | None = None,
    level_names: Sequence[str] = (),
    node_of: Sequence[int] = (),
    noun: str = "rank",
) -> RenderableType:
    """Draws a square table of any quantity.

    Parameters
    ----------
    cells : ndarray, shape (side, side)
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
    noun : str
        What rows and columns are.
    """
    shades = log_levels(cells, len(SHADES) - 1)
    side = cells.shape[0]
    cuts = {at for at in range(1, side) if len(node_of) == side and node_of[at] != node_of[at - 1]}
    lines = [_header(block, title, noun), _ruler(side, block, cuts)]
    for row in range(side):
        if row in cuts:
            lines.append(_rule(side, cuts))
        lines.append(_row(row, block, shades, cell_levels, cuts))
    lines.append(_volume_legend(cells, text, cell_levels is None))
    if cell_levels is not None:
        lines.append(_level_legend(cell_levels[cells > 0], level_names))
    return Group(*lines)


def _header(block: int, title: str, noun: str) -> Text:
    unit = f"one cell per {noun} pair" if block == 1 else f"one cell per {block}x{block} {noun}s"
    return Text(f"{title}: row sends, column receives, {unit}", style="bold")


def _ruler(side: int, block: int, cuts: set[int]) -> Text:
    line, width = "", 6
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


def _row(
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


def _volume_legend(cells: NDArray[Any], text: Callable[[float], str], coloured: bool) -> Text:
    used = cells[cells > 0]
    if used.size == 0:
        return Text("      nothing was sent", style="dim")
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
