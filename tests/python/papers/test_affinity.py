"""Paper 000 on the simulated Cell: what issues 3 and 20 ask to be shown, mostly with the paper's repetitions.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import documents
import numpy as np
import pytest
from installed_tool import assert_one_line_error, corewise

from corewise import InputError, _lab
from corewise.analysis.result import Row, number_row, statement_row, summarise
from corewise.data.published import published, published_as
from corewise.papers.affinity.data import AFFINITIES, DEFAULT, SIZES, Measurements, deviation
from corewise.papers.affinity.rows import (
    POOR_ONES,
    UNEXPLAINED,
    distinct_pairs,
    relative_minima,
    rows_of,
    threshold_bytes,
)
from corewise.papers.affinity.study import QUICK, measure
from corewise.papers.affinity.views import figures_of, tables_of
from corewise.plots.figures import write_figures

PLAN = replace(
    QUICK, table1_repetitions=100, step_repetitions=100, collective_repetitions=40, permutations=30
)


@pytest.fixture(scope="module")
def found() -> Measurements:
    return measure(PLAN)


@pytest.fixture(scope="module")
def rows(found: Measurements) -> dict[str, Row]:
    made = rows_of(found)
    assert len({row.id for row in made}) == len(made)
    return {row.id: row for row in made}


def holds(rows: dict[str, Row], *ids: str) -> None:
    for id in ids:
        assert rows[id].holds is True, rows[id]


# --- the published numbers ---------------------------------------------------------------------------------


def test_table_1_has_38_published_values_in_two_sets() -> None:
    values = [row for row in published() if row.source == "000 table 1"]
    assert len(values) == 38
    assert sum(row.set == "C" for row in values) == 20
    assert {row.id for row in values} == {each.id for each in _lab.paper000_table1()} - {"A7p"}
    with pytest.raises(KeyError):
        published_as("Z1")


def test_rows_and_their_errors() -> None:
    row = number_row("x", "w", "s", 20.0, 19.0, "GB/s", "C")
    assert row.error == pytest.approx(-0.05)
    summary = summarise(
        [row, number_row("y", "w", "s", 10.0, 11.0, "", "H"), statement_row("z", "w", "s", True)]
    )
    assert (summary.count, summary.worst_id) == (2, "y")
    assert summary.mean == pytest.approx(0.075)
    assert summarise([row], "H").count == 0


def test_the_deviation_is_the_samples() -> None:
    trials = np.array([[24.0, 1.0], [24.2, 1.0], [24.7, 4.0]])
    assert deviation(trials)[0] == pytest.approx(statistics.stdev([24.0, 24.2, 24.7]))
    assert deviation(trials)[1] == pytest.approx(np.sqrt(3.0))
    assert deviation(trials[:1]).tolist() == [0.0, 0.0]


# --- table 1 -----------------------------------------------------------------------------------------------


def test_table_1_mean_error_is_at_most_3_2_percent(rows: dict[str, Row]) -> None:
    values = [
        row for row in rows.values() if row.source == "000 table 1" and row.set and row.error is not None
    ]
    assert len(values) == 38
    assert summarise(values).mean <= 0.032


def test_table_1_worst_error_is_at_most_10_percent(rows: dict[str, Row]) -> None:
    values = [
        row for row in rows.values() if row.source == "000 table 1" and row.set and row.error is not None
    ]
    summary = summarise(values)
    assert summary.worst <= 0.1, summary


def test_table_1_distinct_pairs_are_in_order(rows: dict[str, Row]) -> None:
    # By hand, over 5 % and two deviations: 7<-1 over the others of #7; 6<-0 over those of #9; 0<-7 and
    # 7<-0 over the other three of #10, whose own differences are within their deviations. #5 has none.
    assert distinct("A7") == {(4, 0), (4, 1), (4, 2), (4, 3)}
    assert distinct("A9") == {(1, 0), (1, 2)}
    assert distinct("A10") == {(0, 1), (0, 2), (0, 3), (4, 1), (4, 2), (4, 3)}
    assert distinct("A5") == set()
    holds(rows, "A/order")


def test_table_1_order_in_the_strict_reading_is_not_met_and_not_worse_than_it_was(
    rows: dict[str, Row],
) -> None:
    strict = rows["A/order-strict"]
    assert strict.holds is False
    assert strict.unit == "of 20 pairs"
    assert (strict.ours or 0) >= 15


def test_what_was_looked_at_is_marked(rows: dict[str, Row]) -> None:
    assert rows["A10/0<-7"].what == "0<-7 (looked at)" and rows["A10/0<-7"].set == "H"
    assert rows["A10/comment"].set == "C"
    looked_at = ("B11/uneven", "B1/overlap-half", "B14/poor", "B14/default", "B14/trial")
    assert {rows[id].set for id in looked_at} == {"C"}  # decision 0018
    assert {rows[f"{id}/leap2"].set for id in ("B1", "B2", "B3", "B4", "B5", "B6")} == {"C"}


def test_uneven_bandwidth_is_judged_under_overlap(found: Measurements, rows: dict[str, Row]) -> None:
    trials = found.steps["recursive_doubling_1", "overlap"]
    row = rows["B11/uneven"]
    assert row.ours == pytest.approx(float((trials.max(axis=1) / trials.min(axis=1)).max()))
    assert row.holds is True


def test_poor_affinities_are_as_poor_as_the_paper_says(rows: dict[str, Row]) -> None:
    holds(rows, "B1/overlap-half", "B14/poor")


def test_65_findings_hold(rows: dict[str, Row]) -> None:
    # No arbiter treats affinities of uniformly random permutations differently (B13). Flows that differ with
    # nobody else have no cause here (the strict order). The default's average is 1.64 times behind, not 1.8.
    assert {row.id for row in rows.values() if row.holds is False} == {
        "A/order-strict",
        "B13/best",
        "B13/near",
        "B14/default",
    }
    assert sum(row.holds is True for row in rows.values()) == 65


def distinct(id: str) -> set[tuple[int, int]]:
    return set(distinct_pairs(published_as(id), UNEXPLAINED))


def test_table_1_trials_are_3_or_8(found: Measurements) -> None:
    trials = {each.id: each.trials for each in _lab.paper000_table1()}
    for id, values in found.table1.items():
        assert values.shape[0] == trials[id]
    assert (trials["A1"], trials["A9"]) == (3, 8)


@pytest.mark.parametrize("id", ["A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9", "A10", "A11"])
def test_experiment_of_table_1_shows_its_feature(rows: dict[str, Row], id: str) -> None:
    holds(rows, f"{id}/comment")


def test_a_single_message_has_its_published_bandwidth(rows: dict[str, Row]) -> None:
    error = rows["A1/6<-4"].error
    assert error is not None and abs(error) < 0.02


def test_rules_of_thumb_hold(rows: dict[str, Row]) -> None:
    holds(rows, "R1", "R2", "R3")


# --- patterns and affinities --------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", list(POOR_ONES))
def test_good_affinities_are_within_5_percent_of_the_best(found: Measurements, pattern: str) -> None:
    shares = relative_minima(found, pattern)
    good = {name: share for name, share in shares.items() if name not in POOR_ONES[pattern]}
    assert min(good.values()) >= 0.95, shares


@pytest.mark.parametrize("pattern", [name for name, poor in POOR_ONES.items() if poor])
def test_poor_affinities_are_20_percent_below_the_best(found: Measurements, pattern: str) -> None:
    shares = relative_minima(found, pattern)
    assert max(shares[name] for name in POOR_ONES[pattern]) <= 0.80, shares


def test_affinity_starts_to_matter_between_1_and_4_kb(found: Measurements) -> None:
    assert threshold_bytes(found) in (2048, 4096)


def test_short_latency_is_equal_for_every_pair_and_below_100_ns(rows: dict[str, Row]) -> None:
    holds(rows, "L1/short", "L1/equal", "B12/position", "B12/limit")


def test_default_trials_scatter_and_those_of_identity_do_not(rows: dict[str, Row]) -> None:
    holds(rows, "B15/default", "B15/identity")


def test_even_odd_performs_well_on_every_pattern(rows: dict[str, Row]) -> None:
    holds(rows, "B16")


# --- collectives --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("operation", "published_us"), [("broadcast", 17.0), ("scatter", 5.0)])
def test_broadcast_and_scatter_are_about_as_published_with_every_affinity(
    found: Measurements, operation: str, published_us: float
) -> None:
    for affinity in (*AFFINITIES, DEFAULT):
        assert found.time_us(operation, affinity) == pytest.approx(published_us, rel=0.15)


def test_broadcast_and_scatter_are_equal_for_every_affinity(rows: dict[str, Row]) -> None:
    holds(rows, "B9/equal", "B10/equal", "B9/limit", "B10/limit")


def test_all_gathers_are_in_the_papers_order() -> None:
    # Few repetitions of a few microseconds see the threads' uneven start: this takes the paper's hundred.
    for name, groups in (
        ("all_gather_bruck", (["even_odd"], ["identity", "leap2"], ["overlap"], ["ring"])),
        ("all_gather_recursive_doubling", (["even_odd", "identity"], ["overlap", "leap2", "ring"])),
    ):
        times = [
            [
                np.mean([_lab.time_collective(name, AFFINITIES[each], 100, seed=seed) for seed in (1, 2, 3)])
                for each in group
            ]
            for group in groups
        ]
        for better, worse in pairwise(times):
            assert max(better) < min(worse), (name, times)


# --- permutations -------------------------------------------------------------------------------------------


def test_permutations_say_how_often_each_affinity_is_best(found: Measurements, rows: dict[str, Row]) -> None:
    assert found.permutations.shape == (PLAN.permutations, 6)
    assert (found.permutations > 5).all()
    # A few hold the paper's claim by chance only; the row says how many, whether or not it holds.
    assert 0 <= (rows["B13/best"].ours or 0) <= PLAN.permutations
    table = next(table for table in tables_of(found, list(rows.values())) if "permutations" in table.title)
    assert sum(int(cells[1]) for cells in table.rows) == PLAN.permutations


def test_relabelled_ranks_cannot_favour_an_affinity() -> None:
    """Two affinities see the same bandwidths when the permutation is relabelled from one to the other."""
    ring, leap = AFFINITIES["ring"], AFFINITIES["leap2"]
    sources = [3, 0, 1, 2, 7, 4, 5, 6]
    flows = [(ring[rank], ring[source]) for rank, source in enumerate(sources)]
    rank_of = {spe: rank for rank, spe in enumerate(leap)}
    relabelled = sorted((rank_of[to], rank_of[source]) for to, source in flows)
    placed = [(leap[to], leap[source]) for to, source in relabelled]
    assert sorted(flows) == sorted(placed)


# --- the functions below ------------------------------------------------------------------------------------


def test_default_affinities_are_permutations_and_seeded() -> None:
    drawn = _lab.default_affinities(50, 4)
    assert drawn.shape == (50, 8)
    assert (np.sort(drawn, axis=1) == np.arange(8)).all()
    assert (drawn == _lab.default_affinities(50, 4)).all()
    same = (drawn[1:] == drawn[:-1]).all(axis=1).sum()
    assert 30 <= same < 49


def test_wrong_input_is_one_error() -> None:
    with pytest.raises(InputError, match="size_bytes"):
        _lab.time_gets([(1, 2)], 100)
    with pytest.raises(InputError, match="SPE 9"):
        _lab.time_gets([(1, 9)], 128)
    with pytest.raises(InputError, match="broadcast"):
        _lab.time_collective("gossip", AFFINITIES["identity"])
    with pytest.raises(InputError, match="8 entries"):
        _lab.time_collective("broadcast", [0, 1])


def test_the_same_seed_gives_the_same_numbers() -> None:
    flows = _lab.paper000_table1()[9].flows
    assert (_lab.time_gets(flows, 65536, 4, seed=5) == _lab.time_gets(flows, 65536, 4, seed=5)).all()
    assert (_lab.permutation_minima(5, 2, 3, 16384) == _lab.permutation_minima(5, 2, 3, 16384)).all()
    spes = AFFINITIES["leap2"]
    assert _lab.time_collective("scatter", spes, 3, seed=5) == _lab.time_collective(
        "scatter", spes, 3, seed=5
    )


# --- tables, figures, command -------------------------------------------------------------------------------


def test_sets_are_printed_apart(found: Measurements, rows: dict[str, Row]) -> None:
    titles = [table.title for table in tables_of(found, list(rows.values()))]
    assert titles[:2] == ["Table 1, set C, calibration", "Table 1, set H, meant to be held out"]
    tables = tables_of(found, list(rows.values()))
    assert (len(tables[0].rows), len(tables[1].rows), len(tables[2].rows)) == (20, 18, 5)


def test_every_figure_is_written_as_svg_and_png(found: Measurements, tmp_path: Path) -> None:
    figures = figures_of(found)
    assert [figure.name for figure in figures[:8]] == [f"000-figure-{number}" for number in range(1, 9)]
    written = write_figures(figures[:2], tmp_path)
    assert [path.name for path in written] == [
        "000-figure-1.svg", "000-figure-1.png", "000-figure-2.svg", "000-figure-2.png",
    ]  # fmt: skip
    assert written[0].read_text().lstrip().startswith("<?xml")
    assert written[1].read_bytes().startswith(b"\x89PNG")
    first = written[0].read_bytes()
    write_figures(figures[:1], tmp_path)
    assert written[0].read_bytes() == first


def test_figures_hold_what_was_measured(found: Measurements) -> None:
    by_name = {figure.name: figure for figure in figures_of(found)}
    readers = by_name["000-figure-1"].panels[0].series
    assert len(readers) == 7 and readers[0].x == SIZES
    trials = by_name["000-figure-4"].panels[1].series[0]
    assert trials.y == tuple(found.steps["recursive_doubling_1", "identity"].min(axis=1))
    assert len(trials.y) == 8
    bars = by_name["000-figure-5"].panels[0]
    assert bars.x_names == ("Overlap", "Default", "EvenOdd", "Identity", "Leap2", "Ring")
    assert bars.series[0].y[3] == pytest.approx(found.minimum("ring", "identity"))


def test_the_command_prints_tables_and_writes_figures(tmp_path: Path) -> None:
    done = corewise("paper", "affinity", "--quick", "--permutations", 5, "--json", "--out", tmp_path / "f")
    assert (done.returncode, done.stderr) == (0, "")
    document = documents.read(done.stdout)
    assert {"name", "version", "commit", "machine", "rows"} <= set(document)
    fields = {"id", "what", "source", "published", "ours", "unit", "error", "set", "holds", "refuted"}
    assert all(set(row) == fields for row in document["rows"])
    assert all((row["published"] is None) == (row["holds"] is not None) for row in document["rows"])
    assert len(document["files"]) == 2 * len(document["figures"])
    assert all(Path(file).stat().st_size > 1000 for file in document["files"])


def test_a_folder_that_is_a_file_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    assert_one_line_error(corewise("paper", "affinity", "--out", tmp_path / "f"), "folder")
