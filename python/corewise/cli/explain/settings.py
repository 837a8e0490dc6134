"""`corewise explain settings`: the options of a command that its help leaves out.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import asdict

import typer

from corewise.base import late
from corewise.cli import console
from corewise.cli.commands import find_command
from corewise.cli.settings import WithSettings
from corewise.errors import InputError

with late.imports():
    from corewise.report.layout import Column, by_rows

COMMANDS = ("run", "place", "explore", "collective")
"""Those that have settings."""

HELP = """List the settings of a command: options that few need, given as --set NAME=VALUE.

\b
Example:
  corewise explain settings run
  corewise run -n 8 --set buffer="64 KiB" --set clock=os -- ./lbm
"""


def settings(
    name: str = typer.Argument(..., metavar="COMMAND", help=", ".join(COMMANDS)),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead."),
) -> None:
    """Lists them."""
    command = find_command(name) if name in COMMANDS else None
    if not isinstance(command, WithSettings):
        raise InputError(f"command: found '{name}', allowed: {', '.join(COMMANDS)}")
    found = command.settings()
    if as_json:
        console.show_json("explain settings", None, [{"command": name, **asdict(each)} for each in found])
        return
    columns = [Column("setting"), Column("value"), Column("default"), Column("what it is", wrap=True)]
    rows = [(each.name, each.takes, each.default, each.help) for each in found]
    console.show(by_rows(columns, rows, f"corewise {name} --set NAME=VALUE"))
