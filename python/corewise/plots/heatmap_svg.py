"""A communication matrix as SVG: a file of its own (paper 003, figures 6 to 9) or a part of a page.

Rows send, columns receive. With levels, hue says how near two ranks are and depth how much they exchange;
without levels, depth is all there is. Thick lines separate nodes, thin ones core complexes. Up to `MOST_TIPS`
cells on a side, every cell has its numbers as a tooltip; in larger matrices the cells of one colour are one
path, so that a matrix of 256 ranks stays small. Colours are attributes, which a page's style sheet may
override by class.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from corewise.plots.heatmap import log_levels

MOST_CELLS = 512
"""Of a side; more ranks are summed into blocks."""
MOST_TIPS = 64
"""Of a side; 4096 cells with a tooltip each stay quick in any browser."""
_SIDE = 720.0
_LARGEST_CELL = 56.0
_LEAST_MARK = 4.0
DEPTHS = 5
_MARGIN = 24.0
_AXIS = 56.0
_PANEL = 330.0
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
_INK, _SOFT, _LINE, _GROUND = "#16202c", "#5a6775", "#c9d1da", "#f6f8fa"

PLAIN = ("#d3e3f5", "#a5c6ea", "#6ba0d8", "#3672b8", "#153c78")
HUES = (
    ("#e3e5e8", "#c6cad0", "#a3a9b2", "#7b828d", "#4c535e"),  # same rank
    ("#cfe0f6", "#9cc0ec", "#5f97dc", "#2a69bd", "#123f86"),  # core complex: blue
    ("#cdeee2", "#95d8c0", "#52b897", "#1e8e6c", "#0b5f46"),  # socket: green
    ("#ffe9bd", "#fbd07a", "#f0ad33", "#cf8510", "#8f5700"),  # node: amber
    ("#fbd3cd", "#f3a399", "#e56a5d", "#c43328", "#861612"),  # network: red
    ("#e6ddf2", "#cbb8e5", "#a888d2", "#7f57b5", "#54318a"),  # unbound: violet
)
"""Depths of each level's colour, light to dark."""
_NEUTRAL = HUES[0]
LESS = ("#d4ecec", "#9ed3d3", "#5fb3b4", "#268d90", "#0b5f63")
MORE = ("#fde0cc", "#f8b98f", "#ee8a4d", "#cf5c1b", "#8c3807")


Text = Callable[[float], str]
"""Writes a number with its unit."""


@dataclass(frozen=True)
class LevelLegend:
    """One line of the legend: a level, and what it carries."""

    level: int
    name: str
    meaning: str
    share: str


@dataclass(frozen=True)
class Picture:
    """What is drawn.

    Attributes
    ----------
    values : ndarray of float64, shape (side, side)
        From row to column.
    levels : ndarray of int8, shape (side, side), or None
        Index into `hues` of every cell.
    block, ranks : int
        Ranks per cell side, and of the whole matrix.
    node, inner : sequence of int
        Node and core complex of every row; empty where unknown.
    node_names : sequence of str
        By the numbers in `node`.
    title, subtitle : str
        Above the picture.
    text : callable
        Writes a number with its unit.
    legend : sequence of LevelLegend
        Beside the picture.
    notes : sequence of str
        Below the legend.
    hues : sequence of tuple
        The depths of each level's colour.
    noun : str
        What rows and columns are.
    """

    values: NDArray[np.float64]
    levels: NDArray[np.int8] | None
    block: int
    ranks: int
    node: Sequence[int]
    inner: Sequence[int]
    node_names: Sequence[str]
    title: str
    subtitle: str
    text: Text
    legend: Sequence[LevelLegend] = ()
    notes: Sequence[str] = ()
    hues: Sequence[tuple[str, ...]] = HUES
    noun: str = "rank"


def matrix_svg(*pictures: Picture) -> str:
    """Several matrices side by side, usually one, as the text of an SVG file."""
    parts, height, width = [], 0.0, 0.0
    for picture in pictures:
        body, part_width, part_height = _picture(picture)
        parts.append(f'<g transform="translate({width:g} 0)">{body}</g>')
        width += part_width
        height = max(height, part_height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(pictures[0].title)}" font-family="{_FONT}">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )


def part_of_page(values: NDArray[np.float64], block: int, ranks: int, label: str, text: Text) -> str:
    """The matrix without title and legend, as an element of a page: tooltips are in ``data-tip`` too.

    Parameters
    ----------
    values : ndarray of float64, shape (side, side)
        From row to column.
    block, ranks : int
        Ranks per cell side, and of the whole matrix.
    label : str
        What the picture shows, for screen readers.
    text : callable
        Writes a number with its unit.
    """
    picture = Picture(values, None, block, ranks, (), (), (), "", "", text)
    step, extent = _scale(values)
    left, top = 56, 50
    width, height = extent + left + 8, extent + top + 8
    return (
        f'<svg class="heat" role="img" aria-label="{escape(label)}" '
        f'viewBox="{-left} {-top} {width:g} {height:g}" width="{width:g}" height="{height:g}">'
        f"{_drawing(picture, step, extent, 'data-tip')}</svg>"
    )


