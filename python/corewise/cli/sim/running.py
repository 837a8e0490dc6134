"""`corewise simrun`: runs an MPI program on the ranks of a simulated machine.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib
from pathlib import Path

import typer

from corewise import _core
from corewise.base import late
from corewise.base.files import check_folder, check_target
from corewise.cli import console
from corewise.cli.sim import options
from corewise.errors import InputError, bad_field
from corewise.mpi.functions import DEEPEST

with late.imports():
    import numpy as np
    from numpy.typing import NDArray
    from rich.text import Text

    from corewise.data.machines import load_machine
    from corewise.data.patterns import save_pattern
    from corewise.data.quantities import bytes_text, count_text, time_text
    from corewise.data.sizes import size_bytes
    from corewise.report.layout import Column, FittingTable, by_rows
    from corewise.sim.ranks import RankRun, RunOptions, run_program, tasks_per_unit

_HELP = """Run an MPI program on the ranks of a simulated machine.

The program is one that `corewise simcc` made. Its ranks run one after the other on this host, and in
simulated time all at once: messages cost what the machine's network makes of them, computation what the
program declares (cw_compute of corewise_sim.h), nothing depends on this host. The same run gives the same
times to the last bit.

The exit status is the program's, as with a launcher: what MPI_Abort was given, or the first rank's that is
not 0; 1 where the run failed. A deadlock ends with who waits for whom.

\b
Example:
  corewise simcc -O2 ring.c -o ring.sim
  corewise simrun -n 8 -m ring:8 ring.sim
  corewise simrun -n 6 -m mesh-6x4 --set send_ns=250 --pattern ring.json ring.sim
  corewise simrun -n 6 -m mesh-6x4 --trace ring.pftrace ring.sim
  corewise simrun -n 6 -m mesh-6x4 -o ring.cw ring.sim
