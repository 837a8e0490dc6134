"""A ring machine with a run's traffic on it, in text: two rows of stops and the busy share of every link.

As in the picture (`corewise.plots.ring`), the clockwise direction is outside and the other inside; an arrow
says which way a number goes. Links that carried nothing show a dot.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from itertools import pairwise

from rich.console import Group, RenderableType
from rich.text import Text

from corewise.analysis.floor_plan import ring_cycles
from corewise.analysis.simulation import Traffic

_LINK = 5  # columns between two stops
_STYLES = ((0.9, "bold red"), (0.6, "yellow"), (0.3, "cyan"), (0.0, "blue"))


def ring_drawing(traffic: Traffic) -> RenderableType:
    """The drawing; one below the other where a machine has several rings."""
    rings = [_Ring(traffic, ring) for ring in ring_cycles(traffic.machine)]
    if len(rings) == 1:
        return rings[0].draw()
    pictures: list[RenderableType] = []
    for ring in rings:
        pictures += [Text(ring.part.rstrip("."), style="dim"), ring.draw()]
    return Group(*pictures, *_bridges(traffic))


def share(busy: float, used: bool) -> Text:
    """A busy share, coloured by how much it is; a dot for a link that carried nothing."""
    if not used:
        return Text("·", style="dim")
    style = next(style for least, style in _STYLES if busy >= least)
    return Text(f"{100 * busy:.0f}", style=style)


class _Ring:
    """One ring: the first half of its stops above, left to right, the second half below, right to left."""

    def __init__(self, traffic: Traffic, ring: list[int]) -> None:
        self._traffic = traffic
        self.part = _common_prefix([traffic.machine.stops[stop] for stop in ring])
        self._half = -(-len(ring) // 2)
        self._top = ring[: self._half]
        self._bottom = list(reversed(ring[self._half :]))
        self._link_of = {(link.source, link.target): i for i, link in enumerate(traffic.machine.links)}
        self._labels = {stop: self._label(stop) for stop in ring}
        self._cell = max(len(label) for label in self._labels.values())

    def width(self) -> int:
        """Columns."""
        return self._half * (self._cell + _LINK) - _LINK + 8

    def draw(self) -> RenderableType:
        """Seven lines."""
        top, bottom = self._top, self._bottom
        left, right = (bottom[0], top[0]), (top[-1], bottom[-1])
        return Group(
            self._shares(top, clockwise=True),
            self._stops(top, "╭─", "─╮"),
            self._shares(top, clockwise=False),
            self._sides(left, right),
            self._shares(list(reversed(bottom)), clockwise=False, leftwards=True),
            self._stops(bottom, "╰─", "─╯"),
            self._shares(list(reversed(bottom)), clockwise=True, leftwards=True),
        )

    def _label(self, stop: int) -> str:
        traffic = self._traffic
        name = traffic.machine.stops[stop][len(self.part) :]
        units = [index for index, unit in enumerate(traffic.machine.units) if unit.stop == stop]
        ranks = [traffic.rank_of_unit[unit] for unit in units if unit in traffic.rank_of_unit]
        return f"{name}=r{','.join(map(str, ranks))}" if ranks else (name if units else f"({name})")

    def _stops(self, stops: list[int], left: str, right: str) -> Text:
        gap = self._half * (self._cell + _LINK) - len(stops) * (self._cell + _LINK)
        cells = [f" {self._labels[stop]} ".center(self._cell + 2, "─") for stop in stops]
        line = f"{left}{('─' * (_LINK - 2)).join(cells)}{'─' * gap}{right}"
        return Text(line, no_wrap=True, overflow="ellipsis")

    def _share(self, source: int, target: int, before: str, after: str) -> Text:
        index = self._link_of.get((source, target))
        if index is None:
            return Text("")
        used = self._traffic.link_bytes[index] > 0
        text = share(self._traffic.link_busy[index], used)
        if not used:
            return text
        return Text(before, style=text.style).append_text(text).append(after, style=text.style)

    def _shares(self, order: list[int], clockwise: bool, leftwards: bool = False) -> Text:
        """The numbers of one direction between the stops of a row; `order` is clockwise."""
        rightwards = clockwise != leftwards
        cells = []
        for source, target in pairwise(order):
            ends = (source, target) if clockwise else (target, source)
            text = self._share(*ends, "" if rightwards else "←", "→" if rightwards else "")
            text.align("center", _LINK)
            cells.append(text)
        if leftwards:
            cells.reverse()
        line = Text(" " * (self._cell + 3), no_wrap=True, overflow="ellipsis")
        return line.append_text(Text(" " * self._cell).join(cells))

    def _sides(self, left: tuple[int, int], right: tuple[int, int]) -> Text:
        """The numbers of the two turns: clockwise upwards at the left, downwards at the right."""
        line = Text("│ ", no_wrap=True, overflow="ellipsis")
        line.append_text(self._share(left[0], left[1], "↑", "")).append(" ")
        line.append_text(self._share(left[1], left[0], "↓", ""))
        end = self._share(right[0], right[1], "↓", "").append(" ")
        end.append_text(self._share(right[1], right[0], "↑", "")).append(" │")
        line.append(" " * max(1, self.width() - 2 - line.cell_len - end.cell_len))
        return line.append_text(end)


def _common_prefix(names: list[str]) -> str:
    """A part's name and its dot, which the names of all its stops open with."""
    part, dot, _ = names[0].partition(".")
    return part + dot if dot and all(name.startswith(part + dot) for name in names) else ""


def _bridges(traffic: Traffic) -> list[Text]:
    lines = []
    stops = traffic.machine.stops
    for index, link in enumerate(traffic.machine.links):
        if link.name.startswith("bridge:"):
            line = Text(f"{stops[link.source]} ══> {stops[link.target]} ")
            lines.append(line.append_text(share(traffic.link_busy[index], traffic.link_bytes[index] > 0)))
    return lines
