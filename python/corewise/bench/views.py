"""The table that every benchmark shows for people.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.analysis.result import Table
from corewise.bench.rows import Outcome, Row
from corewise.data.quantities import share_text

NOTE = (
    "medians of n rounds. ratio: taken within each round, above 1 ours is better. spread: between the "
    "quartiles of the ratio (of ours, where there is no ratio), over the median. floor: nobody can be better."
)


def table(outcome: Outcome) -> Table:
    """A line per row."""
    return Table(
        "",
        ("what", "unit", "ours", "theirs", "rival", "ratio", "spread", "floor", "n"),
        tuple(_cells(row) for row in outcome.rows),
        note=NOTE,
    )


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.what,
        row.unit,
        value_text(row.ours),
        value_text(row.theirs),
        row.rival or "",
        "" if row.ratio is None else f"{row.ratio:.2f}",
        share_text(row.spread, 0),
        value_text(row.floor),
        str(row.n),
    )


def value_text(value: float | None) -> str:
    """Four digits, large numbers whole."""
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
