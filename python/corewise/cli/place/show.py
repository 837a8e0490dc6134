"""What `corewise place` shows: tables that fit the terminal, and the same as one JSON object.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from corewise.base import late
from corewise.cli import console
from corewise.cli.place import explain as place_explain
from corewise.cli.place import verify as place_verify
from corewise.cli.place.clock import Clock

with late.imports():
    from rich.text import Text

    from corewise.analysis.placement.comparison import PlacementRow, PlacementStudy, names_of, rank_of_unit
    from corewise.analysis.placement.explanation import Explanation
    from corewise.analysis.placement.paired import Verification
    from corewise.analysis.placement.programs import Programs
    from corewise.data.export import Export
    from corewise.data.quantities import bytes_text, count_text, number_text, ratio_text, share_text
    from corewise.plots.machines import drawing
    from corewise.report.layout import Column, FittingTable

SHOWN_UNITS = 4
"""Units of a row where the table would not fit with all; all of them then stand below it."""
MOST_FREE_SHOWN = 16
"""Units without a rank that are named."""
NOTHING_TO_GAIN = "nothing to gain: every placement costs the same on this machine"
Show = Callable[..., None]
_PRICE = "price: cost of the shared placement over that of the best placement for this pattern alone"
_PRICE_OF_COMPANY = (
    "here: of its own messages, on its part of the node; price: that over its best with the node to itself"
)
_COST_HEADINGS = {
    "flow": "flow ns",
    "simulated": "simulated ns",
    "distance": "distance",
    "replay": "replayed ns",
}


@dataclass(frozen=True)
class Answer:
    """Everything that one call found.

    Attributes
    ----------
    study : PlacementStudy
    on_host : bool
        Whether the machine is the one at hand; else all is a prediction.
    collectives : int
        Bytes of collectives that are not placed.
    clock : Clock or None
        That could end the search.
    clock_is_ours : bool
        Whether the user did not ask for it.
    explained : str
        Which row the explanation is about.
    explanation, verification, export, advice :
        What was asked for, else None. Advice is code for the program itself.
    programs : Programs or None
        That run together.
    verified : bool
        Whether the user asked for a verification, which is left out where there is nothing to gain.
    spare : mapping or None
        When a core left idle pays, where the user asked.
    """

    study: PlacementStudy
    on_host: bool
    collectives: int
    clock: Clock | None
    clock_is_ours: bool
    explained: str
    explanation: Explanation | None
    verification: Verification | None
    export: Export | None
    advice: str | None
    programs: Programs | None = None
    verified: bool = False
    spare: Mapping[str, object] | None = None


def show(to: Show, answer: Answer) -> None:
    """Prints everything through `to`, one part below the other."""
    study = answer.study
    to(_heading(study, answer.on_host), _table(study))
    for line in _remarks(answer):
        to(line)
    if study.prices:
        to("", _prices(study, answer.programs))
    compromise = study.prices and answer.programs is None
    for line in _spare(answer):
        to(line)
    title = Text("best compromise" if compromise else "best placement", style="bold")
    to("", title, drawing(study.machine, rank_of_unit(study.best.unit_of_rank)))
    if answer.explanation is not None:
        to("", *place_explain.views(answer.explanation, answer.explained, study.machine, study.unit))
    if answer.verification is not None:
        to("", *place_verify.views(answer.verification, study.objective, study.unit))


def write_page(answer: Answer, file: Path) -> None:
    """The same as a page: the table, and the machine with the loads of its links."""
    # Pages load what most calls do not need, and the help of a command would wait for it.
    from corewise.cli import pages
    from corewise.report.page.placement import page

    study = answer.study
    names = " + ".join(pattern.name or "pattern" for pattern in study.patterns)
    note = "; ".join(_remarks(answer)[1:])
    source = f"{_label(answer.on_host).capitalize()}."
    pages.write(file, page(study, names, note, source, pages.written_now()))


def _remarks(answer: Answer) -> list[str]:
    study = answer.study
    lines = [f"best: {study.statement}"]
    if study.bound is not None and not study.proven_optimal:
        lines.append(
            f"proven bound: no placement costs less than {number_text(study.bound, 6)} {study.unit}; "
            f"the best found is within {share_text(study.gap or 0)}"
        )
    if answer.clock is not None:
        lines.append(_clock(answer.clock, answer.clock_is_ours))
    if not study.worst_proven:
        lines.append("worst: not proven, the worst that a search found")
    lines += _limits(answer)
    if answer.collectives:
        lines.append(f"{count_text(answer.collectives)} bytes of collectives are not in the placement")
    return lines


def _spare(answer: Answer) -> list[str]:
    if answer.spare is None:
        return []
    noise, says = answer.spare["noise"], answer.spare["says"]
    assert isinstance(says, list)
    return [*([f"noise: {noise}"] if noise else []), *says]


def _limits(answer: Answer) -> list[str]:
    """Units without a rank, where it is a choice; and that there is nothing to gain."""
    study = answer.study
    lines = []
    if study.left_free and not study.all_alike:
        names = names_of(study.machine, study.left_free)
        more = len(names) - MOST_FREE_SHOWN
        shown = " ".join(names[:MOST_FREE_SHOWN]) + (f" and {more} more" if more > 0 else "")
        lines.append(f"left free: {shown}")
    if study.all_alike:
        lines.append(
            NOTHING_TO_GAIN
            + ("; nothing was run (--rounds 9 runs it all the same)" if answer.verified else "")
        )
    return lines


def _clock(clock: Clock, ours: bool) -> str:
    if clock.interrupted:
        return "interrupted: this is the best so far"
    which = f"{clock.seconds:g} s, as nobody said --time or --evaluations" if ours else f"{clock.seconds:g} s"
    return f"a clock could end the search ({which}): another run may find another placement"


def _heading(study: PlacementStudy, on_host: bool) -> Text:
    names = " + ".join(pattern.name or "pattern" for pattern in study.patterns)
    text = Text(f"{names} on {study.machine.name}", style="bold")
    text.append(
        f": {study.pattern.ranks} ranks on {len(study.machine.units)} units, {_label(on_host)}", style="none"
    )
    return text


def _label(on_host: bool) -> str:
    return (
        "link loads of this host as described, its speeds are nominal"
        if on_host
        else "prediction: this is not the machine at hand"
    )


def _table(study: PlacementStudy) -> FittingTable:
    """The table as wide as the terminal bears, and below it the units that it has no room for."""
    names = [names_of(study.machine, row.unit_of_rank) for row in study.rows]
    begun = [" ".join(units[:SHOWN_UNITS] + ["..."] * (len(units) > SHOWN_UNITS)) for units in names]
    cost = _COST_HEADINGS.get(study.objective)
    columns = [
        Column("placement", [study.words_of(row) for row in study.rows]),
        Column(cost or "", [number_text(row.cost, 6) for row in study.rows], right=True),
        _simulated(study),
        Column("bottleneck ns", [number_text(row.bottleneck_ns, 6) for row in study.rows], right=True),
        Column("load", [bytes_text(row.bottleneck_bytes) for row in study.rows], right=True, importance=3),
        Column("busiest link", [_link(row, study) for row in study.rows], importance=4),
        Column("hop-bytes", [count_text(row.hop_bytes) for row in study.rows], right=True, importance=2),
        Column("ratio", [ratio_text(row.ratio) for row in study.rows], right=True),
        Column("unit of rank 0, 1, ...", [" ".join(units) for units in names], narrow=begun, importance=1),
    ]
    below = [f"{row.which}: {' '.join(units)}" for row, units in zip(study.rows, names, strict=True)]
    return FittingTable(
        [column for column in columns if column.name],
        below_when_narrow=["units of rank 0, 1, ...", *below],
    )


def _simulated(study: PlacementStudy) -> Column:
    """Times packet by packet, of the rows that have one; without a name where none has."""
    times = ["" if row.simulated_ns is None else number_text(row.simulated_ns, 6) for row in study.rows]
    return Column("simulated ns" if any(times) else "", times, right=True)


def _link(row: PlacementRow, study: PlacementStudy) -> str:
    if row.bottleneck_link is None:
        return "none"
    phases = sum(len(pattern.phases) for pattern in study.patterns)
    phase = f" in {row.bottleneck_phase}" if phases > 1 else ""
    return row.bottleneck_link + phase


def _prices(study: PlacementStudy, programs: Programs | None) -> FittingTable:
    """The best compromise and what each pattern pays for it, or each program for its company."""
    prices = study.prices
    shared, what = ("shared", "pattern") if programs is None else ("here", "program")
    columns = [
        Column(what, [price.pattern for price in prices], wrap=True),
        Column("weight", [f"{price.weight:g}" for price in prices], right=True, importance=2),
        Column(
            f"alone {study.unit}",
            [
                f"{number_text(price.own_cost, 6)}{' (proven)' if price.own_proven else ''}"
                for price in prices
            ],
            narrow=[number_text(price.own_cost, 6) for price in prices],
            right=True,
            importance=3,
        ),
        Column(f"{shared} {study.unit}", [number_text(price.shared_cost, 6) for price in prices], right=True),
        Column("price", [f"{price.price:.3f}" for price in prices], right=True),
        Column(
            f"rank order {study.unit}",
            [number_text(price.identity_cost, 6) for price in prices],
            right=True,
            importance=1,
        ),
    ]
    return FittingTable(
        columns,
        title=f"the best compromise and its price per {what}",
        remark=_PRICE if programs is None else _PRICE_OF_COMPANY,
    )


# ---- JSON ------------------------------------------------------------------------------------------------


def show_json(answer: Answer) -> None:
    """The same as one JSON object."""
    study = answer.study
    more = _more(study, answer.on_host, answer.export)
    if answer.explanation is not None:
        more["explained"] = answer.explained
        more["explanation"] = asdict(answer.explanation)
    if answer.verification is not None:
        more["verified"] = place_verify.to_json(answer.verification)
    if answer.advice is not None:
        more["advice"] = answer.advice
    if answer.spare is not None:
        more["spare"] = dict(answer.spare)
    if answer.programs is not None:
        more["programs"] = _programs(answer.programs, study)
    console.show_json("place", study.machine.name, _rows(study), **more, collective_bytes=answer.collectives)


def _rows(study: PlacementStudy) -> list[dict[str, object]]:
    return [
        {
            "placement": row.which,
            "bottleneck_ns": row.bottleneck_ns,
            "bottleneck_bytes": row.bottleneck_bytes,
            "bottleneck_link": row.bottleneck_link,
            "bottleneck_phase": row.bottleneck_phase,
            "hop_bytes": row.hop_bytes,
            "cost": row.cost,
            "ratio": row.ratio,
            "simulated_ns": row.simulated_ns,
            "unit_of_rank": list(row.unit_of_rank),
            "units": names_of(study.machine, row.unit_of_rank),
        }
        for row in study.rows
    ]


def _programs(programs: Programs, study: PlacementStudy) -> list[dict[str, object]]:
    parts = programs.parts(study.best.unit_of_rank)
    return [
        {"pattern": pattern.name, "first_rank": first, "ranks": pattern.ranks, "unit_of_rank": list(units)}
        for pattern, first, units in zip(programs.patterns, programs.firsts, parts, strict=False)
    ]


def _more(study: PlacementStudy, on_host: bool, export: Export | None) -> dict[str, object]:
    more: dict[str, object] = {
        "pattern": study.pattern.name,
        "patterns": [pattern.name for pattern in study.patterns],
        "weights": list(study.weights),
        "ranks": study.pattern.ranks,
        "objective": study.objective,
        "unit": study.unit,
        "prediction": not on_host,
        "method": study.method,
        "proven_optimal": study.proven_optimal,
        "worst_proven": study.worst_proven,
        "statement": study.statement,
        "origin": study.origin,
        "symmetry_order": study.symmetry_order,
        "bound": study.bound,
        "gap": study.gap,
        "all_alike": study.all_alike,
        "left_free": list(study.left_free),
        "optimal": [list(units) for units in study.optimal],
        "prices": [asdict(price) for price in study.prices],
    }
    if export is not None:
        more["export"] = {
            "form": export.form,
            "program": export.program,
            "arguments": list(export.arguments),
            "text": export.text,
        }
    return more
