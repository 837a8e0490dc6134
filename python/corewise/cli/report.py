"""`corewise report`: what a profile says, in the terminal, as JSON, or as a web page.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from numpy.typing import NDArray
from rich.console import RenderableType

from corewise._core import Machine
from corewise.analysis.placement.comparison import PlacementStudy, Settings, study_placements
from corewise.analysis.placement.limits import LimitRules
from corewise.analysis.profile.accelerated import accelerated_rows
from corewise.analysis.profile.tables import analyse_profile, matrix_blocks, placement_scope
from corewise.base.files import check_target, write_text
from corewise.cli import console
from corewise.data.accelerate import load_accelerate
from corewise.data.machines import load_machine
from corewise.data.profile import load_profile
from corewise.data.quantities import bytes_text
from corewise.errors import InputError
from corewise.plots.heatmap import MOST_CELLS, heat_map
from corewise.plots.heatmap_svg import part_of_page
from corewise.plots.machines import drawing
from corewise.report import document, terminal
from corewise.report.html import page

_HELP = """Shows what a profile says: who talked to whom, in which pattern, where the time went.

With a machine it also says which placement of the ranks would communicate fastest there.

Example: `corewise run -n 8 -- ./lbm`, then
`corewise report lbm.cw --machine cell-be --html report.html`
"""
_MACHINE = typer.Option(
    None, "--machine", "-m", metavar="MACHINE", help="Name, file, `host`, or synthetic text."
)
_HTML = typer.Option(None, "--html", metavar="FILE", help="Also write one self-contained web page.")
_TOP = typer.Option(12, "--top", help="Rows of the longer tables.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")


def register(app: typer.Typer) -> None:
    """Adds `report`."""
    app.command("report", help=_HELP)(report)


def report(
    source: Path = typer.Argument(..., metavar="PROFILE", help="A NAME.cw folder."),
    machine_reference: str | None = _MACHINE,
    html_file: Path | None = _HTML,
    top: int = _TOP,
    as_json: bool = _AS_JSON,
) -> None:
    """Shows a profile."""
    if top < 1:
        raise InputError(f"--top: found {top}, allowed: 1 or more")
    if html_file is not None:
        check_target(html_file)
    machine = load_machine(machine_reference) if machine_reference is not None else None
    with console.progress("reading the profile"):
        analysis = analyse_profile(load_profile(source))
        analysis = replace(analysis, accelerated=accelerated_rows(load_accelerate(source)))
    study = None
    possible, left_out = placement_scope(analysis.world, machine)
    if machine is not None and possible:
        with console.progress("searching placements"):
            limits = LimitRules().on(machine, analysis.pattern.ranks)
            study = study_placements(analysis.pattern, machine, settings=Settings(limits=limits))
    if html_file is not None:
        note = left_out if machine is not None else ""
        write_text(html_file, page(analysis, draw_matrix, study, note))
    if as_json:
        name = machine.name if machine is not None else None
        rows = document.call_rows(analysis, top)
        console.show_json("report", name, rows, **document.fields(analysis, study, top, left_out))
    else:
        placement = _placement(study, machine, left_out)
        picture = heat_map(*matrix_blocks(analysis.world, "sent", MOST_CELLS))
        console.show(*terminal.render(analysis, top, picture, placement))
    if analysis.empty:
        console.warn(f"corewise: {source}: 0 events seen: the ranks started, but no MPI call was recorded")
    if html_file is not None:
        console.note(f"corewise: written to {html_file}")


def draw_matrix(cells: NDArray[Any], block: int, ranks: int, label: str) -> str:
    """The page's heat map."""
    return part_of_page(cells, block, ranks, label, bytes_text)


def _placement(study: PlacementStudy | None, machine: Machine | None, left_out: str) -> list[RenderableType]:
    if study is not None:
        rank_of_unit = {unit: rank for rank, unit in enumerate(study.best.unit_of_rank)}
        return terminal.placement_parts(study, drawing(study.machine, rank_of_unit), left_out)
    return terminal.no_placement(machine.name, left_out) if machine is not None else []
