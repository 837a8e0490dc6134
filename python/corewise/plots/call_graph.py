"""A call graph as text, as a picture (SVG) and as a file for Graphviz.

The picture is one file that needs nothing else, laid out by `corewise.plots.call_graph_layout`: callers left
of what they call, functions with file and line, MPI calls and their messages to the right, edges marked with
counts or times and as thick as they are heavy (paper 003, figure 10).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from html import escape

from rich.text import Text
from rich.tree import Tree

from corewise.analysis.profile.call_graph import CallTree, GraphEdge, MergedGraph, TreeNode, Weight
from corewise.data.quantities import count_text, time_text
from corewise.plots.call_graph_layout import Placed, Point, layered
from corewise.plots.picture import number

_NAME_PX = 7.25  # a character of 12 px in a fixed-width font
_SMALL_PX = 6.05  # of 10 px
_MOST_LETTERS = 46
_ROW = 15.0
_PORT = 15.0  # between edges that end at one box
_GAP_X, _GAP_Y = 118.0, 14.0
_MARGIN = 24.0
_HEAT = ("#ffffff", "#fff6e5", "#ffe9c2", "#ffd699", "#ffbf70", "#ffa24d")
_INNERMOST = re.compile(r"<(?!…>)(?:[^<>]|<…>)*>")
_KINDS = {
    "root": ("#52606d", "#eef1f4"),
    "function": ("#7b8794", ""),
    "region": ("#2f855a", "#e6f6ec"),
    "procedure": ("#2b6cb0", "#e3effb"),
    "message": ("#63a4dd", "#f4f9fe"),
    "other": ("#9aa5b1", "#f5f7fa"),
    "rest": ("#9aa5b1", "#f5f7fa"),
}
_STYLE = """
.calls text{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1f2933}
.calls .title{font-family:system-ui,'Segoe UI','DejaVu Sans',sans-serif;font-size:16px;font-weight:600}
.calls .key{font-family:system-ui,'Segoe UI','DejaVu Sans',sans-serif;font-size:11.5px;fill:#52606d}
.calls .name{font-size:12px;font-weight:600}
.calls .small{font-size:10px;fill:#52606d}
.calls .edge{font-size:10.5px;fill:#1f2933;text-anchor:end;paint-order:stroke;stroke:#fff;stroke-width:3.5px}
"""


# ---- words -----------------------------------------------------------------------------------------------


def times_text(count: int) -> str:
    """``12 345`` and a multiplication sign."""
    return count_text(count) + "\N{MULTIPLICATION SIGN}"


def short_name(label: str, most: int = _MOST_LETTERS) -> str:
    """A long C++ name with its template arguments left out from inside, then its middle."""
    while len(label) > most:
        shorter = _INNERMOST.sub("<…>", label, count=1)
        if shorter == label:
            break
        label = shorter
    if len(label) <= most:
        return label
    tail = most * 2 // 3
    return f"{label[: most - tail - 1]}…{label[-tail:]}"


def node_time_text(node: TreeNode) -> str:
    """A node's inclusive time; empty for messages whose own time nobody knows (``MPI_Irecv``)."""
    unknown = node.kind in ("message", "other", "rest") and node.inclusive_ns == 0
    return "" if unknown else time_text(node.inclusive_ns)


def _edge_text(graph: MergedGraph, edge: GraphEdge, weight: Weight) -> str:
    if weight == "count":
        return times_text(edge.count)
    return node_time_text(graph.nodes[edge.callee]) and time_text(edge.time_ns)


def _second_line(node: TreeNode) -> str:
    if node.kind == "function":
        place = node.source or (
            node.object.rsplit("/", 1)[-1] if node.object and "+0x" not in node.label else ""
        )
        return f"{place}{'  ' if place else ''}self {time_text(node.exclusive_ns)}"
    if node.kind == "root":
        return time_text(node.inclusive_ns)
    return node_time_text(node)


def tip(node: TreeNode) -> str:
    """Everything about a node, for who points at it."""
    lines = [node.label]
    if node.file and node.line:
        lines.append(f"{node.file}:{node.line}")
    if node.object:
        lines.append(node.object)
    unit = "times" if node.kind == "message" else "calls"
    if node.kind != "root":
        lines.append(
            f"{node.count} {unit}" + (f", {node.recursive} of them recursive" if node.recursive else "")
        )
    if time := node_time_text(node):
        lines.append(f"{time}, self {time_text(node.exclusive_ns)}")
    return "\n".join(lines)


# ---- text ------------------------------------------------------------------------------------------------


def tree_text(tree: CallTree, weight: Weight) -> Tree:
    """Calling contexts as a tree for the terminal."""
    total = tree.nodes[0].inclusive_ns
    branches = [Tree(Text.assemble((tree.title, "bold"), (f"  {time_text(total)}", "dim")))]
    for node in tree.nodes[1:]:
        branches.append(branches[node.parent].add(_line(node, total, weight)))
    return branches[0]


def _line(node: TreeNode, total_ns: float, weight: Weight) -> Text:
    style = {"procedure": "cyan", "message": "blue", "region": "green", "rest": "dim", "other": "dim"}.get(
        node.kind, "bold"
    )
    line = Text(no_wrap=True, overflow="ellipsis")
    time = node_time_text(node)
    first = times_text(node.count) if weight == "count" else time
    line.append(f"{first} " if first else "", "yellow")
    line.append(node.label, style)
    if node.source:
        line.append(f"  {node.source}", "dim")
    if weight == "time":
        line.append(f"  {times_text(node.count)}", "dim")
    elif time:
        line.append(f"  {time}", "dim")
    if total_ns > 0 and node.inclusive_ns > 0:
        percent = 100 * node.inclusive_ns / total_ns
        line.append("  < 0.1 %" if percent < 0.05 else f"  {percent:.1f} %", "dim")
    if node.recursive:
        line.append(f"  {times_text(node.recursive)} recursive", "dim")
    return line


def edges_text(graph: MergedGraph, weight: Weight) -> Tree:
    """Every node of a merged graph with what it calls, heaviest first."""
    root = Tree(Text(graph.title, "bold"))
    calls: dict[int, list[GraphEdge]] = defaultdict(list)
    for edge in graph.edges:
        calls[edge.caller].append(edge)
    order = sorted(calls, key=lambda index: (-graph.nodes[index].inclusive_ns, index))
    for index in order:
        node = graph.nodes[index]
        head = Text.assemble((node.label, "bold"), (f"  {node.source}" if node.source else "", "dim"))
        branch = root.add(head)
        for edge in sorted(calls[index], key=lambda edge: (-_weight(edge, weight), edge.callee)):
            callee = graph.nodes[edge.callee]
            marked = _edge_text(graph, edge, weight)
            text = Text.assemble((f"{marked} " if marked else "", "yellow"), f"→ {callee.label}")
            text.append(f"  {callee.source}" if callee.source else "", "dim")
            branch.add(text)
    return root


# ---- Graphviz --------------------------------------------------------------------------------------------


def dot_text(graph: MergedGraph, weight: Weight) -> str:
    """The graph in the language of Graphviz."""
    most = max((_weight(edge, weight) for edge in graph.edges), default=0.0) or 1.0
    lines = [
        "digraph calls {",
        f"  label={_quoted(graph.title)}; labelloc=t; rankdir=LR;",
        '  node [shape=box, style=rounded, fontname="monospace"];',
    ]
    for index, node in enumerate(graph.nodes):
        words = node.label + (f"\n{node.source}" if node.source else "")
        lines.append(f"  n{index} [label={_quoted(words)}, color={_quoted(_KINDS[node.kind][0])}];")
    for edge in graph.edges:
        pen = 1 + 4 * math.sqrt(_weight(edge, weight) / most)
        label = _quoted(_edge_text(graph, edge, weight))
        lines.append(f"  n{edge.caller} -> n{edge.callee} [label={label}, penwidth={pen:.2f}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


# ---- picture ---------------------------------------------------------------------------------------------


def picture(graph: MergedGraph, weight: Weight) -> str:
    """The graph as the text of an SVG file."""
    inner, width, height = drawing(graph, weight)
    title = f"{graph.title}: calls by {weight}"
    top = 64.0
    width = max(width + 2 * _MARGIN, 24 + 9.2 * len(title), 640.0)
    height += top + _MARGIN
    key = "edges: how often" if weight == "count" else "edges: time in the callee, with what it called"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="calls" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {number(width)} {number(height)}" width="{number(width)}" height="{number(height)}">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        f'<text class="title" x="{number(_MARGIN)}" y="28">{escape(title)}</text>'
        f'<text class="key" x="{number(_MARGIN)}" y="46">{key}; messages as (source,destination,bytes); '
        f"the darker a function, the larger its own share of the time</text>"
        f'<g transform="translate({number(_MARGIN)} {number(top)})">{inner}</g></svg>\n'
    )


def drawing(graph: MergedGraph, weight: Weight) -> tuple[str, float, float]:
    """The picture without its page: SVG marks, width and height."""
    incoming: dict[int, list[int]] = defaultdict(list)
    for index, edge in enumerate(graph.edges):
        if edge.caller != edge.callee:
            incoming[edge.callee].append(index)
    sizes = [_box_size(node, len(incoming[index])) for index, node in enumerate(graph.nodes)]
    placed = layered(sizes, [(edge.caller, edge.callee) for edge in graph.edges], _GAP_X, _GAP_Y)
    ports = _ports(graph, sizes, placed, incoming)
    most = max((_weight(edge, weight) for edge in graph.edges), default=0.0) or 1.0
    order = sorted(range(len(graph.edges)), key=lambda index: _weight(graph.edges[index], weight))
    lines, labels = [], []
    for index in order:
        text = _edge_text(graph, graph.edges[index], weight)
        line, label = _edge(graph.edges[index], text, weight, most, sizes, placed, index, ports)
        lines.append(line)
        labels.append(label)
    total_ns = sum(node.exclusive_ns for node in graph.nodes) or 1.0
    boxes = [
        _box(node, placed.places[index], sizes[index], total_ns) for index, node in enumerate(graph.nodes)
    ]
    loops = 26.0 if any(edge.caller == edge.callee for edge in graph.edges) else 0.0
    back = 40.0 if any(placed.turned) else 0.0
    marks = "".join(lines) + "".join(boxes) + "".join(labels)
    shifted = f'<g transform="translate({number(back)} {number(loops)})">{marks}</g>'
    return shifted, placed.width + 2 * back, placed.height + loops


def _weight(edge: GraphEdge, weight: Weight) -> float:
    return float(edge.count) if weight == "count" else edge.time_ns


def _box_size(node: TreeNode, incoming: int) -> Point:
    second = _second_line(node)
    width = max(len(short_name(node.label)) * _NAME_PX, len(second) * _SMALL_PX) + 22
    height = 13 + _ROW + (_ROW - 3 if second else 0)
    return width, max(height, _PORT * incoming + 6)


def _ports(
    graph: MergedGraph, sizes: list[Point], placed: Placed, incoming: dict[int, list[int]]
) -> dict[int, float]:
    """The height at which every edge meets its callee: one below the other, in the order they come from."""
    found = {}
    for callee, edges in incoming.items():

        def comes_from(index: int) -> float:
            bends = placed.bends[index]
            if bends:
                return bends[0 if placed.turned[index] else -1][2]
            return placed.places[graph.edges[index].caller][1]

        middle = placed.places[callee][1]
        for at, index in enumerate(sorted(edges, key=lambda index: (comes_from(index), index))):
            found[index] = middle + (at - (len(edges) - 1) / 2) * _PORT
    return found


def _edge(
    edge: GraphEdge,
    text: str,
    weight: Weight,
    most: float,
    sizes: list[Point],
    placed: Placed,
    index: int,
    ports: dict[int, float],
) -> tuple[str, str]:
    width = 1.1 + 5.4 * math.sqrt(_weight(edge, weight) / most)
    x, y = placed.places[edge.callee]
    if edge.caller == edge.callee:
        return _loop(edge, weight, (x + sizes[edge.callee][0], y - sizes[edge.callee][1] / 2), width)
    y = ports[index]
    left, middle = placed.places[edge.caller]
    start = (left + sizes[edge.caller][0], middle)
    bends = placed.bends[index]
    head = 5.0 + width
    if placed.turned[index]:
        path = _backward(start, (x - head, y), bends)
        colour = "#c05621"
    else:
        path = f"M{_at(start)}"
        at = start
        for bend_left, bend_right, bend in bends:
            path += _curve(at, (bend_left, bend)) + f"L{_at((bend_right, bend))}"
            at = (bend_right, bend)
        path += _curve(at, (x - head, y))
        colour = "#8d9aa7"
    base, above, below = number(x - head), number(y - head / 2), number(y + head / 2)
    arrow = f"{number(x)},{number(y)} {base},{above} {base},{below}"
    line = (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{number(width)}" '
        f'stroke-linecap="round"/><polygon points="{arrow}" fill="{colour}"/>'
    )
    if not text:
        return line, ""
    place = f'x="{number(x - head - 3)}" y="{number(y - width / 2 - 2.5)}"'
    return line, f'<text class="edge" {place}>{escape(text)}</text>'


def _loop(edge: GraphEdge, weight: Weight, corner: Point, width: float) -> tuple[str, str]:
    x, y = corner
    path = f"M{_at((x, y + 12))}c26 0 26 -26 0 -26h-14v10"
    line = f'<path d="{path}" fill="none" stroke="#c05621" stroke-width="{number(min(width, 3))}"/>'
    said = times_text(edge.count) if weight == "count" else ""
    return line, f'<text class="edge" x="{number(x - 20)}" y="{number(y - 8)}">{escape(said)}</text>'


def _backward(start: Point, end: Point, bends: list[tuple[float, float, float]]) -> str:
    """From the right side of a box round to the left side of one further left."""
    path = f"M{_at(start)}"
    at = start
    for left, right, y in reversed(bends):
        path += f"C{_at((at[0] + 40, at[1]))} {_at((right + 40, y))} {_at((right, y))}L{_at((left, y))}"
        at = (left, y)
    bulge = 60.0
    out = (at[0] + (bulge if not bends else -bulge), at[1])
    return path + f"C{_at(out)} {_at((end[0] - bulge, end[1]))} {_at(end)}"


def _curve(start: Point, end: Point) -> str:
    middle = (start[0] + end[0]) / 2
    return f"C{_at((middle, start[1]))} {_at((middle, end[1]))} {_at(end)}"


def _at(point: Point) -> str:
    return f"{number(point[0])} {number(point[1])}"


def _box(node: TreeNode, place: Point, size: Point, total_ns: float) -> str:
    stroke, fill = _KINDS[node.kind]
    if not fill:
        fill = _HEAT[min(len(_HEAT) - 1, math.ceil(node.exclusive_ns / total_ns * (len(_HEAT) - 1)))]
    x, y = place
    width, height = size
    second = _second_line(node)
    name_y = y + (-2 if second else 4.2)
    dashes = ' stroke-dasharray="4 3"' if node.kind in ("rest", "other") else ""
    name = escape(short_name(node.label))
    lines = f'<text class="name" x="{number(x + 11)}" y="{number(name_y)}">{name}</text>'
    if second:
        lines += f'<text class="small" x="{number(x + 11)}" y="{number(name_y + 14)}">{escape(second)}</text>'
    return (
        f'<g class="node"><title>{escape(tip(node))}</title>'
        f'<rect x="{number(x)}" y="{number(y - height / 2)}" width="{number(width)}" '
        f'height="{number(height)}" '
        f'rx="7" fill="{fill}" stroke="{stroke}" stroke-width="1.3"{dashes}/>{lines}</g>'
    )
