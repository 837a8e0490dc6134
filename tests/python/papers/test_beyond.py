"""What paper 001 tried without showing it or left for later: its rows, from times and from a short run.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import pytest

from corewise.data.machines import load_machine
from corewise.papers.collectives import beyond
from corewise.papers.collectives.beyond import DEGREES, RANKS, REDUCED_BYTES, STRIDED, STRIDES, Beyond


def made_up() -> Beyond:
    """Everything takes 10 us."""
    found = Beyond()
    for ranks in RANKS:
        for degree in DEGREES:
            for size in REDUCED_BYTES:
                found.small[ranks, size, degree] = found.large[ranks, size, degree] = 10.0
            found.ahead[ranks, degree] = 10.0
        for collective in STRIDED:
            for layout in STRIDES:
                found.strided[collective, ranks, layout] = found.packed[collective, ranks, layout] = 10.0
    return found


def holding(found: Beyond) -> dict[str, bool | None]:
    """Row -> whether it holds."""
    rows = list(beyond.rows_of(found))
    assert len({row.id for row in rows}) == len(rows)
    return {row.id: row.holds for row in rows}


def test_where_nothing_differs_only_strides_gain_nothing() -> None:
    holds = holding(made_up())
    assert [name for name, each in holds.items() if each] == [
        name for name in holds if not name.startswith("F/strided/")
    ]


@pytest.mark.parametrize(("factor", "holds"), [(1.09, True), (1.12, False), (0.92, True), (0.88, False)])
def test_buffers_may_differ_by_ten_percent_of_the_best_degree(factor: float, holds: bool) -> None:
    found = made_up()
    for degree in DEGREES:
        found.large[8, 128, degree] = 10.0 * factor * degree
    assert holding(found)["E6/8/128 B"] is holds
    assert holding(found)["E6/16/128 B"]


def test_an_operand_ahead_may_not_cost_anything() -> None:
    found = made_up()
    found.ahead[16, 2] = 10.3
    holds = holding(found)
    assert not holds["F/ahead/16/2"]
    assert holds["F/ahead/16/1"]


def test_a_short_run_times_and_checks_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beyond, "RANKS", (4,))
    monkeypatch.setattr(beyond, "REDUCED_BYTES", (128, 32 * 1024))
    monkeypatch.setattr(beyond, "AHEAD_BYTES", 32 * 1024)
    monkeypatch.setattr(beyond, "STRIDED_BYTES", 1024)
    found = beyond.measure(load_machine("cell-blade"))
    assert len(found.small) == len(found.large) == 2 * len(DEGREES)
    assert set(found.strided) == {(name, 4, layout) for name in STRIDED for layout in STRIDES}
    # One piece fits into either buffer; of many, the tree fetches ahead and gains.
    assert found.small[4, 128, 3] == found.large[4, 128, 3]
    assert found.ahead[4, 2] < found.small[4, 32 * 1024, 2]
    assert len(list(beyond.tables_of(found))) == 3
    # Blocks of a quadword cost more commands than blocks of a line.
    assert all(found.strided[name, 4, (16, 64)] > found.strided[name, 4, (128, 256)] for name in STRIDED)
