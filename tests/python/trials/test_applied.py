"""Statistics of applied placements, against values worked out by hand.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import pytest

from corewise.trials import measured as applied


def test_quartiles_of_odd_and_even_samples() -> None:
    assert applied.quartiles([5, 1, 3]) == (2, 3, 4)
    assert applied.quartiles([1, 2, 3, 4]) == (1.75, 2.5, 3.25)


def test_rows_hold_median_spread_and_ratio_to_the_default() -> None:
    rows = applied.summarise(
        {"default": [4.0 + i / 10 for i in range(9)], "best": [2.0 + i / 20 for i in range(9)]}
    )
    best = rows[1]
    assert best.median_s == pytest.approx(2.2)
    assert best.spread_s == pytest.approx(0.2)
    assert best.ratio == pytest.approx(2.0)
    assert best.differs and best.n == 9
    assert applied.verdict(rows) == "best is 2.00 times faster than the default"


def test_overlapping_times_are_no_difference() -> None:
    rows = applied.summarise({"default": [1.0, 1.2, 1.4], "best": [1.0, 1.1, 1.3]})
    assert not rows[1].differs
    assert applied.verdict(rows) == "no significant difference between the placements on this host"


def test_a_slower_placement_is_called_slower() -> None:
    rows = applied.summarise({"default": [1.0] * 9, "worst": [2.0] * 9})
    assert applied.verdict(rows) == "none is faster than the default; worst is 2.00 times slower"


def test_three_runs_prove_nothing() -> None:
    rows = applied.summarise({"default": [1.0, 1.1, 1.2], "best": [0.5, 0.6, 0.7]})
    assert not rows[1].differs


def test_one_placement_under_two_names_is_run_once() -> None:
    merged = applied.merge_equal({"best": (0, 1), "identity": (0, 1), "worst": (1, 0)})
    assert merged == {"best = identity": (0, 1), "worst": (1, 0)}
