"""A machine as a drawing in text: rings as two rows, meshes as grids, trees as trees.

Reads only names, stops and links of a machine, never its routes. Ranks may be written on their units, which
is how a placement is shown. Layouts come from the links, not from the machine's name.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from corewise._core import Machine

_TILE = re.compile(r"\(([\d,]+)\)$")
_WIDEST_RING = 120
_MOST_LEAVES, _FEW_UNITS = 12, 8


def drawing(machine: Machine, rank_of_unit: Mapping[int, int] | None = None) -> RenderableType:
    """Draws a machine.

    Parameters
    ----------
    machine : Machine
        What to draw.
    rank_of_unit : mapping of int to int, optional
        Unit number to the rank placed there; such units are written ``SPE0=r3``.
    """
    labels = _stop_labels(machine, rank_of_unit or {})
    parts = _parts(machine)
    if len(parts) == 1:
        return _part(machine, parts[0], labels, rank_of_unit or {})
    pictures: list[RenderableType] = []
    for stops in parts:
        prefix = _common_prefix([machine.stops[stop] for stop in stops])
        short = [label.replace(prefix, "") for label in labels]
        pictures += [Text(prefix.rstrip("."), style="dim"), _part(machine, stops, short, rank_of_unit or {})]
    return Group(*pictures, *_bridges(machine))


def unit_label(name: str, rank: int | None) -> str:
    """A unit and the rank on it, if any."""
    return name if rank is None else f"{name}=r{rank}"


def _stop_labels(machine: Machine, rank_of_unit: Mapping[int, int]) -> list[str]:
    on_stop: dict[int, list[str]] = defaultdict(list)
    for index, unit in enumerate(machine.units):
        on_stop[unit.stop].append(unit_label(unit.name, rank_of_unit.get(index)))
    return [
        _together(on_stop[stop]) if on_stop[stop] else f"({name})" for stop, name in enumerate(machine.stops)
    ]


def _together(labels: Sequence[str]) -> str:
    """Several units of one stop; the name they share is written once: ``core0 1``."""
    stem = labels[0].partition("=")[0].rstrip("0123456789")
    same = all(re.fullmatch(re.escape(stem) + r"\d+(=r\d+)?", label) for label in labels)
    return " ".join([labels[0], *(label[len(stem) :] if same else label for label in labels[1:])])


def _parts(machine: Machine) -> list[list[int]]:
    """Stops joined by links that are not bridges, in the machine's order."""
    group = list(range(len(machine.stops)))

    def find(stop: int) -> int:
        while group[stop] != stop:
            stop = group[stop]
        return stop

    for link in machine.links:
        if not link.name.startswith("bridge:"):
            first, second = sorted((find(link.source), find(link.target)))
            group[second] = first
    parts: dict[int, list[int]] = defaultdict(list)
    for stop in range(len(machine.stops)):
        parts[find(stop)].append(stop)
    return list(parts.values())


def _common_prefix(names: Sequence[str]) -> str:
    """The part's name and its dot, which every stop of the part opens with."""
    part, dot, _ = names[0].partition(".")
    return part + dot if dot and all(name.startswith(part + dot) for name in names) else ""


def _part(
    machine: Machine, stops: Sequence[int], labels: Sequence[str], rank_of_unit: Mapping[int, int]
) -> RenderableType:
    ring = _ring_order(machine, stops)
    if ring:
        return _ring([labels[stop] for stop in ring])
    positions = _tile_positions(machine, stops)
    if positions:
        return _mesh(positions, labels)
    return _tree(machine, set(stops), rank_of_unit)


def _ring_order(machine: Machine, stops: Sequence[int]) -> list[int]:
    """The stops in the order of their clockwise links, or nothing where they are no ring."""
    after = {link.source: link.target for link in machine.links if _is_clockwise(link.name)}
    order = [stops[0]]
    while len(order) <= len(stops) and after.get(order[-1], -1) != stops[0]:
        if order[-1] not in after:
            return []
        order.append(after[order[-1]])
    return order if len(order) == len(stops) else []


def _is_clockwise(name: str) -> bool:
    return name.startswith("cw:") or ".cw:" in name.split(">", maxsplit=1)[0]


