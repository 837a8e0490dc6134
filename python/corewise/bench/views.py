"""The table that every benchmark shows for people.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.analysis.result import Table
from corewise.bench.rows import Outcome, Row
from corewise.data.quantities import number_text, share_text

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
        number_text(row.ours, 4),
        number_text(row.theirs, 4),
        row.rival or "",
        "" if row.ratio is None else f"{row.ratio:.2f}",
        share_text(row.spread, 0),
        number_text(row.floor, 4),
        str(row.n),
    )
