"""Tables and figures of the ring of paper 002.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from corewise.analysis.result import Figure, Panel, Row, Series, Table, number_table, series, statement_table
from corewise.papers.mapping.data import Curve, Point, Study

MOST_POINTS = 600
"""Points of a drawn curve: of 5040 mappings every eighth or so is enough for the eye."""


def tables_of(study: Study, rows: Sequence[Row]) -> Iterator[Table]:
    """Numbers, statements, what the curves look like, and the experiments."""
    ranks = [row for row in rows if row.id.endswith("/rank")]
    yield number_table("paper 002: published beside simulated", [row for row in rows if row not in ranks])
    yield replace(number_table("paper 002: ranks of the mappings that it names", ranks), note="")
    yield statement_table("paper 002 in words, and the experiments", rows)
    yield _curve_table(study)
    yield _back_off_table(study)
    yield _length_table(study)
    yield _layout_table(study)
    yield _rhythm_table(study)


def _curve_row(name: str, curve: Curve) -> tuple[str, ...]:
    runs = len(curve.times_us)
    return (
        name,
        str(curve.times_us.shape[1]),
        str(runs),
        f"{curve.average_us.min():.3f}",
        f"{curve.middle:.2f}",
        f"{curve.spread:.2f}",
        f"{curve.run_spread:.2f}",
        f"{curve.rank_correlation():.2f}" if runs > 1 else "",
        f"{curve.retries:.1f}",
        f"{100 * curve.repeating:.0f} %",
    )


def _curve_table(study: Study) -> Table:
    columns = (
        "curve",
        "mappings",
        "runs",
        "best us/round",
        "median/best",
        "worst/best",
        "in a run",
        "rank corr.",
        "retries/round",
        "repeat",
    )
    rows = [_curve_row("figure 2: PS3, default", study.fig2), _curve_row("figure 3: PS3, pinned", study.fig3)]
    for size, curve in study.ps3_sizes.items():
        rows.append(_curve_row(f"PS3 without jitter, {size} B", curve))
    for size in study.fig4:
        rows.append(_curve_row(f"figure 4: chip, {size} B, without jitter", study.fig4[size]))
        rows.append(_curve_row(f"figure 4: chip, {size} B", study.fig4_runs[size]))
    for size, curve in study.fig5.items():
        rows.append(_curve_row(f"figure 5: one way, {size} B", curve))
    rows.append(_curve_row("chip, 1024 B, pause 4000 cycles", study.rhythm_runs))
    for layout in study.shared:
        rows.append(_curve_row(f"chip, 1024 B, {layout}, without jitter", study.shared[layout]))
        rows.append(_curve_row(f"chip, 1024 B, {layout}", study.shared_runs[layout]))
    note = (
        "repeat: share of the mappings whose complete state came again, so that the time holds for any "
        "number of rounds; the others are averages of the second half of the rounds"
    )
    return Table("curves", columns, tuple(rows), note)


def _point_cells(point: Point) -> tuple[str, ...]:
    curve = point.curve
    return (
        f"{curve.average_us.min():.2f}",
        f"{float(curve.average_us.mean()):.2f}",
        f"{curve.spread:.2f}",
        f"{curve.retries:.1f}",
    )


_RESULTS = ("best us/round", "mean us/round", "worst/best", "retries/round")


def _back_off_table(study: Study) -> Table:
    rows = tuple(
        (str(point.back_off), str(point.pause), str(point.hop), *_point_cells(point))
        for point in study.back_off
    )
    return Table(
        "experiment 1: back-off, pause between polls, position of commands (core cycles)",
        ("back-off", "pause", "per stop", *_RESULTS),
        rows,
        f"{_sampled(study.back_off)} mappings, {study.back_off[0].rounds} rounds",
    )


def _length_table(study: Study) -> Table:
    rows = tuple(
        (str(point.back_off), str(point.hop), str(point.rounds), *_point_cells(point))
        for point in study.lengths
    )
    return Table(
        "experiment 1: the same spread over longer runs",
        ("back-off", "per stop", "rounds", *_RESULTS),
        rows,
        "a spread that shrinks with the length of the run is not the mapping's",
    )


def _layout_table(study: Study) -> Table:
    rows = tuple(
        (point.layout, str(point.back_off), str(point.hop), str(point.size), *_point_cells(point))
        for point in study.layouts
    )
    return Table(
        "experiments 2 and 3: layouts of the notification matrix",
        ("layout", "back-off", "per stop", "packet B", *_RESULTS),
        rows,
        f"{_sampled(study.layouts)} mappings, {study.layouts[0].rounds} rounds",
    )


def _rhythm_table(study: Study) -> Table:
    rows = tuple(
        (
            "both ways" if point.bidirectional else "one way",
            str(point.pause),
            *_point_cells(point),
            f"{100 * point.curve.repeating:.0f} %",
        )
        for point in study.rhythms
    )
    return Table(
        "experiment 4 and the rhythm of polling",
        ("ring", "pause", *_RESULTS, "repeat"),
        rows,
        f"{_sampled(study.rhythms)} mappings, {study.rhythms[0].rounds} rounds",
    )


def _sampled(points: tuple[Point, ...]) -> int:
    return int(points[0].curve.times_us.shape[1])


# ---- figures ---------------------------------------------------------------------------------------------


def figures_of(study: Study) -> Iterator[Figure]:
    """Figures 2 to 5, and one for the experiments."""
    yield _runs_figure("002-figure-2", "PS3, default mapping", study.fig2)
    yield _runs_figure("002-figure-3", "PS3, pinned mapping", study.fig3)
    yield Figure(
        "002-figure-4",
        "Cell of a blade, bidirectional ring",
        (
            _sizes_panel("without jitter", study.fig4),
            _sizes_panel("average of three runs, sample of mappings", study.fig4_runs),
        ),
    )
    yield Figure(
        "002-figure-5", "Cell of a blade, unidirectional ring", (_sizes_panel("without jitter", study.fig5),)
    )
    panels = (_back_off_panel(study), _rhythm_panel(study))
    yield Figure("002-experiments", "Back-off against polling, and the rhythm of polling", panels)


def _ranked(label: str, ranked: Iterable[float]) -> Series:
    """Values in the order of their rank, thinned for the eye but for the ends."""
    values = tuple(ranked)
    count = len(values)
    step = max(1, count // MOST_POINTS)
    kept = sorted({*range(0, count, step), count - 1})
    return series(label, (at + 1 for at in kept), (values[at] for at in kept))


def _runs_figure(name: str, title: str, curve: Curve) -> Figure:
    scale = curve.runtime_s() / curve.average_us
    order = curve.order
    drawn = [_ranked("average", curve.runtime_s()[order])]
    for run, times in enumerate(curve.times_us):
        drawn.append(_ranked(f"run {run + 1}", (times * scale)[order]))
    panel = Panel(title, "mapping, by rank of its average", "s for 1e7 transmissions", "line", tuple(drawn))
    return Figure(name, title, (panel,))


def _sizes_panel(title: str, curves: dict[int, Curve]) -> Panel:
    drawn = tuple(_ranked(curve.label, curve.runtime_s()[curve.order]) for curve in curves.values())
    return Panel(title, "mapping, by rank", "s for 1e7 transmissions", "line", drawn)


def _back_off_panel(study: Study) -> Panel:
    drawn = []
    for hop in sorted({point.hop for point in study.back_off}):
        points = [point for point in study.back_off if point.hop == hop and point.pause == 0]
        times = (point.curve.average_us.mean() for point in points)
        drawn.append(series(f"{hop} cycles per stop", (point.back_off for point in points), times))
    y_label = "us per round, mean of mappings"
    return Panel("back-off", "back-off, core cycles", y_label, "line", tuple(drawn), y_log=True)


def _rhythm_panel(study: Study) -> Panel:
    drawn = []
    for both in (True, False):
        points = [point for point in study.rhythms if point.bidirectional == both]
        spreads = (point.curve.spread for point in points)
        drawn.append(series("both ways" if both else "one way", (point.pause for point in points), spreads))
    return Panel("rhythm", "pause between polls, core cycles", "worst/best", "line", tuple(drawn))
