"""How objects show themselves in a notebook: what the terminal shows, a table, or a picture.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import html
import io
from collections.abc import Iterable, Sequence

from rich.console import Console, RenderableType

_WIDTH = 100


def terminal_text(*renderables: RenderableType) -> str:
    """What a terminal of 100 columns would show, without colour."""
    console = Console(file=io.StringIO(), width=_WIDTH, color_system=None, force_terminal=False)
    with console.capture() as captured:
        for renderable in renderables:
            console.print(renderable, markup=False, highlight=False)
    return captured.get()


def preformatted(text: str) -> str:
    """Text as it is, in HTML."""
    return f"<pre>{html.escape(text.rstrip())}</pre>"


def paragraph(text: str) -> str:
    """A line of text, in HTML."""
    return f"<p>{html.escape(text)}</p>"


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Cells as texts, in HTML."""
    head = "".join(f"<th>{html.escape(each)}</th>" for each in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
