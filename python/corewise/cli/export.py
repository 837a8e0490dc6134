"""`corewise export`: a profile's records for other tools.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.cli import console
from corewise.cli.sweeps import MAKERS
from corewise.data.events import GROUPS
from corewise.export import FORMATS

with late.imports():
    from corewise.base.executors import workers_from
    from corewise.data.events import parse_selection
    from corewise.export import check_export, export_profile

_HELP = """Write a profile for other tools: OTF2, Perfetto, Parquet, Arrow, CSV.

Streams: the profile may be larger than memory. The target is complete or not there.

\b
Example:
  corewise export lbm.cw --to perfetto -o lbm.pftrace   (open it in ui.perfetto.dev)
  corewise export lbm.cw --to otf2 -o lbm.otf2          (then: otf2-print lbm.otf2/traces.otf2)
  corewise export lbm.cw --to parquet -o lbm.parquet --ranks 0-3 --kinds messages
"""
_TO = typer.Option(..., "--to", metavar="FORMAT", help=f"One of {', '.join(FORMATS)}.")
_OUTPUT = typer.Option(
    ..., "--output", "-o", metavar="TARGET", help="The file; for otf2 a folder, new or empty."
)
_RANKS = typer.Option(None, "--ranks", metavar="LIST", help="Only these ranks: 0-3,7.")
_KINDS = typer.Option(
    None,
    "--kinds",
    metavar="LIST",
    help=f"Only these kinds of records: {', '.join(GROUPS)}, or single kinds.",
)
_FROM = typer.Option(None, "--from", metavar="TIME", help="Only what lasts beyond this time, e.g. 1.5s.")
_UNTIL = typer.Option(None, "--until", metavar="TIME", help="Only what began before this time.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object about what was written.")


def register(app: typer.Typer) -> None:
    """Adds `export`."""
    app.command("export", help=_HELP)(export)


def export(
    source: Path = typer.Argument(..., metavar="PROFILE", help="A NAME.cw folder."),
    form: str = _TO,
    output: Path = _OUTPUT,
    ranks: str | None = _RANKS,
    kinds: list[str] | None = _KINDS,
    begin: str | None = _FROM,
    until: str | None = _UNTIL,
    executor: str | None = MAKERS,
    as_json: bool = _AS_JSON,
) -> None:
    """Writes a profile for other tools."""
    check_export(form, output)
    selection = parse_selection(ranks, kinds, begin, until)
    with workers_from(executor) as workers, console.progress_bar(f"exporting to {form}") as progress:
        done = export_profile(source, form, output, selection, progress, workers)
    for problem in done.problems:
        console.warn(f"corewise: {problem}")
    if as_json:
        row = {
            "format": form,
            "target": str(output),
            "records": done.records,
            "written": done.written,
            "left_out": done.unsaid,
            "bytes": done.bytes,
        }
        console.show_json("export", None, [row])
        return
    if done.unsaid:
        console.note(f"corewise: {done.unsaid} records have no words in {form}: only their calls are there")
    console.show(f"written to {output}: {done.written} from {done.records} records, {done.bytes} bytes")
