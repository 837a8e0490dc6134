"""Paper 002 on the simulated Cell: the curves' arithmetic by hand; what the study must show, on few mappings.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path

import documents
import numpy as np
import pytest
from installed_tool import assert_one_line_error, corewise

from corewise import InputError, _lab
from corewise.analysis.result import Row
from corewise.cli.papers import group as commands
from corewise.data.published import published_as
from corewise.papers.mapping.data import (
    Curve,
    Effort,
    Study,
    experiment_on,
    inverse,
    mapping_text,
    named_mappings,
    sample,
    time_all,
    time_curve,
)
from corewise.papers.mapping.rows import readings, rows_of
from corewise.papers.mapping.study import BACK_OFFS, LAYOUTS, PAPER, SHARED, SIZES, run_study
from corewise.papers.mapping.views import figures_of
from corewise.plots.figures import write_figures

pytestmark = pytest.mark.first_test

TINY = Effort(rounds=12, ps3_rounds=12, one_way=12, jittered=6, sweep=3, every=420, shared_rounds=6)


@pytest.fixture(scope="module")
def study() -> Study:
    shares: list[float] = []
    found = run_study(TINY, 1, shares.append)
    assert shares == sorted(shares)
    assert 0.5 < shares[-1] <= 1
    return found


@pytest.fixture(scope="module")
def rows(study: Study) -> dict[str, Row]:
    made = list(rows_of(study))
    assert len({row.id for row in made}) == len(made)
    return {row.id: row for row in made}


def curve(times: list[list[float]], tasks: int = 6) -> Curve:
    indices = np.arange(len(times[0]), dtype=np.int64)
    return Curve("made up", tasks, indices, np.array(times), 0.0, 0.0)


def test_curve_statistics_by_hand() -> None:
    made = curve([[4.0, 1.0, 3.0, 2.0], [2.0, 3.0, 5.0, 4.0]])
    assert made.average_us.tolist() == [3.0, 2.0, 4.0, 3.0]
    assert made.order.tolist() == [1, 0, 3, 2]
    assert made.spread == 2.0
    assert made.run_spread == 4.0
    assert made.middle == 1.5
    assert made.share_within(1.5) == 0.75
    # 1e7 transmissions are 5e6 rounds of two.
    assert made.runtime_s()[1] == pytest.approx(2e-6 * 5e6)
    # Ranks of the runs: 3 0 2 1 and 0 1 3 2; Spearman by 1 - 6 sum d^2 / (n (n^2 - 1)) with d = 3 -1 -1 -1.
    assert made.rank_correlation() == pytest.approx(1 - 6 * 12 / (4 * 15))


def test_place_is_scaled_up_from_a_sample() -> None:
    made = curve([[1.0, 2.0, 4.0, 8.0]])
    assert made.place_of(_lab.mapping_at(6, 0)) == (1, 1.0)
    assert made.place_of(_lab.mapping_at(6, 2)) == (61, 4.0)  # half of 120 are faster
    with pytest.raises(KeyError):
        made.place_of(_lab.mapping_at(6, 4))


def test_both_readings_of_the_notation() -> None:
    """Thread T_i, on SPE i, executes task pi(i): the tasks' ring visits the SPEs by the inverse."""
    printed = (0, 2, 4, 6, 7, 5, 3, 1)
    assert inverse(printed) == (0, 7, 1, 6, 2, 5, 3, 4)
    assert inverse((0, 1, 3, 5, 7, 6, 4, 2)) == (0, 1, 7, 2, 6, 3, 5, 4)
    assert readings(printed) == {"": printed, "/inverse": (0, 7, 1, 6, 2, 5, 3, 4)}
    assert readings((0, 1, 2)) == {"": (0, 1, 2)}
    assert mapping_text(printed) == "[02467531]"
    assert [0, 7, 1, 6, 2, 5, 3, 4] in named_mappings(8)


def test_samples_hold_the_named_mappings() -> None:
    drawn = sample(8, 40, 1)
    assert np.array_equal(drawn, np.unique(drawn))
    assert all(_lab.mapping_index(mapping) in drawn for mapping in named_mappings(8))
    assert np.array_equal(drawn, sample(8, 40, 1))
    assert not np.array_equal(drawn, sample(8, 40, 2))
    assert sample(6, 120, 1).tolist() == list(range(120))


