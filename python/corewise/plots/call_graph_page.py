"""A call graph as one web page that needs nothing else.

A tree to open and close, with bars, and the same calls as pictures to zoom and move: one box per function,
one per calling context. Without its script the page still shows the tree and both pictures.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from html import escape

from corewise import __version__
from corewise.analysis.profile.call_graph import CallTree, MergedGraph, TreeNode, Weight
from corewise.data.quantities import time_text
from corewise.plots.call_graph import node_time_text, picture, times_text, tip

_OPEN_LEVELS = 3
_STYLE = """
:root{--ground:#f5f7fa;--card:#fff;--ink:#1f2933;--soft:#52606d;--line:#d9dee4;
--bar:#f6ad55;--call:#2b6cb0;
--region:#2f855a;--message:#4a90c2}
@media(prefers-color-scheme:dark){:root{--ground:#12171d;--card:#1b222a;--ink:#e4e9ee;--soft:#9aa7b4;
--line:#323c47;
--bar:#b7791f;--call:#63b3ed;--region:#68d391;--message:#90cdf4}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);
font:15px/1.5 system-ui,'Segoe UI','DejaVu Sans',sans-serif}
main{max-width:1500px;margin:0 auto;padding:22px}
h1{font-size:21px;margin:0 0 2px}
.soft{color:var(--soft);font-size:13px}
.warn{background:#fef3d7;color:#7c4a03;border-radius:8px;padding:5px 12px;margin-top:8px;
overflow-wrap:anywhere}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:14px 18px;
margin-top:16px}
h2{font-size:16px;margin:0 0 8px}
.tabs{display:inline-flex;gap:4px;margin-left:14px;vertical-align:middle}
button{font:inherit;font-size:13px;border:1px solid var(--line);border-radius:7px;padding:3px 11px;
background:none;color:var(--soft);cursor:pointer}
button[aria-pressed=true]{color:var(--ink);border-color:var(--soft);font-weight:600}
.tree{font:13px/1.5 ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;overflow-x:auto}
.tree ul{list-style:none;margin:0;padding-left:20px;border-left:1px solid var(--line)}
.tree>ul{border:0;padding:0}
.row{display:inline-flex;gap:12px;align-items:baseline;white-space:nowrap;padding:1px 4px;border-radius:5px}
.row:hover{background:var(--ground)}
summary{cursor:pointer}
summary::marker{color:var(--soft)}
.leaf{padding-left:17px}
.bar{display:inline-block;width:70px;height:8px;background:var(--ground);border-radius:4px;align-self:center;flex:none}
.bar i{display:block;height:100%;background:var(--bar);border-radius:4px}
.count{color:var(--soft);min-width:72px;text-align:right}
.time{min-width:76px;text-align:right}
.procedure{color:var(--call)}.message{color:var(--message)}.region{color:var(--region)}
.rest,.other{color:var(--soft);font-style:italic}.function,.root{font-weight:600}
.view{border:1px solid var(--line);border-radius:8px;background:#fff;overflow:auto;max-height:86vh}
.view svg{display:block;max-width:none}
.view.moving{cursor:grabbing}
footer{margin-top:22px}
"""
_SCRIPT = """
for (const bar of document.querySelectorAll('[data-tabs]')) {
  bar.addEventListener('click', event => {
    const name = event.target.dataset.show;
    if (!name) return;
    for (const each of bar.querySelectorAll('button'))
      each.setAttribute('aria-pressed', each.dataset.show === name);
    for (const view of document.querySelectorAll('[data-view]')) view.hidden = view.dataset.view !== name;
  });
}
for (const button of document.querySelectorAll('[data-open]')) {
  button.addEventListener('click', () => {
    const open = button.dataset.open === 'all';
    for (const each of document.querySelectorAll('.tree details')) each.open = open;
  });
}
for (const view of document.querySelectorAll('.view')) {
  const svg = view.querySelector('svg');
  const width = svg.viewBox.baseVal.width, height = svg.viewBox.baseVal.height;
  let scale = 1, fitted = false;
  const zoom = (factor, x, y) => {
    const next = Math.min(8, Math.max(0.05, scale * factor));
    const left = (view.scrollLeft + x) * next / scale - x, top = (view.scrollTop + y) * next / scale - y;
    scale = next;
    svg.setAttribute('width', width * scale);
    svg.setAttribute('height', height * scale);
    view.scrollLeft = left;
    view.scrollTop = top;
  };
  view.addEventListener('wheel', event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = view.getBoundingClientRect();
    zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - box.left, event.clientY - box.top);
  }, {passive: false});
  let from = null;
  view.addEventListener('pointerdown', event => {
    if (event.pointerType !== 'mouse' || event.button) return;
    from = [event.clientX + view.scrollLeft, event.clientY + view.scrollTop];
    view.classList.add('moving');
  });
  window.addEventListener('pointermove', event => {
    if (!from) return;
    view.scrollLeft = from[0] - event.clientX;
    view.scrollTop = from[1] - event.clientY;
  });
  window.addEventListener('pointerup', () => { from = null; view.classList.remove('moving'); });
  // Opens at a size that can be read, with the root in view.
  const begin = () => {
    if (fitted || !view.clientWidth) return;
    fitted = true;
    zoom(Math.min(1, Math.max(0.55, view.clientWidth / width)), 0, 0);
    const root = svg.querySelector('.node').getBoundingClientRect(), box = view.getBoundingClientRect();
    view.scrollTop += root.top - box.top - view.clientHeight / 2;
  };
  begin();
  document.addEventListener('click', begin);
  const tools = view.previousElementSibling;
  tools.addEventListener('click', event => {
    const way = event.target.dataset.zoom;
    if (way === 'in') zoom(1.3, view.clientWidth / 2, view.clientHeight / 2);
    if (way === 'out') zoom(1 / 1.3, view.clientWidth / 2, view.clientHeight / 2);
    if (way === 'fit') zoom(Math.min(1, view.clientWidth / width) / scale, 0, 0);
  });
}
"""


def page(tree: CallTree, functions: MergedGraph, contexts: MergedGraph, weight: Weight) -> str:
    """The whole page as HTML text.

    Parameters
    ----------
    tree : CallTree
        To open and close.
    functions, contexts : MergedGraph
        The pictures: a box per function, and a box per calling context.
    weight : str
        What the edges are marked with.
    """
    ranks = ", ".join(map(str, tree.ranks[:16])) + (", ..." if len(tree.ranks) > 16 else "")
    warnings = "".join(f'<div class="warn">{escape(text)}</div>' for text in tree.warnings)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(tree.title)}: calls</title><style>{_STYLE}</style></head><body><main>"
        f'<h1>{escape(tree.title)}</h1><div class="soft">rank{"" if len(tree.ranks) == 1 else "s"} {ranks} · '
        f"{time_text(tree.nodes[0].inclusive_ns)} recorded</div>{warnings}"
        f"<section><h2>Calls{_buttons()}</h2>{_tree(tree)}</section>"
        f"{_pictures(functions, contexts, weight)}"
        f'<footer class="soft">corewise {escape(__version__)}</footer></main><script>{_SCRIPT}</script>'
        "</body></html>\n"
    )


def _buttons() -> str:
    return (
        '<span class="tabs"><button type="button" data-open="all">open all</button>'
        '<button type="button" data-open="none">close all</button></span>'
    )


def _pictures(functions: MergedGraph, contexts: MergedGraph, weight: Weight) -> str:
    tools = (
        '<p class="soft"><button type="button" data-zoom="in">+</button> '
        '<button type="button" data-zoom="out">&minus;</button> '
        '<button type="button" data-zoom="fit">fit</button> '
        "drag to move, Ctrl and wheel to zoom</p>"
    )
    views = "".join(
        f'<div data-view="{name}"{hidden}>{tools}<div class="view">{picture(graph, weight)}</div></div>'
        for name, graph, hidden in (("functions", functions, ""), ("contexts", contexts, " hidden"))
    )
    return (
        '<section><h2>Picture<span class="tabs" data-tabs>'
        '<button type="button" data-show="functions" aria-pressed="true">functions</button>'
        '<button type="button" data-show="contexts" aria-pressed="false">calling contexts</button>'
        "</span></h2>"
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
