"""`corewise place`: the rank-to-unit placement that communicates fastest, and how much it gains.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from corewise._core import Pattern
from corewise.analysis import applied
from corewise.analysis.placement import OBJECTIVES, PlacementRow, PlacementStudy, study_placements
from corewise.cli import console
from corewise.data.export import FORMS, RANK_FILE_FORM, Export, export_placement, is_rank_file
from corewise.data.files import check_target, read_text, write_text
from corewise.data.machines import HOST, load_machine
from corewise.data.patterns import is_profile, load_pattern_and_collectives
from corewise.data.placement import make_placement, save_placement
from corewise.errors import InputError
from corewise.mpi import apply as runs
from corewise.plots.heatmap import bytes_text
from corewise.plots.machines import drawing

_HELP = """Finds the placement of ranks on a machine's units that communicates fastest.

Takes a pattern (.json, .csv, .mtx) or a profile NAME.cw. Compares the best placement with rank order
(identity), the median of random ones, and the worst. Up to eight ranks, on machines with about as many
units, the best is proven; else it is what a search found. The output says which.

\b
Example:
  corewise patterns make ring ranks=8 -o ring.json
  corewise place ring.json --machine cell-be -o best.json
or bind the ranks of an MPI program on this host:
  $(corewise place ring.json --machine host --export mpich) ./program