def test_reflections_take_the_time_of_what_was_timed() -> None:
    experiment = experiment_on("ps3", 512, jitter=False)
    experiment.most_rounds = 6
    whole = time_all("all", experiment, 1, lambda _: None)
    assert sorted(whole.indices.tolist()) == list(range(120))
    direct = time_curve("one by one", [experiment], whole.indices, lambda _: None)
    assert np.array_equal(whole.times_us, direct.times_us)


def test_long_runs_are_extrapolated_from_the_repeat() -> None:
    experiment = experiment_on("cell-be", 1024, jitter=False)
    experiment.spe_of_thread = [0, 1, 2]
    timing = experiment.time([0, 1, 2])
    assert timing.repeats
    period = timing.period_rounds * 2  # transmissions
    assert timing.all_sent(10**7 + period) - timing.all_sent(10**7) == timing.period_cycles
    experiment.find_repeat = False
    experiment.most_rounds = 300
    assert experiment.time([0, 1, 2]).all_sent(580) == timing.all_sent(580)
    assert experiment.time([0, 1, 2]).all_sent(10**7) == -1


def test_packets_arrive() -> None:
    experiment = experiment_on("ps3", 2048, jitter=True)
    experiment.check_packets = True
    experiment.most_rounds = 50  # none of the first fifteen happens to be looked at
    timing = experiment.time([0, 2, 4, 5, 3, 1])
    assert timing.packets_checked > 0
    assert timing.packets_damaged == 0


def test_published_numbers_are_the_papers(rows: dict[str, Row]) -> None:
    for name in ("M1", "M2a", "M2b", "M3", "M4"):
        (value,) = published_as(name)
        assert rows[name].published == value.value
        assert rows[name].set == value.set
        ours = rows[name].ours
        assert ours is not None
        assert ours >= 1
        assert rows[name].error == pytest.approx(ours / value.value - 1)


def test_named_mappings_stand_in_both_readings(rows: dict[str, Row]) -> None:
    for name in ("M6/ring", "M6/other", "M7/ring", "M7/other"):
        for suffix in ("", "/inverse"):
            rank = rows[f"{name}{suffix}/rank"].ours
            assert rank is not None
            assert 1 <= rank <= 5040
            assert rows[f"{name}{suffix}/rank"].error is None
    assert rows["M5/default/rank"].published == 92
    assert rows["M7/chip"].holds is not None


def test_mechanisms(study: Study, rows: dict[str, Row]) -> None:
    """What the experiments are for: who retries, what a resonant back-off costs, what pauses do."""
    plain = {
        point.layout: point.curve for point in study.layouts if point.back_off == 100 and point.size == 1024
    }
    assert set(plain) == set(LAYOUTS)
    assert plain["local store"].retries == 0
    assert plain["no line conflicts"].retries == 0
    assert plain["one line per row"].retries > 10
    assert plain["separate acknowledges"].retries < plain["one line per row"].retries
    assert plain["local store"].average_us.max() < plain["one line per row"].average_us.min()
    assert {point.back_off for point in study.back_off} == set(BACK_OFFS)
    assert rows["X1/resonance"].holds
    paused = {point.pause: point.curve for point in study.rhythms if point.bidirectional}
    assert paused[16000].average_us.min() > 4 * paused[0].average_us.max()


def test_figures_hold_the_ranked_curves(study: Study, tmp_path: Path) -> None:
    figures = {figure.name: figure for figure in figures_of(study)}
    assert set(figures) == {f"002-figure-{number}" for number in (2, 3, 4, 5)} | {"002-experiments"}
    for name in ("002-figure-2", "002-figure-3"):
        (panel,) = figures[name].panels
        assert [series.label for series in panel.series] == ["average", "run 1", "run 2", "run 3"]
        average, *runs = panel.series
        assert list(average.y) == sorted(average.y)
        assert len(average.y) == 120
        assert np.allclose(np.mean([series.y for series in runs], axis=0), average.y)
    assert [series.label for series in figures["002-figure-4"].panels[0].series] == ["2 KB", "1 KB", "512 B"]
    assert len(figures["002-figure-5"].panels[0].series) == len(SIZES)
    written = write_figures(tuple(figures.values()), tmp_path)
    assert len(written) == 2 * len(figures)
    assert all(path.stat().st_size > 1000 for path in written)


