"""`corewise explain datatype`: an MPI datatype from its constructors to the plan that packs it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import asdict

import typer

from corewise.base import late
from corewise.cli import console

with late.imports():
    from rich.text import Text

    from corewise.analysis.datatype import (
        DatatypeFacts,
        DatatypeStage,
        PackingChoice,
        datatype_facts,
        datatype_stages,
        packing_choices,
    )
    from corewise.data.datatypes import read_datatype
    from corewise.data.packing_tuning import load_packing_tuning
    from corewise.data.quantities import number_text
    from corewise.report.layout import Column, FittingTable, by_rows

HELP = """Say what an MPI datatype is in memory, how it is simplified, and how it is packed.

Print the layout as constructed, after every pass that changed it, the canonical form, the packing plan, and
size, extent, runs and densities; with a tuning file also whether the packing library packs such a message.
The text is a predefined type or a constructor with MPI's arguments, nested;
    the grammar is in docs/packing/datatypes.md.

\b
Example:
  corewise explain datatype "vector(512, 8, 16, double)"
  corewise explain datatype "subarray([64,64],[32,32],[0,0], c, double)" --count 4
  corewise explain datatype "struct([1,2],[0,8],[int,double])" --json
"""
_TEXT = typer.Argument(..., metavar="DATATYPE", help='For example "vector(512, 8, 16, double)".')
_COUNT = typer.Option(1, "--count", "-c", min=0, max=2**63 - 1, help="How many items, one extent apart.")
_TUNING = typer.Option(
    None,
    "--tuning",
    metavar="FILE",
    help="A file of corewise bench pack --tune: what is packed, what is left.",
)
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")


def datatype(
    text: str = _TEXT, count: int = _COUNT, tuning: str | None = _TUNING, as_json: bool = _AS_JSON
) -> None:
    """Explains one type."""
    read = read_datatype(text)
    stages, facts, plan = datatype_stages(read, count), datatype_facts(read, count), read.plan().rstrip("\n")
    choices = packing_choices(facts, load_packing_tuning(tuning)) if tuning else []
    if as_json:
        _show_json(text, stages, facts, plan, choices)
        return
    _show_stages(stages)
    _show_block("plan of one item", plan)
    console.show(_table(facts))
    for choice in choices:
        console.show(f"{'packed by corewise' if choice.packed else 'left to the MPI':18}  {choice.reason}")


def _show_json(
    text: str,
    stages: list[DatatypeStage],
    facts: DatatypeFacts,
    plan: str,
    choices: list[PackingChoice],
) -> None:
    rows = [{"stage": stage.name, "layout": stage.layout.split("\n")} for stage in stages]
    packing = [asdict(choice) for choice in choices]
    more = {"datatype": text, "plan": plan.split("\n"), **facts.document(), "packing": packing}
    console.show_json("explain datatype", None, rows, **more)


def _show_stages(stages: list[DatatypeStage]) -> None:
    for stage in stages[:-1]:
        _show_block(_title(stage), stage.layout)
    last = stages[-1]
    also = ", the canonical form"
    _show_block(_title(last) + also, last.layout)


def _title(stage: DatatypeStage) -> str:
    return "as constructed" if stage.name == "constructed" else f"after {stage.name}"


def _show_block(title: str, text: str) -> None:
    console.show(Text(title, style="bold"))
    console.show_text("\n".join(f"  {line}" for line in text.split("\n")) + "\n")


def _table(facts: DatatypeFacts) -> FittingTable:
    items = f"of {facts.count} items" if facts.count != 1 else "of 1 item"
    columns = [Column("of one item"), Column("", wrap=True), Column(items), Column("")]
    left = [
        ("size", f"{facts.size} B"),
        ("extent", f"{facts.extent} B, from {facts.lb} to {facts.ub}"),
        (
            "true extent",
            f"{facts.true_extent} B, from {facts.true_lb} to {facts.true_lb + facts.true_extent}",
        ),
        ("mean run", f"{number_text(facts.mean_run, 4)} B"),
        ("line density", f"{facts.line_density:.3g}"),
    ]
    right = [
        ("data", f"{facts.bytes} B"),
        ("runs", f"{facts.runs}"),
        ("density", f"{facts.density:.3g}"),
        ("contiguous", "yes" if facts.contiguous else "no"),
        ("", ""),
    ]
    return by_rows(columns, [(*one, *other) for one, other in zip(left, right, strict=True)])
