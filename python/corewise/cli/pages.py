"""Pages as commands write them: what `corewise.plots` draws, put into the sections of `corewise.report.page`.

Computes nothing: it brings the two together, because neither knows the other.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from pathlib import Path

from corewise.base import late
from corewise.base.files import write_text

with late.imports():
    from markupsafe import Markup

    from corewise.analysis.profile.call_graph import (
        MOST_BOXES,
        MOST_LINES,
        CallTree,
        Weight,
        as_graph,
        fitted,
        merged,
    )
    from corewise.analysis.result import Figure, Table
    from corewise.plots import charts
    from corewise.plots.call_graph_page import part_of_page
    from corewise.report.page.result import tables_page
    from corewise.report.page.shell import Page, Section, render

_MOST_NAMED_RANKS = 16


def written_now() -> str:
    """When a page is written."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def write(file: Path, page: Page) -> None:
    """Writes a page, whole or not at all."""
    write_text(file, render(page))


def call_graph_section(tree: CallTree, weight: Weight) -> Section:
    """A call graph as a tab."""
    small = fitted(tree, weight, MOST_BOXES)
    body = part_of_page(fitted(tree, weight, MOST_LINES), merged(small), as_graph(small), weight)
    return Section("call-graph", "Call graph", Markup(body), ("calls",))


def call_graph_page(tree: CallTree, weight: Weight) -> Page:
    """A call graph alone."""
    named = ", ".join(map(str, tree.ranks[:_MOST_NAMED_RANKS]))
    more = ", ..." if len(tree.ranks) > _MOST_NAMED_RANKS else ""
    return Page(
        kind="call-graph",
        title=tree.title,
        facts=(f"rank{'' if len(tree.ranks) == 1 else 's'} {named}{more}",),
        sections=(call_graph_section(tree, weight),),
        warnings=tree.warnings,
        written=written_now(),
        remark="Times are inclusive unless said otherwise.",
    )


def chart(figure: Figure) -> Section:
    """One figure to be put into a tab of its own data; its title is the tab's."""
    return chart_section("chart", "", [figure], framed=False)


def chart_section(name: str, title: str, figures: Sequence[Figure], framed: bool = True) -> Section:
    """Figures to point at, zoom and move, as a tab."""
    card = Markup('<section class="card">{}</section>' if framed else "{}")
    body = Markup("").join(card.format(Markup(charts.part_of_page(figure))) for figure in figures)
    data = {key: Markup(text) for key, text in charts.library().items()}
    return Section(name, title, body, ("charts",), data)


def write_tables(
    file: Path, question: str, machine: str, tables: Iterable[Table], figures: Sequence[Figure]
) -> None:
    """Writes the page of a benchmark that has tables and figures of its own."""
    charts = chart_section("figures", "Figures", figures) if figures else None
    write(file, tables_page("bench", question, [machine], list(tables), charts, written_now()))