def _picture(picture: Picture) -> tuple[str, float, float]:
    step, extent = _scale(picture.values)
    left, top = _MARGIN + _AXIS, 128.0
    panel = _legend_panel(picture)
    width = left + extent + 40 + _PANEL + _MARGIN
    height = top + max(extent, panel[1]) + 2 * _MARGIN
    body = [
        _label(_MARGIN, 34, picture.title, 18, _INK, weight=650),
        _label(_MARGIN, 56, picture.subtitle, 13, _SOFT),
        f'<g transform="translate({left:g} {top:g})">{_drawing(picture, step, extent)}</g>',
        f'<g transform="translate({left + extent + 40:g} {top:g})">{panel[0]}</g>',
    ]
    return "".join(body), width, height


def _scale(values: NDArray[np.float64]) -> tuple[float, float]:
    """The side of a cell and of the matrix, in pixels."""
    step = min(_LARGEST_CELL, _SIDE / values.shape[0])
    return step, step * values.shape[0]


def _drawing(picture: Picture, step: float, extent: float, tip_attribute: str = "") -> str:
    """Cells, lines and axes; the matrix's upper left corner is at 0, 0."""
    square = f'x="0" y="0" width="{extent:g}" height="{extent:g}"'
    return "".join(
        (
            f'<rect class="ground" {square} fill="{_GROUND}"/>',
            _cells(picture, step, tip_attribute),
            _lines(picture, step, extent),
            _ticks(picture, step, extent),
            f'<rect class="frame" {square} fill="none" stroke="{_INK}" stroke-width="1.5"/>',
        )
    )


