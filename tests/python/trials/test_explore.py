"""`corewise explore` on simulated machines: which placements it times, what it says, what it refuses."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from corewise import _core
from corewise.analysis.placement.exploration import (
    ERROR_RATE,
    Exploration,
    Plan,
    clopper_pearson,
    least_runs,
    plan_placements,
)
from corewise.cli.main import execute
from corewise.data.machines import load_machine
from corewise.data.patterns import pattern_of
from corewise.trials.simulation import PARTS, Simulation
from corewise.trials.timing import UNPINNED, Candidate, time


def explored(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The JSON object of a run."""
    assert execute(["explore", *arguments, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a refused run."""
    assert execute(["explore", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_all_placements_against_single_runs(capsys: pytest.CaptureFixture[str]) -> None:
    found = explored(
        capsys, "ring", "ranks=4", "bytes=16KiB", "-m", "ring:6", "--all", "--jitter", "0", "--runs", "2"
    )
    machine, pattern = load_machine("ring:6"), pattern_of("ring", ["ranks=4", "bytes=16KiB"])
    every = list(itertools.permutations(range(6), 4))
    assert found["complete"] and found["population"] == found["placements"] == len(every) == 360
    assert sorted(tuple(row["unit_of_rank"]) for row in found["rows"]) == every
    for row in found["rows"][::17]:
        alone = _core.run_pattern(machine, pattern, row["unit_of_rank"]).total_ns
        assert row["runs_ns"] == [alone, alone]
        cost = _core.Searcher(machine).evaluate(pattern, row["unit_of_rank"])
        assert row["models"]["bottleneck"] == cost.bottleneck_ns
        assert row["models"]["hop-bytes"] == cost.hop_bytes
        flow = _core.run_pattern(machine, pattern, row["unit_of_rank"], "flow").total_ns
        assert row["models"]["flow"] == flow
    times = np.array([row["time_ns"] for row in found["rows"]])
    assert (np.diff(times) >= 0).all()
    assert found["ratio"] == times[-1] / times[0] > 1
    near = float((times <= 1.1 * times[0]).mean())
    assert found["within_10_percent"] == {"share": near, "low": near, "high": near}
    identity = next(each for each in found["standings"] if each["name"] == "identity")
    row = next(row for row in found["rows"] if row["unit_of_rank"] == [0, 1, 2, 3])
    assert identity["rank"] == row["rank"] == 1 + int((times < row["time_ns"]).sum())
    assert identity["factor"] == row["time_ns"] / times[0]
    assert "identity" in row["names"]


def test_correlation_is_that_of_the_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    found = explored(capsys, "ring", "ranks=6", "bytes=8KiB", "-m", "ps3", "--samples", "45", "--repeat", "2")
    rows = [row for row in found["rows"] if row["in_population"]]
    runs = np.array([row["runs_ns"] for row in rows]).T
    pairs = [stats.spearmanr(runs[a], runs[b]).statistic for a, b in ((0, 1), (0, 2), (1, 2))]
    between = next(each for each in found["correlation"] if each["what"] == "between runs")
    assert between["spearman"] == pytest.approx(np.mean(pairs))
    assert between["least_spearman"] == pytest.approx(min(pairs))
    assert between["pairs"] == 3
    middle = np.median(runs, axis=0)
    for name in ("bottleneck", "hop-bytes", "flow"):
        said = [row["models"][name] for row in rows]
        listed = next(each for each in found["correlation"] if each["what"] == name)
        assert listed["spearman"] == pytest.approx(stats.spearmanr(said, middle).statistic)
        assert listed["kendall"] == pytest.approx(stats.kendalltau(said, middle).statistic)
    assert not found["complete"] and found["placements"] == 720 and len(rows) == 45
    share = found["within_10_percent"]
    assert share["low"] < share["share"] < share["high"] or share["share"] in (0, 1)
    # Runs of a jittered Cell differ, and the same command says the same again.
    assert (np.ptp(runs, axis=0) > 0).any()
    again = explored(capsys, "ring", "ranks=6", "bytes=8KiB", "-m", "ps3", "--samples", "45", "--repeat", "2")
    assert again == found


def test_the_papers_affinities_are_named_on_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    found = explored(capsys, "ring", "ranks=8", "-m", "cell-be", "--samples", "5", "--runs", "1")
    names = {each["name"] for each in found["standings"]}
    assert {"identity", "ring", "overlap", "even_odd", "leap2", "best by bottleneck", "best by flow"} <= names
    by_name = {name: row["unit_of_rank"] for row in found["rows"] for name in row["names"]}
    assert by_name["ring"] == dict(_core.affinities())["ring"]
    assert found["unseen"] == [] and "too few" in found["notes"][-1]


def test_patterns_that_share_a_placement_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    common = ("-m", "mesh:3x2", "--samples", "8", "--runs", "1", "--jitter", "0")
    first = explored(capsys, "ring", "ranks=6", *common)
    second = explored(capsys, "halo_2d", "dims=3x2", *common)
    both = explored(capsys, "ring", "ranks=6", "--also", "halo_2d dims=3x2", *common)
    times = [
        {tuple(row["unit_of_rank"]): row["time_ns"] for row in found["rows"] if row["in_population"]}
        for found in (first, second, both)
    ]
    assert times[0].keys() == times[2].keys()
    for placement, taken in times[2].items():
        assert taken == pytest.approx(times[0][placement] + times[1][placement])


def each(placements: NDArray[np.int32]) -> list[Candidate]:
    """A candidate per placement."""
    return [Candidate(str(at), (tuple(map(int, row)),)) for at, row in enumerate(placements)]


def test_unpinned_runs_are_parts_on_drawn_placements() -> None:
    machine, pattern = load_machine("ring:6"), pattern_of("ring", ["ranks=4", "bytes=16KiB"])
    how = Simulation(machine, (pattern,), jitter=0, seed=3)
    every = time(each(np.array(list(itertools.permutations(range(6), 4)), dtype=np.int32)), how, 1)[0]
    unpinned = time([Candidate(UNPINNED, pinned=False)], how, 40)[:, 0]
    assert every.min() < unpinned.min() < unpinned.max() < every.max()
    sums = {round(PARTS * taken, 3) for taken in unpinned}
    possible = {
        round(sum(times), 3)
        for times in itertools.combinations_with_replacement(sorted(set(np.round(every, 3))), PARTS)
    }
    assert sums <= possible and len(sums) > 5


def test_renamed_units_are_the_default_mapping_of_figure_2() -> None:
    machine, pattern = load_machine("ring:5"), pattern_of("ring", ["ranks=5", "bytes=16KiB"])
    placements = each(np.array(list(itertools.permutations(range(5))), dtype=np.int32))
    pinned = time(placements, Simulation(machine, (pattern,), jitter=0), 2)
    renamed = time(placements, Simulation(machine, (pattern,), jitter=0, renamed=True), 2)
    assert (pinned[0] == pinned[1]).all()
    # The same times, dealt to other placements in every run.
    assert (np.sort(renamed[0]) == np.sort(pinned[0])).all()
    assert (renamed[0] != renamed[1]).any()


def test_a_sample_has_no_repeats_and_every_placement_a_chance() -> None:
    machine = load_machine("ring:5")
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(200):
        plan = plan_placements(machine, 3, 20, False, {}, seed)
        rows = [tuple(map(int, row)) for row in plan.placements]
        assert len(set(rows)) == len(rows) == 20 and not plan.complete and plan.total == 60
        for row in rows:
            counts[row] = counts.get(row, 0) + 1
    assert len(counts) == 60
    assert max(counts.values()) < 2 * 200 / 3
    large = plan_placements(load_machine("mesh-6x4"), 48, 30, False, {}, 1)
    assert large.total == math.factorial(48)
    assert all(sorted(row) == list(range(48)) for row in large.placements.tolist())


def exploration(times: list[list[float]], complete: bool = True) -> Exploration:
    """Made-up times of placements of three ranks on three units."""
    machine = load_machine("ring:3")
    placements = np.array(list(itertools.permutations(range(3))), dtype=np.int32)
    plan = Plan(placements, 6, complete, 6, {"identity": 0})
    return Exploration(machine, "made up", 3, "host", plan, np.array(times), np.array([50.0, 70.0, 60.0]))


def test_standings_of_made_up_times() -> None:
    found = exploration([[10, 20, 30, 40, 10.5, 60], [12, 22, 32, 42, 10.5, 62], [11, 21, 31, 41, 99, 61]])
    named = {each.name: each for each in found.standings()}
    assert (named["best"].row, named["best"].time_ns, named["best"].rank) == (4, 10.5, 1)
    assert (named["identity"].time_ns, named["identity"].rank) == (11, 2)
    assert named["identity"].factor == pytest.approx(11 / 10.5)
    assert (named["worst"].row, named["worst"].rank) == (5, 6)
    assert (named["unpinned"].time_ns, named["unpinned"].least_ns, named["unpinned"].most_ns) == (60, 50, 70)
    assert named["unpinned"].rank == 6  # faster than 61 alone
    assert found.ratio == pytest.approx(61 / 10.5)
    assert found.near().share == pytest.approx(2 / 6)
    apart = exploration([[run + 10 * place for place in range(1, 7)] for run in range(3)]).chance
    assert apart is not None and apart < 0.01


def test_equal_placements_are_not_told_apart() -> None:
    rng = np.random.default_rng(4)
    assert exploration((100 + rng.normal(size=(9, 6))).tolist()).chance > 0.01  # type: ignore[operator]
    assert exploration([[5.0] * 6] * 3).chance is None
    level = exploration([[5.0] * 6] * 3)
    assert level.near().share == 1 and level.agreements()[0].spearman is None


@pytest.mark.parametrize("placements", [2, 3, 4, 7, 40])
def test_fewer_runs_than_the_least_cannot_tell_placements_apart(
    placements: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def chance(runs: int) -> float:
        apart = [[100 * place + run for run in range(runs)] for place in range(placements)]
        return float(stats.kruskal(*apart).pvalue)

    needed = least_runs(placements)
    assert chance(needed) < ERROR_RATE
    assert needed == 3 or chance(needed - 1) >= ERROR_RATE
    # It is said before anything is timed, and no verdict comes.
    assert execute(["explore", "ring", "ranks=2", "-m", "core:2", "--runs", "4"]) == 0
    captured = capsys.readouterr()
    assert "4 runs cannot tell 2 placements apart, allowed: 5 or more" in captured.err


def test_a_best_placement_that_takes_no_time(capsys: pytest.CaptureFixture[str]) -> None:
    # Two ranks on the two cores of one tile share no link.
    found = explored(capsys, "ring", "ranks=2", "-m", "mesh:2x1 core:2", "--all", "--runs", "2")
    assert found["rows"][0]["time_ns"] == 0 and found["rows"][0]["factor"] == 1
    assert found["rows"][-1]["time_ns"] > 0 and found["rows"][-1]["factor"] is None
    assert found["ratio"] is None and found["within_10_percent"]["share"] == pytest.approx(4 / 12)
    assert execute(["explore", "ring", "ranks=2", "-m", "mesh-6x4", "--samples", "50", "--runs", "1"]) == 0
    assert "-" in capsys.readouterr().out


def test_confidence_of_a_share_holds() -> None:
    # Hit 30 of 100 draws as often as the bound says, on both sides (binomial distribution).
    low, high = clopper_pearson(30, 100)
    assert stats.binom.sf(29, 100, low) == pytest.approx(0.025)
    assert stats.binom.cdf(30, 100, high) == pytest.approx(0.025)
    assert clopper_pearson(0, 50)[0] == 0 and clopper_pearson(50, 50)[1] == 1
    found = exploration([[10, 20, 30, 40, 50, 60]], complete=False)
    assert (found.near().low, found.near().high) == clopper_pearson(1, 6)


@pytest.mark.parametrize("ending", [".svg", ".png"])
def test_curves_are_drawn_the_same_again(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures = []
    for turn in range(2):
        file = tmp_path / f"curves{turn}{ending}"
        arguments = ["ring", "ranks=4", "-m", "ring:4", "--all", "-o", str(file)]
        assert execute(["explore", *arguments]) == 0
        pictures.append(file.read_bytes())
    assert pictures[0] == pictures[1]
    assert pictures[0].startswith(b"\x89PNG" if ending == ".png" else b"<?xml")
    text = capsys.readouterr().out
    for word in ("identity", "worst / best", "with probability", "between runs", "unpinned", "written to"):
        assert word in text
    if ending == ".svg":
        assert b"rank of the placement" in pictures[0] or b"<path" in pictures[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ring", "ranks=9", "-m", "cell-be"], "at most 8"),
        (["ring", "ranks=8", "-m", "mesh-6x4", "--all"], "--all"),
        (["ring", "-m", "cell-be", "--all", "--samples", "4"], "--samples"),
        (["ring", "-m", "cell-be", "--model", "guess"], "simulated, flow"),
        (["ring", "-m", "cell-be", "-o", "curves.pdf"], ".svg, .png"),
        (["ring", "-m", "cell-be", "--also", "ring ranks=4"], "they share one placement"),
        (["ring", "-m", "cell-be", "--also", ""], "--also"),
        (["ring", "-m", "cell-be", "--also", "ring 'ranks=8"], "quotes"),
        (["ring", "-m", "cell-be", "--mpi", "mpich"], "--mpi mpich"),
        (["ring", "-m", "cell-be", "--simulate"], "--simulate"),
        (["ring", "ranks=20", "-m", "mesh-6x4", "--samples", "1000000000"], "at most 100000"),
        (["./tool", "-m", "host"], "-n RANKS -- PROGRAM"),
        (["ring", "-m", "cell-be", "--separation", "never"], "dependence, barrier"),
        (["ring", "-m", "cell-be", "-n", "2"], "allowed: host"),
        (["ring", "ranks=1", "-m", "ring:3"], "no message between two ranks"),
        (["unheard", "-m", "cell-be"], "is unknown"),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    assert words in refused(capsys, *arguments)
    assert list(tmp_path.iterdir()) == [tool]


def test_search_by_time_is_the_least_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    machine, pattern = load_machine("ps3"), pattern_of("ring", ["ranks=3", "bytes=4KiB"])
    found = explored(
        capsys, "ring", "ranks=3", "bytes=4KiB", "-m", "ps3", "--all", "--runs", "1", "--jitter", "0"
    )
    searcher = _core.Searcher(machine)
    best = searcher.search(pattern, objective="simulated")
    assert best.proven_optimal and best.evaluated == 120
    assert best.cost == best.bound == found["rows"][0]["time_ns"]
    assert best.worst is not None
    ends = np.array([best.unit_of_rank, best.worst], np.int32)
    times = _core.contended_times(machine, pattern, ends, "simulated")
    assert times.dtype == np.float64
    assert times.tolist() == [best.cost, found["rows"][-1]["time_ns"]]
    stopped = searcher.search(pattern, objective="simulated", should_stop=lambda: True)
    assert not stopped.proven_optimal and stopped.evaluated == 0