def _ring(labels: Sequence[str]) -> RenderableType:
    half = -(-len(labels) // 2)
    top, bottom = list(labels[:half]), list(reversed(labels[half:]))
    if len(labels) % 2:
        bottom.append("")
    widths = [max(len(a), len(b)) for a, b in zip(top, bottom, strict=True)]
    if sum(widths) + 4 * half > _WIDEST_RING:
        return Text("╭→ " + " ── ".join(labels) + " →╮ (closes to a ring)")
    return Group(_ring_row(top, widths, "╭─", "─╮"), _ring_row(bottom, widths, "╰─", "─╯"))


def _ring_row(labels: Sequence[str], widths: Sequence[int], left: str, right: str) -> Text:
    cells = [
        f" {label} ".center(width + 2, "─") if label else "─" * (width + 2)
        for label, width in zip(labels, widths, strict=True)
    ]
    return Text(left + "──".join(cells) + right, no_wrap=True, overflow="ellipsis")


def _tile_positions(machine: Machine, stops: Sequence[int]) -> dict[tuple[int, ...], int]:
    """Stop of every position, from names like ``tile(2,3)``; empty where the stops are not tiles."""
    found: dict[tuple[int, ...], int] = {}
    for stop in stops:
        match = _TILE.search(machine.stops[stop])
        if not match:
            return {}
        x, y, z = ([int(part) for part in match[1].split(",")] + [0, 0])[:3]
        found[(z, y, x)] = stop
    return found


def _mesh(positions: Mapping[tuple[int, ...], int], labels: Sequence[str]) -> RenderableType:
    layers = sorted({position[0] for position in positions})
    lines: list[Text] = []
    width = max(len(labels[stop]) for stop in positions.values())
    for layer in layers:
        if len(layers) > 1:
            lines.append(Text(f"z = {layer}", style="dim"))
        lines.extend(
            _mesh_layer({at[1:]: labels[stop] for at, stop in positions.items() if at[0] == layer}, width)
        )
    return Group(*lines)


def _mesh_layer(cells: Mapping[tuple[int, ...], str], width: int) -> list[Text]:
    rows = sorted({position[0] for position in cells})
    columns = sorted({position[1] for position in cells})
    bars = "   ".join("│".center(width + 2) for _ in columns)
    lines: list[Text] = []
    for row in rows:
        if lines:
            lines.append(Text(bars.rstrip(), style="dim", no_wrap=True, overflow="ellipsis"))
        tiles = "───".join(f"[{cells[(row, column)].center(width)}]" for column in columns)
        lines.append(Text(tiles, no_wrap=True, overflow="ellipsis"))
    return lines


def _tree(machine: Machine, stops: set[int], rank_of_unit: Mapping[int, int]) -> RenderableType:
    leaves: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for index, unit in enumerate(machine.units):
        if unit.stop in stops:
            leaves[tuple(unit.domains)].append(unit_label(unit.name, rank_of_unit.get(index)))
    if len(leaves) > _MOST_LEAVES and all(len(units) <= _FEW_UNITS for units in leaves.values()):
        leaves = _inline(leaves)
    root = Tree(machine.name)
    branches: dict[tuple[str, ...], Tree] = {(): root}
    for path, units in leaves.items():
        for depth in range(1, len(path) + 1):
            if path[:depth] not in branches:
                branches[path[:depth]] = branches[path[: depth - 1]].add(path[depth - 1])
        branches[path].add(" ".join(units))
    return root


def _inline(leaves: Mapping[tuple[str, ...], list[str]]) -> dict[tuple[str, ...], list[str]]:
    """The innermost domains as words of their parent's line: a line per core would fill screens."""
    words: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, units in leaves.items():
        words[path[:-1]].append(f"{path[-1]}[{_together(units).replace(' ', ',')}]")  # lines break at blanks
    return words


def _bridges(machine: Machine) -> list[Text]:
    lines = []
    for link in machine.links:
        if link.name.startswith("bridge:"):
            ends = machine.stops[link.source], machine.stops[link.target]
            lines.append(Text(f"{ends[0]} ══ {link.bandwidth_gb_per_s:g} GB/s ══> {ends[1]}", style="dim"))
    return lines
