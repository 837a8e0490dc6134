"""Tables of a communication matrix for people: levels, the heaviest pairs, logical beside physical.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from rich.console import RenderableType
from rich.text import Text

from corewise.analysis.profile.levels import LEVELS, LevelRow
from corewise.analysis.profile.matrix import PhysicalComparison, TrafficMatrix
from corewise.data.quantities import bytes_text, count_text, share_text, time_text
from corewise.report.layout import Column, FittingTable

COLUMNS = ("from", "to", "bytes", "messages", "time_ns", "level")


def quantity_text(by: str) -> Callable[[float], str]:
    """How a number of that quantity is written."""
    return {"bytes": bytes_text, "count": count_text, "time": time_text}[by]


def level_table(rows: Sequence[LevelRow], by: str) -> RenderableType:
    """What goes over which level."""
    text = quantity_text(by)
    return FittingTable(
        [
            Column("level", [row.level for row in rows]),
            Column("pairs", [count_text(row.pairs) for row in rows], right=True),
            Column("of pairs", [share_text(row.pair_share) for row in rows], right=True, importance=2),
            Column(
                {"bytes": "bytes", "count": "messages", "time": "time"}[by],
                [text(row.value) for row in rows],
                right=True,
            ),
            Column("share", [share_text(row.share) for row in rows], right=True),
            Column("meaning", [row.meaning for row in rows], importance=1),
        ],
        title="traffic per level",
    )


def pair_table(matrix: TrafficMatrix, levels: NDArray[np.int8] | None, top: int) -> RenderableType:
    """The heaviest pairs."""
    order = np.lexsort((matrix.receivers, matrix.senders, -matrix.values))[:top].tolist()
    columns = [
        Column("pair", [f"{matrix.senders[at]} → {matrix.receivers[at]}" for at in order]),
        Column("bytes", [bytes_text(int(matrix.bytes[at])) for at in order], right=True),
        Column("messages", [count_text(int(matrix.messages[at])) for at in order], right=True),
    ]
    if matrix.traffic != "collective":
        columns.append(Column("time", [time_text(float(matrix.time_ns[at])) for at in order], right=True))
    if levels is not None:
        columns.append(Column("level", [LEVELS[levels[at]] for at in order]))
    hidden = matrix.senders.size - len(order)
    return FittingTable(
        columns, title="heaviest pairs", remark=f"{count_text(hidden)} more pairs: --top" * (hidden > 0)
    )


def pair_rows(matrix: TrafficMatrix, levels: NDArray[np.int8] | None) -> list[dict[str, object]]:
    """Every pair as a plain row; a collective has no time per pair."""
    names = [None] * matrix.senders.size if levels is None else [LEVELS[level] for level in levels.tolist()]
    columns = [
        column.tolist() for column in (matrix.senders, matrix.receivers, matrix.bytes, matrix.messages)
    ]
    times = matrix.time_ns.tolist() if matrix.traffic != "collective" else [None] * matrix.senders.size
    rows = zip(*columns, times, names, strict=True)
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def rows_csv(rows: Sequence[dict[str, object]], columns: Sequence[str]) -> str:
    """The same as comma-separated text with a heading."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row[name] for name in columns] for row in rows)
    return out.getvalue()


def physical_table(found: PhysicalComparison, top: int) -> RenderableType:
    """Logical and physical volumes of the pairs that either of them loads most."""
    order = sorted(
        found.pairs,
        key=lambda pair: (-max(pair.logical_bytes, pair.physical_bytes), pair.sender, pair.receiver),
    )[:top]
    hidden = len(found.pairs) - len(order)
    totals = [sum(getattr(pair, name) for pair in found.pairs) for name in _PHYSICAL]
    return FittingTable(
        [
            Column(
                "pair", [*(f"{pair.sender} → {pair.receiver}" for pair in order), Text("all", style="bold")]
            ),
            *(
                Column(
                    name.replace("_", "\n"),
                    [_amount(name, getattr(pair, name)) for pair in order] + [_amount(name, total)],
                    right=True,
                )
                for name, total in zip(_PHYSICAL, totals, strict=True)
            ),
        ],
        title="collectives: logical (model) beside physical (counted below PMPI); never added",
        remark=f"{count_text(hidden)} more pairs: --top" * (hidden > 0),
    )


_PHYSICAL = ("logical_bytes", "physical_bytes", "logical_messages", "physical_messages")


def _amount(name: str, value: int) -> str:
    return bytes_text(value) if name.endswith("bytes") else count_text(value)
