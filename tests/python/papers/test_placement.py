"""`corewise paper placement`: the search on the simulated Cell with little effort; its arithmetic by hand.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pytest

from corewise import _core, _lab
from corewise.analysis.result import PaperResult, Row
from corewise.papers.placement.data import (
    EVERY,
    Effort,
    Study,
    Timer,
    least_bandwidth,
    pattern_of,
    search_operation,
    search_step,
    transfer_sets,
)
from corewise.papers.placement.rows import BETTER, GOOD, rows_of
from corewise.papers.placement.study import run_study
from corewise.papers.placement.views import tables_of

# Every set of the exchanges (105) is timed; of the others a sample.
SMALL = Effort(
    search_repetitions=1,
    final_repetitions=2,
    final_trials=1,
    finalists=3,
    most_sets=105,
    collective_searches=16,
    compromises=3,
    ring_rounds=12,
)
STEPS = {step.name: step for step in _lab.paper000_table2()}


@pytest.fixture(scope="module")
def study() -> Study:
    shares: list[float] = []
    found = run_study(SMALL, 1, shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    return found


@pytest.fixture(scope="module")
def rows(study: Study) -> dict[str, Row]:
    made = list(rows_of(study))
    assert len({row.id for row in made}) == len(made)
    return {row.id: row for row in made}


def test_sets_of_transfers_are_the_placements_by_the_patterns_own_symmetry() -> None:
    """8! over the order of the pattern's group: 8 for a ring, 2^4 4! for pairs, 4 4 2 for two rings of
    four."""
    counts = {name: len(np.unique(transfer_sets(step.flows))) for name, step in STEPS.items()}
    assert counts == {
        "ring": 5040,
        "recursive_doubling_1": 105,
        "recursive_doubling_2": 105,
        "recursive_doubling_3": 105,
        "bruck_2": 1260,
        "binomial_tree_3": 1680,
    }


def test_equal_sets_take_equal_time() -> None:
    step = STEPS["recursive_doubling_2"]
    sets = transfer_sets(step.flows)
    same = EVERY[sets == sets[0]]
    assert len(same) == 384
    times = {least_bandwidth(step.flows, units.tolist(), 1) for units in same[::96]}
    assert len(times) == 1


def test_the_best_of_the_pairs_is_the_best_there_is() -> None:
    """All 105 ways to pair eight SPEs, enumerated here without the search."""
    step = search_step(STEPS["recursive_doubling_1"], SMALL, 1, {})
    pairings = {
        frozenset(frozenset(order[at : at + 2]) for at in range(0, 8, 2)) for order in permutations(range(8))
    }
    assert len(pairings) == 105
    speeds = []
    for pairing in pairings:
        flows = [(a, b) for one, other in map(sorted, pairing) for a, b in ((one, other), (other, one))]
        speeds.append(least_bandwidth(flows, range(8), 1))
    assert np.nanmax(step.quick_gb_per_s) == pytest.approx(max(speeds))
    assert step.timed == step.sets == 105


def test_at_least_as_good_as_the_best_affinity(study: Study, rows: dict[str, Row]) -> None:
    for step in study.steps:
        row = rows[f"P/{step.pattern.name}"]
        assert row.holds is True
        assert row.ours == pytest.approx(step.best_gb_per_s / max(step.affinities.values()))
        assert ("better than" in row.what) == (row.ours >= BETTER)
        again = least_bandwidth(step.pattern.flows, step.best, SMALL.final_repetitions)
        assert again == pytest.approx(step.best_gb_per_s)
    for operation in study.operations:
        row = rows[f"P/{operation.name}"]
        assert row.holds is True
        assert row.ours == pytest.approx(min(operation.affinities.values()) / operation.best_us)


def test_even_odd_is_held_against_the_best_found(study: Study, rows: dict[str, Row]) -> None:
    least = 2.0
    for step in study.steps:
        row = rows[f"E/{step.pattern.name}"]
        assert row.ours == pytest.approx(step.affinities["even_odd"] / step.best_gb_per_s)
        assert row.holds == (row.ours >= GOOD)
        least = min(least, row.ours)
    for operation in study.operations:
        least = min(least, operation.best_us / operation.affinities["even_odd"])
    assert rows["E/all"].ours == pytest.approx(least)
    assert rows["E/all"].holds == (least >= GOOD)


def test_model_and_hypercube_are_held_against_the_best_found(study: Study, rows: dict[str, Row]) -> None:
    by_name = {step.pattern.name: step for step in study.steps}
    for name, step in by_name.items():
        assert rows[f"L/{name}"].ours == pytest.approx(step.by_model[1] / step.best_gb_per_s)
        assert rows[f"H/{name}"].ours == pytest.approx(step.by_hypercube[1] / step.best_gb_per_s)
        assert step.by_model_cost <= step.even_odd_cost
    # A phase of recursive doubling is part of a hypercube: it stays where EvenOdd puts it, or rides on it.
    even_odd = tuple(dict(_core.affinities())["even_odd"])
    assert by_name["recursive_doubling_3"].by_hypercube[0] == even_odd


def test_the_compromise_has_a_price_for_every_pattern(study: Study, rows: dict[str, Row]) -> None:
    found = study.compromise
    names = [step.pattern.name for step in study.steps] + [each.name for each in study.operations]
    assert list(found.prices) == list(found.even_odd) == names
    assert sorted(found.unit_of_rank) == list(range(8))
    assert found.worst == max(found.prices.values())
    assert found.worst <= max(found.even_odd.values())
    assert rows["C/all"].holds is True
    for step in study.steps:
        own = least_bandwidth(step.pattern.flows, found.unit_of_rank, SMALL.final_repetitions)
        assert found.prices[step.pattern.name] == pytest.approx(step.best_gb_per_s / own)


def test_certified_mappings_of_the_ps3_by_brute_force(study: Study, rows: dict[str, Row]) -> None:
    """Every one of 120 mappings: the ring's links counted here, clockwise stops from published
    measurements."""
    eib = ["PPE", "SPE1", "SPE3", "SPE5", "SPE7", "IOIF1", "IOIF0", "SPE6", "SPE4", "SPE2", "SPE0", "MIC"]

    def load(mapping: list[int]) -> float:
        loads: dict[tuple[int, int], float] = {}
        for task in range(6):
            for partner in ((task + 1) % 6, (task - 1) % 6):
                start = eib.index(f"SPE{mapping.index(task)}")
                end = eib.index(f"SPE{mapping.index(partner)}")
                span = (end - start) % 12
                for way in [1] if span < 6 else [-1] if span > 6 else [1, -1]:
                    stop = start
                    while stop != end:
                        loads[stop, way] = loads.get((stop, way), 0) + (0.5 if span == 6 else 1)
                        stop = (stop + way) % 12
        return max(loads.values())

    mappings = [_lab.mapping_at(6, index) for index in range(120)]
    loads = [load(mapping) for mapping in mappings]
    best = {tuple(m) for m, own in zip(mappings, loads, strict=True) if own == min(loads)}
    assert {each.mapping for each in study.ring.certified} == best
    assert study.ring.mappings == 120
    for each in study.ring.certified:
        assert 1 <= each.rank <= 120
        assert rows["S/" + "".join(map(str, each.mapping))].ours == pytest.approx(each.factor)
    assert -1 <= study.ring.correlation <= 1
    assert rows["S/order"].holds == (study.ring.correlation > 0.5)
    assert rows["S/first"].holds == any(each.rank == 1 for each in study.ring.certified)
    assert "optimal" in study.ring.statement


def test_a_collective_is_searched_from_the_best_start() -> None:
    timer = Timer("all_gather_bruck", 1, 1)
    found = search_operation(timer, "Bruck", [(1, 0, 2, 3, 4, 5, 6, 7)], 12)
    assert found.timed == len(timer.known) <= 13
    assert found.best_us == min(timer.known.values())
    assert found.best_us <= min(found.affinities.values())


def test_tables_and_json(study: Study, rows: dict[str, Row]) -> None:
    tables = list(tables_of(study, tuple(rows.values())))
    assert len(tables) == 7
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    # At 80 columns the first column wraps and no other is cut.
    for table in tables[:-1]:
        first, *others = zip(table.columns, *table.rows, strict=True)
        widths = [max(len(word) for cell in first for word in cell.split())]
        widths += [max(map(len, cells)) for cells in others]
        assert sum(widths) + 3 * len(widths) + 1 <= 80, table.title
    result = PaperResult("paper placement", "simulated", tuple(rows.values()), tuple(tables))
    json.dumps(result.to_json(), allow_nan=False)


def test_steps_as_patterns_are_what_the_paper_writes() -> None:
    matrix = pattern_of(STEPS["binomial_tree_3"]).matrix()
    assert {(int(a), int(b)) for a, b in np.argwhere(matrix)} == {(0, 1), (2, 3), (4, 5), (6, 7)}
    assert matrix.max() == 65536
