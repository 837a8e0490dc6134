"""Paper 000's tables and figures, laid out from the measurements.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from corewise import _lab
from corewise.analysis.result import (
    Figure,
    Panel,
    Row,
    Table,
    error_text,
    number_table,
    series,
    statement_table,
    summarise,
    summary_text,
)
from corewise.data.published import DataSet, published_as
from corewise.data.quantities import number_text
from corewise.papers.affinity.data import (
    AFFINITIES,
    DEFAULT,
    SHOWN,
    SIZES,
    SPES,
    STEP_OF_FIGURE_2,
    Measurements,
    deviation,
)
from corewise.papers.affinity.rows import (
    AS_PRINTED,
    PORT_GB_PER_S,
    permutation_lead,
    permutation_wins,
)

_SIZE = "message size"
_MINIMUM = "least bandwidth of the ranks, GB/s"
_BANDWIDTH = "bandwidth, GB/s"
_SET_NAMES: dict[DataSet, str] = {"C": "set C, calibration", "H": "set H, meant to be held out"}


# ---- tables ----------------------------------------------------------------------------------------------


def tables_of(found: Measurements, rows: Sequence[Row]) -> tuple[Table, ...]:
    """All tables, in the order in which they are printed."""
    return (
        *(_table1(found, rows, set) for set in ("C", "H", None)),
        _table2(found),
        _collectives(found),
        number_table("Published times", [row for row in rows if row.unit == "us"]),
        _permutations(found),
        statement_table("What the paper says in words", [row for row in rows if row.holds is not None]),
    )


def _table1(found: Measurements, rows: Sequence[Row], set: DataSet | None) -> Table:
    by_id = {row.id: row for row in rows}
    cells = []
    for experiment in _lab.paper000_table1():
        published = published_as("A7" if experiment.id == AS_PRINTED else experiment.id)
        deviations = deviation(found.table1[experiment.id])
        for flow, value, sd in zip(experiment.flows, published, deviations, strict=True):
            row = by_id[f"{experiment.id}/{flow[0]}<-{flow[1]}"]
            if row.set == set:
                cells.append(_table1_cells(experiment.id, row, value.sd, float(sd)))
    return Table(
        f"Table 1, {_SET_NAMES[set]}" if set else "Table 1, #7 as printed (in no set)",
        ("#", "flow", "published GB/s", "sd", "simulated GB/s", "sd", "error"),
        tuple(cells),
        summary_text(summarise(row for row in rows if row.unit == "GB/s" and row.set == set)),
    )


def _table1_cells(experiment: str, row: Row, published_sd: float | None, sd: float) -> tuple[str, ...]:
    return (
        "7" if experiment == AS_PRINTED else experiment[1:],
        row.what,
        f"{row.published:.1f}",
        number_text(published_sd, 2),
        f"{row.ours:.2f}",
        f"{sd:.2f}",
        error_text(row.error),
    )


def _table2(found: Measurements) -> Table:
    cells = tuple(
        (
            pattern.title,
            *(
                f"{found.minimum(pattern.name, affinity):.1f} "
                f"({float(deviation(found.steps[pattern.name, affinity].min(axis=1))):.2f})"
                for affinity in SHOWN
            ),
        )
        for pattern in _lab.paper000_table2()
    )
    return Table(
        "Table 2, 64 KB: least bandwidth of the ranks in GB/s, mean (sd) over the trials",
        ("pattern", *SHOWN.values()),
        cells,
        "The paper's own values are in figures only; what its text says of them is below.",
    )


def _collectives(found: Measurements) -> Table:
    cells = tuple(
        (
            operation.title,
            *(f"{found.time_us(operation.name, affinity):.2f}" for affinity in SHOWN),
        )
        for operation in _lab.paper000_collectives()
    )
    return Table(
        "Operations of several phases, us, mean over the trials", ("operation", *SHOWN.values()), cells
    )


def _permutations(found: Measurements) -> Table:
    wins, leads = permutation_wins(found), permutation_lead(found)
    count = found.permutations.shape[0]
    cells = tuple(
        (
            SHOWN[name],
            str(wins[name]),
            f"{100 * wins[name] / count:.1f} %",
            f"{100 * leads[name]:.1f} %",
            f"{found.permutations[:, index].mean():.2f}",
            f"{found.permutations[:, index].min():.2f}",
        )
        for index, name in enumerate((*AFFINITIES, DEFAULT))
    )
    return Table(
        f"{count} random permutations of sources, 64 KB: least bandwidth of the ranks",
        ("affinity", "best in", "share", "of the best, mean", "mean GB/s", "worst GB/s"),
        cells,
        "Relabelling the ranks of a uniformly random permutation gives a uniformly random permutation: "
        "no affinity can lead on average.",
    )


# ---- figures ---------------------------------------------------------------------------------------------


def figures_of(found: Measurements) -> tuple[Figure, ...]:
    """Figures 1 (right) to 8 of the paper, then ours."""
    return (
        _figure_1(found),
        _figure_2(found),
        _trials_figure(found, 3, DEFAULT),
        _trials_figure(found, 4, "identity"),
        _steps_figure(found, 5, ("ring", "recursive_doubling_1")),
        _steps_figure(found, 6, ("recursive_doubling_2", "recursive_doubling_3")),
        _steps_figure(found, 7, ("bruck_2", "binomial_tree_3")),
        _figure_8(found),
        _table1_figure(found),
        _sizes_figure(found),
        _permutation_figure(found),
    )


def _figure_1(found: Measurements) -> Figure:
    drawn = tuple(series(f"SPE {reader}", SIZES, found.alone[reader - 1]) for reader in range(1, SPES))
    panel = Panel(
        "one reader at a time, no contention",
        _SIZE,
        _BANDWIDTH,
        "line",
        drawn,
        x_log2=True,
        lines=(("limit 25.6 GB/s", PORT_GB_PER_S),),
    )
    return Figure("000-figure-1", "Figure 1 (right): get from SPE 0", (panel,))


def _figure_2(found: Measurements) -> Figure:
    curves = tuple(
        series(name, SIZES, found.sizes[STEP_OF_FIGURE_2, affinity]) for affinity, name in SHOWN.items()
    )
    bars = tuple(
        series(SHOWN[affinity], range(SPES), found.steps[STEP_OF_FIGURE_2, affinity][0])
        for affinity in ("overlap", "identity")
    )
    return Figure(
        "000-figure-2",
        "Figure 2: first phase of recursive doubling",
        (
            Panel("by message size", _SIZE, _MINIMUM, "line", curves, x_log2=True),
            Panel("each rank, 64 KB, one trial", "rank", _BANDWIDTH, "bars", bars, x_names=_numbers(SPES)),
        ),
    )


def _numbers(count: int, first: int = 0) -> tuple[str, ...]:
    return tuple(str(first + index) for index in range(count))


def _trials_figure(found: Measurements, number: int, affinity: str) -> Figure:
    trials = found.steps[STEP_OF_FIGURE_2, affinity]
    ranks = (
        series("mean (bar: sd)", range(SPES), trials.mean(axis=0), deviation(trials)),
        series("worst trial", range(SPES), trials.min(axis=0)),
    )
    minima = (series("minimum", range(len(trials)), trials.min(axis=1)),)
    return Figure(
        f"000-figure-{number}",
        f"Figure {number}: first phase of recursive doubling, {SHOWN[affinity]} affinity, 64 KB",
        (
            Panel(
                f"each rank over {len(trials)} trials",
                "rank",
                _BANDWIDTH,
                "bars",
                ranks,
                x_names=_numbers(SPES),
            ),
            Panel("each trial", "trial", _MINIMUM, "bars", minima, x_names=_numbers(len(trials), 1)),
        ),
    )


def _steps_figure(found: Measurements, number: int, names: Sequence[str]) -> Figure:
    titles = {pattern.name: pattern.title for pattern in _lab.paper000_table2()}
    panels = tuple(
        _affinity_bars(titles[name], _MINIMUM, {key: found.steps[name, key].min(axis=1) for key in SHOWN})
        for name in names
    )
    return Figure(
        f"000-figure-{number}",
        f"Figure {number}: {' and '.join(titles[name] for name in names)}, 64 KB",
        panels,
    )


def _affinity_bars(title: str, y_label: str, trials: dict[str, NDArray[np.float64]]) -> Panel:
    means = np.array([trials[affinity].mean() for affinity in SHOWN])
    spreads = np.array([float(deviation(trials[affinity])) for affinity in SHOWN])
    drawn = (series("mean (bar: sd)", range(len(SHOWN)), means, spreads),)
    return Panel(title, "affinity", y_label, "bars", drawn, x_names=tuple(SHOWN.values()))


def _figure_8(found: Measurements) -> Figure:
    panels = tuple(
        _affinity_bars(
            title, "time of one all-gather, us", {key: found.collectives[name, key] for key in SHOWN}
        )
        for name, title in (
            ("all_gather_bruck", "Bruck"),
            ("all_gather_recursive_doubling", "recursive doubling"),
        )
    )
    return Figure("000-figure-8", "Figure 8: all-gather, largest message 64 KB", panels)


def _table1_figure(found: Measurements) -> Figure:
    return Figure("000-table-1", "Table 1: published beside simulated, 64 KB", tuple(_table1_panels(found)))


def _table1_panels(found: Measurements) -> Iterator[Panel]:
    for wanted in ("C", "H"):
        names: list[str] = []
        ours: list[tuple[float, float]] = []
        theirs: list[tuple[float, float]] = []
        for experiment in _lab.paper000_table1():
            if experiment.id == AS_PRINTED:
                continue
            trials = found.table1[experiment.id]
            means, deviations = trials.mean(axis=0), deviation(trials)
            for index, value in enumerate(published_as(experiment.id)):
                if value.set != wanted:
                    continue
                flow = experiment.flows[index]
                names.append(f"#{experiment.id[1:]} {flow[0]}<-{flow[1]}")
                ours.append((float(means[index]), float(deviations[index])))
                theirs.append((value.value, value.sd or 0.0))
        x = range(len(names))
        drawn = tuple(
            series(label, x, (value for value, _ in pairs), (sd for _, sd in pairs))
            for label, pairs in (("published", theirs), ("simulated", ours))
        )
        yield Panel(
            _SET_NAMES[wanted], "experiment and flow", _BANDWIDTH, "bars", drawn, x_names=tuple(names)
        )


def _sizes_figure(found: Measurements) -> Figure:
    panels = tuple(
        Panel(
            pattern.title,
            _SIZE,
            _MINIMUM,
            "line",
            tuple(
                series(name, SIZES, found.sizes[pattern.name, affinity]) for affinity, name in SHOWN.items()
            ),
            x_log2=True,
        )
        for pattern in _lab.paper000_table2()
    )
    return Figure("000-sizes", "The patterns of Table 2 by message size", panels)


def _permutation_figure(found: Measurements) -> Figure:
    names = (*AFFINITIES, DEFAULT)
    wins = permutation_wins(found)
    counts = (series("best in", range(len(names)), (wins[name] for name in names)),)
    ranked = tuple(
        series(SHOWN[name], range(found.permutations.shape[0]), np.sort(found.permutations[:, index]))
        for index, name in enumerate(names)
    )
    return Figure(
        "000-permutations",
        f"{found.permutations.shape[0]} random permutations of sources, 64 KB",
        (
            Panel(
                "how often each affinity is the best",
                "affinity",
                "permutations",
                "bars",
                counts,
                x_names=tuple(SHOWN[name] for name in names),
            ),
            Panel("sorted by bandwidth", "permutation, ranked for each affinity", _MINIMUM, "line", ranked),
        ),
    )
