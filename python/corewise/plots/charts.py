"""Figures as charts of a page, drawn there by Bokeh: its library comes compressed out of its own package.

A chart is an element that holds its panel's numbers; the page's ``charts.js`` makes Bokeh draw it in the
page's colours. Nothing of Bokeh runs in Python, so that the same figure gives the same text.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from html import escape
from importlib.resources import files

from corewise.analysis.result import Figure, Panel
from corewise.data.quantities import size_text

_SCRIPTS = {"bokeh-js": "bokeh.min.js", "bokeh-api-js": "bokeh-api.min.js"}


@cache
def library() -> Mapping[str, str]:
    """Ids of elements to the compressed library that `charts.js` expects in them, as letters."""
    folder = files("bokeh") / "server" / "static" / "js"
    return {name: _squeezed((folder / file).read_bytes()) for name, file in _SCRIPTS.items()}


def _squeezed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")


def part_of_page(figure: Figure) -> str:
    """A figure as a part of a page: its title, and a chart per panel."""
    title = f"<h2>{escape(figure.title)}</h2>" if figure.title else ""
    panels = "".join(_panel(panel, named=panel.title != figure.title) for panel in figure.panels)
    return f'{title}<div class="charts">{panels}</div>'


def _panel(panel: Panel, named: bool) -> str:
    """Titles stand above the chart as text: they wrap, and they are found by a search."""
    title = f"<h3>{escape(panel.title)}</h3>" if panel.title and named else ""
    numbers = escape(json.dumps({**asdict(panel), "ticks": _ticks(panel)}, separators=(",", ":")))
    what = escape(f"{panel.title or 'chart'}: {panel.y_label} by {panel.x_label or 'name'}")
    return (
        f'<figure>{title}<div class="chart" role="img" aria-label="{what}" data-panel="{numbers}"></div>'
        "<noscript>The chart needs the page's script.</noscript></figure>"
    )


def _ticks(panel: Panel) -> list[tuple[float, str]]:
    """Sizes are marked where there are numbers, as 4 KB."""
    if not panel.x_log2:
        return []
    sizes = sorted({size for series in panel.series for size in series.x if size > 0})
    steps = max(1, -(-len(sizes) // 9))
    return [(size, size_text(round(size))) for size in sizes[::steps]]
