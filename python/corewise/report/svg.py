"""The machine of the page with ranks and link loads on it, as SVG text.

Colours are CSS classes (``s1`` to ``s9``, least to most), so that the page's theme decides them. Every mark
has its numbers in ``data-tip`` for the page's script and in a ``<title>`` for a page without one. All text is
escaped.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from html import escape

from corewise._core import Machine
from corewise.analysis.floor_plan import UNIT_HEIGHT, UNIT_WIDTH, Point, machine_layout
from corewise.analysis.placement.links import LinkLoads
from corewise.data.quantities import bytes_text, time_text

LEVELS = 9
_GAP = 3.2  # between the two directions of a pair of links


def machine(drawn: Machine, loads: Sequence[LinkLoads], busiest_ns: float) -> str:
    """The machine once per placement, on one colour scale; the first placement is visible at first.

    Parameters
    ----------
    drawn : Machine
        Rings become circles, tiles a grid, everything else a tree.
    loads : sequence of LinkLoads
        The placements.
    busiest_ns : float
        What the hottest colour stands for.
    """
    places, width, height = machine_layout(drawn)
    groups = [_placement(drawn, places, load, busiest_ns, load is loads[0]) for load in loads]
    return (
        f'<svg class="machine" role="img" aria-label="{escape(drawn.name)} with ranks and link loads" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">{"".join(groups)}</svg>'
    )


def _placement(drawn: Machine, places: list[Point], loads: LinkLoads, most: float, visible: bool) -> str:
    links = _links(drawn, places, loads, most)
    hidden = "" if visible else ' style="display:none"'
    return f'<g data-placement="{escape(loads.which)}"{hidden}>{links}{_units(drawn, places, loads)}</g>'


def _links(drawn: Machine, places: list[Point], loads: LinkLoads, most: float) -> str:
    """Idle links first, busy ones on top."""
    order = sorted(range(len(drawn.links)), key=lambda index: (loads.busy_ns[index], index))
    return "".join(_link(drawn, index, places, loads, most) for index in order)


def _link(drawn: Machine, index: int, places: list[Point], loads: LinkLoads, most: float) -> str:
    link = drawn.links[index]
    (x1, y1), (x2, y2) = places[link.source], places[link.target]
    length = math.hypot(x2 - x1, y2 - y1)
    if length == 0:
        return ""
    busy = loads.busy_ns[index]
    level = 0 if busy <= 0 or most <= 0 else max(1, math.ceil(LEVELS * busy / most))
    # Traffic keeps to the left of its direction, as on a road seen from above with y downwards.
    shift_x, shift_y = _GAP * (y2 - y1) / length, -_GAP * (x2 - x1) / length
    tip = escape(
        f"{drawn.stops[link.source]} → {drawn.stops[link.target]}: {bytes_text(loads.load_bytes[index])}, "
        f"busy {time_text(busy)} ({link.name})"
    )
    width = 1.4 if level == 0 else 2.2 + 2.6 * busy / most
    return (
        f'<line class="link s{level}" x1="{x1 + shift_x:.1f}" y1="{y1 + shift_y:.1f}" '
        f'x2="{x2 + shift_x:.1f}" y2="{y2 + shift_y:.1f}" '
        f'stroke-width="{width:.1f}" data-tip="{tip}"><title>{tip}</title></line>'
    )


def _units(drawn: Machine, places: list[Point], loads: LinkLoads) -> str:
    rank_of = {unit: rank for rank, unit in enumerate(loads.unit_of_rank)}
    at_stop: dict[int, list[int]] = defaultdict(list)
    for index, unit in enumerate(drawn.units):
        at_stop[unit.stop].append(index)
    marks = []
    for stop, (x, y) in enumerate(places):
        if not at_stop[stop]:
            marks.append(_bare_stop(drawn.stops[stop], x, y))
        top = y - len(at_stop[stop]) * (UNIT_HEIGHT + 4) / 2
        for row, index in enumerate(at_stop[stop]):
            marks.append(_unit(drawn.units[index].name, rank_of.get(index), x, top + row * (UNIT_HEIGHT + 4)))
    return "".join(marks)


def _bare_stop(name: str, x: float, y: float) -> str:
    text = escape(name)
    width = max(34.0, 6.4 * len(name) + 12)
    return (
        f'<rect class="stop" x="{x - width / 2:.1f}" y="{y - 10:.1f}" width="{width:.1f}" '
        f'height="20" rx="10"/>'
        f'<text class="stopname" x="{x:.1f}" y="{y + 3.5:.1f}" text-anchor="middle">{text}</text>'
    )


def _unit(name: str, rank: int | None, x: float, y: float) -> str:
    text = escape(name)
    width = max(float(UNIT_WIDTH), 6.4 * len(name) + 14)
    kind = "unit" if rank is not None else "unit free"
    label = f"rank {rank}" if rank is not None else "free"
    return (
        f'<rect class="{kind}" x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{UNIT_HEIGHT}" rx="7"/>'
        f'<text class="rank" x="{x:.1f}" y="{y + 15:.1f}" text-anchor="middle">{label}</text>'
        f'<text class="unitname" x="{x:.1f}" y="{y + 28:.1f}" text-anchor="middle">{text}</text>'
    )
