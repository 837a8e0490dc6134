"""Pages of a benchmark and of a paper run: tiles, tables, charts.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from corewise.analysis.result import PaperResult, Table, error_text, summarise
from corewise.bench.rows import Outcome, Row
from corewise.bench.views import NOTE
from corewise.data.quantities import number_text, share_text
from corewise.report.page.shell import Page, Section, fill


@dataclass(frozen=True)
class Tile:
    """One number that sums the page up."""

    value: str
    what: str


@dataclass(frozen=True)
class _Ratio:
    """A row of a benchmark with its ratio as a bar from 1, to the right where ours is better."""

    row: Row
    left: float
    width: float
    better: bool


def tables_page(
    kind: str,
    title: str,
    facts: Sequence[str],
    tables: Sequence[Table],
    charts: Section | None,
    written: str,
    tiles: Sequence[Tile] = (),
) -> Page:
    """Tables, and charts where there are any.

    Parameters
    ----------
    kind, title, facts, written : as in `Page`.
    tables : sequence of Table
    charts : Section or None
        Drawn by `corewise.plots`.
    tiles : sequence of Tile
        Above the tables.
    """
    body = fill("tables.html.j2", tables=tables, tiles=tiles, texts=Table.text_columns)
    sections = [Section("tables", "Tables", body)]
    if charts is not None:
        sections.append(charts)
    return Page(kind=kind, title=title, facts=tuple(facts), sections=tuple(sections), written=written)


def paper_page(result: PaperResult, charts: Section | None, written: str) -> Page:
    """A paper's experiments, published beside ours."""
    errors, said = summarise(result.rows), result.statements()
    tiles = []
    if errors.count:
        tiles += [
            Tile(share_text(errors.mean), f"mean error of {errors.count} published values"),
            Tile(share_text(errors.worst), f"largest error ({errors.worst_id})"),
        ]
    if said:
        tiles.append(Tile(f"{sum(row.holds is True for row in said)} of {len(said)}", "statements hold"))
    rows = tuple(
        (
            row.what,
            row.source,
            number_text(row.published, 4),
            number_text(row.ours, 4),
            row.unit,
            error_text(row.error),
            "" if row.holds is None else "yes" if row.holds else "NO",
        )
        for row in result.rows
    )
    claims = Table("Every claim", ("what", "source", "published", "ours", "unit", "error", "holds"), rows)
    tables = [*result.tables, claims] if rows else list(result.tables)
    facts = (result.machine, f"corewise {result.version}", _commit(result.commit))
    return tables_page("paper", result.name, facts, tables, charts, written, tiles)


def bench_page(outcome: Outcome, processor: str, commit: str, written: str) -> Page:
    """A benchmark's comparisons, the ratio of each as a bar."""
    most = max((abs(math.log2(row.ratio)) for row in outcome.rows if row.ratio), default=1.0) or 1.0
    body = fill(
        "bench.html.j2",
        rows=[_ratio(row, most) for row in outcome.rows],
        tiles=_tiles(outcome),
        absent=outcome.absent,
        remarks=outcome.remarks,
        note=NOTE,
    )
    return Page(
        kind="bench",
        title=f"bench {outcome.question}",
        facts=(processor, _commit(commit)),
        sections=(Section("results", "Results", body),),
        written=written,
        remark="Contestants took turns in one run.",
    )


def _commit(commit: str) -> str:
    return f"commit {commit[:10]}" if commit and commit != "unknown" else ""


def _ratio(row: Row, most: float) -> _Ratio:
    """Bars grow by the logarithm: twice as fast is as long as half as fast."""
    part = 0.0 if not row.ratio else 50 * math.log2(row.ratio) / most
    return _Ratio(row, min(50.0, 50 + part), abs(part), part >= 0)


def _tiles(outcome: Outcome) -> list[Tile]:
    compared = [row for row in outcome.rows if row.ratio is not None]
    if not compared:
        return [Tile(str(len(outcome.rows)), "rows, none of them compared")]
    apart = [row for row in compared if abs(row.ratio or 1) and abs((row.ratio or 1) - 1) > (row.spread or 0)]
    better = sum((row.ratio or 0) > 1 for row in apart)
    return [
        Tile(str(len(compared)), "comparisons"),
        Tile(str(better), "where ours is better, beyond the spread"),
        Tile(str(len(apart) - better), "where the rival is better, beyond the spread"),
        Tile(str(len(compared) - len(apart)), "within the spread"),
    ]
