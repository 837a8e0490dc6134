"""`corewise replay`: a recorded run once more, on any machine with any placement.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import typer

from corewise.base import late
from corewise.base.files import check_target
from corewise.cli import console, pages
from corewise.cli.message_costs import Tables, tables_for
from corewise.cli.sim import options
from corewise.errors import InputError, bad_field

with late.imports():
    from rich.text import Text

    from corewise import _lab
    from corewise._core import Machine, parse_time_ns
    from corewise.analysis.result import Table
    from corewise.data.machines import HOST, load_machine
    from corewise.data.placement import Placement, make_placement, save_placement
    from corewise.data.quantities import bytes_text, count_text, share_text, time_text
    from corewise.report.layout import Column, by_rows
    from corewise.sim.placements import named_placement, placement_names
    from corewise.sim.replay import (
        Replay,
        ReplayedPart,
        ReplayOptions,
        algorithms,
        open_recording,
        replay,
        with_range,
    )
    from corewise.trials.replaying import placements_by_replay

_HELP = """Run a recorded program again on a machine: what would it take there, and with which placement?

The time between two MPI calls of a rank passes as it was recorded, multiplied by --computation. Messages
travel over the machine's simulated network, collectives as the messages of an algorithm. Each
--placement gives a line: the predicted time, how much of it ranks wait, and what lies on the critical path.
`search` gives several: rank order, what corewise place finds, named placements; the quickest replay first.

--validate replays every profile on this host (or --machine) and shows the error against the recording.
With `-m host`, too, messages cost what the profile's own tables say, where `run --messages` left some.
The exit status is 1 where a run cannot end, with who waits for whom and in which call.

\b
Example:
  corewise run -n 6 -- ./lbm
  corewise replay lbm.cw -m mesh-6x4 -p identity -p other.json
  corewise replay lbm.cw -m mesh-6x4 -p search -o best.json
  corewise replay lbm.cw -m ring:8 --computation 0.5 --collective allreduce=ring
  corewise run -n 2 --messages -- ./lbm
  corewise replay --validate lbm.cw
