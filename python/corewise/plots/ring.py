"""A ring machine with a run's traffic on it, as a picture of its own (SVG).

The stops lie in their physical order; between them two bands, outside the clockwise direction, inside the
other, as wide and as hot as they were busy. Transfers are arcs through the middle. Parts joined by bridges
(the two chips of a blade) are drawn side by side. Every mark has its numbers in a ``<title>``, which browsers
show under the pointer.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections import defaultdict
from html import escape

from corewise._core import Machine
from corewise.analysis.floor_plan import Point, ring_cycles
from corewise.analysis.simulation import Flow, Traffic
from corewise.plots.picture import (
    arrow,
    flow_colour,
    flow_list,
    heat,
    legend,
    link_arrow,
    number,
    page,
    shorten,
    small_text,
)

_RADIUS = 215.0
_MARGIN = 62.0
_BAND = 8.0  # from the circle to the middle of each direction's band
_BOX_WIDTH, _BOX_HEIGHT = 74.0, 38.0
_MANY_FLOWS = 24


def ring_picture(traffic: Traffic, title: str) -> str:
    """The picture as the text of an SVG file; the machine must be made of rings (`ring_cycles`)."""
    rings = ring_cycles(traffic.machine)
    places = _places(traffic.machine, rings)
    marks = [_links(traffic, places), _bridges(traffic, places), _flows(traffic, places)]
    marks += [_labels(traffic, places), _stops(traffic, places)]
    side = 2 * (_radius(rings) + _MARGIN)
    width, height = side * len(rings), side
    marks.append(legend(20.0, height - 4))
    listed, list_width, list_height = flow_list(traffic, width + 4, 20.0)
    return page(title, width + list_width, max(height, list_height) + 36, "".join(marks) + listed)


class _Place:
    """A stop on its circle."""

    def __init__(self, centre: Point, radius: float, angle: float) -> None:
        self.centre, self.radius, self.angle = centre, radius, angle

    def at(self, radius: float, turn: float = 0.0) -> Point:
        """The point in this direction (turned by so many radians) at a distance from the circle's centre."""
        angle = self.angle + turn
        return self.centre[0] + radius * math.cos(angle), self.centre[1] + radius * math.sin(angle)


def _radius(rings: list[list[int]]) -> float:
    longest = max(len(ring) for ring in rings)
    return max(_RADIUS, longest * (_BOX_WIDTH + 30) / (2 * math.pi))


def _places(machine: Machine, rings: list[list[int]]) -> dict[int, _Place]:
    radius = _radius(rings)
    places: dict[int, _Place] = {}
    for index, ring in enumerate(rings):
        centre = (radius + _MARGIN) * (2 * index + 1), radius + _MARGIN
        first = _first_angle(machine, rings, index)
        for step, stop in enumerate(ring):
            places[stop] = _Place(centre, radius, first + 2 * math.pi * step / len(ring))
    return places


def _first_angle(machine: Machine, rings: list[list[int]], index: int) -> float:
    """The first stop is at the top; of two joined rings, the joined stops face each other."""
    ring = rings[index]
    if len(rings) != 2:
        return -math.pi / 2
    ends = {stop for link in machine.links if _is_bridge(link.name) for stop in (link.source, link.target)}
    joined = next((step for step, stop in enumerate(ring) if stop in ends), 0)
    facing = 0.0 if index == 0 else math.pi
    return facing - 2 * math.pi * joined / len(ring)


def _is_bridge(name: str) -> bool:
    return name.startswith("bridge:")


def _is_clockwise(name: str) -> bool:
    return ".cw:" in name or name.startswith("cw:")


def _links(traffic: Traffic, places: dict[int, _Place]) -> str:
    """Idle bands first, busy ones on top."""
    order = sorted(range(len(traffic.machine.links)), key=lambda index: (traffic.link_busy[index], index))
    return "".join(_band(traffic, index, places) for index in order)


def _band(traffic: Traffic, index: int, places: dict[int, _Place]) -> str:
    link = traffic.machine.links[index]
    if _is_bridge(link.name):
        return ""
    start, end = places[link.source], places[link.target]
    clockwise = _is_clockwise(link.name)
    turn = _turn(start, end, clockwise)
    radius = start.radius + (_BAND if clockwise else -_BAND)
    colour, width = heat(traffic.link_busy[index])
    (x1, y1), (x2, y2) = start.at(radius), end.at(radius)
    sweep = 1 if clockwise else 0
    path = (
        f"M{number(x1)} {number(y1)}A{number(radius)} {number(radius)} 0 0 {sweep} {number(x2)} {number(y2)}"
    )
    middle = start.at(radius, turn / 2)
    heading = start.angle + turn / 2 + (math.pi / 2 if clockwise else -math.pi / 2)
    head = link_arrow(middle, heading, colour, width) if traffic.link_bytes[index] else ""
    return (
        f'<g><title>{traffic.tip(index)}</title><path d="{path}" fill="none" stroke="{colour}" '
        f'stroke-width="{number(width)}"/>{head}</g>'
    )


def _turn(start: _Place, end: _Place, clockwise: bool) -> float:
    """The angle from one stop to the next, negative against the clock."""
    turn = (end.angle - start.angle) % (2 * math.pi)
    return turn if clockwise else turn - 2 * math.pi


