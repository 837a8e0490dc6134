"""Named placements: greedy and rules by what they promise, embeddings by their dilation, counted here.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from corewise import _core, _lab
from corewise.analysis.placement.hypercube import embed, gray, map_by_hypercube
from corewise.analysis.placement.rules import judge, violations
from corewise.analysis.placement.starts import joined, named_starts
from corewise.data.machines import load_machine

CELL = load_machine("cell-be")
EVEN_ODD = [0, 4, 2, 6, 1, 5, 3, 7]


def make(family: str, **parameters: object) -> _core.Pattern:
    return _core.generate(family, {name: str(value) for name, value in parameters.items()})


def longest(pattern: _core.Pattern, nodes: object) -> int:
    """Longest way of a pair that exchanges bytes, bit by bit."""
    place = [int(node) for node in nodes]  # type: ignore[attr-defined]
    assert len(set(place)) == pattern.ranks
    senders, receivers, sizes, _ = pattern.coordinates()
    return max(
        (place[a] ^ place[b]).bit_count()
        for a, b, size in zip(senders, receivers, sizes, strict=True)
        if size and a != b
    )


def test_gray_codes_differ_in_one_bit() -> None:
    codes = [int(code) for code in gray(np.arange(16))]
    assert sorted(codes) == list(range(16))
    assert all((a ^ b).bit_count() == 1 for a, b in zip(codes, codes[1:] + codes[:1], strict=True))


@pytest.mark.parametrize(
    "pattern, dilation",
    [
        (make("ring", ranks=8), 1),
        (make("ring", ranks=16), 1),
        # Even cycles are in a hypercube, but no Gray code of six ranks is one: searched.
        (make("ring", ranks=6), 1),
        # Odd ones are not: a hypercube has two colours.
        (make("ring", ranks=5), 2),
        (make("halo_2d", dims="2x4", ranks=8), 1),
        (make("halo_2d", dims="4x4", ranks=16), 1),
        (make("halo_3d", dims="2x2x2", ranks=8), 1),
        (make("halo_2d", dims="3x2", ranks=6, periodic="no"), 1),
        (make("binomial_tree", ranks=8), 1),
        (make("binomial_tree", ranks=8, root=3), 1),
        (make("binomial_tree", ranks=8, order="doubling"), 1),
        (make("recursive_doubling", ranks=8), 1),
        (make("hypercube", ranks=16), 1),
        (make("all_to_all", ranks=8), 3),
    ],
    ids=lambda value: value.name if isinstance(value, _core.Pattern) else str(value),
)
def test_dilation(pattern: _core.Pattern, dilation: int) -> None:
    dimensions = (pattern.ranks - 1).bit_length()
    nodes, how = embed(pattern, dimensions)
    assert longest(pattern, nodes) == dilation, how
    assert max(nodes) < 1 << dimensions


def test_an_unknown_pattern_is_embedded_by_search() -> None:
    """A ring whose ranks are shuffled is a cycle of the hypercube, but nothing names it."""
    order = [3, 0, 5, 6, 2, 7, 1, 4]
    matrix = np.zeros((8, 8), np.uint64)
    for at, rank in enumerate(order):
        matrix[rank, order[(at + 1) % 8]] = matrix[order[(at + 1) % 8], rank] = 4096
    pattern = _core.Pattern.from_dense("shuffled", matrix)
    nodes, how = embed(pattern, 3)
    assert (longest(pattern, nodes), how) == (1, "search")


def test_recursive_doubling_goes_where_even_odd_puts_it() -> None:
    mapped = map_by_hypercube(CELL, make("recursive_doubling", ranks=8))
    assert mapped is not None
    assert list(mapped.unit_of_rank) == EVEN_ODD
    assert (mapped.dilation, mapped.mean_dilation, mapped.dimensions) == (1, 1.0, 3)
    ring = map_by_hypercube(CELL, make("ring", ranks=8))
    assert ring is not None
    assert list(ring.unit_of_rank) == [EVEN_ODD[node] for node in (0, 1, 3, 2, 6, 7, 5, 4)]
    assert "Gray code" in ring.how


def test_no_hypercube_on_six_spes() -> None:
    assert map_by_hypercube(load_machine("ps3"), make("ring", ranks=6)) is None
    assert map_by_hypercube(load_machine("ps3"), make("ring", ranks=4)) is not None


def test_greedy_on_a_line_of_pairs() -> None:
    """Four pairs that talk to nobody else: each pair ends up on neighbouring tiles."""
    matrix = np.zeros((8, 8), np.uint64)
    for a, b in ((0, 5), (1, 7), (2, 3), (4, 6)):
        matrix[a, b] = 100
    machine = load_machine("mesh:4x2")
    units = _core.Searcher(machine).greedy(_core.Pattern.from_dense("pairs", matrix))
    assert sorted(units) == list(range(8))
    assert machine.hops()[units[0], units[5]] == machine.hops().astype(int)[0, 1]


@pytest.mark.parametrize("name", ["cell-be", "ps3", "mesh-6x4", "chiplet-2s", "flat", "cell-blade"])
def test_every_start_is_a_placement(name: str) -> None:
    machine = load_machine(name)
    ranks = min(8, len(machine.units))
    for family in ("ring", "random", "all_to_all"):
        starts = named_starts(machine, [make(family, ranks=ranks)])
        assert {"identity", "greedy"} <= set(starts)
        for units in starts.values():
            machine.check_placement(units)
            assert len(units) == ranks


def test_the_papers_affinities_are_there_on_the_cell_only() -> None:
    assert set(named_starts(CELL, [make("ring", ranks=8)])) == {
        "identity", "ring", "overlap", "even_odd", "leap2", "greedy", "hypercube", "rules",
    }  # fmt: skip
    assert "even_odd" not in named_starts(load_machine("ring:8"), [make("ring", ranks=8)])
    assert named_starts(CELL, [make("ring", ranks=3)])["even_odd"] == EVEN_ODD[:3]


def test_rules_break_no_rule_where_leap2_breaks_none() -> None:
    flows = next(step.flows for step in _lab.paper000_table2() if step.name == "ring")
    to, source = np.array(flows, np.int32).T
    sizes = np.full(8, 65536, np.uint64)
    pattern = _core.Pattern.from_coordinates(
        "ring", 8, np.ascontiguousarray(source), np.ascontiguousarray(to), sizes, np.ones_like(sizes)
    )
    start = named_starts(CELL, [pattern])["rules"]
    assert violations(judge(CELL, pattern, start)) == (0, 0, 0)


def test_rules_are_at_least_as_good_as_every_other_start() -> None:
    pattern = make("random", ranks=8, degree=3, min_bytes=4096, seed=3)
    starts = named_starts(CELL, [pattern])
    least = violations(judge(CELL, pattern, starts["rules"]))
    assert all(least <= violations(judge(CELL, pattern, units)) for units in starts.values())
    for first, second in itertools.combinations(range(8), 2):
        swapped = list(starts["rules"])
        swapped[first], swapped[second] = swapped[second], swapped[first]
        assert least <= violations(judge(CELL, pattern, swapped))


def test_patterns_join_phase_after_phase() -> None:
    both = joined([make("bruck", ranks=8), make("ring", ranks=8)])
    assert len(both.phases) == 4
    assert both.matrix().sum() == make("bruck", ranks=8).matrix().sum() + make("ring", ranks=8).matrix().sum()