"""
_SOURCES = typer.Argument(..., metavar="PROFILE...", help="NAME.cw folders.")
_MACHINE = typer.Option(
    None, "--machine", "-m", metavar="MACHINE", help="Name, file, `host`, or synthetic text."
)
_PLACEMENTS = typer.Option(
    ["identity"], "--placement", "-p", metavar="NAME|FILE",
    help="A placement file, a name as for corewise simrun, or search; may be repeated.",
)  # fmt: skip
_OUTPUT = typer.Option(None, "--output", "-o", metavar="FILE", help="Write the quickest placement (.json).")
_COMPUTATION = typer.Option(
    1.0, "--computation", min=0.0, help="What the time between calls is multiplied by."
)
_COLLECTIVE = typer.Option(
    [], "--collective", metavar="NAME=ALGORITHM", help="E.g. allreduce=ring; may be repeated."
)
_GRANULARITY = typer.Option(
    "flow", "--granularity", help="flow: whole messages that share links; or packet: slower and finer."
)
_TRACE = typer.Option(None, "--trace", metavar="FILE", help="Write what happens when, for Perfetto.")
_VALIDATE = typer.Option(False, "--validate", help="Hold the prediction against the recording.")
_CUTS = typer.Option(
    [], "--cut", metavar="TIME",
    help="With --validate: a part begins at this time of the recording, e.g. 1.5s; may be repeated.",
)  # fmt: skip
_MESSAGES = typer.Option(
    [], "--messages", metavar="FILE|none",
    help="What messages cost, by `corewise probe --messages`, or a profile of `run --messages`; repeated: "
    "medians, and what each gives alone.",
)  # fmt: skip
_HTML = typer.Option(None, "--html", metavar="FILE", help="Also write one self-contained web page.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")


SEARCH = "search"
"""The placements that `placements_by_replay` tries."""


@dataclass(frozen=True)
class _Line:
    """One replay."""

    profile: str
    placement: str
    units: tuple[int, ...]
    run: Replay
    tables: Tables


def register(app: typer.Typer) -> None:
    """Adds `replay`."""
    app.command("replay", help=_HELP)(replay_command)


def replay_command(
    sources: list[Path] = _SOURCES,
    machine_reference: str | None = _MACHINE,
    placements: list[str] = _PLACEMENTS,
    output: Path | None = _OUTPUT,
    computation: float = _COMPUTATION,
    collective: list[str] = _COLLECTIVE,
    setting: list[str] = options.SETTING,
    granularity: str = _GRANULARITY,
    trace: Path | None = _TRACE,
    validate: bool = _VALIDATE,
    cuts: list[str] = _CUTS,
    messages: list[str] = _MESSAGES,
    html_file: Path | None = _HTML,
    as_json: bool = _AS_JSON,
) -> None:
    """Replays."""
    replays = len(sources) * (len(placements) + (SEARCH in placements))
    _check_targets((trace, html_file, output), [machine_reference, *placements, *messages], replays)
    if machine_reference is None and not validate:
        raise InputError("--machine: found none, allowed: a machine, or --validate for this host")
    chosen = ReplayOptions(
        computation,
        dict(map(_algorithm, collective)),
        dict(map(options.setting, setting)),
        granularity,
        trace is not None,
        _cuts(cuts, validate),
    )
    reference = machine_reference or HOST
    machine = load_machine(reference)
    own = validate or reference == HOST
    priced = [(each, tables_for(each, messages, machine, reference, own=own)) for each in sources]
    lines = [line for each in priced for line in _replays(*each, machine, placements, chosen)]
    _write_trace(lines[0].run, trace)
    _write_placement(lines, machine, output)
    first = _validation(lines, machine) if validate else _prediction(lines, machine)
    tables = [_ranged(first, [each.run for each in lines]), _path_table(lines)]
    if cuts:
        parts = [part for each in lines for part in each.run.parts]
        tables.append(_ranged(_parts_table(lines, chosen.cuts_ns), parts))
    if html_file is not None:
        pages.write_tables(html_file, "replay", machine.name, tables, [])
    if as_json:
        console.show_json(
            "replay", machine.name, [_row(each) for each in lines], options=_options(chosen, messages)
        )
    else:
        _show(tables, lines)
    for written in filter(None, (trace, html_file, output)):
        console.note(f"corewise: written to {written}")


def _check_targets(targets: tuple[Path | None, ...], inputs: Sequence[str | None], replays: int) -> None:
    """The first is that of ``--trace``."""
    for target in filter(None, targets):
        check_target(target, inputs)
    if targets[0] is not None and replays > 1:
        raise InputError("--trace: found several replays, allowed: one profile with one placement")


def _replays(
    source: Path, tables: Tables, machine: Machine, placements: Sequence[str], chosen: ReplayOptions
) -> Iterator[_Line]:
    recording = open_recording(source)
    _warn_unfinished(source, recording)
    chosen = replace(chosen, messages=tables.median)
    for placement in placements:
        for name, units, found in _placed(placement, source, machine, recording, chosen):
            with console.progress(f"replaying {source.name} with each table of messages"):
                ranged = with_range(found, recording, machine, units, chosen, tables.each)
            yield _Line(source.name, name, units, ranged, tables)


def _placed(
    placement: str, source: Path, machine: Machine, recording: _lab.Recording, chosen: ReplayOptions
) -> Iterator[tuple[str, tuple[int, ...], Replay]]:
    """The replays that a placement stands for: itself, or those of a search."""
    if placement == SEARCH:
        with console.progress(f"searching placements of {source.name}"):
            tried = placements_by_replay(recording, machine, source.name, chosen)
        yield from ((each.which, each.unit_of_rank, each.run) for each in tried)
        return
    units = tuple(_units(placement, machine, recording))
    with console.progress(f"replaying {source.name}"):
        found = replay(recording, machine, units, chosen)
    yield Path(placement).name, units, found


def _write_placement(lines: Sequence[_Line], machine: Machine, output: Path | None) -> None:
    if output is None:
        return
    if len({each.profile for each in lines}) > 1:
        raise InputError("--output: found several profiles, allowed: one")
    quickest = min(lines, key=lambda each: each.run.time_ns)
    save_placement(make_placement(machine, quickest.units), output)


def _cuts(texts: Sequence[str], validate: bool) -> tuple[float, ...]:
    if texts and not validate:
        raise InputError("--cut: found without --validate, allowed: with it")
    return tuple(sorted(parse_time_ns(text, "", "--cut") for text in texts))


def _algorithm(text: str) -> tuple[str, str]:
    name, equals, algorithm = text.partition("=")
    known = algorithms()
    if not equals or name not in known:
        raise bad_field("", "--collective", text, f"NAME=ALGORITHM with a name of {', '.join(known)}")
    if algorithm not in known[name]:
        raise bad_field("", f"--collective {name}", algorithm, ", ".join(known[name]))
    return name, algorithm


def _units(placement: str, machine: Machine, recording: _lab.Recording) -> list[int]:
    if recording.size > len(machine.units):
        raise bad_field(
            "", "ranks", recording.size, f"1 to {len(machine.units)}, the units of '{machine.name}'"
        )
    placed = options.placed(placement, machine)
    if isinstance(placed, Placement):
        return list(placed.unit_of_rank)
    if placed not in (names := placement_names(machine)):
        allowed = f"{SEARCH}, {', '.join(names)}, or a placement file"
        raise InputError(f"placement '{placed}' is unknown on '{machine.name}', allowed: {allowed}")
    return named_placement(placed, machine, recording.size)


def _warn_unfinished(source: Path, recording: _lab.Recording) -> None:
    if recording.unfinished:
        named = ", ".join(map(str, recording.unfinished[:8]))
        more = ", ..." if len(recording.unfinished) > 8 else ""
        console.warn(
            f"corewise: {source}: the recording ends early, or lacks records, on ranks {named}{more}"
        )


def _write_trace(run: Replay, path: Path | None) -> None:
    if run.timeline is None or path is None:
        return
    with console.progress("writing the trace"):
        importlib.import_module("corewise.sim.perfetto").write_perfetto(run.timeline, path)
    if run.timeline.dropped:
        console.note(f"{path}: {run.timeline.dropped} later events are left out")


# ---- text ------------------------------------------------------------------------------------------------


def _error_text(run: Replay | ReplayedPart) -> str:
    return "" if run.error is None else f"{100 * run.error:+.1f} %"


def _range_text(run: Replay | ReplayedPart) -> str:
    return "" if run.range_ns is None else " to ".join(time_text(each, 4) for each in run.range_ns)


def _ranged(table: Table, runs: Sequence[Replay | ReplayedPart]) -> Table:
    """With a column of what each table of messages gives alone, where there are several."""
    if all(each.range_ns is None for each in runs):
        return table
    rows = tuple((*row, _range_text(each)) for row, each in zip(table.rows, runs, strict=True))
    return Table(table.title, (*table.columns, "by single tables"), rows)


def _prediction(lines: Sequence[_Line], machine: Machine) -> Table:
    rows = tuple(
        (
            each.profile,
            each.placement,
            str(each.run.ranks.size),
            time_text(each.run.time_ns, 4),
            time_text(each.run.recorded_ns, 4),
            share_text(each.run.waiting_share),
            each.run.busiest[0],
        )
        for each in lines
    )
    columns = ("profile", "placement", "ranks", "predicted", "recorded", "waiting", "busiest link")
    return Table(f"predicted on {machine.name}", columns, rows)


def _validation(lines: Sequence[_Line], machine: Machine) -> Table:
    rows = tuple(
        (
            each.profile,
            each.placement,
            str(each.run.ranks.size),
            time_text(each.run.recorded_ns, 4),
            time_text(each.run.time_ns, 4),
            _error_text(each.run),
        )
        for each in lines
    )
    columns = ("profile", "placement", "ranks", "recorded", "predicted", "error")
    return Table(f"predictions on {machine.name} against recordings", columns, rows)


def _path_table(lines: Sequence[_Line]) -> Table:
    rows = tuple(
        (
            each.profile,
            each.placement,
            time_text(each.run.path.computation_ns, 4),
            time_text(each.run.path.transfer_ns, 4),
            time_text(each.run.path.software_ns, 4),
            count_text(each.run.path.messages),
            str(each.run.path.rank),
        )
        for each in lines
    )
    columns = ("profile", "placement", "computation", "transfer", "software", "messages", "ends on rank")
    return Table("critical path", columns, rows)


def _parts_table(lines: Sequence[_Line], cuts_ns: Sequence[float]) -> Table:
    begins = ["its begin", *(time_text(cut, 4) for cut in cuts_ns)]
    rows = tuple(
        (
            each.profile,
            each.placement,
            begin,
            time_text(part.recorded_ns, 4),
            time_text(part.time_ns, 4),
            _error_text(part),
        )
        for each in lines
        for begin, part in zip(begins, each.run.parts, strict=True)
    )
    return Table("parts", ("profile", "placement", "from", "recorded", "predicted", "error"), rows)


def _show(tables: Sequence[Table], lines: Sequence[_Line]) -> None:
    for each in tables:
        texts = 2
        columns = [Column(name, right=index >= texts) for index, name in enumerate(each.columns)]
        console.show(by_rows(columns, list(each.rows), each.title))
    console.show(*(Text(each, style="dim") for each in dict.fromkeys(map(_facts, lines))))
    if any(each.run.relaxed for each in lines):
        console.note("corewise: sends return before they are received: the run would never end otherwise")


def _facts(line: _Line) -> str:
    run = line.run
    text = (
        f"{line.profile}: {count_text(run.messages)} messages with {bytes_text(run.bytes)}, "
        f"{count_text(run.collectives)} calls of collectives"
    )
    if run.unreplayed:
        took = time_text(run.unreplayed_ns, 3)
        text += f"; {count_text(run.unreplayed)} other calls took their recorded {took}"
    if line.tables.median is not None:
        files = ", ".join(map(str, line.tables.files))
        text += f"; messages cost what was measured of {line.tables.median.mpi} ({files})"
    return text


# ---- JSON ------------------------------------------------------------------------------------------------


def _options(chosen: ReplayOptions, messages: Sequence[str]) -> dict[str, object]:
    """Tables of messages as they were asked for; a row names the files that were read for it."""
    return {**asdict(chosen), "messages": list(messages)}


def _row(line: _Line) -> dict[str, object]:
    run = line.run
    fields = run.ranks.dtype.names or ()
    return {
        "profile": line.profile,
        "placement": line.placement,
        "time_ns": run.time_ns,
        "recorded_ns": run.recorded_ns,
        "error": run.error,
        "waiting_share": run.waiting_share,
        "critical_path": asdict(run.path),
        "messages": run.messages,
        "bytes": run.bytes,
        "collectives": run.collectives,
        "unreplayed": run.unreplayed,
        "unreplayed_ns": run.unreplayed_ns,
        "relaxed": run.relaxed,
        "events": run.events,
        "wall_s": run.wall_s,
        "tables": list(map(str, line.tables.files)),
        "range_ns": run.range_ns,
        "parts": [{**asdict(part), "error": part.error} for part in run.parts],
        "busiest_link": {"link": run.busiest[0], "busy_ns": run.busiest[1]},
        "ranks": [dict(zip(fields, row, strict=True)) for row in run.ranks.tolist()],
    }
