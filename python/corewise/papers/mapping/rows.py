"""Paper 002's claims beside what the simulated ring does: a row each.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from corewise.analysis.result import Row, number_row, statement_row
from corewise.data.published import DataSet
from corewise.papers.mapping.data import Curve, Point, Study, inverse, mapping_text

NEAR_ONE = 1.1
"""A time so close to the best counts as equal."""


def rows_of(study: Study) -> Iterator[Row]:
    """Every number and statement, in the paper's order."""
    yield from _ps3_rows(study)
    yield from _chip_rows(study)
    yield from _place_rows(study)
    yield from _statements(study)
    yield from _experiments(study)


def _ratio(id: str, what: str, source: str, published: float, ours: float, set: DataSet) -> Row:
    return number_row(id, what, source, published, ours, "", set)


def _ps3_rows(study: Study) -> Iterator[Row]:
    for id, curve, name, figure, average, single in (
        ("M3", study.fig2, "default mapping", "002 figure 2", 2.35, 2.8),
        ("M4", study.fig3, "pinned mapping", "002 figure 3", 2.27, 2.45),
    ):
        yield _ratio(id, f"PS3, {name}: worst/best of averages", figure, average, curve.spread, "H")
        yield _ratio(f"{id}/runs", f"PS3, {name}: worst/best of a run", figure, single, curve.run_spread, "H")


def _chip_rows(study: Study) -> Iterator[Row]:
    for id, size, published, held in (
        ("M2a", 2048, 3.4, "H"),
        ("M1", 1024, 5.3, "C"),
        ("M2b", 512, 9.3, "H"),
    ):
        what = f"blade, bidirectional ring, {size / 1024:g} KB: worst/best"
        row_set: DataSet = "C" if held == "C" else "H"
        yield _ratio(id, what, "002 figure 4", published, study.fig4[size].spread, row_set)


CHIP_RING = (0, 7, 1, 6, 2, 5, 3, 4)
"""The ring of the chip in the paper's notation: T_i, on SPE i, executes task pi(i)."""
_PLACES = (
    ("M5/default", "fig2", (0, 1, 2, 3, 4, 5), 92, 1.8),
    ("M5/pinned", "fig3", (0, 1, 2, 3, 4, 5), 101, 1.97),
    ("M6/ring", "fig3", (0, 2, 4, 5, 3, 1), 2, None),
    ("M6/other", "fig3", (0, 1, 3, 5, 4, 2), 7, 1.25),
    ("M7/ring", "fig4", (0, 2, 4, 6, 7, 5, 3, 1), 95, 1.74),
    ("M7/other", "fig4", (0, 1, 3, 5, 7, 6, 4, 2), 3212, 2.6),
)
"""Id, curve, mapping as printed, published rank and time over the best's."""


def _place_rows(study: Study) -> Iterator[Row]:
    """Ranks and factors of the mappings that the paper names, in both readings of its notation."""
    curves = {"fig2": study.fig2, "fig3": study.fig3, "fig4": study.fig4[1024]}
    for id, figure, mapping, rank, factor in _PLACES:
        for suffix, reading in readings(mapping).items():
            yield from _place(f"{id}{suffix}", curves[figure], mapping, reading, rank, factor)
    yield from _place("M7/chip", curves["fig4"], CHIP_RING, CHIP_RING, None, None)


