"""A tree of caches and sockets with a run's traffic on its links, as a picture of its own (SVG).

Branches lie as in `corewise.analysis.floor_plan`'s trees; the leaves of one branch stand below each other, so
that a node of many cores stays readable: every leaf has its two links as a stub and their busy shares beside.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import defaultdict

from corewise.analysis.floor_plan import (
    UNIT_HEIGHT,
    UNIT_WIDTH,
    Point,
    stop_children,
    stop_roots,
    units_at,
)
from corewise.analysis.simulation import Traffic
from corewise.plots.picture import (
    bare_stop,
    flow_list,
    heat,
    legend,
    legend_width,
    line_pair,
    number,
    page,
    small_text,
    unit_box,
)

_LEVEL = 92.0
_ROW = UNIT_HEIGHT + 4.0
_STUB = 40.0
_COLUMN = _STUB + UNIT_WIDTH + 88.0
_MOST_ROWS = 16


def tree_picture(traffic: Traffic, title: str) -> str:
    """The picture as the text of an SVG file."""
    layout = _Layout(traffic)
    width = max(layout.width, legend_width() + 20)
    marks = [_trunks(layout), _links(traffic, layout), _stops(traffic, layout)]
    marks.append(legend(20.0, layout.height + 6))
    listed, list_width, list_height = flow_list(traffic, width + 16, 20.0)
    height = max(layout.height + 36, list_height)
    return page(title, width + 16 + list_width, height, "".join(marks) + listed)


class _Layout:
    """Where stops lie: `places` of their middles, and for a leaf the x of the trunk that it hangs on."""

    def __init__(self, traffic: Traffic) -> None:
        self.children = stop_children(traffic.machine)
        self.units = units_at(traffic.machine)
        self.places: dict[int, Point] = {}
        self.trunk_of: dict[int, float] = {}
        self.trunks: list[tuple[float, float, float]] = []  # x, top, bottom
        self.width, self.height = 30.0, 0.0
        for root in stop_roots(self.children, len(traffic.machine.stops)):
            self._put(root, 0)

    def _put(self, stop: int, depth: int) -> float:
        """Places a stop and all below it; returns its x."""
        y = 34.0 + _LEVEL * depth
        left = self.width
        below = self.children[stop]
        leaves = [child for child in below if not self.children[child]]
        middles = []
        for first in range(0, len(leaves), _MOST_ROWS):
            middles.append(self._column(leaves[first : first + _MOST_ROWS], y))
        middles += [self._put(child, depth + 1) for child in below if self.children[child]]
        if not below:
            self.width += UNIT_WIDTH + 20.0
        x = (middles[0] + middles[-1]) / 2 if middles else left + UNIT_WIDTH / 2
        self.places[stop] = (x, y)
        self.height = max(self.height, y + max(1, self.units[stop]) * _ROW / 2 + 10)
        if len(leaves) > _MOST_ROWS:
            self.trunks.append((middles[0], -y, middles[-1]))  # a beam: y negative
        return x

    def _column(self, leaves: list[int], top: float) -> float:
        """Leaves below each other on one trunk; returns the trunk's x."""
        trunk = self.width + 14.0
        y = top + 24.0
        for leaf in leaves:
            height = max(1, self.units[leaf]) * _ROW
            self.places[leaf] = (trunk + _STUB + UNIT_WIDTH / 2, y + height / 2)
            self.trunk_of[leaf] = trunk
            y += height
        self.trunks.append((trunk, top, self.places[leaves[-1]][1]))
        self.width += _COLUMN
        self.height = max(self.height, y + 10)
        return trunk


def _trunks(layout: _Layout) -> str:
    marks = []
    for x, top, bottom in layout.trunks:
        ends = (x, top, x, bottom) if top >= 0 else (x, -top, bottom, -top)
        x1, y1, x2, y2 = map(number, ends)
        marks.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#cbd2d9" stroke-width="2"/>')
    return "".join(marks)


def _links(traffic: Traffic, layout: _Layout) -> str:
    """Every two stops that are joined: one line per direction, and the busy shares."""
    pairs: dict[tuple[int, int], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, link in enumerate(traffic.machine.links):
        upper, lower = sorted((link.source, link.target), key=lambda stop: (layout.places[stop][1], stop))
        if link.source in layout.trunk_of:
            upper, lower = link.target, link.source
        elif link.target in layout.trunk_of:
            upper, lower = link.source, link.target
        pairs[(upper, lower)]["↓" if link.source == upper else "↑"].append(index)
    return "".join(_pair(traffic, layout, ends, ways) for ends, ways in pairs.items())


def _pair(traffic: Traffic, layout: _Layout, ends: tuple[int, int], ways: dict[str, list[int]]) -> str:
    upper, lower = ends
    end = layout.places[lower]
    hangs = lower in layout.trunk_of
    if hangs:
        end = (end[0] - UNIT_WIDTH / 2, end[1])
        start = (layout.trunk_of[lower], end[1])
        said = (end[0] + UNIT_WIDTH + 40, end[1])
    else:
        start = layout.places[upper]
        said = (start[0] + 0.55 * (end[0] - start[0]), start[1] + 0.55 * (end[1] - start[1]))
    marks = []
    shares = []
    for way, indexes in sorted(ways.items()):
        first, last = (start, end) if way == "↓" else (end, start)
        busiest = max(indexes, key=lambda index: (traffic.link_busy[index], -index))
        colour, width = heat(traffic.link_busy[busiest])
        used = traffic.link_bytes[busiest] > 0
        marks.append(line_pair(first, last, colour, width, used, traffic.tip(busiest)))
        if used:
            shares.append(f"{way}{100 * traffic.link_busy[busiest]:.0f}")
    if shares:
        marks.append(small_text(f"{' '.join(shares)}%", *said))
    return "".join(marks)


def _stops(traffic: Traffic, layout: _Layout) -> str:
    at_stop: dict[int, list[int]] = defaultdict(list)
    for index, unit in enumerate(traffic.machine.units):
        at_stop[unit.stop].append(index)
    marks = []
    for stop, (x, y) in sorted(layout.places.items()):
        if not at_stop[stop]:
            marks.append(bare_stop(traffic.machine.stops[stop], (x, y)))
        top = y - len(at_stop[stop]) * _ROW / 2
        marks += [unit_box(traffic, unit, x, top + row * _ROW) for row, unit in enumerate(at_stop[stop])]
    return "".join(marks)
