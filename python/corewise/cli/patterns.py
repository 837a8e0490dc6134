"""`corewise patterns`: list the generators, make a pattern, show one, name one.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from corewise.base import late
from corewise.base.files import check_target, write_text
from corewise.cli import console
from corewise.cli.groups import Group

with late.imports():
    from rich.console import RenderableType
    from rich.text import Text

    from corewise._core import Match, Pattern, generators
    from corewise.analysis.pattern import (
        NamedTemplates,
        PatternSummary,
        component_row,
        name_templates,
        relabelling_text,
        rest_share,
        step_row,
        summarise_pattern,
    )
    from corewise.analysis.profile.cells import sum_in_blocks
    from corewise.data.patterns import generate_pattern, load_pattern_or_profile, save_pattern
    from corewise.data.quantities import bytes_text, share_text
    from corewise.plots.heatmap import MOST_CELLS, heat_map
    from corewise.report.layout import Column, FittingTable, by_rows

_LIST_HELP = """List the pattern generators; make or show a pattern.

\b
Example:
  corewise patterns make halo_3d dims=2x2x2 face_bytes="64 KiB" -o halo.json
  corewise patterns show halo.json
"""
_MAKE_HELP = """Make a pattern and write it as JSON (everything), CSV, or Matrix Market (summed bytes).

Parameters are given as NAME=VALUE; `corewise patterns` lists them. Without -o the pattern is shown.

\b
Example:
  corewise patterns make ring ranks=8 bytes=4096 -o ring.json
"""
_SHOW_HELP = """Show a pattern file or a profile NAME.cw: totals, the pattern's name, a heat map.

\b
Example:
  corewise patterns show ring.json
"""
_NAME_HELP = """Name the templates that a pattern file or a profile NAME.cw is made of.

Several superposed templates are told apart, each with its share of the bytes and its degree of match. Ranks
may be numbered in any way: --save-relabelling writes which rank plays which part. docs/placing/recogniser.md
    has definitions and limits.

\b
Example:
  corewise patterns make halo_3d dims=4x4x4 -o halo.json
  corewise patterns name halo.json --phases
"""
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")
_OUTPUT = typer.Option(None, "--output", "-o", metavar="FILE", help="Where to write: .json, .csv or .mtx.")


def register(app: typer.Typer) -> None:
    """Adds `patterns` with its subcommands."""
    group = typer.Typer(cls=Group, help=_LIST_HELP, invoke_without_command=True, rich_markup_mode=None)
    group.callback()(list_generators)
    group.command("make", help=_MAKE_HELP)(make_pattern)
    group.command("show", help=_SHOW_HELP)(show_pattern)
    group.command("name", help=_NAME_HELP)(name_command)
    app.add_typer(group, name="patterns")


def list_generators(context: typer.Context, as_json: bool = _AS_JSON) -> None:
    """Lists the generators."""
    if context.invoked_subcommand is not None:
        return
    late.load()
    if as_json:
        console.show_json("patterns", None, _generator_rows())
        return
    console.show(*_generator_tables())


def _generator_tables() -> Iterator[FittingTable]:
    columns = [
        Column("parameter"),
        Column("default"),
        Column("what it is", wrap=True),
        Column("allowed", wrap=True),
    ]
    for family in generators():
        rows = [(each.name, each.fallback, each.meaning, each.allowed) for each in family.parameters]
        yield by_rows(columns, rows, f"{family.name}: {family.summary}")


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


def name_command(
    file: Path = typer.Argument(
        ..., metavar="FILE", help="A .json, .csv or .mtx file, or a profile NAME.cw."
    ),
    components: int = typer.Option(4, "--components", min=1, max=8, help="Templates to tell apart at most."),
    phases: bool = typer.Option(False, "--phases", help="Name the phases in their order, too."),
    save: Path | None = typer.Option(
        None, "--save-relabelling", metavar="FILE", help="Write each rank's number in the templates as JSON."
    ),
    as_json: bool = _AS_JSON,
) -> None:
    """Names the templates of a pattern."""
    if save is not None:
        check_target(save, [file])
    with console.progress("naming"):
        pattern = load_pattern_or_profile(file)
        named = name_templates(pattern, components, phases)
    if save is not None:
        write_text(save, relabelling_text(pattern, named.naming))
    if as_json:
        console.show_json("patterns name", None, _component_rows(named), summary=_naming(pattern, named))
        return
    console.show(*_named_lines(pattern, named))
    if save is not None:
        console.show(f"written to {save}")


def _component_rows(named: NamedTemplates) -> list[dict[str, object]]:
    return [component_row(one) for one in named.naming.components] if named.telling else []


def _naming(pattern: Pattern, named: NamedTemplates) -> dict[str, object]:
    naming = named.naming
    return {
        "pattern": pattern.name,
        "ranks": pattern.ranks,
        "name": naming.label if named.telling else named.text,
        "bytes": naming.total_bytes,
        "rest_bytes": naming.rest_bytes,
        "random_sparse": naming.random_sparse,
        "mean_degree": naming.mean_degree if naming.random_sparse else None,
        "equals": [match.label for match in named.equals],
        "hierarchy": _hierarchy(named),
        "sequence": named.sequence if named.steps else None,
        "phases": [step_row(step) for step in named.steps],
    }


def _hierarchy(named: NamedTemplates) -> dict[str, object] | None:
    found = named.hierarchy
    if found is None:
        return None
    return {
        "label": found.label,
        "degree": found.degree,
        "group": found.group,
        "roots": list(found.roots),
        "relabelled": found.relabelled,
    }


def _named_lines(pattern: Pattern, named: NamedTemplates) -> list[Text | FittingTable]:
    naming = named.naming
    lines: list[Text | FittingTable] = [Text(named.text, style="bold")]
    if naming.components and named.telling:
        columns = [
            Column("template", wrap=True),
            Column("share", right=True),
            Column("degree", right=True),
            Column("ranks"),
        ]
        rows = [
            (
                each.match.label,
                share_text(each.share),
                f"{each.match.degree:.3f}",
                "relabelled" if each.positions else "as they are",
            )
            for each in naming.components
        ]
        lines.append(by_rows(columns, rows))
    if named.hierarchy is None and named.telling:
        lines.append(Text(f"unexplained: {bytes_text(naming.rest_bytes)} ({share_text(rest_share(naming))})"))
    if named.equals:
        lines.append(Text("equals: " + "; ".join(match.label for match in named.equals)))
    if named.steps:
        lines.append(Text(f"phases: {named.sequence}"))
    return lines


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
        console.show("", _heat_map(pattern))


def _heat_map(pattern: Pattern) -> RenderableType:
    senders, receivers, size_bytes, _ = pattern.coordinates()
    return heat_map(*sum_in_blocks(pattern.ranks, MOST_CELLS, senders, receivers, size_bytes))


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