def _label(
    x: float, y: float, text: str, size: float, colour: str, anchor: str = "start", weight: int = 400
) -> str:
    return (
        f'<text class="tick" x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{colour}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )


# ---- cells -----------------------------------------------------------------------------------------------


def _cells(picture: Picture, step: float, tip_attribute: str) -> str:
    depth = log_levels(picture.values, DEPTHS)
    gap = _gap(step, depth)
    size = step - 2 * gap
    of_colour: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for row, column in np.argwhere(depth > 0).tolist():
        level = -1 if picture.levels is None else int(picture.levels[row, column])
        of_colour[level, int(depth[row, column])].append((row, column))
    marks = []
    for (level, deep), cells in sorted(of_colour.items()):
        paint = _paint(picture, level, deep)
        if picture.values.shape[0] > MOST_TIPS:
            marks.append(_one_path(paint, cells, step, gap, size))
        else:
            marks += [_cell(picture, paint, at, (step, gap, size), tip_attribute) for at in cells]
    return "".join(marks)


def _paint(picture: Picture, level: int, depth: int) -> str:
    """The colour of a depth as attributes: a page may give the plain ones others, by their class."""
    if level < 0:
        return f'class="v{depth}" fill="{PLAIN[depth - 1]}"'
    return f'fill="{picture.hues[level][depth - 1]}"'


def _cell(
    picture: Picture, paint: str, at: tuple[int, int], scale: tuple[float, float, float], tip_attribute: str
) -> str:
    (row, column), (step, gap, size) = at, scale
    ends = f"{_ranks(picture, row)} to {_ranks(picture, column)}"
    tip = escape(f"{ends}: {picture.text(picture.values[row, column])}")
    attribute = f' {tip_attribute}="{tip}"' if tip_attribute else ""
    return (
        f'<rect {paint} x="{column * step + gap:.4g}" y="{row * step + gap:.4g}" width="{size:.4g}" '
        f'height="{size:.4g}" rx="{min(3.0, step / 8):.3g}"{attribute}><title>{tip}</title></rect>'
    )


def _gap(step: float, depth: NDArray[np.int64]) -> float:
    """Room around a cell; few cells of a pixel or two are drawn larger than they are, to be found."""
    if step >= 12:
        return 1.0
    sparse = 20 * np.count_nonzero(depth) < depth.size
    return min(0.0, (step - _LEAST_MARK) / 2) if sparse else 0.0


def _one_path(paint: str, cells: Sequence[tuple[int, int]], step: float, gap: float, size: float) -> str:
    data = "".join(
        f"M{column * step + gap:.5g} {row * step + gap:.5g}h{size:.4g}v{size:.4g}h{-size:.4g}z"
        for row, column in cells
    )
    return f'<path {paint} d="{data}"/>'


def _ranks(picture: Picture, index: int) -> str:
    if picture.block == 1:
        return f"{picture.noun} {index}"
    return f"{picture.noun}s {index * picture.block}-{min(picture.ranks, (index + 1) * picture.block) - 1}"


# ---- lines and axes --------------------------------------------------------------------------------------


def _cuts(ids: Sequence[int]) -> list[int]:
    return [at for at in range(1, len(ids)) if ids[at] != ids[at - 1]]


def _lines(picture: Picture, step: float, extent: float) -> str:
    nodes = _cuts(picture.node)
    inner = [at for at in _cuts(picture.inner) if at not in set(nodes)]
    parts = []
    if step >= 12:
        parts.append(_grid(range(1, picture.values.shape[0]), step, extent, "#e7ebf0", 0.6))
    # A line per cell helps nobody: ranks that alternate between core complexes would hatch the picture.
    if len(inner) <= picture.values.shape[0] // 3:
        parts.append(_grid(inner, step, extent, "#aab4c0", 1.0))
    if len(nodes) <= max(2, picture.values.shape[0] // 2):
        parts.append(_grid(nodes, step, extent, _INK, 2.4))
    return "".join(parts)


def _grid(cuts: Sequence[int] | range, step: float, extent: float, colour: str, width: float) -> str:
    if not len(cuts):
        return ""
    data = "".join(f"M0 {at * step:.5g}H{extent:.5g}M{at * step:.5g} 0V{extent:.5g}" for at in cuts)
    return f'<path class="grid" d="{data}" stroke="{colour}" stroke-width="{width:g}" fill="none"/>'


def _ticks(picture: Picture, step: float, extent: float) -> str:
    side = picture.values.shape[0]
    every = next(
        each for each in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if each * step >= 26 or each >= side
    )
    marks = [
        _label(extent / 2, -38, f"receiving {picture.noun}", 12.5, _SOFT, "middle"),
        f'<text class="tick" transform="translate(-44 {extent / 2:g}) rotate(-90)" font-size="12.5" '
        f'fill="{_SOFT}" text-anchor="middle">sending {picture.noun}</text>',
    ]
    for at in range(0, side, every):
        middle = (at + 0.5) * step
        marks.append(_label(middle, -8, str(at * picture.block), 11.5, _SOFT, "middle"))
        marks.append(_label(-8, middle + 4, str(at * picture.block), 11.5, _SOFT, "end"))
    return "".join(marks) + _node_names(picture, step)


def _node_names(picture: Picture, step: float) -> str:
    """Above the columns of every node that has room for its name."""
    edges = [0, *_cuts(picture.node), len(picture.node)]
    if len(set(picture.node)) < 2:
        return ""
    marks = []
    for first, end in itertools.pairwise(edges):
        room = (end - first) * step
        name = picture.node_names[picture.node[first]] if picture.node[first] >= 0 else "unknown"
        shown = name if 7 * len(name) <= room else str(picture.node[first]) if room >= 14 else ""
        marks.append(_label((first + end) / 2 * step, -24, shown, 11.5, _INK, "middle", 650))
    return "".join(marks)


# ---- legend ----------------------------------------------------------------------------------------------


def _legend_panel(picture: Picture) -> tuple[str, float]:
    marks, y = [], 8.0
    for line in picture.legend:
        marks.append(_swatches(picture.hues[line.level], y - 9, 13, 20))
        marks.append(_label(76, y + 2, line.name, 13.5, _INK, weight=650))
        marks.append(_label(_PANEL, y + 2, line.share, 13.5, _INK, "end", 650))
        marks.append(_label(76, y + 18, line.meaning, 11.5, _SOFT))
        y += 42
    used = picture.values[picture.values > 0]
    if used.size:
        least, most = picture.text(float(used.min())), picture.text(float(used.max()))
        ramp = PLAIN if picture.levels is None else _NEUTRAL
        marks.append(_swatches(ramp, y, 34, 14))
        marks.append(_label(0, y + 32, least, 12, _SOFT))
        marks.append(_label(5 * 34, y + 32, most, 12, _SOFT, "end"))
        marks.append(_label(5 * 34 + 12, y + 12, "light to dark: logarithmic", 11.5, _SOFT))
        y += 60
    for note in picture.notes:
        for text in _wrapped(note, 54):
            marks.append(_label(0, y, text, 12, _SOFT))
            y += 17
        y += 7
    return "".join(marks), y


def _swatches(colours: Sequence[str], y: float, width: float, height: float) -> str:
    return "".join(
        f'<rect x="{at * width:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{colour}"/>'
        for at, colour in enumerate(colours)
    )


def _wrapped(text: str, width: int) -> list[str]:
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line] if line else lines


# ---- a difference ----------------------------------------------------------------------------------------


def difference_svg(values: NDArray[np.float64], ranks: int, title: str, subtitle: str, text: Text) -> str:
    """A matrix of changes: orange where there is more than before, teal where there is less.

    Parameters
    ----------
    values : ndarray of float64, shape (side, side)
        New less old, from row to column.
    ranks : int
        Of the whole matrix.
    title, subtitle : str
        Above the picture.
    text : callable
        Writes an amount with its unit.
    """
    size, more = np.abs(values), (values > 0).astype(np.int8)
    block = max(1, -(-ranks // values.shape[0]))
    legend = (
        LevelLegend(1, "more than before", _pairs(values > 0), ""),
        LevelLegend(0, "less than before", _pairs(values < 0), ""),
    )
    notes = () if size.any() else ("no pair changed",)
    return matrix_svg(
        Picture(size, more, block, ranks, (), (), (), title, subtitle, text, legend, notes, (LESS, MORE))
    )


def _pairs(changed: NDArray[np.bool_]) -> str:
    return f"{np.count_nonzero(changed)} cells"
