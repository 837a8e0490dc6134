"""`corewise doctor`: what this host offers, and what is off because of what it lacks.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.cli import console

with late.imports():
    from corewise.report.layout import Column, by_rows
    from corewise.trials import host

_HELP = """Say which MPI libraries, capabilities and instruction sets were found, and what is therefore off.

\b
Example:
  corewise doctor
  corewise doctor --machine host.toml
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("doctor", help=_HELP)(_doctor)


def _doctor(
    machine: Path | None = typer.Option(
        None, "--machine", metavar="FILE", help="a file of `corewise probe`: has the host changed since?"
    ),
    as_json: bool = typer.Option(False, "--json", help="print one JSON object"),
) -> None:
    with console.progress("looking at this host"):
        measured = [host.machine_of_host(machine)] if machine else []
        findings = [*measured, *host.examine()]
    if as_json:
        console.show_json("doctor", "host", [finding.row() for finding in findings])
        return
    headings = [Column(name, wrap=True) for name in ("what", "found", "therefore")]
    rows = [
        (each.what, f"{'yes' if each.present else 'NO'}: {each.found}", each.therefore) for each in findings
    ]
    console.show(by_rows(headings, rows, "corewise doctor"))