"""
_MACHINE = typer.Option(
    ..., "--machine", "-m", metavar="MACHINE", help="Name, file, `host`, or synthetic text."
)
_OBJECTIVE = typer.Option(OBJECTIVES[0], "--objective", help=f"What to minimise: {' or '.join(OBJECTIVES)}.")
_OUTPUT = typer.Option(None, "--output", "-o", metavar="FILE", help="Write the best placement as JSON.")
_EXPORT = typer.Option(
    None, "--export", metavar="FORM", help=f"Print the launcher's part of a command line: {', '.join(FORMS)}."
)
_EXPORT_FILE = typer.Option(
    None, "--export-file", metavar="FILE", help="Where openmpi-rankfile writes its file (rankfile)."
)
_SUMMED = typer.Option(False, "--summed", help="Take all phases as one.")
_SEED = typer.Option(1, "--seed", min=0, max=2**64 - 1, help="Of the search and of the random placements.")
_APPLY = typer.Option(False, "--apply", help="Run the profiled program under each placement and time it.")
_ROUNDS = typer.Option(None, "--rounds", min=2, help="With --apply: runs of each placement (9).")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")

ROUNDS = 9
"""Runs of each placement, unless the user says."""
SHOWN_UNITS = 4
"""Units of a row where the table would not fit with all; all of them then stand below it."""
_Show = Callable[..., None]


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
    export_file: Path | None = _EXPORT_FILE,
    summed: bool = _SUMMED,
    seed: int = _SEED,
    apply: bool = _APPLY,
    rounds: int | None = _ROUNDS,
    as_json: bool = _AS_JSON,
) -> None:
    """Finds the best placement."""
    rank_file = _checked_export(export_form, export_file)
    if output is not None:
        check_target(output)
    _check_apply(apply, rounds, source)
    machine = load_machine(machine_reference)
    with console.progress("searching placements"):
        pattern, collectives = load_pattern_and_collectives(source)
        _check_messages(pattern, collectives, source)
        study = study_placements(_phases(pattern, summed), machine, objective, seed, str(source))
    export = _write(study, output, export_form, rank_file)
    on_host = machine_reference == HOST
    times = _apply(study, source, on_host, rounds or ROUNDS) if apply else []
    if as_json:
        measured = {"applied": [row.row() for row in times]} if apply else {}
        more = {**_more(study, on_host, export), "collective_bytes": collectives or 0}
        console.show_json("place", machine.name, _rows(study), **more, **measured)
        return
    # A script reads the launcher's line: it is then alone on standard output.
    show = console.show if export is None else console.show_aside
    _show(show, study, on_host, collectives or 0)
    for written in (output, rank_file if export is not None and export.needs_file else None):
        if written is not None:
            show(f"written to {written}")
    if apply:
        _show_times(show, times)
    if export is not None:
        console.show_text(" ".join([export.program, *export.arguments]))


def _checked_export(form: str | None, file: Path | None) -> Path:
    """Where a rank file goes, as a path that holds wherever the launcher is started."""
    if form is not None and form not in FORMS:
        raise InputError(f"export '{form}' is unknown, allowed: {', '.join(FORMS)}")
    if file is not None and form != RANK_FILE_FORM:
        raise InputError(
            f"--export-file: found without a rank file, allowed: only with --export {RANK_FILE_FORM}"
        )
    path = Path(file or "rankfile").absolute()
    if form == RANK_FILE_FORM:
        check_target(path)
        if path.is_file() and not is_rank_file(read_text(path)):
            raise InputError(f"{path}: found a file that is no rank file, allowed: a new file or a rank file")
    return path


def _check_apply(apply: bool, rounds: int | None, source: Path) -> None:
    if rounds is not None and not apply:
        raise InputError(f"--rounds {rounds}: found without --apply, allowed: only with --apply")
    if apply and source.exists() and not is_profile(source):
        raise InputError(
            f"{source}: --apply needs a profile recorded with corewise run; found a pattern file"
        )


def _check_messages(pattern: Pattern, collectives: int | None, source: Path) -> None:
    """Refuses a profile whose every placement costs nothing: a proof that the best is zero says nothing."""
    if collectives is None or pattern.coordinates()[2].any():
        return
    left_out = f"; {_count(collectives)} bytes of collectives are not considered" if collectives else ""
    raise InputError(f"{source}: no point-to-point messages: nothing to place{left_out}")


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


def _show_times(show: _Show, rows: list[applied.AppliedRow]) -> None:
    table = Table("placement", "median s", "spread s", "default / this", "runs")
    for row in rows:
        table.add_row(row.which, f"{row.median_s:.3f}", f"{row.spread_s:.3f}", f"{row.ratio:.3f}", str(row.n))
    title = Text("measured on this host, wall time of the whole launch, interleaved", style="bold")
    show("", title, table, applied.verdict(rows))


def _phases(pattern: Pattern, summed: bool) -> Pattern:
    return pattern.summed() if summed else pattern


def _write(study: PlacementStudy, output: Path | None, form: str | None, rank_file: Path) -> Export | None:
    placement = make_placement(study.machine, study.best.unit_of_rank)
    export = export_placement(form, study.machine, placement, str(rank_file)) if form else None
    if output is not None:
        save_placement(placement, output)
    if export is not None and export.needs_file:
        write_text(rank_file, export.text)
    return export


def _show(show: _Show, study: PlacementStudy, on_host: bool, collectives: int) -> None:
    show(_heading(study, on_host), *_tables(study))
    show(f"best: {study.statement}")
    if not study.worst_proven:
        show("worst: not proven, the worst that a search found")
    if collectives:
        show(f"{_count(collectives)} bytes of collectives are not in the placement")
    rank_of_unit = {unit: rank for rank, unit in enumerate(study.best.unit_of_rank)}
    show("", Text("best placement", style="bold"), drawing(study.machine, rank_of_unit))


def _count(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _heading(study: PlacementStudy, on_host: bool) -> Text:
    text = Text(f"{study.pattern.name or 'pattern'} on {study.machine.name}", style="bold")
    text.append(
        f": {study.pattern.ranks} ranks on {len(study.machine.units)} units, {_label(on_host)}", style="none"
    )
    return text


def _label(on_host: bool) -> str:
    return (
        "link loads of this host as described, its speeds are nominal"
        if on_host
        else "prediction: this is not the machine at hand"
    )


def _tables(study: PlacementStudy) -> list[RenderableType]:
    """The table as wide as the terminal bears, and below it the units that it has no room for."""
    names = [[study.machine.units[unit].name for unit in row.unit_of_rank] for row in study.rows]
    whole = _table(study, [" ".join(units) for units in names])
    if console.fits(whole):
        return [whole]
    begun = [" ".join(units[:SHOWN_UNITS] + ["..."] * (len(units) > SHOWN_UNITS)) for units in names]
    narrower = (_table(study, begun), _table(study, None), _table(study, None, hop_bytes=False))
    table = next((each for each in narrower if console.fits(each)), narrower[-1])
    below = [f"{row.which}: {' '.join(units)}" for row, units in zip(study.rows, names, strict=True)]
    return [table, "units of rank 0, 1, ...", *below]


def _table(study: PlacementStudy, unit_lists: Sequence[str] | None, hop_bytes: bool = True) -> Table:
    table = Table("placement", "bottleneck ns", "load", "busiest link")
    columns = [
        ("hop-bytes", [str(row.hop_bytes) for row in study.rows] if hop_bytes else None),
        ("ratio", [f"{row.ratio:.3f}" for row in study.rows]),
        ("unit of rank 0, 1, ...", unit_lists),
    ]
    shown = [(heading, cells) for heading, cells in columns if cells is not None]
    for heading, _ in shown:
        table.add_column(heading)
    for index, row in enumerate(study.rows):
        table.add_row(
            _which(row, study),
            f"{row.bottleneck_ns:.6g}",
            bytes_text(row.bottleneck_bytes),
            _link(row, study),
            *(cells[index] for _, cells in shown),
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
