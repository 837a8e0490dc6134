"""`corewise machines`: list, show and check machines.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.cli import console, latency, topology
from corewise.cli.groups import Group

with late.imports():
    from rich.text import Text

    from corewise._core import Link, Machine, Unit
    from corewise.data.machines import bundled_machines, load_machine, load_machine_file
    from corewise.plots.machines import drawing
    from corewise.report.layout import Column, FittingTable, by_rows

_LIST_HELP = """List the machines that come with corewise.

`show` draws one, `check` verifies a file, `from-latency` makes one from measured latencies,
`from-topology` one of several nodes.

\b
Example:
  corewise machines
  corewise machines show cell-be
  corewise machines show "pack:2 l3:4 core:8"
"""
_SHOW_HELP = """Show a machine: its drawing, its units and its links.

A machine is a bundled name, a .toml, .json or hwloc .xml file, `host`, or a text like "pack:2 l3:4 core:8".

\b
Example:
  corewise machines show mesh-6x4 --links
"""
_CHECK_HELP = """Verify a machine file: fields, names, bandwidths, routes.

Exit status 0 where it is right; 2, and one line saying what is wrong, where it is not.

\b
Example:
  corewise machines check mynode.toml
"""
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")
_WITH_LINKS = typer.Option(False, "--links", help="List the links too.")


def register(app: typer.Typer) -> None:
    """Adds `machines` with its subcommands."""
    group = typer.Typer(cls=Group, help=_LIST_HELP, invoke_without_command=True, rich_markup_mode=None)
    group.callback()(list_machines)
    group.command("show", help=_SHOW_HELP)(show_machine)
    group.command("check", help=_CHECK_HELP)(check_machine)
    latency.register(group)
    topology.register(group)
    app.add_typer(group, name="machines")


def list_machines(context: typer.Context, as_json: bool = _AS_JSON) -> None:
    """Lists the bundled machines."""
    if context.invoked_subcommand is not None:
        return
    late.load()
    machines = [load_machine(name) for name in bundled_machines()]
    if as_json:
        console.show_json("machines", None, [_summary(machine) for machine in machines])
        return
    columns = [
        Column("machine"),
        Column("kind"),
        Column("units", right=True),
        Column("links", right=True),
        Column("what it is", wrap=True),
    ]
    rows = [
        (each.name, each.kind, str(len(each.units)), str(len(each.links)), each.description)
        for each in machines
    ]
    console.show(by_rows(columns, rows))


def show_machine(
    reference: str = typer.Argument(..., metavar="MACHINE", help="Name, file, `host`, or synthetic text."),
    with_links: bool = _WITH_LINKS,
    as_json: bool = _AS_JSON,
) -> None:
    """Shows one machine."""
    machine = load_machine(reference)
    if as_json:
        units = [_unit_row(machine, unit) for unit in machine.units]
        links = [_link_row(machine, link) for link in machine.links]
        summary = {**_summary(machine), "stop_names": list(machine.stops)}
        console.show_json("machines show", machine.name, units, summary=summary, links=links)
        return
    console.show(_heading(machine), drawing(machine), "", _unit_table(machine))
    if with_links:
        console.show(_link_table(machine))


def check_machine(
    file: Path = typer.Argument(..., metavar="FILE", help="A .toml, .json or hwloc .xml file."),
    as_json: bool = _AS_JSON,
) -> None:
    """Verifies one machine file."""
    machine = load_machine_file(file)
    if as_json:
        row = {"file": str(file), "ok": True, **_summary(machine)}
        console.show_json("machines check", machine.name, [row])
        return
    console.show(f"{file}: ok: '{machine.name}', {_counts(machine)}")


def _counts(machine: Machine) -> str:
    units, stops, links = len(machine.units), len(machine.stops), len(machine.links)
    return f"{machine.kind}, {units} units at {stops} stops, {links} links"


def _heading(machine: Machine) -> Text:
    heading = Text(machine.name, style="bold")
    heading.append(f": {_counts(machine)}", style="none")
    if machine.description:
        heading.append(f"\n{machine.description}", style="none")
    for line in _origin_lines(machine):
        heading.append(f"\n{line}", style="dim")
    return heading


def _origin_lines(machine: Machine) -> list[str]:
    """What the file says of its numbers, where it says anything."""
    origin = machine.origin
    kinds = [f"{kind}: measured" for kind in origin.measured]
    kinds += [f"{kind}: nominal, measured on nothing" for kind in origin.nominal]
    return [line for line in ("; ".join(kinds), origin.source and f"source: {origin.source}") if line]


def _summary(machine: Machine) -> dict[str, object]:
    return {
        "name": machine.name,
        "kind": machine.kind,
        "description": machine.description,
        "units": len(machine.units),
        "stops": len(machine.stops),
        "links": len(machine.links),
        "processor": machine.origin.processor,
        "source": machine.origin.source,
        "measured": list(machine.origin.measured),
        "nominal": list(machine.origin.nominal),
    }


def _unit_row(machine: Machine, unit: Unit) -> dict[str, object]:
    return {
        "unit": unit.name,
        "stop": machine.stops[unit.stop],
        "domains": list(unit.domains),
        "os_index": None if unit.os_index < 0 else unit.os_index,
        "logical_core": None if unit.logical_core < 0 else unit.logical_core,
    }


def _link_row(machine: Machine, link: Link) -> dict[str, object]:
    return {
        "link": link.name,
        "from": machine.stops[link.source],
        "to": machine.stops[link.target],
        "bandwidth_gb_per_s": link.bandwidth_gb_per_s,
        "latency_ns": link.latency_ns,
    }


def _unit_table(machine: Machine) -> FittingTable:
    columns = [
        Column("unit"),
        Column("stop"),
        Column("in", wrap=True),
        Column("OS index", right=True),
        Column("logical core", right=True),
    ]
    rows = [
        (
            f"{index}: {unit.name}",
            machine.stops[unit.stop],
            " / ".join(unit.domains),
            str(unit.os_index) if unit.os_index >= 0 else "",
            str(unit.logical_core) if unit.logical_core >= 0 else "",
        )
        for index, unit in enumerate(machine.units)
    ]
    return by_rows(columns, rows)


def _link_table(machine: Machine) -> FittingTable:
    columns = [
        Column("link"),
        Column("from"),
        Column("to"),
        Column("GB/s", right=True),
        Column("hop ns", right=True),
    ]
    stops = machine.stops
    rows = [
        (
            link.name,
            stops[link.source],
            stops[link.target],
            f"{link.bandwidth_gb_per_s:g}",
            f"{link.latency_ns:g}",
        )
        for link in machine.links
    ]
    return by_rows(columns, rows)
