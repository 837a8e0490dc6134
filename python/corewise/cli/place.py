"""`corewise place`: the rank-to-unit placement that communicates fastest, and how much it gains.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

from corewise._core import Pattern
from corewise.analysis import applied
from corewise.analysis.placement import OBJECTIVES, PlacementRow, PlacementStudy, study_placements
from corewise.cli import console
from corewise.data.export import FORMS, Export, export_placement
from corewise.data.files import write_text
from corewise.data.machines import HOST, load_machine
from corewise.data.patterns import load_pattern_or_profile
from corewise.data.placement import make_placement, save_placement
from corewise.errors import InputError
from corewise.mpi import apply as runs
from corewise.plots.heatmap import bytes_text
from corewise.plots.machines import drawing

_HELP = """Finds the placement of ranks on a machine's units that communicates fastest.

Takes a pattern (.json, .csv, .mtx) or a profile NAME.cw. Compares the best placement with rank order
(identity), the median of random ones, and the worst. Up to eight ranks the best is proven; beyond, it is
what a search found.

\b
Example:
  corewise patterns make ring ranks=8 -o ring.json
  corewise place ring.json --machine cell-be -o best.json
or bind the ranks of an MPI program on this host:
  corewise place ring.json --machine host --export mpich
"""
_MACHINE = typer.Option(
    ..., "--machine", "-m", metavar="MACHINE", help="Name, file, `host`, or synthetic text."
)
_OBJECTIVE = typer.Option(OBJECTIVES[0], "--objective", help=f"What to minimise: {' or '.join(OBJECTIVES)}.")
_OUTPUT = typer.Option(None, "--output", "-o", metavar="FILE", help="Write the best placement as JSON.")
_EXPORT = typer.Option(
    None, "--export", metavar="FORM", help=f"Print launcher arguments: {', '.join(FORMS)}."
)
_EXPORT_FILE = typer.Option(
    "rankfile", "--export-file", metavar="FILE", help="Where openmpi-rankfile writes its file."
)
_SUMMED = typer.Option(False, "--summed", help="Take all phases as one.")
_SEED = typer.Option(1, "--seed", min=0, max=2**64 - 1, help="Of the search and of the random placements.")
_APPLY = typer.Option(False, "--apply", help="Run the profiled program under each placement and time it.")
_ROUNDS = typer.Option(9, "--rounds", min=2, help="With --apply: runs of each placement.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")


def register(app: typer.Typer) -> None:
    """Adds `place`."""
    app.command("place", help=_HELP)(place)


def place(
    source: Path = typer.Argument(
        ..., metavar="PATTERN_OR_PROFILE", help="A pattern file or a NAME.cw directory."
    ),
    machine_reference: str = _MACHINE,
    objective: str = _OBJECTIVE,
    output: Path | None = _OUTPUT,
    export_form: str | None = _EXPORT,
    export_file: str = _EXPORT_FILE,
    summed: bool = _SUMMED,
    seed: int = _SEED,
    apply: bool = _APPLY,
    rounds: int = _ROUNDS,
    as_json: bool = _AS_JSON,
) -> None:
    """Finds the best placement."""
    if export_form is not None and export_form not in FORMS:
        raise InputError(f"export '{export_form}' is unknown, allowed: {', '.join(FORMS)}")
    machine = load_machine(machine_reference)
    with console.progress("searching placements"):
        pattern = load_pattern_or_profile(source)
        study = study_placements(_phases(pattern, summed), machine, objective, seed, str(source))
    export = _write(study, output, export_form, export_file)
    on_host = machine_reference == HOST
    times = _apply(study, source, on_host, rounds) if apply else []
    if as_json:
        measured = {"applied": [row.row() for row in times]} if apply else {}
        console.show_json("place", machine.name, _rows(study), **_more(study, on_host, export), **measured)
        return
    _show(study, on_host, output, export, export_file)
    if apply:
        _show_times(times)


def _apply(study: PlacementStudy, profile: Path, on_host: bool, rounds: int) -> list[applied.AppliedRow]:
    """Runs the profiled program under every row of the study."""
    if not on_host:
        raise InputError(
            f"--apply: found machine '{study.machine.name}', allowed: host (the machine at hand)"
        )
    program, ranks, mpi = runs.recorded_program(profile)
    distinct = applied.merge_equal({row.which: row.unit_of_rank for row in study.rows})
    bindings = {
        applied.DEFAULT: _unbound,
        **{name: _binding(study, units) for name, units in distinct.items()},
    }
    with console.progress(f"running {len(bindings)} placements {rounds} times"):
        return applied.summarise(runs.time_placements(program, ranks, mpi, bindings, rounds))


def _unbound(family: str, folder: Path) -> tuple[str, ...]:
    return ()


def _binding(study: PlacementStudy, unit_of_rank: Sequence[int]) -> runs.Binding:
    placement = make_placement(study.machine, tuple(unit_of_rank))

    def arguments(family: str, folder: Path) -> tuple[str, ...]:
        form = "openmpi-pelist" if family == "openmpi" else "mpich"
        return export_placement(form, study.machine, placement, str(folder / "rankfile")).arguments

    return arguments


def _show_times(rows: list[applied.AppliedRow]) -> None:
    table = Table("placement", "median s", "spread s", "default / this", "runs")
    for row in rows:
        table.add_row(row.which, f"{row.median_s:.3f}", f"{row.spread_s:.3f}", f"{row.ratio:.3f}", str(row.n))
    title = Text("measured on this host, wall time of the whole launch, interleaved", style="bold")
    console.show("", title, table, applied.verdict(rows))


def _phases(pattern: Pattern, summed: bool) -> Pattern:
    return pattern.summed() if summed else pattern


def _write(study: PlacementStudy, output: Path | None, form: str | None, export_file: str) -> Export | None:
    placement = make_placement(study.machine, study.best.unit_of_rank)
    export = export_placement(form, study.machine, placement, export_file) if form else None
    if output is not None:
        save_placement(placement, output)
    if export is not None and export.needs_file:
        write_text(Path(export_file), export.text)
    return export


def _show(
    study: PlacementStudy, on_host: bool, output: Path | None, export: Export | None, export_file: str
) -> None:
    console.show(_heading(study, on_host), _table(study), f"best: {study.statement}")
    if not study.worst_proven:
        console.show("worst: not proven, the worst that a search found")
    rank_of_unit = {unit: rank for rank, unit in enumerate(study.best.unit_of_rank)}
    console.show("", Text("best placement", style="bold"), drawing(study.machine, rank_of_unit))
    if output is not None:
        console.show(f"written to {output}")
    if export is not None:
        if export.needs_file:
            console.show(f"written to {export_file}")
        console.show_text(f"\n{export.program} {' '.join(export.arguments)} PROGRAM")


def _heading(study: PlacementStudy, on_host: bool) -> Text:
    text = Text(f"{study.pattern.name or 'pattern'} on {study.machine.name}", style="bold")
    text.append(
        f": {study.pattern.ranks} ranks on {len(study.machine.units)} units, {_label(on_host)}", style="none"
    )
    return text


def _label(on_host: bool) -> str:
    return (
        "link loads of this host as described" if on_host else "prediction: this is not the machine at hand"
    )


def _table(study: PlacementStudy) -> Table:
    table = Table(
        "placement", "bottleneck ns", "load", "busiest link", "hop-bytes", "ratio", "unit of rank 0, 1, ..."
    )
    for row in study.rows:
        units = " ".join(study.machine.units[unit].name for unit in row.unit_of_rank)
        table.add_row(
            _which(row, study),
            f"{row.bottleneck_ns:.6g}",
            bytes_text(row.bottleneck_bytes),
            _link(row, study),
            str(row.hop_bytes),
            f"{row.ratio:.3f}",
            units,
        )
    return table


def _which(row: PlacementRow, study: PlacementStudy) -> str:
    proven = {"best": study.proven_optimal, "worst": study.worst_proven}.get(row.which, False)
    names = {"random": "random (median)", "identity": "identity (rank order)"}
    return f"{names.get(row.which, row.which)}{' (proven)' if proven else ''}"


def _link(row: PlacementRow, study: PlacementStudy) -> str:
    if row.bottleneck_link is None:
        return "none"
    phase = f" in {row.bottleneck_phase}" if len(study.pattern.phases) > 1 else ""
    return row.bottleneck_link + phase


def _rows(study: PlacementStudy) -> list[dict[str, object]]:
    return [
        {
            "placement": row.which,
            "bottleneck_ns": row.bottleneck_ns,
            "bottleneck_bytes": row.bottleneck_bytes,
            "bottleneck_link": row.bottleneck_link,
            "bottleneck_phase": row.bottleneck_phase,
            "hop_bytes": row.hop_bytes,
            "ratio": row.ratio,
            "unit_of_rank": list(row.unit_of_rank),
            "units": [study.machine.units[unit].name for unit in row.unit_of_rank],
        }
        for row in study.rows
    ]


def _more(study: PlacementStudy, on_host: bool, export: Export | None) -> dict[str, object]:
    more: dict[str, object] = {
        "pattern": study.pattern.name,
        "ranks": study.pattern.ranks,
        "objective": study.objective,
        "prediction": not on_host,
        "proven_optimal": study.proven_optimal,
        "worst_proven": study.worst_proven,
        "statement": study.statement,
        "symmetry_order": study.symmetry_order,
    }
    if export is not None:
        more["export"] = {
            "form": export.form,
            "program": export.program,
            "arguments": list(export.arguments),
            "text": export.text,
        }
    return more
