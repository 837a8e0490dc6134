"""`corewise sim`: runs a communication pattern on a simulated machine.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib
from pathlib import Path

import typer

from corewise.base import late
from corewise.base.files import check_ending, check_target, write_text
from corewise.cli import console
from corewise.cli.sim import options
from corewise.sim.run import GRANULARITIES, SEPARATIONS

with late.imports():
    from rich.console import RenderableType
    from rich.text import Text

    from corewise.analysis import simulation as found
    from corewise.analysis.floor_plan import ring_cycles
    from corewise.analysis.simulation import Traffic
    from corewise.data.machines import load_machine
    from corewise.data.patterns import pattern_of
    from corewise.data.quantities import bytes_text, time_text
    from corewise.plots.links import traffic_picture
    from corewise.plots.machines import drawing
    from corewise.plots.ring_text import ring_drawing, share
    from corewise.report.layout import Column, FittingTable, by_rows
    from corewise.sim import Simulation, simulate

_HELP = """Run a communication pattern on a simulated machine.

Say how long it takes, what bandwidth each transfer gets, how loaded the links are, and who waited. A machine
file with `model = "cell"` (cell-be, cell-blade, ps3) is simulated as a whole Cell, DMA command by DMA command
and packet by packet; any other as its interconnect: rings, meshes, trees of shared links.

The pattern is a file (.json, .csv, .mtx), a profile NAME.cw, or a generator with its parameters
(`corewise patterns` lists them).

`corewise collective` runs MPI's collectives on simulated SPEs.

\b
Example:
  corewise sim ring ranks=8 bytes="64 KiB" --machine cell-be --placement even_odd
  corewise sim halo.json -m mesh-6x4 --repeat 10 --svg halo.svg --trace halo.pftrace