def readings(mapping: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """The permutation as the paper defines it (thread i executes task pi(i)), and its inverse."""
    both = {"": mapping, "/inverse": inverse(mapping)}
    return both if both[""] != both["/inverse"] else {"": mapping}


def _place(
    id: str,
    curve: Curve,
    printed: tuple[int, ...],
    mapping: tuple[int, ...],
    rank: int | None,
    factor: float | None,
) -> Iterator[Row]:
    place, ours = curve.place_of(mapping)
    where = f"{mapping_text(printed)} read as {mapping_text(mapping)}, {curve.label}"
    source = "002 section 3"
    if rank is None:
        what = f"{where}, the ring of the chip: within 10 % of the best"
        yield statement_row(id, what, source, ours <= NEAR_ONE, ours)
        return
    ranked = number_row(f"{id}/rank", f"rank of {where}", source, float(rank), float(place), "", "H")
    # A rank has no zero to be relative to: 93 instead of 2 is not an error of 4550 %.
    yield replace(ranked, error=None)
    if factor is not None:
        yield _ratio(f"{id}/time", f"time of {where} over the best's", source, factor, ours, "H")


def _statements(study: Study) -> Iterator[Row]:
    one, two = study.fig5[1024], study.fig4[1024]
    yield statement_row(
        "M8",
        "unidirectional ring: most mappings near the best (share within 10 %)",
        "002 figure 5",
        one.share_within(NEAR_ONE) > 0.5,
        one.share_within(NEAR_ONE),
        set="C",
    )
    yield statement_row(
        "M8/less",
        "the mapping matters less in the unidirectional ring",
        "002 figure 5",
        one.spread < two.spread,
        one.spread,
    )
    spreads = [study.ps3_sizes[size].spread for size in (512, 1024, 2048)]
    yield statement_row(
        "M9",
        "PS3: no significant change with 0.5 and 2 KB (largest ratio between the spreads)",
        "002 section 3",
        max(spreads) / min(spreads) < 1.2,
        max(spreads) / min(spreads),
        set="H",
    )
    chip = [study.fig4[size].spread for size in (2048, 1024, 512)]
    yield statement_row(
        "M2",
        "blade: the spread grows as packets shrink",
        "002 figure 4",
        chip[0] < chip[1] < chip[2],
        chip[2] / chip[0],
    )
    yield statement_row(
        "M10",
        "single runs spread wider than their average",
        "002 figures 2, 3",
        all(curve.run_spread >= curve.spread for curve in (study.fig2, study.fig3)),
        study.fig2.run_spread / study.fig2.spread,
    )
    yield statement_row(
        "M10/pinned",
        "runs agree more when pinned (rank correlation, pinned less default)",
        "002 figures 2, 3",
        study.fig3.rank_correlation() > study.fig2.rank_correlation(),
        study.fig3.rank_correlation() - study.fig2.rank_correlation(),
    )


def _experiments(study: Study) -> Iterator[Row]:
    """What is new here: statements about mechanisms, for anyone to check on a machine."""
    source = "docs/papers/mapping.md"
    slowest = max(study.back_off, key=lambda point: float(point.curve.average_us.mean()))
    usual = next(point for point in study.back_off if (point.back_off, point.pause, point.hop) == (100, 0, 0))
    slowdown = float(slowest.curve.average_us.mean() / usual.curve.average_us.mean())
    yield statement_row(
        "X1/resonance",
        f"a back-off of {slowest.back_off} cycles meets the next poll again and again: slowdown against 100",
        source,
        slowdown > 2,
        slowdown,
    )
    widest = max(_longest(study), key=lambda point: point.curve.spread)
    yield statement_row(
        "X1/spread",
        f"line conflicts and back-off alone give a spread of 2 in long runs ({widest.rounds} rounds)",
        source,
        widest.curve.spread >= 2,
        widest.curve.spread,
    )
    plain = [point for point in study.layouts if point.back_off == 100 and point.size == 1024]
    by_layout = {point.layout: point for point in plain}
    for id, layout, what in (
        ("X2/padded", "padded rows", "rows padded to two lines: fewer retries than one line per row"),
        ("X2/separate", "separate acknowledges", "acknowledges in their own line: fewer retries"),
        ("X3", "local store", "notification into the local store: no retries"),
    ):
        retries, before = by_layout[layout].curve.retries, by_layout["one line per row"].curve.retries
        holds = retries == 0 if id == "X3" else retries < before
        yield statement_row(id, what, source, holds, retries, "per round")
    rhythm = max((point for point in study.rhythms), key=lambda point: point.curve.spread)
    yield statement_row(
        "X5/rhythm",
        f"polling with pauses locks into rhythms of different speed (pause {rhythm.pause}): spread over 1.3",
        source,
        rhythm.curve.spread >= 1.3,
        rhythm.curve.spread,
    )
    yield from _shared_lines(study)
    correlation = study.rhythm_runs.rank_correlation()
    yield statement_row(
        "X5/runs",
        "which rhythm a run gets does not belong to its mapping (rank correlation between runs below 0.5)",
        source,
        correlation < 0.5,
        correlation,
    )


def _shared_lines(study: Study) -> Iterator[Row]:
    """Several rows of the matrix in one line: whether a cost then belongs to its mapping."""
    source = "docs/papers/mapping.md"
    for layout, curve in study.shared.items():
        runs = study.shared_runs[layout]
        name = layout.split()[0]
        correlation = runs.rank_correlation()
        yield statement_row(
            f"X6/{name}/correlation",
            f"{layout}: which mapping is fast belongs to the mapping (rank correlation of runs over 0.5)",
            source,
            correlation > 0.5,
            correlation,
        )
        yield statement_row(
            f"X6/{name}/spread",
            f"{layout}: false sharing alone gives the PS3's spread of 2.3 (1 KB, all mappings timed)",
            source,
            curve.spread >= 2.3,
            curve.spread,
        )


def _longest(study: Study) -> list[Point]:
    longest = max(point.rounds for point in study.lengths)
    return [point for point in study.lengths if point.rounds == longest]
