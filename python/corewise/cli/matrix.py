"""`corewise matrix`: who sends how much to whom, by bytes, count or time, and over which level.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from corewise.base import late
from corewise.base.files import check_ending, check_target, write_text
from corewise.cli import console
from corewise.cli.sweeps import READERS
from corewise.errors import InputError

with late.imports():
    from rich.console import RenderableType
    from rich.text import Text

    from corewise.analysis.profile.cells import Cells, matrix_cells
    from corewise.analysis.profile.levels import (
        LEVELS,
        LevelRow,
        RankPlaces,
        level_rows,
        pair_levels,
        rank_places,
    )
    from corewise.analysis.profile.matrix import (
        PhysicalComparison,
        TrafficMatrix,
        build_matrix,
        compare_physical,
        heavy_paths,
    )
    from corewise.base.executors import workers_from
    from corewise.data.machines import load_machine
    from corewise.data.monitoring import load_monitoring
    from corewise.data.profile import Profile, load_profile
    from corewise.data.quantities import share_text
    from corewise.plots.heatmap import MOST_CELLS, heat_map
    from corewise.plots.heatmap_svg import MOST_CELLS as MOST_SVG_CELLS
    from corewise.plots.heatmap_svg import LevelLegend, Picture, matrix_svg
    from corewise.report import matrix as tables
    from corewise.report.layout import Hanging

_HELP = """Show the communication matrix of a profile: rows send, columns receive.

--traffic sent, received, put, get and observed (sent, put and get) is what ranks were seen to do. collective
is a model of who needs whose bytes: below PMPI nothing is seen. Its physical counterpart comes from Open
MPI's own counters (--physical), and stands beside it.

--heavy 0.8 keeps the fewest pairs that carry 80 % of the volume, --heavy 20 the 20 heaviest, and in both
cases every pair as heavy as the lightest of them.

--level colours pairs by how near they are, down to core complexes, sockets, or nodes; with network only what
crosses it stands out. A rank that was not bound within one core complex is told apart only as far as its
affinity mask goes.

\b
Example:
  corewise matrix solver.cw --by time --phase solve
  corewise matrix lbm.cw --heavy 0.9 --level core-complex --machine nodes.toml --svg heavy.svg
  corewise matrix lbm.cw --physical /tmp/counters
