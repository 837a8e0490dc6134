"""Verification: the statistics on made-up times (errors counted over many studies), the contenders, the
words.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from corewise import _core
from corewise.analysis.placement.contenders import contenders, merge_equal
from corewise.analysis.placement.paired import (
    NOTHING,
    Verification,
    least_rounds,
    signed_rank_interval,
    verify,
)
from corewise.analysis.placement.search import Costs, Settings
from corewise.data.machines import load_machine

FIVE = ("default", "best", "next 1", "next 2", "random")


def times_of(rng: np.random.Generator, rounds: int, factors: dict[str, float]) -> dict[str, list[float]]:
    """Times with a drift that all placements of a round share, and 3 % noise with a long tail of their
    own."""
    drift = 1 + 0.3 * rng.random(rounds)
    made = {}
    for name, factor in factors.items():
        noise = 1 + 0.03 * rng.exponential(1, rounds)
        made[name] = (drift * noise * factor).tolist()
    return made


def study(times: dict[str, list[float]]) -> Verification:
    return verify(times, {}, {}, "s", "made up")


def test_equal_placements_are_rarely_told_apart() -> None:
    """No difference exists: at most 5 % of studies may claim one (of 1000: below 7 % with room for
    chance)."""
    rng = np.random.default_rng(1)
    claims = sum(
        any(row.faster is not None for row in study(times_of(rng, 9, dict.fromkeys(FIVE, 1.0))).rows)
        for _ in range(1000)
    )
    assert claims / 1000 < 0.07


def test_a_true_gain_of_ten_percent_is_found() -> None:
    rng = np.random.default_rng(2)
    factors = {**dict.fromkeys(FIVE, 1.0), "best": 1 / 1.1}
    found = [study(times_of(rng, 9, factors)) for _ in range(300)]
    right = sum(one.rows[1].faster is True for one in found)
    assert right / 300 > 0.9
    covered = sum(one.rows[1].low <= 1.1 <= one.rows[1].high for one in found)
    assert covered / 300 > 0.95
    assert np.median([one.rows[1].gain for one in found]) == pytest.approx(1.1, rel=0.01)
    assert "best is 1.1" in found[0].statement
    assert "faster than the default" in found[0].statement


def test_the_interval_against_all_sign_patterns() -> None:
    """By definition: the ends are where the two-sided signed-rank test just rejects. Seven values, 128
    patterns."""
    values = [0.3, -0.1, 0.25, 0.8, 0.45, 0.05, 0.6]
    confidence = 0.9
    estimate, low, high = signed_rank_interval(values, confidence)

    def rejected(middle: float) -> bool:
        left = np.array(values) - middle
        order = np.argsort(np.argsort(np.abs(left))) + 1
        total = int(order[left > 0].sum())
        signs = itertools.product((0, 1), repeat=7)
        sums = [sum(rank for rank, up in zip(range(1, 8), each, strict=True) if up) for each in signs]
        tail = min(sum(one <= total for one in sums), sum(one >= total for one in sums)) / 128
        return tail <= (1 - confidence) / 2

    assert low < estimate < high
    for inside in (low + 1e-6, estimate, high - 1e-6):
        assert not rejected(inside)
    for outside in (low - 1e-6, high + 1e-6):
        assert rejected(outside)


def test_too_few_rounds_claim_nothing() -> None:
    assert least_rounds(4) == 8
    times = {"default": [2.0, 2.1, 2.2], "best": [1.0, 1.1, 1.2]}
    found = study(times)
    assert found.rows[1].faster is None
    assert found.rows[1].low == 0
    assert math.isinf(found.rows[1].high)
    assert found.statement.startswith("3 rounds cannot tell")
    assert found.rows[1].row()["low"] is None
    json.dumps([row.row() for row in found.rows], allow_nan=False)


def test_nothing_different_is_said_in_these_words() -> None:
    rng = np.random.default_rng(5)
    assert study(times_of(rng, 9, dict.fromkeys(FIVE, 1.0))).statement == NOTHING


def test_a_slower_best_is_said_to_be_slower() -> None:
    rng = np.random.default_rng(6)
    found = study(times_of(rng, 12, {**dict.fromkeys(FIVE, 1.0), "best": 1.5}))
    assert found.rows[1].faster is False
    assert "slower than the default" in found.statement


def test_another_than_the_best_may_win() -> None:
    rng = np.random.default_rng(7)
    found = study(times_of(rng, 12, {**dict.fromkeys(FIVE, 1.0), "next 1": 0.7}))
    assert found.statement.startswith("the predicted best is no different from the default, but next 1")


def test_model_error_by_hand() -> None:
    """Predicted twice the best's, measured 1.6 times: 25 % too much."""
    base = np.linspace(1, 2, 9)
    times = {name: (base * factor).tolist() for name, factor in
             (("default", 1.2), ("best", 1.0), ("next 1", 1.6), ("next 2", 1.8))}  # fmt: skip
    found = verify(times, {"best": 100, "next 1": 200, "next 2": 180}, {"best": [0, 1]}, "s", "made up")
    assert found.rows[2].predicted_ratio == 2
    assert found.rows[2].measured_ratio == pytest.approx(1.6)
    assert found.rows[2].model_error == pytest.approx(0.25)
    assert found.rows[3].model_error == pytest.approx(0)
    assert found.model_error == pytest.approx(0.125)
    assert found.rank_correlation == pytest.approx(0.5)
    assert found.rows[1].gain == pytest.approx(1.2)
    assert found.rows[1].unit_of_rank == (0, 1)
    assert found.rows[0].predicted_ratio is None


def test_contenders_are_different_placements_of_rising_cost() -> None:
    machine = load_machine("cell-be")
    pattern = _core.generate("ring", {"ranks": "8"})
    costs = Costs(machine, [pattern], [1.0], Settings())
    best = costs.searcher.search(pattern).unit_of_rank
    chosen = contenders(costs, best)
    assert list(chosen.units) == ["best", "next 1", "next 2"]
    predicted = list(chosen.predicted.values())
    assert predicted == sorted(predicted)
    assert len(set(predicted)) == 3
    assert predicted[0] == 80
    for units in chosen.units.values():
        machine.check_placement(list(units))


def test_two_equal_cores_have_one_other_placement() -> None:
    machine = load_machine("core:2")
    pattern = _core.generate("ring", {"ranks": "2"})
    costs = Costs(machine, [pattern], [1.0], Settings())
    chosen = contenders(costs, [0, 1])
    assert dict(chosen.units) == {"best": (0, 1), "next 1": (1, 0)}
    assert chosen.predicted["best"] == chosen.predicted["next 1"]


def test_one_placement_under_two_names_is_run_once() -> None:
    merged = merge_equal({"best": (0, 1), "identity": (0, 1), "worst": (1, 0)})
    assert merged == {"best = identity": (0, 1), "worst": (1, 0)}
    costs = Costs(load_machine("core:2"), [_core.generate("ring", {"ranks": "2"})], [1.0], Settings())
    chosen = contenders(costs, [0, 1], {"given": [1, 0]})
    assert list(chosen.units) == list(chosen.predicted) == ["best", "next 1 = given"]
