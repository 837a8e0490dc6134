"""`corewise explain`: why a choice is made, from the data that it is made by.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import asdict

import typer

from corewise.base import late
from corewise.cli import console
from corewise.cli.explain import datatype as explain_datatype
from corewise.cli.explain import settings as explain_settings
from corewise.cli.groups import group_of
from corewise.errors import InputError, bad_field

with late.imports():
    from rich.text import Text

    from corewise.data.quantities import bytes_text, number_text
    from corewise.data.sizes import size_bytes
    from corewise.data.tuned_hosts import host_tuning_for
    from corewise.data.tuning import HOST, SELECTIONS, Choice, Selection, Tuning, TuningRow, tuning_for
    from corewise.report.layout import Column, by_rows

_HELP = """Say why a choice is made: the row of data that decides, what won, what lost and by how much.
Of an MPI datatype: what it is in memory, and how it is packed. Of a command: the settings that
its help leaves out.

Every command prints a table, or one JSON object with --json.

\b
Example:
  corewise explain collective broadcast --ranks 16 --bytes 128
  corewise explain datatype "vector(512, 8, 16, double)"
  corewise explain settings place
"""
_COLLECTIVE_HELP = """Say which algorithm is chosen for a collective, and which ones lost.

Read the bundled tuning of the machine, or a tuning file. The machine `host` is this processor with the
MPI of --mpi: what `corewise run --accelerate` takes over, and why.

\b
Example:
  corewise explain collective broadcast --ranks 16 --bytes 128
  corewise explain collective allreduce --ranks 2 --bytes "64 KiB" -m host --mpi mpich
  corewise explain collective reduce --ranks 8 --bytes "64 KiB" --selection paper --json
"""
_RANKS = typer.Option(..., "--ranks", "-n", min=1, help="How many ranks take part.")
_BYTES = typer.Option("0", "--bytes", "-b", metavar="BYTES", help='Of one rank\'s operand: 128 or "64 KiB".')
_MACHINE = typer.Option("cell-blade", "--machine", "-m", metavar="NAME|FILE", help="Whose tuning to read.")
_MPI = typer.Option(
    None, "--mpi", metavar="NAME", help="With -m host: openmpi, mpich or mpich-no-cma; without: the only one."
)
_SELECTION = typer.Option(
    "all", "--selection", metavar="SET", help="all: every algorithm; paper: those of paper 001 alone."
)
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")


def register(app: typer.Typer) -> None:
    """Adds `explain` and what it explains."""
    group = group_of("explain", _HELP)
    group.callback()(_group)
    group.command("collective", help=_COLLECTIVE_HELP)(collective)
    group.command("datatype", help=explain_datatype.HELP)(explain_datatype.datatype)
    group.command("settings", help=explain_settings.HELP)(explain_settings.settings)
    app.add_typer(group)


def _group() -> None:
    """Without a command of its own: a typer group of one command would else be that command."""


def collective(
    name: str = typer.Argument(..., metavar="COLLECTIVE", help="barrier, broadcast, reduce, ..."),
    ranks: int = _RANKS,
    size: str = _BYTES,
    machine: str = _MACHINE,
    mpi: str | None = _MPI,
    selection: str = _SELECTION,
    as_json: bool = _AS_JSON,
) -> None:
    """Explains the choice for one call."""
    if selection not in SELECTIONS:
        raise bad_field("", "selection", f"'{selection}'", " or ".join(SELECTIONS))
    chosen: Selection = "paper" if selection == "paper" else "all"
    at_bytes = size_bytes(size, "bytes")
    if mpi is not None and machine != HOST:
        raise InputError(f"--mpi: found '{mpi}' with -m {machine}, allowed: with -m {HOST}")
    tuning = host_tuning_for(name, ranks, mpi) if machine == HOST else tuning_for(machine)
    row = tuning.find(name, ranks, at_bytes, chosen)
    if as_json:
        console.show_json("explain collective", tuning.machine, _rows(row, at_bytes), **_more(tuning, row))
    else:
        _show(tuning, row, at_bytes)


def _places(row: TuningRow) -> list[Choice]:
    return [row.won, *row.lost]


def _show(tuning: Tuning, row: TuningRow, at_bytes: int) -> None:
    at = row.measured_for(at_bytes)
    head = Text(f"{row.collective}, {row.ranks} ranks, {bytes_text(at_bytes)}", style="bold")
    where = f"{tuning.on.host} with {tuning.on.mpi}" if tuning.on else tuning.machine
    head.append(f" on {where}: {row.won.name}", style="none")
    console.show(head)
    console.show(
        f"the row for {_range(row)}; measured at {bytes_text(row.measured_bytes[at])}, of set {row.set}", ""
    )
    columns = [
        Column(""),
        Column("algorithm", wrap=True),
        Column("us", right=True),
        Column("times the winner's", right=True),
    ]
    rows = []
    for place, each in enumerate(_places(row)):
        time = each.latency_us[at]
        factor = "" if place == 0 else f"{time / row.won.latency_us[at]:.2f}"
        rows.append(("won" if place == 0 else "lost", each.name, number_text(time, 4), factor))
    console.show(by_rows(columns, rows))
    console.show(f"{tuning.description}; {tuning.who}, {tuning.when}: {tuning.command}")


def _range(row: TuningRow) -> str:
    if row.bytes_to is None:
        return f"{bytes_text(row.bytes_from)} and more" if row.bytes_from else "any size"
    return f"{row.bytes_from} to {row.bytes_to} B"


def _rows(row: TuningRow, at_bytes: int) -> list[dict[str, object]]:
    at = row.measured_for(at_bytes)
    best = row.won.latency_us[at]
    return [
        {
            "won": place == 0,
            "algorithm": each.algorithm,
            "parameters": dict(each.parameters),
            "latency_us": each.latency_us[at],
            "ratio": each.latency_us[at] / best,
        }
        for place, each in enumerate(_places(row))
    ]


def _more(tuning: Tuning, row: TuningRow) -> dict[str, object]:
    return {
        "collective": row.collective,
        "ranks": row.ranks,
        "set": row.set,
        "bytes_from": row.bytes_from,
        "bytes_to": row.bytes_to,
        "measured_bytes": list(row.measured_bytes),
        "port": tuning.port,
        **({} if tuning.on is None else asdict(tuning.on)),
        "description": tuning.description,
        "who": tuning.who,
        "when": tuning.when,
        "command": tuning.command,
    }
