"""Which picture of a run's traffic suits which machine, and the one for meshes (SVG).

Links are as wide and as hot as they were busy, each direction on its side of the line between its stops;
transfers stand in the list beside. Where the stops lie, `corewise.analysis.floor_plan` says.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections import defaultdict

from corewise.analysis.floor_plan import UNIT_HEIGHT, Point, is_mesh, machine_layout, ring_cycles
from corewise.analysis.simulation import Traffic
from corewise.plots.picture import (
    LINK_GAP,
    bare_stop,
    flow_list,
    heat,
    legend,
    legend_width,
    line_pair,
    page,
    small_text,
    unit_box,
)
from corewise.plots.ring import ring_picture
from corewise.plots.tree import tree_picture

_ROW = UNIT_HEIGHT + 4
_MOST_LABELS = 400  # on more links than this, numbers would hide the picture


def traffic_picture(traffic: Traffic, title: str) -> str:
    """The picture that suits the machine, as the text of an SVG file."""
    if ring_cycles(traffic.machine):
        return ring_picture(traffic, title)
    if is_mesh(traffic.machine):
        return mesh_picture(traffic, title)
    return tree_picture(traffic, title)


def mesh_picture(traffic: Traffic, title: str) -> str:
    """Tiles in their grid, and the links between them."""
    places, width, height = machine_layout(traffic.machine)
    width, height = max(width, legend_width() + 20), height + 20
    marks = [_links(traffic, places), _stops(traffic, places), legend(20.0, height)]
    listed, list_width, list_height = flow_list(traffic, width + 16, 20.0)
    return page(title, width + 16 + list_width, max(height + 30, list_height), "".join(marks) + listed)


def _links(traffic: Traffic, places: list[Point]) -> str:
    """Idle links first, busy ones on top, their numbers above all."""
    order = sorted(range(len(traffic.link_busy)), key=lambda index: (traffic.link_busy[index], index))
    lines = [_line(traffic, index, places) for index in order]
    used = [index for index in order if traffic.link_bytes[index]]
    labels = [_label(traffic, index, places) for index in used] if len(used) <= _MOST_LABELS else []
    return "".join(lines + labels)


def _line(traffic: Traffic, index: int, places: list[Point]) -> str:
    link = traffic.machine.links[index]
    colour, width = heat(traffic.link_busy[index])
    used = traffic.link_bytes[index] > 0
    return line_pair(places[link.source], places[link.target], colour, width, used, traffic.tip(index))


def _label(traffic: Traffic, index: int, places: list[Point]) -> str:
    link = traffic.machine.links[index]
    start, end = places[link.source], places[link.target]
    length = math.hypot(end[0] - start[0], end[1] - start[1])
    if length == 0:
        return ""
    aside_x, aside_y = (end[1] - start[1]) / length, -(end[0] - start[0]) / length
    # Text is wider than high: it needs more room beside an upright link than above a level one.
    room = LINK_GAP + 9 + 10 * abs(aside_x)
    x, y = (start[0] + end[0]) / 2 + room * aside_x, (start[1] + end[1]) / 2 + room * aside_y
    return small_text(f"{100 * traffic.link_busy[index]:.0f}%", x, y)


def _stops(traffic: Traffic, places: list[Point]) -> str:
    at_stop: dict[int, list[int]] = defaultdict(list)
    for index, unit in enumerate(traffic.machine.units):
        at_stop[unit.stop].append(index)
    marks = []
    for stop, (x, y) in enumerate(places):
        if not at_stop[stop]:
            marks.append(bare_stop(traffic.machine.stops[stop], (x, y)))
        top = y - len(at_stop[stop]) * _ROW / 2
        marks += [unit_box(traffic, unit, x, top + row * _ROW) for row, unit in enumerate(at_stop[stop])]
    return "".join(marks)
