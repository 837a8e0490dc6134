"""Paper 003's overhead study: how rounds become medians, rows, tables and figures. The runs are made up.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import pytest

from corewise.analysis.spread import spread_of
from corewise.papers.profiling.data import (
    MODES,
    PAPER_BYTES,
    PAPER_EVENTS,
    PAPER_LARGE,
    AppRuns,
    CaseTimes,
    Effort,
    Study,
    SweepRun,
)
from corewise.papers.profiling.rows import rows_of
from corewise.papers.profiling.views import figures_of, tables_of
from corewise.plots.figures import write_figures

EFFORT = Effort(3, 1, (1200, PAPER_EVENTS), (8, PAPER_BYTES, PAPER_LARGE), (5120, 32768), 10)
CASES = ((1200, PAPER_BYTES), (PAPER_EVENTS, 8), (PAPER_EVENTS, PAPER_BYTES), (PAPER_EVENTS, PAPER_LARGE))


def run_of(cost_ns: float, noise_ns: float) -> SweepRun:
    """A run in which every event takes a tenth of its bytes, plus what the recorder costs, plus noise."""
    run = SweepRun(10 + cost_ns, 100 + cost_ns, 5)
    for case in CASES:
        time = 200 + case[1] / 10 + cost_ns + noise_ns
        run.cases[case] = CaseTimes(time, time, 2 * time, 9 * time)
    return run


def made_up(costs: dict[str, float], name: str = "somempi 1.0") -> Study:
    """Three rounds in which a recorder costs what `costs` says; noise hits all of a round alike."""
    contestants = ["none", *MODES, *(f"buffer {size}" for size in EFFORT.buffers)]
    runs = {
        contestant: [run_of(costs.get(contestant, 0), noise) for noise in (0, 7, 100)]
        for contestant in contestants
    }
    seconds = {contestant: [1.0, 1.1, 1.2] for contestant in ("none", *MODES)}
    return Study(name, 2, EFFORT, runs, AppRuns(seconds, 20000.0))


CHEAP = {"drain": 60.0, "thread": 70.0, "flight": 50.0, "buffer 5120": 62.0, "buffer 32768": 58.0}


def test_rounds_are_compared_with_their_own_round() -> None:
    study = made_up(CHEAP)
    assert study.added_ns("drain", CASES[0]).median == pytest.approx(60)
    assert study.added_ns("drain", CASES[0]).quartiles == pytest.approx(0)
    assert study.null_added_ns("flight").median == pytest.approx(50)
    assert study.slowdown("drain", CASES[1]).median == pytest.approx(1 + 60 / 207.8)


def test_spread_is_between_quartiles() -> None:
    assert spread_of([1, 2, 3, 4, 5]) == (spread := spread_of([5, 4, 3, 2, 1])) and spread.quartiles == 2
    assert spread_of([7]).quartiles == 0


def test_rate_times_cost() -> None:
    assert made_up(CHEAP).application_share("drain") == pytest.approx(20000 * 60e-9)


def test_a_cheap_recorder_holds_every_statement_and_a_dear_one_does_not() -> None:
    cheap = {row.id: row.holds for row in rows_of([made_up(CHEAP), made_up(CHEAP, "othermpi 2.0")])}
    assert [key for key, holds in cheap.items() if holds is False] == []
    dear = {"drain": 9000.0, "thread": 0.0, "flight": 0.0}
    rows = {row.id: row.holds for row in rows_of([made_up(dear), made_up(dear)])}
    broken = {key for key, holds in rows.items() if holds is False}
    assert broken == {"fig2/below", "fig5/below", "fig4b/half-percent", "fig4b/0.3us"}


def test_every_published_number_stands_beside_ours() -> None:
    rows = [row for row in rows_of([made_up(CHEAP), made_up(CHEAP)]) if row.published is not None]
    assert [row.published for row in rows] == [6.3, 6.8, 5.6, 4.0, 3.7, 0.3, 0.5, 3.2, 4.2]
    assert all(row.ours is not None and row.error is not None for row in rows)


def test_tables_and_figures_have_every_point(tmp_path: Path) -> None:
    studies = [made_up(CHEAP), made_up(CHEAP, "othermpi 2.0")]
    tables = list(tables_of(studies, list(rows_of(studies))))
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    titles = " ".join(table.title for table in tables)
    assert "Init, net and Finalize" in titles and "othermpi 2.0" in titles
    figures = list(figures_of(studies))
    assert [figure.name for figure in figures] == [f"003-figure-{n}" for n in (2, 3, 4, 5)]
    assert all(len(s.x) == len(s.y) for figure in figures for panel in figure.panels for s in panel.series)
    assert all(path.stat().st_size > 1000 for path in write_figures(figures, tmp_path))


def test_one_mpi_is_enough() -> None:
    assert "fig5/call" not in {row.id for row in rows_of([made_up(CHEAP)])}
    assert len(list(figures_of([made_up(CHEAP)]))) == 3
