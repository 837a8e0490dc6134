"""What `corewise explore` shows: where placements stand, and the same as JSON.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import asdict

from rich.console import RenderableType
from rich.text import Text

from corewise.analysis.placement.exploration import (
    CONFIDENCE,
    ERROR_RATE,
    NEAR,
    Agreement,
    Exploration,
    Standing,
)
from corewise.analysis.placement.statistical_model import Fit
from corewise.data.quantities import count_text, ratio_text, share_text, time_text
from corewise.report.layout import Column, FittingTable


def views(found: Exploration) -> list[RenderableType]:
    """Everything, one part below the other."""
    heading = Text(f"{found.title} on {found.machine.name}", style="bold")
    words = {"host": "measured on this host", "flow": "by flow", "replay": "replayed"}
    how = words.get(found.source, "simulated")
    heading.append(
        f": {found.ranks} ranks on {len(found.machine.units)} units, {how}, "
        f"{found.runs} run{'s' * (found.runs > 1)} of each",
        style="none",
    )
    return [
        heading,
        *found.notes,
        "",
        _standings_table(found),
        "",
        *_findings(found),
        "",
        _agreements_table(found),
        "",
        found.not_fitted if found.fitted is None else _errors_table(found, found.fitted),
    ]


def _standings_table(found: Exploration) -> FittingTable:
    standings = found.standings()
    plan = found.plan
    population = f"all {plan.population} placements" if plan.complete else (
        f"a sample of {plan.population} of {count_text(plan.total)} placements"
    )  # fmt: skip
    units = [_units(found, each) for each in standings]
    return FittingTable(
        [
            Column("placement", [each.name for each in standings]),
            Column("time", [time_text(each.time_ns, 4) for each in standings], right=True),
            Column(
                "least .. most of the runs",
                [f"{time_text(each.least_ns, 4)} .. {time_text(each.most_ns, 4)}" for each in standings],
                right=True,
                importance=2,
            ),
            Column("rank", [f"{each.rank}" for each in standings], right=True),
            Column("to best", [ratio_text(each.factor) for each in standings], right=True),
            Column("unit of rank 0, 1, ...", units, importance=1),
        ],
        title=f"{population}; time: median of the runs; rank: 1 and how many of them are faster",
    )


def _units(found: Exploration, each: Standing) -> str:
    if each.row is None:
        return ""
    names = [found.machine.units[unit].name for unit in found.plan.placements[each.row]]
    return " ".join(names[:16] + ["..."] * (len(names) > 16))


def _findings(found: Exploration) -> list[str]:
    near = found.near()
    bounds = (
        ""
        if found.plan.complete
        else f" ({share_text(near.low)} to {share_text(near.high)}, {share_text(CONFIDENCE, 0)} confidence)"
    )
    of = "the best" if found.plan.complete else "the best seen"
    lines = [
        f"worst / best: {ratio_text(found.ratio)}, within a run {ratio_text(found.run_ratio)}; "
        "a placement's runs differ by "
        f"{share_text(found.run_spread)} of its time (median placement)",
        f"a random placement is within {share_text(NEAR, 0)} of {of} with probability "
        f"{share_text(near.share)}{bounds}",
    ]
    if found.chance is not None:
        certain = found.chance < ERROR_RATE
        verdict = (
            "placements differ beyond chance" if certain else "no significant difference between placements"
        )
        lines.append(f"{verdict} (p = {found.chance:.2g}, Kruskal-Wallis)")
    return lines


def _agreements_table(found: Exploration) -> FittingTable:
    rows = found.agreements()
    return FittingTable(
        [
            Column("ranks compared", [each.what for each in rows]),
            Column("Spearman", [ratio_text(each.spearman) for each in rows], right=True),
            Column("Kendall", [ratio_text(each.kendall) for each in rows], right=True),
            Column("least Spearman", [_least(each) for each in rows], right=True, importance=1),
        ],
        title="rank correlation with the median of the runs",
    )


def _least(each: Agreement) -> str:
    return f"{each.least_spearman:.3f} of {each.pairs}" if each.least_spearman is not None else ""


def _errors_table(found: Exploration, fitted: Fit) -> FittingTable:
    errors = fitted.errors
    return FittingTable(
        [
            Column("model", [each.model for each in errors]),
            Column("median error", [share_text(each.median) for each in errors], right=True),
            Column("p90", [share_text(each.p90) for each in errors], right=True),
            Column("Spearman", [ratio_text(each.spearman) for each in errors], right=True),
            Column("Kendall", [ratio_text(each.kendall) for each in errors], right=True),
        ],
        title=f"error on {errors[0].n} unseen placements, fitted on {fitted.fitted_on} others",
        remark="models but the fitted one are brought to times by a straight line through the same "
        f"{fitted.fitted_on}",
    )


# ---- JSON ------------------------------------------------------------------------------------------------


def rows(found: Exploration) -> list[dict[str, object]]:
    """A JSON row per placement, fastest first."""
    names: dict[int, list[str]] = {}
    for name, row in found.plan.named.items():
        names.setdefault(row, []).append(name)
    order = sorted(range(len(found.plan.placements)), key=lambda row: (found.time_ns[row], row))
    listed: list[dict[str, object]] = []
    for row in order:
        standing = found.standing("", row)
        listed.append(
            {
                "rank": standing.rank,
                "time_ns": standing.time_ns,
                "factor": standing.factor,
                "runs_ns": [float(time) for time in found.times_ns[:, row]],
                "names": names.get(row, []),
                "in_population": row < found.plan.population,
                "unit_of_rank": [int(unit) for unit in found.plan.placements[row]],
                "models": {name: float(says[row]) for name, says in found.models.items()},
            }
        )
    return listed


def summary(found: Exploration) -> dict[str, object]:
    """What the JSON object says beside its rows."""
    near = found.near()
    return {
        "title": found.title,
        "ranks": found.ranks,
        "source": found.source,
        "runs": found.runs,
        "complete": found.plan.complete,
        "population": found.plan.population,
        "placements": found.plan.total,
        "ratio": found.ratio,
        "run_ratio": found.run_ratio,
        "run_spread": found.run_spread,
        "chance": found.chance,
        "within_10_percent": {"share": near.share, "low": near.low, "high": near.high},
        "standings": [
            {key: value for key, value in asdict(each).items() if key != "row"} for each in found.standings()
        ],
        "unpinned_runs_ns": [float(time) for time in found.unpinned_ns],
        "correlation": [asdict(each) for each in found.agreements()],
        "unseen": [error.row() for error in found.fitted.errors] if found.fitted else [],
        "notes": [*found.notes, *([found.not_fitted] if found.fitted is None else [])],
    }  # fmt: skip