"""
_BY = typer.Option("bytes", "--by", metavar="QUANTITY", help="bytes, count or time.")
_TRAFFIC = typer.Option(
    None,
    "--traffic",
    metavar="KIND",
    help="sent, received, collective, put, get, or observed. [default: sent]",
)
_PHASE = typer.Option(None, "--phase", metavar="NAME", help="Only this phase; '' before the first.")
_COMM = typer.Option(None, "--comm", metavar="NAME", help="Only communicators of this name.")
_HEAVY = typer.Option(None, "--heavy", metavar="SHARE|N", help="Heavy paths only.")
_LEVEL = typer.Option(
    None,
    "--level",
    metavar="LEVEL",
    help="Colour by core-complex, socket, node or network: the finest told apart.",
)
_MACHINE = typer.Option(
    None,
    "--machine",
    "-m",
    metavar="MACHINE",
    help="What a node looks like; this host where the run was here.",
)
_PHYSICAL = typer.Option(
    None, "--physical", metavar="FILES", help="Open MPI's counters: PREFIX, folder or file; may be repeated."
)
_SVG = typer.Option(None, "--svg", metavar="FILE", help="Also write a picture.")
_CSV = typer.Option(None, "--csv", metavar="FILE", help="Also write every pair as CSV.")
_TOP = typer.Option(10, "--top", help="Pairs in the table.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")


def register(app: typer.Typer) -> None:
    """Adds `matrix`."""
    app.command("matrix", help=_HELP)(matrix)


def matrix(
    source: Path = typer.Argument(..., metavar="PROFILE", help="A NAME.cw folder."),
    by: str = _BY,
    traffic: str | None = _TRAFFIC,
    phase: str | None = _PHASE,
    comm: str | None = _COMM,
    heavy: str | None = _HEAVY,
    level: str | None = _LEVEL,
    machine: str | None = _MACHINE,
    physical: list[str] = _PHYSICAL,
    svg: Path | None = _SVG,
    csv: Path | None = _CSV,
    executor: str | None = READERS,
    top: int = _TOP,
    as_json: bool = _AS_JSON,
) -> None:
    """Shows a matrix."""
    if top < 1:
        raise InputError(f"--top: found {top}, allowed: 1 or more")
    check_ending(svg, ".svg")
    for target in (svg, csv):
        if target is not None:
            check_target(target, [machine])
    with workers_from(executor) as workers, console.progress("reading the profile"):
        profile = load_profile(source, workers=workers)
    if physical:
        _refuse_with_physical(phase=phase, comm=comm, heavy=heavy, level=level, machine=machine)
        if traffic not in (None, "collective"):
            raise InputError(f"--traffic: found '{traffic}', allowed with --physical: collective")
        counted = load_monitoring(physical, profile.world.size)
        _show_physical(profile, compare_physical(profile.world, counted, by), svg, csv, top, as_json)
        return
    whole = build_matrix(profile.world, traffic or "sent", by, phase, comm)
    kept, statement = whole, ""
    if heavy is not None:
        chosen = heavy_paths(whole, heavy)
        kept, statement = whole.only(chosen.kept), chosen.statement
    shape = load_machine(machine) if machine is not None else None
    places = rank_places(profile.world, shape, lambda: load_machine("host"))
    view = _View(profile, kept, places, level, statement)
    if svg is not None:
        write_text(svg, matrix_svg(view.picture()))
    if csv is not None:
        write_text(csv, tables.rows_csv(tables.pair_rows(kept, view.levels), tables.COLUMNS))
    if as_json:
        console.show_json("matrix", places.machine, tables.pair_rows(kept, view.levels), **view.fields())
    else:
        console.show(*view.parts(top))
    _say_written(svg, csv)


def _say_written(*files: Path | None) -> None:
    for file in files:
        if file is not None:
            console.note(f"corewise: written to {file}")


def _refuse_with_physical(**options: str | None) -> None:
    for name, value in options.items():
        if value is not None:
            raise InputError(
                f"--{name}: not with --physical: Open MPI's counters are sums over the whole run"
            )


class _View:
    """One matrix with its levels, ready to be shown in any form."""

    def __init__(
        self, profile: Profile, matrix: TrafficMatrix, places: RankPlaces, level: str | None, statement: str
    ) -> None:
        self.profile = profile
        self.matrix = matrix
        self.places = places
        self.coloured = level is not None
        self.statement = statement
        self.finest = level or "core-complex"
        self.levels = pair_levels(places, matrix, self.finest)
        self.rows = level_rows(matrix, self.levels, places, self.finest)
        self.text = tables.quantity_text(matrix.by)

    def notes(self) -> list[str]:
        """What a reader has to know about the picture."""
        notes = [self.statement, self.places.note if self.finest in ("core-complex", "socket") else ""]
        if self.places.unbound:
            ranks = len(self.places.unbound)
            which = (
                "all ranks are" if ranks == self.matrix.ranks else f"{ranks} of {self.matrix.ranks} ranks are"
            )
            notes.append(f"{which} unbound: they could run on every core of their node")
        return [note for note in notes if note]

    def cells(self, most: int) -> Cells:
        """The matrix as a table."""
        return matrix_cells(self.matrix, most, self.levels if self.coloured else None, self.places)

    def parts(self, top: int) -> list[RenderableType]:
        """For the terminal."""
        cells = self.cells(MOST_CELLS)
        node_of = cells.node if len(set(cells.node)) > 1 else ()
        parts: list[RenderableType] = [
            heat_map(cells.values, cells.block, self.matrix.title, self.text, cells.levels, LEVELS, node_of)
        ]
        parts += [Hanging("! ", Text(note, style="yellow")) for note in self.notes()]
        if self.rows:
            parts += ["", tables.level_table(self.rows, self.matrix.by)]
            parts += ["", tables.pair_table(self.matrix, self.levels, top)]
        return parts

    def picture(self) -> Picture:
        """For an SVG file."""
        cells = self.cells(MOST_SVG_CELLS)
        ranks = f"{self.matrix.ranks} ranks, {len(self.places.nodes)} node" + "s" * (
            len(self.places.nodes) != 1
        )
        unit = "" if cells.block == 1 else f", one cell sums {cells.block}x{cells.block} ranks"
        program = " ".join(self.profile.meta.program) or self.profile.name
        return Picture(
            cells.values, cells.levels, cells.block, cells.ranks, cells.node, cells.core_complex,
            self.places.nodes, program, f"{self.matrix.title}; {ranks}{unit}", self.text,
            [_legend(row) for row in self.rows] if self.coloured else [], self.notes(),
        )  # fmt: skip

    def fields(self) -> dict[str, object]:
        """For JSON, beside the rows."""
        return {
            "profile": str(self.profile.path),
            "ranks": self.matrix.ranks,
            "traffic": self.matrix.traffic,
            "observed": self.matrix.traffic != "collective",
            "by": self.matrix.by,
            "phase": self.matrix.phase,
            "communicator": self.matrix.comm,
            "phases": list(self.profile.world.phases),
            "heavy": self.statement or None,
            "levels": [asdict(row) for row in self.rows],
            "unbound": list(self.places.unbound),
            "nodes": list(self.places.nodes),
            "notes": self.notes(),
        }


def _legend(row: LevelRow) -> LevelLegend:
    return LevelLegend(LEVELS.index(row.level), row.level, row.meaning, share_text(row.share))


# ---- logical and physical --------------------------------------------------------------------------------

_PHYSICAL_COLUMNS = (
    "sender", "receiver", "logical_bytes", "logical_messages", "physical_bytes", "physical_messages",
)  # fmt: skip


def _show_physical(
    profile: Profile, found: PhysicalComparison, svg: Path | None, csv: Path | None, top: int, as_json: bool
) -> None:
    rows: list[dict[str, object]] = [asdict(pair) for pair in found.pairs]
    titles = ("logical: a model of who needs whose bytes", "physical: what Open MPI sent for itself")
    text = tables.quantity_text(found.logical.by)
    both = list(zip((found.logical, found.physical), titles, strict=True))
    if svg is not None:
        pictures = []
        for each, title in both:
            cells = matrix_cells(each, MOST_SVG_CELLS)
            pictures.append(
                Picture(cells.values, None, cells.block, cells.ranks, (), (), (), title, profile.name, text)
            )
        write_text(svg, matrix_svg(*pictures))
    if csv is not None:
        write_text(csv, tables.rows_csv(rows, _PHYSICAL_COLUMNS))
    if as_json:
        fields: dict[str, object] = {
            "profile": str(profile.path),
            "agreement": found.agreement,
            "notes": list(found.notes),
        }
        console.show_json("matrix", None, rows, **fields)
    else:
        parts: list[RenderableType] = []
        for each, title in both:
            cells = matrix_cells(each, MOST_CELLS)
            parts += [heat_map(cells.values, cells.block, f"collectives, {title}", text), ""]
        parts += [tables.physical_table(found, top), Hanging("", Text(found.agreement, style="dim"))]
        parts += [Hanging("! ", Text(note, style="yellow")) for note in found.notes]
        console.show(*parts)
    _say_written(svg, csv)
