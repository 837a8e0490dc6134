"""`corewise report`: what a profile says, in the terminal, as JSON, or as a web page.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from corewise.base import late, simulators
from corewise.base.files import check_target
from corewise.cli import console, pages
from corewise.cli.profile_page import PageOptions, profile_view
from corewise.cli.sweeps import READERS
from corewise.errors import InputError

with late.imports():
    from rich.console import RenderableType

    from corewise._core import Machine
    from corewise.analysis.placement.comparison import PlacementStudy, Settings, study_placements
    from corewise.analysis.placement.limits import LimitRules
    from corewise.analysis.profile.accelerated import accelerated_rows
    from corewise.analysis.profile.findings import findings_of, look_at
    from corewise.analysis.profile.tables import analyse_profile, matrix_blocks, placement_scope
    from corewise.base.executors import workers_from
    from corewise.data.accelerate import load_accelerate
    from corewise.data.events import parse_selection
    from corewise.data.machines import load_machine
    from corewise.data.profile import EVERY_RANK, load_profile
    from corewise.plots.heatmap import MOST_CELLS, heat_map
    from corewise.plots.machines import drawing
    from corewise.report import document, terminal
    from corewise.report.page import profile as profile_page
    from corewise.sim.replay import ideal_ns

_HELP = """Show what a profile says: findings first, then who talked to whom, and where the time went.

With a machine it also says which placement of the ranks would communicate fastest there.

The page of --html holds all of it to zoom and point at: a timeline of calls and messages, matrices,
waits, the call graph, collectives by size, and the machine with the loads of its links. Of a long run
it keeps the longest calls; --ranks, --from and --until choose a part, of which all may be kept.

\b
Example:
  corewise run -n 8 -- ./lbm
  corewise report lbm.cw --machine cell-be --html report.html
  corewise report lbm.cw --html step.html --ranks 0-3 --from 1.5s --until 1.6s
"""
_MACHINE = typer.Option(
    None, "--machine", "-m", metavar="MACHINE", help="Name, file, `host`, or synthetic text."
)
_HTML = typer.Option(None, "--html", metavar="FILE", help="Also write one self-contained web page.")
_RANKS = typer.Option(None, "--ranks", metavar="LIST", help="Of the page's timeline: 0-3,7.")
_FROM = typer.Option(None, "--from", metavar="TIME", help="Where the page's timeline begins, e.g. 1.5s.")
_UNTIL = typer.Option(None, "--until", metavar="TIME", help="Where it ends.")
_TUNING = typer.Option(
    None, "--accelerate-tuning", metavar="FILE", help="What the page advises on collectives by."
)
_TOP = typer.Option(12, "--top", help="Rows of the longer tables.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")


def register(app: typer.Typer) -> None:
    """Adds `report`."""
    app.command("report", help=_HELP)(report)


def report(
    source: Path = typer.Argument(..., metavar="PROFILE", help="A NAME.cw folder."),
    machine_reference: str | None = _MACHINE,
    html_file: Path | None = _HTML,
    ranks: str | None = _RANKS,
    begin: str | None = _FROM,
    until: str | None = _UNTIL,
    tuning: Path | None = _TUNING,
    executor: str | None = READERS,
    top: int = _TOP,
    as_json: bool = _AS_JSON,
) -> None:
    """Shows a profile."""
    if top < 1:
        raise InputError(f"--top: found {top}, allowed: 1 or more")
    asked = _page_options(html_file, ranks, begin, until, tuning, machine_reference)
    machine = load_machine(machine_reference) if machine_reference is not None else None
    with workers_from(executor) as workers, console.progress("reading the profile"):
        calls = None if asked is None else EVERY_RANK
        analysis = analyse_profile(load_profile(source, calls, waits=True, workers=workers))
        analysis = replace(analysis, accelerated=accelerated_rows(load_accelerate(source)))
    study = None
    possible, left_out = placement_scope(analysis.world, machine)
    if machine is not None and possible:
        with console.progress("searching placements"):
            limits = LimitRules().on(machine, analysis.pattern.ranks)
            study = study_placements(analysis.pattern, machine, settings=Settings(limits=limits))
    with console.progress("replaying the profile on the ideal machine"):
        ideal = ideal_ns(source)
    if said := simulators.missing():
        console.note(f"corewise: {source}: not replayed on the ideal machine: {said}")
    run = look_at(analysis.profile, study=study, analysis=analysis, ideal_ns=ideal)
    findings = findings_of(run)
    if asked is not None:
        note = left_out if machine is not None else ""
        view = profile_view(source, run, machine, asked)
        pages.write(asked.file, profile_page.page(replace(view, findings=findings, placement_note=note)))
    if as_json:
        name = machine.name if machine is not None else None
        rows = document.call_rows(analysis, top)
        console.show_json("report", name, rows, **document.fields(analysis, findings, study, top, left_out))
    else:
        placement = _placement(study, machine, left_out)
        picture = heat_map(*matrix_blocks(analysis.world, "sent", MOST_CELLS))
        console.show(*terminal.render(analysis, findings, top, picture, placement))
    if analysis.empty:
        console.warn(f"corewise: {source}: 0 events seen: the ranks started, but no MPI call was recorded")
    if asked is not None:
        console.note(f"corewise: written to {asked.file}")


def _page_options(
    file: Path | None,
    ranks: str | None,
    begin: str | None,
    until: str | None,
    tuning: Path | None,
    machine: str | None,
) -> PageOptions | None:
    """None where no page is asked for: then nothing may be asked of it."""
    if file is not None:
        check_target(file, [machine, tuning])
        return PageOptions(file, parse_selection(ranks, None, begin, until), tuning)
    for name, value in (
        ("--ranks", ranks), ("--from", begin), ("--until", until), ("--accelerate-tuning", tuning),
    ):  # fmt: skip
        if value is not None:
            raise InputError(f"{name}: found '{value}' without --html, allowed: with --html FILE")
    return None


def _placement(study: PlacementStudy | None, machine: Machine | None, left_out: str) -> list[RenderableType]:
    if study is not None:
        rank_of_unit = {unit: rank for rank, unit in enumerate(study.best.unit_of_rank)}
        return terminal.placement_parts(study, drawing(study.machine, rank_of_unit), left_out)
    return terminal.no_placement(machine.name, left_out) if machine is not None else []
