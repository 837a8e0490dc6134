"""The statistical model of `corewise explore`: features, fit, error on unseen placements, files."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corewise import _core
from corewise.cli.main import execute
from corewise.data.machines import load_machine
from corewise.data.patterns import pattern_of
from corewise.errors import InputError
from corewise.trials.exploration.pick import pick
from corewise.trials.statistical.features import RouteFeatures, link_class
from corewise.trials.statistical.file import load_model, save_model
from corewise.trials.statistical.model import StatisticalModel, error_on, fit_model, rank_correlation

RING = ["ranks=5", "bytes=16KiB"]
EVERY = np.array(list(itertools.permutations(range(6), 5)), dtype=np.int32)


def fitted(noise: float = 0.0) -> StatisticalModel:
    """Fitted on times that are 100 ns and the bottleneck, times a little noise."""
    machine, pattern = load_machine("ring:6"), pattern_of("ring", RING)
    searcher = _core.Searcher(machine)
    loads = np.array([searcher.evaluate(pattern, list(map(int, row))).bottleneck_ns for row in EVERY])
    rng = np.random.default_rng(2)
    times = (100 + loads) * np.exp(noise * rng.normal(size=len(EVERY)))
    return fit_model(machine, [pattern], EVERY, times, {"bottleneck": loads}, "simulated")


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


def test_the_pick_is_the_least_prediction_of_all() -> None:
    machine, pattern, model = load_machine("ring:6"), pattern_of("ring", RING), fitted()
    chosen = pick(model, machine, [pattern], "model.json")
    times = model.predict_ns(RouteFeatures(machine, [pattern]), EVERY)
    assert chosen.complete and chosen.predicted == len(EVERY)
    assert chosen.predicted_ns == times.min()
    next_best = model.predict_ns(RouteFeatures(machine, [pattern]), np.array(chosen.next_best, np.int32))
    assert next_best.tolist() == np.sort(times)[1:5].tolist()
    best = min(_core.Searcher(machine).evaluate(pattern, list(map(int, row))).bottleneck_ns for row in EVERY)
    mine = _core.Searcher(machine).evaluate(pattern, list(chosen.unit_of_rank)).bottleneck_ns
    assert mine == best


def test_fit_then_pick_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model.json"
    base = ["explore", "ring", "ranks=12", "bytes=16KiB", "-m", "mesh:4x4", "--samples", "60", "--runs", "1"]
    assert execute([*base, "--fit", str(file)]) == 0
    assert "error on 15 unseen placements, fitted on 45 others" in capsys.readouterr().out
    document = json.loads(file.read_text())
    assert (document["format"], document["version"]) == ("corewise-statistical-model", 1)
    assert [each["model"] for each in document["errors"]] == ["fitted", "bottleneck", "hop-bytes", "flow"]
    assert execute([*base, "--seed", "2", "--pick", str(file), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    row = next(row for row in found["rows"] if "pick" in row["names"])
    assert row["unit_of_rank"] == found["pick"]["unit_of_rank"]
    assert row["time_ns"] == found["pick"]["checked_ns"] and row["rank"] == found["pick"]["rank"]
    # Far better than chance: among the best tenth of placements that the model has not seen.
    assert found["pick"]["rank"] <= 6
    checked = [row for row in found["rows"] if any(name.startswith("pick") for name in row["names"])]
    assert len(checked) == found["pick"]["best_checked"]["of"] > 1
    assert found["pick"]["best_checked"]["time_ns"] == min(row["time_ns"] for row in checked)
    assert not found["pick"]["complete"] and found["pick"]["predicted"] > 10_000
    predicted = load_model(file).predict_ns(
        RouteFeatures(load_machine("mesh:4x4"), [pattern_of("ring", ["ranks=12", "bytes=16KiB"])]),
        np.array([found["pick"]["unit_of_rank"]], np.int32),
    )
    assert predicted[0] == pytest.approx(found["pick"]["predicted_ns"])
    assert not any("was fitted on" in note for note in found["notes"])


def test_a_pick_for_another_pattern_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model.json"
    save_model(fitted(noise=0.05), file)
    model = load_model(file)
    other = ["explore", "halo_2d", "dims=3x2", "-m", model.machine, "--samples", "5", "--model", "flow"]
    assert execute([*other, "--pick", str(file), "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    told = next(note for note in notes if "was fitted on" in note)
    assert f"ring, 5 ranks, {model.source}" in told and "halo_2d, 6 ranks, flow" in told


def test_a_file_gives_the_same_model_back(tmp_path: Path) -> None:
    model = fitted(noise=0.05)
    save_model(model, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json") == model


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("version", 2, "field 'version': found 2, allowed: 1"),
        ("format", "other", "field 'format'"),
        ("scale", [0.0], "field 'scale'"),
        ("weight", ["a"], "field 'weight'"),
        ("mean", [1.0], "field 'mean'"),
        ("names", None, "field 'names'"),
        ("intercept", "x", "field 'intercept'"),
        ("intercept", 10**400, "field 'intercept'"),
        ("units", -1, "field 'units'"),
        ("machine", 3, "field 'machine'"),
        ("errors", [{}], "field 'errors'"),
        ("surprise", 1, "field 'surprise'"),
    ],
)
def test_a_wrong_file_is_refused(field: str, value: object, words: str, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    save_model(fitted(noise=0.05), file)
    document = json.loads(file.read_text())
    document[field] = value
    if field == "scale":
        document[field] = [0.0] * len(document["names"])
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"model\.json") as caught:
        load_model(file)
    assert words in str(caught.value)


def test_a_file_without_a_field_or_without_json_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    save_model(fitted(noise=0.05), file)
    document = json.loads(file.read_text())
    del document["intercept"]
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match="field 'intercept': found nothing"):
        load_model(file)
    for text in ("{", "[]", "3", "[" * 100_000):
        file.write_text(text)
        with pytest.raises(InputError, match=r"model\.json"):
            load_model(file)


def test_a_model_of_another_machine_is_refused() -> None:
    model, pattern = fitted(), pattern_of("ring", RING)
    other = load_machine("ring:7")
    with pytest.raises(InputError, match="a model is of one machine"):
        pick(model, other, [pattern], "model.json")
    unknown = dataclasses.replace(model, names=("unheard", *model.names[1:]))
    with pytest.raises(InputError, match="'unheard'"):
        pick(unknown, load_machine("ring:6"), [pattern], "model.json")
