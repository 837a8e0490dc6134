"""How `corewise place --verify` reads.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math

from corewise.base import late

with late.imports():
    from rich.console import RenderableType
    from rich.text import Text

    from corewise.analysis.placement.paired import DEFAULT, Verification, Verified
    from corewise.data.quantities import number_text, share_text
    from corewise.report.layout import Column, FittingTable


def views(found: Verification, objective: str, unit: str) -> list[RenderableType]:
    """Predicted beside measured, and the verdict."""
    rows = found.rows
    costs = [number_text(row.predicted_ns, 4) for row in rows]
    columns = [
        Column("placement", [row.which for row in rows], wrap=True),
        Column(f"{objective} {unit}", costs, right=True, importance=3),
        Column(
            f"median {found.unit}", [number_text(row.median, 4) for row in rows], right=True, importance=4
        ),
        Column("spread", [f"{row.spread:.2g}" for row in rows], right=True, importance=2),
        Column("gain over default", list(map(_gain, rows)), narrow=list(map(_short, rows))),
        Column("predicted", [number_text(row.predicted_ratio, 4) for row in rows], right=True, importance=5),
        Column("measured", [number_text(row.measured_ratio, 4) for row in rows], right=True, importance=5),
        Column("model error", [_error(row) for row in rows], right=True, importance=1),
    ]
    remark = (
        f"gain: middle and {share_text(found.confidence, 0)} interval of all rows together; "
        "predicted, measured: time over the best's"
    )
    views: list[RenderableType] = [
        Text("predicted and verified", style="bold"),
        found.how,
        FittingTable(columns, remark=remark),
        Text(found.statement, style="bold"),
    ]
    if found.model_error is not None:
        order = found.rank_correlation
        tail = "" if order is None else f"; rank correlation of prediction and measurement {order:.2f}"
        views.append(f"error of the model's ratios: {share_text(found.model_error)} in the mean{tail}")
    return views


def _gain(row: Verified) -> str:
    if row.which == DEFAULT:
        return ""
    low = "0" if row.low == 0 else f"{row.low:.3f}"
    high = "..." if math.isinf(row.high) else f"{row.high:.3f}"
    return f"{row.gain:.3f} ({low} to {high}){_mark(row)}"


def _short(row: Verified) -> str:
    return "" if row.which == DEFAULT else f"{row.gain:.3f}{_mark(row)}"


def _mark(row: Verified) -> str:
    return {True: " faster", False: " slower", None: ""}[row.faster]


def _error(row: Verified) -> str:
    return "" if row.model_error is None or row.predicted_ratio == 1 else f"{100 * row.model_error:+.1f} %"


def to_json(found: Verification) -> dict[str, object]:
    """As part of the JSON object."""
    return {
        "how": found.how,
        "unit": found.unit,
        "confidence": found.confidence,
        "model_error": found.model_error,
        "rank_correlation": found.rank_correlation,
        "statement": found.statement,
        "rows": [row.row() for row in found.rows],
    }
