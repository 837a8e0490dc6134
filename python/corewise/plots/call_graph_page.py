"""A call graph as a part of a page: a tree to open and close, with bars, and the same calls as pictures.

One picture has a box per function, the other one per calling context. The page's styles and its script
``calls.js`` do the rest; without them the tree and both pictures are still there.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from html import escape

from corewise.analysis.profile.call_graph import CallTree, MergedGraph, TreeNode, Weight
from corewise.plots.call_graph import node_time_text, picture, times_text, tip

_OPEN_LEVELS = 3


def part_of_page(tree: CallTree, functions: MergedGraph, contexts: MergedGraph, weight: Weight) -> str:
    """The tree and the pictures as HTML text.

    Parameters
    ----------
    tree : CallTree
        To open and close.
    functions, contexts : MergedGraph
        The pictures: a box per function, and a box per calling context.
    weight : str
        What the edges are marked with.
    """
    return (
        f'<section class="card"><h2>Calls</h2>{_buttons()}{_tree(tree)}</section>'
        f"{_pictures(functions, contexts, weight)}"
    )


def _buttons() -> str:
    return (
        '<p class="tools"><span class="zoom"><button type="button" data-open="all">open all</button>'
        '<button type="button" data-open="none">close all</button></span></p>'
    )


def _pictures(functions: MergedGraph, contexts: MergedGraph, weight: Weight) -> str:
    tools = (
        '<p class="tools"><span class="zoom"><button type="button" data-zoom="in">+</button>'
        '<button type="button" data-zoom="out">&minus;</button>'
        '<button type="button" data-zoom="fit">fit</button></span>'
        '<span class="soft small">drag to move, Ctrl and wheel to zoom</span></p>'
    )
    views = "".join(
        f'<div data-graph="{name}"{hidden}>{tools}<div class="view" tabindex="0">'
        f"{picture(graph, weight)}</div></div>"
        for name, graph, hidden in (
            ("functions", functions, ""),
            ("contexts", contexts, ' style="display:none"'),
        )
    )
    return (
        '<section class="card"><h2>Picture</h2><span class="switch" data-group="graph">'
        '<button type="button" data-show="functions" aria-pressed="true">functions</button>'
        '<button type="button" data-show="contexts" aria-pressed="false">calling contexts</button></span>'
        f"{views}</section>"
    )


def _tree(tree: CallTree) -> str:
    children = tree.children()
    total = tree.nodes[0].inclusive_ns or 1.0
    parts = ['<div class="tree"><ul>']
    # Closing tags wait on the same stack as nodes: deep trees need no recursion.
    waiting: list[tuple[int, int] | str] = [(0, 0)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        index, level = item
        row = _row(tree.nodes[index], total)
        if not children[index]:
            parts.append(f'<li class="leaf">{row}</li>')
            continue
        opened = " open" if level < _OPEN_LEVELS else ""
        parts.append(f"<li><details{opened}><summary>{row}</summary><ul>")
        waiting.append("</ul></details></li>")
        waiting += [(child, level + 1) for child in reversed(children[index])]
    parts.append("</ul></div>")
    return "".join(parts)


def _row(node: TreeNode, total_ns: float) -> str:
    share = min(100.0, 100 * node.inclusive_ns / total_ns)
    count = "" if node.kind == "root" else times_text(node.count)
    source = f'<span class="soft">{escape(node.source)}</span>' if node.source else ""
    repeated = f'<span class="soft">{times_text(node.recursive)} recursive</span>' if node.recursive else ""
    return (
        f'<span class="row" title="{escape(tip(node))}">'
        f'<span class="bar"><i style="width:{share:.1f}%"></i></span>'
        f'<span class="time">{node_time_text(node)}</span><span class="count">{count}</span>'
        f'<span class="{node.kind}">{escape(node.label)}</span>{source}{repeated}</span>'
    )