def test_result_is_one_json_object(study: Study) -> None:
    result = PAPER.result("x", study)
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert {"id", "what", "source", "published", "ours", "unit", "error", "set"} <= set(document["rows"][0])
    for table in result.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_same_seed_same_numbers() -> None:
    def times(seed: int) -> list[float]:
        experiment = experiment_on("ps3", 1024, jitter=True)
        experiment.most_rounds = 10
        experiment.seed = seed
        found: list[float] = experiment.time_mappings(np.arange(5, dtype=np.int64)).cycles_per_round.tolist()
        return found

    assert times(1) == times(1)
    assert times(1) != times(2)


def test_wrong_experiments_are_refused() -> None:
    experiment = experiment_on("ps3", 1000, jitter=False)
    with pytest.raises(InputError, match="packet_bytes"):
        experiment.time([0, 1, 2, 3, 4, 5])
    with pytest.raises(InputError, match="mapping"):
        experiment_on("ps3", 1024, jitter=False).time_mappings(np.array([120]))
    with pytest.raises(InputError, match="index"):
        _lab.mapping_at(6, 120)


def test_one_way_rings_repeat_and_are_then_exact() -> None:
    experiment = experiment_on("cell-be", 1024, jitter=False)
    experiment.bidirectional = False
    experiment.most_rounds = 100
    found = experiment.time_mappings(np.arange(0, 5040, 420, dtype=np.int64))
    assert np.count_nonzero(found.period_rounds) > 0
    index = int(np.arange(0, 5040, 420)[np.flatnonzero(found.period_rounds)[0]])
    mapping = _lab.mapping_at(8, index)
    known = experiment.time(mapping)
    experiment.find_repeat = False
    experiment.most_rounds = 400
    simulated = experiment.time(mapping)
    assert known.rounds <= 100
    assert known.all_sent(380) == simulated.all_sent(380) > 0


def test_rows_that_share_a_line_have_rounds_of_their_own(study: Study) -> None:
    rounds = {point.layout: point.rounds for point in study.layouts}
    assert rounds == {layout: 6 if layout in SHARED else 12 for layout in LAYOUTS}
    assert {point.rounds for point in study.back_off} == {12}


def test_jittered_runs_never_repeat() -> None:
    experiment = experiment_on("ps3", 1024, jitter=False)
    experiment.notify_local_store = True
    experiment.most_rounds = 300
    assert experiment.time([0, 1, 2, 3, 4, 5]).repeats
    experiment.jitter_cycles = 1
    assert not experiment.time([0, 1, 2, 3, 4, 5]).repeats


def test_polling_that_takes_no_time_is_refused() -> None:
    experiment = experiment_on("ps3", 1024, jitter=False)
    experiment.notify_local_store = True
    experiment.scan_cycles = 0
    with pytest.raises(InputError, match="pause_cycles"):
        experiment.time([0, 1, 2, 3, 4, 5])


def test_command_regenerates_every_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command's own way, on a tiny sample: rows as one JSON object, a picture of every figure."""
    monkeypatch.setattr("corewise.papers.mapping.study.QUICK", TINY)
    commands.mapping(
        out=tmp_path, quick=True, seed=1, machine="qs22", settings=[], html_file=None, as_json=True
    )
    document = documents.read(capsys.readouterr().out)
    ids = {row["id"] for row in document["rows"]}
    assert {"M1", "M2a", "M2b", "M3", "M4", "M7/ring/rank", "M8", "M9", "X1/resonance", "X3"} <= ids
    for row in document["rows"]:
        assert row["ours"] is not None
        assert (row["holds"] is None) == (row["published"] is not None)
    pictures = {path.name for path in tmp_path.iterdir()}
    for number in (2, 3, 4, 5):
        assert {f"002-figure-{number}.png", f"002-figure-{number}.svg"} <= pictures


def test_command_refuses_a_file_as_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert_one_line_error(corewise("paper", "mapping", "--out", tmp_path / "file"), "folder")
    assert "--quick" in corewise("paper", "mapping", "--help").stdout