Open the trace at https://ui.perfetto.dev.
"""
_REPEAT = typer.Option(1, "--repeat", min=1, max=10**7, help="Runs of the pattern, one after the other.")
_GRANULARITY = typer.Option(
    GRANULARITIES[0],
    "--granularity",
    help="packet; or flow: whole messages that share links evenly, quicker and less exact.",
)
_SEPARATION = typer.Option(
    SEPARATIONS[0],
    "--separation",
    help="Before its next phase a rank waits for its own messages (dependence) or all (barrier).",
)
_SEED = typer.Option(
    None, "--seed", min=1, max=2**53, help="Of a simulated Cell's jitter; without one it has none."
)
_TRACE = typer.Option(None, "--trace", metavar="FILE", help="Write what happens when, for Perfetto.")
_SVG = typer.Option(None, "--svg", metavar="FILE", help="Write a picture of the machine with its traffic.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")

SHOWN_ROWS = 12
"""Of each table; --json has all."""
_BAR = 20


def register(app: typer.Typer) -> None:
    """Adds `sim`."""
    app.command("sim", help=_HELP)(sim)


def sim(
    reference: str = typer.Argument(
        ..., metavar="PATTERN", help="A pattern file, a profile, or a generator's name."
    ),
    parameters: list[str] = typer.Argument(
        None, metavar="[NAME=VALUE]...", help="The generator's parameters."
    ),
    machine_reference: str = options.MACHINE,
    placement: str = options.PLACEMENT,
    repeat: int = _REPEAT,
    granularity: str = _GRANULARITY,
    separation: str = _SEPARATION,
    seed: int | None = _SEED,
    trace: Path | None = _TRACE,
    svg: Path | None = _SVG,
    as_json: bool = _AS_JSON,
) -> None:
    """Simulates a pattern."""
    check_ending(svg, ".svg")
    for target in (trace, svg):
        if target is not None:
            check_target(target, [reference, machine_reference, placement])
    machine = load_machine(machine_reference)
    pattern = pattern_of(reference, parameters or [], machine)
    with console.progress("simulating"):
        run = simulate(
            machine,
            pattern,
            options.placed(placement, machine),
            repetitions=repeat,
            granularity=granularity,
            separation=separation,
            seed=seed,
            trace=trace is not None,
        )
    traffic = found.traffic(run)
    if svg is not None:
        write_text(svg, traffic_picture(traffic, _title(run)))
    if trace is not None:
        _write_trace(run, trace)
    if as_json:
        console.show_json("sim", machine.name, _transfer_rows(run), **_more(run, placement))
        return
    _show(run, traffic)
    for written in (svg, trace):
        if written is not None:
            console.show(f"written to {written}")


def _write_trace(run: Simulation, path: Path) -> None:
    if run.timeline is None:
        return
    # Perfetto's classes take a while to load, and only this needs them.
    with console.progress("writing the trace"):
        importlib.import_module("corewise.sim.perfetto").write_perfetto(run.timeline, path)
    if run.timeline.dropped:
        kept = run.timeline.events.size
        console.note(f"{path}: holds the first {kept} events, {run.timeline.dropped} later ones are left out")


# ---- text ------------------------------------------------------------------------------------------------


def _title(run: Simulation) -> str:
    name = run.pattern.name or "pattern"
    time = time_text(run.total_ns, 4)
    return f"{name} on {run.machine.name}: {run.pattern.ranks} ranks, {_model(run)}, {time}"


def _model(run: Simulation) -> str:
    return {"cell": "a whole Cell by packet", "packet": "by packet", "flow": "by flow"}[run.model]


def _show(run: Simulation, traffic: Traffic) -> None:
    console.show(_heading(run), "")
    ring = ring_drawing(traffic) if ring_cycles(run.machine) else None
    if ring is not None and console.fits(ring):
        console.show(Text("busy share of every link, in %", style="bold"), ring, "")
    else:
        console.show(drawing(run.machine, traffic.rank_of_unit), "")
    tables = (_phase_table(run), _flow_table(run), _link_table(run), _rank_table(run))
    console.show(*(table for table in tables if table is not None))


def _heading(run: Simulation) -> Text:
    ranks, units = run.pattern.ranks, len(run.machine.units)
    text = Text(f"{run.pattern.name or 'pattern'} on {run.machine.name}", style="bold")
    text.append(f": {ranks} ranks on {units} units, {_model(run)}\n", style="none")
    size = bytes_text(int(run.transfers["bytes"].sum()))
    often = f", {run.repetitions} times" if run.repetitions > 1 else ""
    text.append(
        f"{time_text(run.total_ns, 4)} for {size} in {run.transfers.size} transfers{often}", style="none"
    )
    return text.append(f": {found.total_gb_per_s(run):.4g} GB/s together", style="none")


def _table(columns: list[Column], rows: list[tuple[RenderableType, ...]], title: str) -> FittingTable:
    """The first rows, and how many more there are."""
    rest = len(rows) - SHOWN_ROWS
    return by_rows(
        columns, rows[:SHOWN_ROWS], title, f"and {rest} more; --json lists all" if rest > 0 else ""
    )


def _phase_table(run: Simulation) -> FittingTable | None:
    if run.phases.size <= 1:
        return None
    columns = [
        Column("phase", wrap=True),
        Column("bytes", right=True),
        Column("begins", right=True),
        Column("takes", right=True),
    ]
    names = [phase.name for phase in run.pattern.phases]
    rows: list[tuple[RenderableType, ...]] = []
    for row in run.phases:
        again = f" ({row['repetition'] + 1})" if run.repetitions > 1 else ""
        takes = time_text(float(row["end_ns"] - row["start_ns"]), 4)
        begins = time_text(float(row["start_ns"]), 4)
        rows.append((names[row["phase"]] + again, bytes_text(int(row["bytes"])), begins, takes))
    return _table(columns, rows, "phases")


def _flow_table(run: Simulation) -> FittingTable | None:
    columns = [
        Column("ranks"),
        Column("units"),
        Column("bytes", right=True),
        Column("under way", right=True),
        Column("GB/s", right=True),
    ]
    units = run.machine.units
    rows: list[tuple[RenderableType, ...]] = [
        (
            f"{flow.sender} → {flow.receiver}",
            f"{units[flow.source].name} → {units[flow.target].name}",
            bytes_text(flow.bytes),
            time_text(flow.busy_ns, 4),
            f"{flow.gb_per_s:.2f}" if flow.busy_ns > 0 else "",
        )
        for flow in found.flows(run)
    ]
    return _table(columns, rows, "transfers, slowest first") if rows else None


def _link_table(run: Simulation) -> FittingTable | None:
    links = found.busiest_links(run)
    # A simulated Cell counts no queues: its packets wait at the units.
    queues = any(link.largest_queue > 0 for link in links)
    columns = [
        Column("link"),
        Column("bytes", right=True),
        Column("GB/s", right=True),
        Column("busy %", right=True),
        Column("", importance=1),
        *([Column("queue", right=True)] if queues else []),
    ]
    rows: list[tuple[RenderableType, ...]] = [
        (
            link.name,
            bytes_text(link.bytes),
            f"{link.gb_per_s:.2f}",
            share(link.busy, True),
            _bar(link.busy),
            *([str(link.largest_queue)] if queues else []),
        )
        for link in links
    ]
    return _table(columns, rows, "links, busiest first") if rows else None


def _bar(busy: float) -> RenderableType:
    filled = round(_BAR * min(1.0, busy))
    return Text("█" * filled).append("░" * (_BAR - filled), style="dim")


def _rank_table(run: Simulation) -> FittingTable | Text:
    columns = [
        Column("rank", right=True),
        Column("unit"),
        Column("sent", right=True),
        Column("received", right=True),
        Column("lost to others", right=True),
        Column("idle", right=True),
    ]
    rows: list[tuple[RenderableType, ...]] = [
        (
            str(row.rank),
            row.unit,
            bytes_text(row.sent_bytes),
            bytes_text(row.received_bytes),
            time_text(row.waiting_ns, 4),
            time_text(row.idle_ns, 4),
        )
        for row in found.waiting_ranks(run)
        if row.waiting_ns > 0 or row.idle_ns > 0
    ]
    if not rows:
        return Text("nobody waited", style="bold")
    parts = "packets" if run.model == "cell" else "messages"
    return _table(columns, rows, f"who waited (lost to others: summed over a rank's {parts})")


# ---- JSON ------------------------------------------------------------------------------------------------


def _transfer_rows(run: Simulation) -> list[dict[str, object]]:
    units = [run.machine.units[unit].name for unit in run.unit_of_rank.tolist()]
    phases = [phase.name for phase in run.pattern.phases]
    bandwidths = run.bandwidths.tolist()
    rows: list[dict[str, object]] = []
    for row, bandwidth in zip(run.transfers.tolist(), bandwidths, strict=True):
        repetition, phase, sender, receiver, size_bytes, messages, start_ns, end_ns = row
        rows.append(
            {
                "repetition": repetition,
                "phase": phases[phase],
                "from": sender,
                "to": receiver,
                "from_unit": units[sender],
                "to_unit": units[receiver],
                "bytes": size_bytes,
                "messages": messages,
                "start_ns": start_ns,
                "end_ns": end_ns,
                "gb_per_s": bandwidth if end_ns > start_ns else None,
            }
        )
    return rows


def _more(run: Simulation, placement: str) -> dict[str, object]:
    phases = [phase.name for phase in run.pattern.phases]
    more: dict[str, object] = {
        "pattern": run.pattern.name,
        "ranks": run.pattern.ranks,
        "placement": placement,
        "unit_of_rank": run.unit_of_rank.tolist(),
        "model": run.model,
        "repetitions": run.repetitions,
        "seed": run.seed,
        "time_ns": run.total_ns,
        "gb_per_s": found.total_gb_per_s(run),
        "events": run.event_count,
        "phases": [
            {
                "repetition": repetition,
                "phase": phases[phase],
                "bytes": size_bytes,
                "start_ns": start_ns,
                "end_ns": end_ns,
            }
            for repetition, phase, size_bytes, start_ns, end_ns in run.phases.tolist()
        ],
        "links": _link_rows(run),
        "units": _unit_rows(run),
    }
    if run.timeline is not None:
        more["trace"] = {"events": run.timeline.events.size, "left_out": run.timeline.dropped}
    return more


def _link_rows(run: Simulation) -> list[dict[str, object]]:
    names = [link.name for link in run.machine.links]
    busy = run.link_busy.tolist()
    return [
        {
            "link": name,
            "bytes": size_bytes,
            "packets": packets,
            "busy_ns": busy_ns,
            "busy": part,
            "largest_queue": queue if queue >= 0 else None,
        }
        for name, part, (size_bytes, packets, busy_ns, queue) in zip(
            names, busy, run.links.tolist(), strict=True
        )
    ]


def _unit_rows(run: Simulation) -> list[dict[str, object]]:
    fields = run.units.dtype.names or ()
    rows: list[dict[str, object]] = []
    for unit, values in zip(run.machine.units, run.units.tolist(), strict=True):
        row: dict[str, object] = {"unit": unit.name, **dict(zip(fields, values, strict=True))}
        rows.append({**row, "rank": None if row["rank"] == -1 else row["rank"]})
    return rows
