"""Hierarchies: groups with roots are found as they are, with noise, and relabelled; nothing else is one."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from corewise._core import Pattern, generate
from corewise.analysis.hierarchy import find_hierarchy
from corewise.analysis.pattern import name_templates
from corewise.cli.main import execute
from corewise.data.patterns import save_pattern


def by_roots(rows: int, columns: int, group: int) -> np.ndarray:
    """A 2D grid of ranks in groups; what leaves a group goes through its first rank."""
    ranks = rows * columns
    matrix = np.zeros((ranks, ranks), np.uint64)
    for rank in range(ranks):
        row, column = divmod(rank, columns)
        for to_row, to_column in ((row, column + 1), (row + 1, column)):
            if to_row == rows or to_column == columns:
                continue
            to = to_row * columns + to_column
            one, other = rank // group * group, to // group * group
            way = [rank, to] if one == other else [rank, one, other, to]
            for start, end in pairwise(way):
                if start != end:
                    matrix[start, end] += np.uint64(1000)
                    matrix[end, start] += np.uint64(1000)
    return matrix


def pattern_of(matrix: np.ndarray) -> Pattern:
    return Pattern.from_dense("made up", np.ascontiguousarray(matrix))


@pytest.mark.parametrize(
    ("rows", "columns", "group", "between"),
    [(16, 16, 8, "2D halo 16x2, open, faces"), (8, 8, 4, "2D halo 8x2, open, faces"), (4, 16, 8, "4x2")],
)
def test_groups_with_roots_are_named(rows: int, columns: int, group: int, between: str) -> None:
    found = find_hierarchy(pattern_of(by_roots(rows, columns, group)))
    assert found is not None
    assert (found.group, found.degree, found.relabelled) == (group, 1.0, False)
    assert found.roots == tuple(range(0, rows * columns, group))
    assert between in found.label


@pytest.mark.parametrize("seed", range(3))
def test_on_relabelled_ranks(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(256)
    plain = by_roots(16, 16, 8)
    moved = np.zeros_like(plain)
    moved[np.ix_(order, order)] = plain
    found = find_hierarchy(pattern_of(moved))
    assert found is not None and found.relabelled
    assert (found.group, found.degree) == (8, 1.0)
    assert set(found.roots) == set(order[::8].tolist())
    assert "2D halo" in found.label


@pytest.mark.parametrize("seed", range(5))
def test_five_per_cent_of_noise(seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix = by_roots(16, 16, 8).astype(np.float64)
    senders, receivers = np.nonzero(matrix)
    few = random.choice(len(senders), len(senders) // 20, replace=False)
    matrix *= random.uniform(0.9, 1.1, matrix.shape)
    matrix[senders[few], receivers[few]] = 0
    for _ in few:
        one, other = random.choice(256, 2, replace=False)
        matrix[one, other] += random.integers(1, 1000)
    found = find_hierarchy(pattern_of(matrix.astype(np.uint64)))
    assert found is not None
    assert found.group == 8
    assert 0.75 <= found.degree < 1


@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        ("halo_2d", {"ranks": "256", "dims": "16x16", "periodic": "no"}),
        ("halo_3d", {"ranks": "256", "dims": "8x8x4"}),
        ("wavefront", {"ranks": "64"}),
        ("ring", {"ranks": "64"}),
        ("hypercube", {"ranks": "64"}),
        ("dissemination", {"ranks": "64"}),
        ("transpose", {"ranks": "64", "groups": "rows"}),
        ("all_to_all", {"ranks": "64"}),
        ("manager_worker", {"ranks": "64"}),
        ("random", {"ranks": "64", "seed": "1"}),
    ],
)
def test_what_has_no_roots_is_no_hierarchy(family: str, parameters: dict[str, str]) -> None:
    assert find_hierarchy(generate(family, parameters)) is None


def test_near_misses_are_none() -> None:
    alone = by_roots(8, 8, 8)
    alone[:8, 8:] = alone[8:, :8] = 0  # a group that meets no other
    assert find_hierarchy(pattern_of(alone)) is None
    two_ways = by_roots(8, 8, 4)
    for group in range(0, 60, 4):  # every group has a second rank that sends as much
        two_ways[group + 1, group + 5] = two_ways[group + 1, group + 7] = np.uint64(9000)
    assert find_hierarchy(pattern_of(two_ways)) is None
    mute = by_roots(16, 16, 8)
    mute[np.ix_(np.arange(256) % 8 != 0, np.arange(256) % 8 == 0)] = 0  # members exchange nothing with roots
    mute[np.ix_(np.arange(256) % 8 == 0, np.arange(256) % 8 != 0)] = 0
    assert find_hierarchy(pattern_of(mute)) is None


def test_templates_come_first_and_the_command_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert name_templates(generate("binomial_tree", {"ranks": "64"})).hierarchy is None
    file = tmp_path / "roots.json"
    save_pattern(pattern_of(by_roots(16, 16, 8)), file)
    assert execute(["patterns", "name", str(file)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "hierarchy of 32 groups of 8, one root each, between roots 2D halo 16x2, open, faces" in said
    assert execute(["patterns", "name", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["summary"]["hierarchy"]
    assert found["group"] == 8 and found["degree"] == 1.0 and found["roots"][:2] == [0, 8]