The pattern is one for corewise place and sim; open the trace at https://ui.perfetto.dev.
The profile is one for report, call-graph, replay, explore and all others. Functions are
recorded in programs compiled with -finstrument-functions.
"""
_RANKS = typer.Option(..., "-n", "--ranks", min=1, help="Number of ranks.")
_GRANULARITY = typer.Option(
    "flow", "--granularity", help="flow: whole messages that share links; or packet: slower and finer."
)
_LIMIT = typer.Option("", "--limit", metavar="TIME", help="Give up after this simulated time, e.g. '2 ms'.")
_STACK = typer.Option("8 MiB", "--stack", metavar="SIZE", help="Stack of each rank.")
_TRACE = typer.Option(None, "--trace", metavar="FILE", help="Write what happens when, for Perfetto.")
_PROFILE = typer.Option(None, "--output", "-o", metavar="NAME.cw", help="Record the run as a profile.")
_FUNCTION_DEPTH = typer.Option(
    0, "--function-depth", metavar="N", help=f"Record the outermost N functions only, 1 to {DEEPEST}."
)
_PATTERN = typer.Option(
    None, "--pattern", metavar="FILE", help="Write who sends what to whom (.json, .csv, .mtx)."
)
_COLLECTIVES = typer.Option(
    False, "--collectives", help="Count messages inside collectives in the pattern too."
)
_AS_JSON = typer.Option(
    False, "--json", help="Print one JSON object; the program's output goes to standard error."
)
_SHOWN = 8


def register(app: typer.Typer) -> None:
    """Adds `simrun`."""
    app.command("simrun", help=_HELP, context_settings={"allow_interspersed_args": False})(simrun)


def simrun(
    program: Path = typer.Argument(..., help="What corewise simcc made."),
    arguments: list[str] = typer.Argument(None, metavar="[ARGUMENT]...", help="Of the program."),
    ranks: int = _RANKS,
    machine: str = options.MACHINE,
    placement: str = options.PLACEMENT,
    granularity: str = _GRANULARITY,
    setting: list[str] = options.SETTING,
    limit: str = _LIMIT,
    stack: str = _STACK,
    trace: Path | None = _TRACE,
    profile: Path | None = _PROFILE,
    function_depth: int = _FUNCTION_DEPTH,
    pattern: Path | None = _PATTERN,
    collectives: bool = _COLLECTIVES,
    as_json: bool = _AS_JSON,
) -> int:
    """Runs it."""
    for target in (trace, pattern):
        if target is not None:
            check_target(target)
    if profile is not None:
        check_folder(profile)
    if not 0 <= function_depth <= DEEPEST:
        raise bad_field("", "--function-depth", str(function_depth), f"1 to {DEEPEST}, or 0 for any depth")
    if granularity not in ("flow", "packet"):
        raise bad_field("", "--granularity", granularity, "flow, packet")
    chosen = RunOptions(
        granularity=granularity,
        settings=dict(map(options.setting, setting)),
        stack_bytes=_stack_bytes(stack),
        limit_ns=round(_core.parse_time_ns(limit, "", "--limit")) if limit else 0,
        timeline=trace is not None,
        quiet=as_json,
        profile=profile,
        function_depth=function_depth,
    )
    placed = options.placed(placement, load_machine(machine), tasks_per_unit(chosen.settings))
    run = run_program(program, arguments or [], ranks, machine, placed, chosen)
    if pattern is not None:
        save_pattern(run.pattern(collectives=collectives), pattern)
    if trace is not None:
        _write_trace(run, trace)
    if as_json:
        console.show_json("simrun", run.machine.name, _rank_rows(run), **_more(run, placement))
    else:
        _show(run, [each for each in (profile, pattern, trace) if each is not None])
    return run.exit_status


def _stack_bytes(text: str) -> int:
    found = size_bytes(text, "--stack")
    if not 65536 <= found <= 1 << 32:
        raise InputError(f"--stack: found {text}, allowed: 64 KiB to 4 GiB")
    return found


def _write_trace(run: RankRun, path: Path) -> None:
    if run.timeline is None:
        return
    with console.progress("writing the trace"):
        importlib.import_module("corewise.sim.perfetto").write_perfetto(run.timeline, path)
    if run.timeline.dropped:
        console.note(f"{path}: {run.timeline.dropped} later events are left out")


# ---- text ------------------------------------------------------------------------------------------------


def _show(run: RankRun, written: list[Path]) -> None:
    if not run.ok:
        console.warn(f"{run.program} on {run.machine.name}: {run.message.strip()}")
    console.show(_heading(run), *filter(None, (_link_table(run),)))
    for each in written:
        console.show(f"written to {each}")


def _heading(run: RankRun) -> Text:
    text = Text(f"{run.program} on {run.machine.name}", style="bold")
    text.append(
        f": {run.ranks.size} ranks, {time_text(run.time_ns, 4)} of simulated time, by {run.granularity}\n",
        style="none",
    )
    own, inside = run.traffic["messages"].sum(), run.traffic["collective_messages"].sum()
    size = int(run.traffic["bytes"].sum() + run.traffic["collective_bytes"].sum())
    text.append(
        f"{count_text(int(own))} messages of the program, {count_text(int(inside))} inside collectives, "
        f"{bytes_text(size)} together",
        style="none",
    )
    rate = run.messages / run.wall_s if run.wall_s > 0 else 0.0
    text.append(f"; simulated in {run.wall_s:.3g} s ({count_text(rate)} messages/s)", style="none")
    for more in (_cache_text(run), _overlay_text(run), _microtask_text(run), _ppe_text(run)):
        text.append(more, style="none")
    return text


def _cache_text(run: RankRun) -> str:
    """A line on what the software caches did; nothing where there are none."""
    if run.caches is None:
        return ""
    hits, misses, write_backs = (int(run.caches[name].sum()) for name in ("hits", "misses", "write_backs"))
    size = round(run.settings["cache_line_bytes"] * run.settings["cache_sets"] * run.settings["cache_ways"])
    spent_ns = float(run.caches["time_ns"].mean())
    return (
        f"\nsoftware caches of {bytes_text(size)} in each local store: {count_text(hits)} hits, "
        f"{count_text(misses)} misses, {count_text(write_backs)} write-backs; {time_text(spent_ns, 4)} of a "
        "rank's time on average"
    )


def _overlay_text(run: RankRun) -> str:
    """A line on the code that was brought; nothing where all of it is there."""
    if run.overlays is None:
        return ""
    loads, size = (int(run.overlays[name].sum()) for name in ("loads", "bytes"))
    spent_ns = float(run.overlays["time_ns"].mean())
    return (
        f"\ncode overlays: {count_text(loads)} loads, {bytes_text(size)}; {time_text(spent_ns, 4)} of a "
        "rank's time on average"
    )


def _microtask_text(run: RankRun) -> str:
    """A line on the turns of ranks that share units; nothing where none may."""
    if run.microtasks is None:
        return ""
    changes = int(run.microtasks["changes"].sum())
    units = np.unique(run.ranks["unit"]).size
    spent = time_text(float(run.microtasks["time_ns"].sum()) / units, 4)
    waited = time_text(float(run.microtasks["waiting_ns"].mean()), 4)
    return (
        f"\nmicrotasks: {run.ranks.size} on {units} units, {count_text(changes)} changes; they took {spent} "
        f"of a unit's time on average, and a rank waited {waited} for its turns"
    )


def _ppe_text(run: RankRun) -> str:
    """A line on what the PPEs forwarded; nothing where they forward nothing."""
    if run.ppes is None:
        return ""
    messages = int(run.ppes["left"].sum())
    busiest = run.ppes[int(run.ppes["busy_ns"].argmax())]
    share = 100 * float(busiest["busy_ns"]) / run.time_ns if run.time_ns > 0 else 0.0
    waited = time_text(float(run.ppes["waiting_ns"].sum()), 4)
    return (
        f"\nPPEs forwarded {count_text(messages)} messages, which waited {waited} for them; "
        f"busiest: {busiest['cell']}, {share:.1f} %"
    )


def _link_table(run: RankRun) -> FittingTable | None:
    order = sorted(range(run.links.size), key=lambda link: -float(run.links["busy_ns"][link]))[:_SHOWN]
    rows = [
        (
            run.machine.links[link].name,
            bytes_text(int(run.links["bytes"][link])),
            f"{100 * float(run.links['busy_ns'][link]) / run.time_ns:.1f}" if run.time_ns > 0 else "",
        )
        for link in order
        if run.links["bytes"][link] > 0
    ]
    columns = [Column("link"), Column("bytes", right=True), Column("busy %", right=True)]
    return by_rows(columns, rows, "links, busiest first") if rows else None


# ---- JSON ------------------------------------------------------------------------------------------------


def _rank_rows(run: RankRun) -> list[dict[str, object]]:
    units = run.machine.units
    caches, overlays = _rows_or_nulls(run, run.caches), _rows_or_nulls(run, run.overlays)
    microtasks = _rows_or_nulls(run, run.microtasks)
    return [
        {
            "rank": rank,
            "unit": units[unit].name,
            "end_ns": end_ns,
            "ended": ended,
            "exit_status": status,
            "software_cache": caches[rank],
            "overlays": overlays[rank],
            "microtasks": microtasks[rank],
        }
        for rank, (unit, end_ns, ended, status) in enumerate(run.ranks.tolist())
    ]


def _rows_or_nulls(run: RankRun, rows: NDArray[np.void] | None) -> list[dict[str, object] | None]:
    """One for every rank; null where the settings have no such thing."""
    return [None] * int(run.ranks.size) if rows is None else list(_dicts(rows))


def _dicts(rows: NDArray[np.void]) -> list[dict[str, object]]:
    names = rows.dtype.names or ()
    return [dict(zip(names, row, strict=True)) for row in rows.tolist()]


def _more(run: RankRun, placement: str) -> dict[str, object]:
    return {
        "program": run.program,
        "ok": run.ok,
        "message": run.message,
        "exit_status": run.exit_status,
        "placement": placement,
        "granularity": run.granularity,
        "settings": dict(run.settings),
        "time_ns": run.time_ns,
        "messages": run.messages,
        "events": run.events,
        "wall_s": run.wall_s,
        "ppes": None if run.ppes is None else _dicts(run.ppes),
        "traffic": _dicts(run.traffic),
        "links": [
            {"link": link.name, "bytes": size, "packets": packets, "busy_ns": busy_ns}
            for link, (size, packets, busy_ns, _) in zip(run.machine.links, run.links.tolist(), strict=True)
        ],
    }
