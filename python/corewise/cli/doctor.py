"""`corewise doctor`: what this host offers, and what is off because of what it lacks.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import typer
from rich.table import Table

from corewise.cli import console
from corewise.trials import host

_HELP = """Say which MPI libraries, capabilities and instruction sets were found, and what is therefore off.

\b
Example:
  corewise doctor
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("doctor", help=_HELP)(_doctor)


def _doctor(as_json: bool = typer.Option(False, "--json", help="print one JSON object")) -> None:
    with console.progress("looking at this host"):
        findings = host.examine()
    if as_json:
        console.show_json("doctor", "host", [finding.row() for finding in findings])
        return
    table = Table(title="corewise doctor", title_justify="left")
    for column in ("what", "found", "therefore"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        table.add_row(
            finding.what, f"{'yes' if finding.present else 'NO'}: {finding.found}", finding.therefore
        )
    console.show(table)
