"""`corewise patterns`: list the generators, make a pattern, show one.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

from corewise._core import Match, Pattern, generators
from corewise.analysis.pattern import PatternSummary, summarise_pattern
from corewise.cli import console
from corewise.data.files import check_target
from corewise.data.patterns import generate_pattern, load_pattern_or_profile, save_pattern
from corewise.plots.heatmap import bytes_text, heat_map

_LIST_HELP = """Lists the pattern generators; `make` writes a pattern to a file, `show` draws a file.

\b
Example:
  corewise patterns make halo_3d dims=2x2x2 face_bytes="64 KiB" -o halo.json
  corewise patterns show halo.json
"""
_MAKE_HELP = """Makes a pattern and writes it as JSON (everything), CSV, or Matrix Market (summed bytes).

Parameters are given as NAME=VALUE; `corewise patterns` lists them. Without -o the pattern is shown.

\b
Example:
  corewise patterns make ring ranks=8 bytes=4096 -o ring.json
"""
_SHOW_HELP = """Shows a pattern file or a profile NAME.cw: totals, the pattern's name, a heat map.

\b
Example:
  corewise patterns show ring.json
"""
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")
_OUTPUT = typer.Option(None, "--output", "-o", metavar="FILE", help="Where to write: .json, .csv or .mtx.")


def register(app: typer.Typer) -> None:
    """Adds `patterns` with its subcommands."""
    group = typer.Typer(help=_LIST_HELP, invoke_without_command=True, rich_markup_mode=None)
    group.callback()(list_generators)
    group.command("make", help=_MAKE_HELP)(make_pattern)
    group.command("show", help=_SHOW_HELP)(show_pattern)
    app.add_typer(group, name="patterns")


def list_generators(context: typer.Context, as_json: bool = _AS_JSON) -> None:
    """Lists the generators."""
    if context.invoked_subcommand is not None:
        return
    if as_json:
        console.show_json("patterns", None, _generator_rows())
        return
    table = Table("pattern", "parameter", "default", "what it is", "allowed")
    for family in generators():
        table.add_section()
        table.add_row(Text(family.name, style="bold"), "", "", family.summary, "")
        for parameter in family.parameters:
            table.add_row("", parameter.name, parameter.fallback, parameter.meaning, parameter.allowed)
    console.show(table)


def make_pattern(
    name: str = typer.Argument(..., metavar="NAME", help="A generator, see `corewise patterns`."),
    parameters: list[str] = typer.Argument(None, metavar="[NAME=VALUE]...", help="Its parameters."),
    output: Path | None = _OUTPUT,
    as_json: bool = _AS_JSON,
) -> None:
    """Makes a pattern."""
    if output is not None:
        check_target(output)
    pattern = generate_pattern(name, parameters or [])
    if output is not None:
        save_pattern(pattern, output)
    _show("patterns make", pattern, as_json, brief=output is not None)
    if output is not None and not as_json:
        console.show(f"written to {output}")


def show_pattern(
    file: Path = typer.Argument(
        ..., metavar="FILE", help="A .json, .csv or .mtx file, or a profile NAME.cw."
    ),
    as_json: bool = _AS_JSON,
) -> None:
    """Shows a pattern."""
    with console.progress("reading"):
        pattern = load_pattern_or_profile(file)
    _show("patterns show", pattern, as_json, brief=False)


def _generator_rows() -> list[dict[str, object]]:
    return [
        {
            "pattern": family.name,
            "summary": family.summary,
            "parameters": [
                {"name": one.name, "default": one.fallback, "meaning": one.meaning, "allowed": one.allowed}
                for one in family.parameters
            ],
        }
        for family in generators()
    ]


def _show(command: str, pattern: Pattern, as_json: bool, brief: bool) -> None:
    summary = summarise_pattern(pattern)
    if as_json:
        console.show_json(command, None, _message_rows(pattern), summary=_summary(pattern, summary))
        return
    console.show(_heading(pattern, summary))
    if not brief:
        console.show("", heat_map(pattern.matrix()))


def _heading(pattern: Pattern, summary: PatternSummary) -> Text:
    text = Text(pattern.name or "pattern", style="bold")
    counts = f": {summary.ranks} ranks, {summary.messages} messages, {bytes_text(summary.bytes)}"
    phases = f" in {summary.phases} phases" if summary.phases != 1 else ""
    text.append(f"{counts} between {summary.pairs} pairs{phases}\n", style="none")
    text.append(f"recognised: {summary.label}", style="none")
    return text


def _match_row(match: Match) -> dict[str, object]:
    return {
        "family": match.family,
        "label": match.label,
        "degree": match.degree,
        "dims": list(match.dims),
        "periodic": list(match.periodic),
        "stencil": match.stencil,
        "volumes_fit": match.volumes_fit,
        "parameters": dict(match.parameters),
    }


def _summary(pattern: Pattern, summary: PatternSummary) -> dict[str, object]:
    return {
        "pattern": pattern.name,
        "ranks": summary.ranks,
        "phases": [phase.name for phase in pattern.phases],
        "messages": summary.messages,
        "bytes": summary.bytes,
        "recognised": summary.best.label if summary.best else None,
        "degree": summary.best.degree if summary.best else None,
        "matches": [_match_row(match) for match in summary.matches],
    }


def _message_rows(pattern: Pattern) -> list[dict[str, object]]:
    columns = (column.tolist() for column in pattern.coordinates())
    return [
        {"from": sender, "to": receiver, "bytes": size_bytes, "messages": messages}
        for sender, receiver, size_bytes, messages in zip(*columns, strict=True)
    ]
