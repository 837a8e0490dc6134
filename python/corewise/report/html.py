"""A report as one web page that needs nothing else.

Styles, script and pictures are inside; no request leaves it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from numpy.typing import NDArray

from corewise import __version__
from corewise.analysis.placement.comparison import PlacementStudy
from corewise.analysis.placement.links import link_loads
from corewise.analysis.profile.tables import ProfileAnalysis, matrix_blocks
from corewise.data.quantities import bytes_text, count_text, share_text, size_range_text, time_text
from corewise.report import svg
from corewise.report.terminal import library_text, reasons_text

MOST_CELLS = 64
"""Of a heat map's side; more ranks are summed into blocks."""
DrawMatrix = Callable[[NDArray[Any], int, int, str], str]
"""Draws cells, with the ranks per cell side and of the whole matrix, and what they are; returns SVG."""
DEPTHS = 5
"""Of a heat map's colours, ``v1`` to ``v5`` in the style sheet."""
MOST_ROWS = 400
"""Of a table: ranks beyond are left out and counted."""

_KINDS = (
    ("sent", "point-to-point", "bytes sent, as observed"),
    ("collective", "collectives", "bytes of collectives, as modelled (not observed)"),
    ("put", "one-sided put", "bytes put, as observed"),
    ("get", "one-sided get", "bytes fetched, as observed"),
)


@dataclass(frozen=True)
class _Heat:
    kind: str
    tab: str
    caption: str
    picture: Markup
    least: str
    most: str


def page(
    analysis: ProfileAnalysis, draw: DrawMatrix, study: PlacementStudy | None, placement_note: str = ""
) -> str:
    """The whole page as HTML text.

    Parameters
    ----------
    analysis : ProfileAnalysis
        What to show.
    draw : callable
        Draws a matrix: pictures belong to `corewise.plots`.
    study : PlacementStudy or None
        Placements on a machine, if one was given and there is anything to place.
    placement_note : str
        What the placements leave out, or why there are none.
    """
    environment = Environment(
        loader=PackageLoader("corewise.report"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        size=bytes_text,
        library=library_text,
        reasons=reasons_text,
        time=time_text,
        count=count_text,
        share=share_text,
        sizerange=lambda row: size_range_text(*row),
    )
    return environment.get_template("report.html.j2").render(
        a=analysis,
        meta=analysis.profile.meta,
        title=" ".join(analysis.profile.meta.program) or analysis.profile.name,
        heats=_heats(analysis, draw),
        study=study,
        placement_note=placement_note,
        machines=_machines(study),
        ranks=analysis.ranks[:MOST_ROWS],
        hidden_ranks=max(0, len(analysis.ranks) - MOST_ROWS),
        most_messages=max((row.messages for row in analysis.sizes), default=0) or 1,
        most_calls=max((row.collective_calls for row in analysis.sizes), default=0) or 1,
        version=__version__,
        written=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        depths=range(1, DEPTHS + 1),
        levels=range(1, svg.LEVELS + 1),
    )


def _heats(analysis: ProfileAnalysis, draw: DrawMatrix) -> list[_Heat]:
    """A heat map per kind of traffic that happened; the point-to-point one always."""
    found = []
    for kind, tab, caption in _KINDS:
        cells, block = matrix_blocks(analysis.world, kind, MOST_CELLS)
        used = cells[cells > 0]
        if kind != "sent" and used.size == 0:
            continue
        unit = "" if block == 1 else f"; one cell sums {block}x{block} ranks"
        picture = draw(cells, block, analysis.world.size, caption)
        least, most = (int(used.min()), int(used.max())) if used.size else (0, 0)
        found.append(_Heat(kind, tab, caption + unit, Markup(picture), bytes_text(least), bytes_text(most)))
    return found


def _machines(study: PlacementStudy | None) -> tuple[Markup, ...]:
    """The machine with the best placement, and with what it is compared with, on one colour scale."""
    if study is None:
        return ()
    loads = link_loads(study)
    busiest_ns = max((busy for load in loads for busy in load.busy_ns), default=0.0)
    return tuple(Markup(svg.machine(study.machine, part, busiest_ns)) for part in (loads[:1], loads[1:]))
