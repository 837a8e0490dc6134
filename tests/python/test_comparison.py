"""The page that compares corewise with others: it is what its rows say, and rows of benchmarks join them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import comparison
import pytest

from corewise import __version__

FEATURES = comparison.load(comparison.FEATURES, comparison.FEATURE_COLUMNS)
MEASURED = comparison.load(comparison.MEASURED, comparison.MEASURED_COLUMNS)


def test_the_page_is_what_its_rows_say() -> None:
    assert list(comparison.mistakes(FEATURES, MEASURED)) == []
    assert comparison.PAGE.read_text(encoding="utf-8") == comparison.page(FEATURES, MEASURED)


def test_what_others_do_better_stands_first_and_nobody_is_left_out() -> None:
    page = comparison.page(FEATURES, MEASURED)
    losses, rest = page.split("\n## Recording\n")
    assert "## Where others are the better choice" in losses
    assert sum(row["better"] == "theirs" for row in FEATURES) == losses.count("\n- **")
    assert sum(float(row["ratio"]) < 1 for row in MEASURED) == losses.count("\n| ") - 1
    for rival in comparison.RIVALS:
        assert rival in page
    assert all(row["processor"] in rest and row["date"] in rest for row in MEASURED)


def test_every_comparison_was_measured_with_this_version() -> None:
    """Each benchmark beside each rival, of whatever version that is, on one processor at least."""

    def compared(row: comparison.Row) -> tuple[str, str]:
        return row["question"], re.sub(r"[\d.]+", "", row["rival"])

    now = re.compile(re.escape(__version__) + r" [0-9a-f]{7}")
    measured = {compared(row) for row in MEASURED if now.fullmatch(row["version"])}
    assert {compared(row) for row in MEASURED} == measured, "bench ... --json, then comparison.py add"


def result(**more: Any) -> dict[str, Any]:
    rows = [
        {"id": "sim-a", "what": "one", "unit": "ns", "ours": 10.0, "rival": "R", "theirs": 25.0, "ratio": 2.5,
         "spread": 0.1, "n": 9, "processor": "P", "mpi": None},
        {"id": "sim-b", "what": "two", "unit": "ns", "ours": 10.0, "rival": "R", "theirs": 5.0, "ratio": 0.5,
         "spread": 0.1, "n": 9, "processor": "P", "mpi": "MPICH 5"},
        {"id": "sim-c", "what": "alone", "unit": "ns", "ours": 1.0, "rival": None, "ratio": None},
    ]  # fmt: skip
    return {
        "name": "bench sim",
        "version": "1.0",
        "commit": "0123456789",
        "machine": "M",
        "rows": rows,
        **more,
    }


def test_rows_of_a_benchmark_join_and_take_the_place_of_older_ones() -> None:
    new = comparison.rows_of(result(), "2026-11-25", "corewise bench sim")
    assert [(row["id"], row["rival"], row["ratio"]) for row in new] == [
        ("sim-a", "R", "2.5"), ("sim-b", "R (MPICH 5)", "0.5"),
    ]  # fmt: skip
    assert {row["version"] for row in new} == {"1.0 0123456"} and set(new[0]) == set(
        comparison.MEASURED_COLUMNS
    )
    older = [
        {**new[0], "ratio": "9"},
        {**new[0], "processor": "Q"},
        {**new[0], "command": "corewise bench fft"},
    ]
    assert comparison.added(older, new) == [*older[1:], *new]


def test_many_rows_of_one_comparison_are_summed_up_with_the_worst_named() -> None:
    base = comparison.rows_of(result(), "2026-11-25", "corewise bench sim")[0]
    few = [{**base, "ratio": ratio} for ratio in ("2", "8")]
    text = comparison.page([], few)
    assert (
        "| one: 10 ns against 25 ns | R | 2.00 |" in text
        and "| one: 10 ns against 25 ns | R | 8.00 |" in text
    )
    many = [*few, {**base, "ratio": "0.5", "what": "worst"}, {**base, "ratio": "2"}]
    text = comparison.page([], many)
    assert (
        "| geometric mean of 4 rows | R | 2.00, from 0.50 (worst) to 8.00 | `corewise bench sim` | P, "
        in text
    )
    assert text.index("0.50") < text.index("## Recording")


@pytest.mark.parametrize("field", ["rival", "ratio", "processor", "date", "command"])
def test_a_number_without_its_origin_is_refused(field: str) -> None:
    row = {**MEASURED[0], field: ""}
    assert any(field in mistake for mistake in comparison.mistakes(FEATURES, [*MEASURED, row]))


def test_wrong_rows_are_refused(tmp_path: Path) -> None:
    wrong = {**MEASURED[0], "date": "yesterday"}
    assert any("YYYY-MM-DD" in each for each in comparison.mistakes(FEATURES, [*MEASURED, wrong]))
    silly = {**FEATURES[0], "better": "perhaps"}
    assert any("better of" in each for each in comparison.mistakes([*FEATURES, silly], MEASURED))
    assert "no row is about Dimemas" in list(comparison.mistakes([], MEASURED))
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="the columns must be"):
        comparison.load(path, ("a", "c"))
    path.write_text("a,b\n1\n")
    with pytest.raises(ValueError, match="row 2 has 1 fields"):
        comparison.load(path, ("a", "b"))