def _labels(traffic: Traffic, places: dict[int, _Place]) -> str:
    """Busy shares, above the arcs: beside each band that carried something."""
    marks = []
    for index, link in enumerate(traffic.machine.links):
        if _is_bridge(link.name) or not traffic.link_bytes[index]:
            continue
        start, clockwise = places[link.source], _is_clockwise(link.name)
        turn = _turn(start, places[link.target], clockwise)
        x, y = start.at(start.radius + (28 if clockwise else -28), turn / 2)
        marks.append(small_text(f"{100 * traffic.link_busy[index]:.0f}%", x, y))
    return "".join(marks)


def _bridges(traffic: Traffic, places: dict[int, _Place]) -> str:
    marks = []
    for index, link in enumerate(traffic.machine.links):
        if not _is_bridge(link.name):
            continue
        start, end = places[link.source], places[link.target]
        (x1, y1), (x2, y2) = start.at(start.radius), end.at(end.radius)
        length = math.hypot(x2 - x1, y2 - y1) or 1.0
        # Each direction keeps to its own side of the line between the two stops.
        side_x, side_y = _BAND * (y2 - y1) / length, -_BAND * (x2 - x1) / length
        colour, width = heat(traffic.link_busy[index])
        marks.append(
            f"<g><title>{traffic.tip(index)}</title>"
            f'<line x1="{number(x1 + side_x)}" y1="{number(y1 + side_y)}" x2="{number(x2 + side_x)}" '
            f'y2="{number(y2 + side_y)}" stroke="{colour}" stroke-width="{number(width)}"/></g>'
        )
    return "".join(marks)


def _flows(traffic: Traffic, places: dict[int, _Place]) -> str:
    """Slow arcs last, on top: they are what one looks for."""
    order = sorted(traffic.flows, key=lambda flow: (-flow.gb_per_s, flow.source, flow.target))
    width, opacity = (1.0, 0.55) if len(order) > _MANY_FLOWS else (2.0, 0.85)
    arcs = "".join(_flow(traffic, flow, places, width) for flow in order if flow.source != flow.target)
    return f'<g opacity="{opacity}">{arcs}</g>'


def _flow(traffic: Traffic, flow: Flow, places: dict[int, _Place], width: float) -> str:
    units = traffic.machine.units
    start, end = places[units[flow.source].stop], places[units[flow.target].stop]
    inner = start.radius - _BAND - 36
    # Sent traffic leaves a little to one side and received traffic arrives a little to the other: the two
    # directions of a pair do not hide each other.
    x1, y1 = start.at(inner, 0.05)
    x2, y2 = end.at(inner, -0.05)
    bend = _bend(start, end, (x1, y1), (x2, y2))
    colour = flow_colour(traffic, flow)
    heading = math.atan2(y2 - bend[1], x2 - bend[0])
    path = (
        f"M{number(x1)} {number(y1)}Q{number(bend[0])} {number(bend[1])} "
        f"{number(x2 - 5 * math.cos(heading))} {number(y2 - 5 * math.sin(heading))}"
    )
    return (
        f'<g><title>{traffic.flow_tip(flow)}</title><path d="{path}" fill="none" '
        f'stroke="{colour}" stroke-width="{number(width)}"/>'
        f"{arrow((x2 - 3 * math.cos(heading), y2 - 3 * math.sin(heading)), heading, colour, 4.0 + width)}</g>"
    )


def _bend(start: _Place, end: _Place, first: Point, last: Point) -> Point:
    """Towards the centre, more so for neighbours' short ways; across two rings a flat curve upwards."""
    middle = ((first[0] + last[0]) / 2, (first[1] + last[1]) / 2)
    if start.centre != end.centre:
        return middle[0], middle[1] - 60
    centre = start.centre
    aside = 0.12  # of the chord, to its right: the two directions of a half-way pair part
    return (
        middle[0] + 0.45 * (centre[0] - middle[0]) - aside * (last[1] - first[1]),
        middle[1] + 0.45 * (centre[1] - middle[1]) + aside * (last[0] - first[0]),
    )


def _stops(traffic: Traffic, places: dict[int, _Place]) -> str:
    units_at: dict[int, list[int]] = defaultdict(list)
    for index, unit in enumerate(traffic.machine.units):
        units_at[unit.stop].append(index)
    return "".join(_stop(traffic, stop, units_at[stop], place) for stop, place in sorted(places.items()))


def _stop(traffic: Traffic, stop: int, units: list[int], place: _Place) -> str:
    x, y = place.at(place.radius)
    name = shorten(traffic.machine.stops[stop])
    ranks = [traffic.rank_of_unit[unit] for unit in units if unit in traffic.rank_of_unit]
    kind = "stop used" if ranks else "stop"
    box = (
        f'<rect class="{kind}" x="{number(x - _BOX_WIDTH / 2)}" y="{number(y - _BOX_HEIGHT / 2)}" '
        f'width="{number(_BOX_WIDTH)}" height="{number(_BOX_HEIGHT)}" rx="8"/>'
    )
    if not ranks:
        return box + f'<text class="name" x="{number(x)}" y="{number(y + 4)}">{escape(name)}</text>'
    said = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {','.join(map(str, ranks))}"
    return (
        box + f'<text class="rank" x="{number(x)}" y="{number(y - 2)}">{said}</text>'
        f'<text class="name" x="{number(x)}" y="{number(y + 13)}">{escape(name)}</text>'
    )
