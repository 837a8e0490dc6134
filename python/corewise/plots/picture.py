"""What the pictures of simulated traffic share: the page, its colours, its legend and its list of transfers.

A picture is one SVG file that needs nothing else: its styles are inside, its ground is white. Invariant: the
same traffic gives the same text; numbers carry at most two decimals.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from html import escape

from corewise.analysis.floor_plan import UNIT_HEIGHT, UNIT_WIDTH, Point
from corewise.analysis.simulation import Flow, Traffic

HEAT = ("#dfe3e8", "#9ecae1", "#6baed6", "#3182bd", "#fdae6b", "#f16913", "#cb181d")
"""Idle, then six steps of a link's busy share: 0 to 100 %."""
_SLOW_TO_FAST = ("#b2182b", "#e08214", "#7b8794", "#4393c3", "#08519c")
LINK_GAP = 5.0
"""Between the line that joins two stops and each of its directions."""
_LISTED_FLOWS = 26
_CHARACTER = 6.9  # width of one in the list, on average
_STYLE = """
text{font-family:system-ui,'Segoe UI','DejaVu Sans',sans-serif;fill:#1f2933}
.title{font-size:16px;font-weight:600}
.name,.rank,.small{text-anchor:middle}
.name{font-size:11.5px;fill:#52606d}
.rank{font-size:12.5px;font-weight:600}
.small{font-size:10.5px;fill:#3e4c59;paint-order:stroke;stroke:#fff;stroke-width:3px}
.list{font-size:12px}
.dim{fill:#7b8794}
.stop{fill:#f5f7fa;stroke:#cbd2d9;stroke-width:1.2}
.used{fill:#fff;stroke:#52606d}
"""


def page(title: str, width: float, height: float, body: str) -> str:
    """The whole file: ground, title, picture."""
    top = 40.0
    whole = height + top
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {number(width)} {number(whole)}" width="{number(width)}" height="{number(whole)}">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        f'<text class="title" x="20" y="28">{escape(title)}</text>'
        f'<g transform="translate(0 {number(top)})">{body}</g></svg>\n'
    )


def number(value: float) -> str:
    """A coordinate: two decimals at most, no minus zero."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def heat(busy: float) -> tuple[str, float]:
    """Colour and width of a link that was busy for this share of the run."""
    if busy <= 0:
        return HEAT[0], 3.0
    share = min(1.0, busy)
    return HEAT[max(1, math.ceil(share * (len(HEAT) - 1)))], 3.5 + 6.5 * share


def flow_colour(traffic: Traffic, flow: Flow) -> str:
    """Its bandwidth against the fastest transfer of the run: slow is red, fast is blue."""
    share = flow.gb_per_s / traffic.fastest_gb_per_s if traffic.fastest_gb_per_s > 0 else 1.0
    return _SLOW_TO_FAST[min(len(_SLOW_TO_FAST) - 1, int(share * len(_SLOW_TO_FAST)))]


def link_arrow(at: Point, heading: float, colour: str, width: float) -> str:
    """A link's direction: cut out of a wide line, sitting on a narrow one."""
    if width >= 5.5:
        return arrow(at, heading, "#fff", 0.42 * width)
    return arrow(at, heading, colour, 4.6)


def arrow(tip: Point, heading: float, colour: str, size: float) -> str:
    """A small filled triangle around a point."""
    corners = []
    for turn, reach in ((0.0, 1.2), (2.45, 1.0), (-2.45, 1.0)):
        x = tip[0] + reach * size * math.cos(heading + turn)
        y = tip[1] + reach * size * math.sin(heading + turn)
        corners.append(f"{number(x)},{number(y)}")
    return f'<polygon points="{" ".join(corners)}" fill="{colour}"/>'


def line_pair(start: Point, end: Point, colour: str, width: float, used: bool, tip: str) -> str:
    """One direction between two points, on its own side of the line that joins them."""
    length = math.hypot(end[0] - start[0], end[1] - start[1])
    if length == 0:
        return ""
    # Traffic keeps to the left of its direction, as on a road seen from above with y downwards.
    shift_x = LINK_GAP * (end[1] - start[1]) / length
    shift_y = -LINK_GAP * (end[0] - start[0]) / length
    (x1, y1), (x2, y2) = (start[0] + shift_x, start[1] + shift_y), (end[0] + shift_x, end[1] + shift_y)
    heading = math.atan2(y2 - y1, x2 - x1)
    head = link_arrow(((x1 + x2) / 2, (y1 + y2) / 2), heading, colour, 0.8 * width) if used else ""
    return (
        f'<g><title>{tip}</title><line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" '
        f'y2="{number(y2)}" stroke="{colour}" stroke-width="{number(0.8 * width)}"/>{head}</g>'
    )


def small_text(text: str, x: float, y: float) -> str:
    """A number beside its link, its middle at (x, y)."""
    return f'<text class="small" x="{number(x)}" y="{number(y + 3.5)}">{text}</text>'


