"""The statistical model of `corewise explore`: features, fit, error on unseen placements."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from corewise import _core
from corewise.analysis.placement.route_features import RouteFeatures, link_class
from corewise.analysis.placement.statistical_model import Fit, error_on, fit_model, rank_correlation
from corewise.cli.main import execute
from corewise.data.machines import load_machine
from corewise.data.patterns import pattern_of
from corewise.errors import InputError

RING = ["ranks=5", "bytes=16KiB"]
EVERY = np.array(list(itertools.permutations(range(6), 5)), dtype=np.int32)


def fitted(noise: float = 0.0) -> Fit:
    """Fitted on times that are 100 ns and the bottleneck, times a little noise."""
    machine, pattern = load_machine("ring:6"), pattern_of("ring", RING)
    searcher = _core.Searcher(machine)
    loads = np.array([searcher.evaluate(pattern, list(map(int, row))).bottleneck_ns for row in EVERY])
    rng = np.random.default_rng(2)
    times = (100 + loads) * np.exp(noise * rng.normal(size=len(EVERY)))
    return fit_model(machine, [pattern], EVERY, times, {"bottleneck": loads})


def test_classes_of_links() -> None:
    names = ["cw:SPE1>SPE3", "cell0.ccw:PPE>MIC", "x+(2,3)", "y-(0,0)", "l3-7:up", "core8:down", "core0:out"]
    assert [link_class(name) for name in names] == [
        "cw", "cell0.ccw", "x+", "y-", "l3:up", "core:down", "core:out",
    ]  # fmt: skip


@pytest.mark.parametrize("machine_name", ["ring:6", "mesh:3x2", "pack:2 core:3"])
def test_features_against_the_evaluation_of_single_placements(machine_name: str) -> None:
    machine, pattern = load_machine(machine_name), pattern_of("random", ["ranks=5", "seed=3"])
    features = RouteFeatures(machine, [pattern])
    column = {name: at for at, name in enumerate(features.names)}
    searcher, hops = _core.Searcher(machine), machine.hops()
    bandwidth = np.array([link.bandwidth_gb_per_s for link in machine.links])
    rows = EVERY[::37]
    values = features.of(rows)
    assert len(column) == len(features.names) == values.shape[1]
    for row, found in zip(rows, values, strict=True):
        cost = searcher.evaluate(pattern, list(map(int, row)))
        assert found[column["load 1"]] == pytest.approx(cost.bottleneck_ns)
        if len(pattern.phases) == 1:
            loads = np.sort(cost.load_bytes() / bandwidth)[::-1]
            assert found[column["load 2"]] == pytest.approx(loads[1])
            assert found[column["load square"]] == pytest.approx(np.sqrt((loads**2).sum()))
        sender, receiver, size, _ = pattern.coordinates()
        crossed = hops[row[sender], row[receiver]]
        total = float(size.sum())
        assert found[column["same stop"]] == pytest.approx(float(size[crossed == 0].sum()) / total)
        assert sum(found[column[f"hops {k}"]] for k in range(1, int(hops.max()) + 1)) == pytest.approx(
            float(size[crossed > 0].sum()) / total
        )
        for rank, unit in enumerate(row):
            assert found[column[f"out {unit}"]] == pytest.approx(float(size[sender == rank].sum()) / total)


def test_half_way_traffic_is_counted() -> None:
    machine, pattern = load_machine("ring:6"), pattern_of("ring", ["ranks=2", "direction=forward"])
    features = RouteFeatures(machine, [pattern])
    at = features.names.index("half-way")
    assert features.of(np.array([[0, 3], [0, 2]], dtype=np.int32))[:, at].tolist() == [1.0, 0.0]


def test_a_fit_predicts_what_it_has_not_seen() -> None:
    model = fitted()
    error = {each.model: each for each in model.errors}
    assert model.fitted_on == 540 and error["fitted"].n == 180
    assert error["fitted"].median < 0.001 and error["fitted"].p90 < 0.001
    assert error["bottleneck"].median < 1e-9  # it is a straight line of the times
    assert error["fitted"].spearman is not None and error["fitted"].spearman > 0.9
    noisy = {each.model: each for each in fitted(noise=0.05).errors}
    assert 0.02 < noisy["fitted"].median < 0.06
    assert 0.02 < noisy["bottleneck"].median < 0.06


def test_errors_by_hand() -> None:
    found = error_on("m", np.array([11.0, 18.0, 30.0]), np.array([10.0, 20.0, 30.0]))
    assert (found.median, found.n) == (pytest.approx(0.1), 3)
    assert found.spearman == pytest.approx(1) and found.kendall == pytest.approx(1)
    assert rank_correlation(np.ones(4), np.arange(4.0)) == (None, None)


def test_explore_reports_the_fit_and_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    base = ["explore", "ring", "ranks=12", "bytes=16KiB", "-m", "mesh:4x4", "--samples", "60", "--runs", "1"]
    assert execute(base) == 0
    assert "error on 15 unseen placements, fitted on 45 others" in capsys.readouterr().out
    assert execute([*base, "--json"]) == 0
    unseen = json.loads(capsys.readouterr().out)["unseen"]
    assert [each["model"] for each in unseen] == ["fitted", "bottleneck", "hop-bytes", "flow"]
    assert all(each["n"] == 15 and 0 < each["median"] <= each["p90"] for each in unseen)


def test_too_few_placements_and_times_of_nothing_are_refused() -> None:
    machine, pattern = load_machine("ring:6"), pattern_of("ring", RING)
    with pytest.raises(InputError, match="40 or more"):
        fit_model(machine, [pattern], EVERY[:39], np.ones(39), {})
    with pytest.raises(InputError, match="0 ns"):
        fit_model(machine, [pattern], EVERY, np.zeros(len(EVERY)), {})