def unit_box(traffic: Traffic, unit: int, x: float, y: float) -> str:
    """A unit with its rank; (x, y) is the middle of its upper edge."""
    rank = traffic.rank_of_unit.get(unit)
    name = traffic.machine.units[unit].name
    kind = "stop used" if rank is not None else "stop"
    label = f"rank {rank}" if rank is not None else "free"
    style = "rank" if rank is not None else "name"
    return (
        f'<g><title>{escape(name)}</title><rect class="{kind}" x="{number(x - UNIT_WIDTH / 2)}" '
        f'y="{number(y)}" width="{UNIT_WIDTH}" height="{UNIT_HEIGHT}" rx="7"/>'
        f'<text class="{style}" x="{number(x)}" y="{number(y + 15)}">{label}</text>'
        f'<text class="name" x="{number(x)}" y="{number(y + 28)}">{escape(shorten(name, 10))}</text></g>'
    )


def bare_stop(name: str, place: Point) -> str:
    """A stop without units; `place` is its middle."""
    x, y = place
    text = shorten(name, 14)
    width = max(34.0, 6.8 * len(text) + 12)
    return (
        f'<g><title>{escape(name)}</title><rect class="stop" x="{number(x - width / 2)}" '
        f'y="{number(y - 10)}" width="{number(width)}" height="20" rx="10"/>'
        f'<text class="name" x="{number(x)}" y="{number(y + 4)}">{escape(text)}</text></g>'
    )


def legend_width() -> float:
    """How wide `legend` is."""
    return 66.0 + 62.0 * len(HEAT)


def legend(left: float, top: float) -> str:
    """What widths and colours mean."""
    marks = [f'<text class="list dim" x="{number(left)}" y="{number(top + 16)}">link busy:</text>']
    x = left + 66
    steps = len(HEAT) - 1
    for step in range(len(HEAT)):
        said = "idle" if step == 0 else f"{round(100 * step / steps)}%"
        _, width = heat(step / steps)
        y = top + 12
        marks.append(
            f'<line x1="{number(x)}" y1="{number(y)}" x2="{number(x + 22)}" y2="{number(y)}" '
            f'stroke="{HEAT[step]}" stroke-width="{number(width)}"/>'
            f'<text class="list dim" x="{number(x + 26)}" y="{number(top + 16)}">{said}</text>'
        )
        x += 62
    return "".join(marks)


def flow_list(traffic: Traffic, left: float, top: float) -> tuple[str, float, float]:
    """Transfers by bandwidth, slowest first, beside the picture; the marks, their width and height."""
    if not traffic.flows:
        return "", 0.0, 0.0
    shown = sorted(traffic.flows, key=lambda flow: (flow.gb_per_s, flow.source, flow.target))
    rest = len(shown) - _LISTED_FLOWS
    texts = [_flow_texts(traffic, flow) for flow in shown[:_LISTED_FLOWS]]
    ends_width, units_width = (_CHARACTER * max(len(text[at]) for text in texts) for at in (0, 1))
    columns = (left + 18, left + 26 + ends_width, left + 100 + ends_width + units_width)
    marks = [
        f'<text class="list dim" x="{number(left)}" y="{number(top)}">'
        "slowest first; red slow, blue fast</text>"
    ]
    y = top
    for flow, text in zip(shown, texts, strict=False):
        y += 19
        marks.append(_flow_line(flow_colour(traffic, flow), text, left, columns, y))
    if rest > 0:
        y += 19
        marks.append(f'<text class="list dim" x="{number(left)}" y="{number(y)}">and {rest} more</text>')
    return "".join(marks), max(250.0, columns[2] - left + 20), y + 12


def _flow_texts(traffic: Traffic, flow: Flow) -> tuple[str, str, str]:
    names = [shorten(traffic.machine.units[unit].name) for unit in (flow.source, flow.target)]
    return f"{flow.sender} → {flow.receiver}", " → ".join(names), f"{flow.gb_per_s:.1f} GB/s"


def _flow_line(
    colour: str, text: tuple[str, str, str], left: float, columns: tuple[float, float, float], y: float
) -> str:
    ends, units, speed = columns
    return (
        f'<rect x="{number(left)}" y="{number(y - 9)}" width="10" height="10" rx="2" fill="{colour}"/>'
        f'<text class="list" x="{number(ends)}" y="{number(y)}">{text[0]}</text>'
        f'<text class="list dim" x="{number(units)}" y="{number(y)}">{escape(text[1])}</text>'
        f'<text class="list" x="{number(speed)}" y="{number(y)}" text-anchor="end">{text[2]}</text>'
    )


def shorten(name: str, longest: int = 12) -> str:
    """A name that fits its box."""
    return name if len(name) <= longest else name[: longest - 1] + "…"
