"""Groups and links from latencies: real processors, trees with noise, and shapes that have no groups.

`matrices.npz` holds the upper triangles, in tenths of a nanosecond, of twelve matrices that users of
nviennot/core-to-core-latency (MIT, commit 96a943a) measured; what each processor is, is its vendor's word.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corewise.analysis.latency.groups import Group, find_groups
from corewise.analysis.latency.levels import partitions, without_outliers
from corewise.analysis.latency.links import latency_tree
from corewise.analysis.latency.summary import level_names, level_rows
from corewise.errors import InputError

Matrix = npt.NDArray[np.float64]
Groups = set[tuple[int, ...]]

MATRICES = Path(__file__).with_name("matrices.npz")


def matrix_of(name: str) -> Matrix:
    tenths = np.load(MATRICES)[name]
    cpus = round((1 + np.sqrt(1 + 8 * len(tenths))) / 2)
    matrix = np.zeros((cpus, cpus))
    matrix[np.triu_indices(cpus, 1)] = tenths / 10
    return matrix + matrix.T


def all_groups(root: Group) -> Groups:
    """Every group of more than one CPU, the whole left out."""

    def walk(group: Group) -> list[tuple[int, ...]]:
        return [group.cpus, *(each for part in group.parts for each in walk(part))]

    return {cpus for part in root.parts for cpus in walk(part) if len(cpus) > 1}


def siblings(cores: int) -> Groups:
    """Hardware threads k and k + cores."""
    return {(core, core + cores) for core in range(cores)}


def neighbours(first: int, last: int, size: int) -> Groups:
    return {tuple(range(at, at + size)) for at in range(first, last, size)}


def both_threads(cores: int, size: int) -> Groups:
    """Clusters of so many cores, with the threads k and k + cores of each."""
    return {(*range(at, at + size), *range(at + cores, at + cores + size)) for at in range(0, cores, size)}


PROCESSORS: dict[str, Groups] = {
    "epyc-7773x": both_threads(64, 8) | siblings(64),
    "dual-epyc-7r13": both_threads(96, 48) | both_threads(96, 8) | siblings(96),
    "graviton3": set(),
    "dual-xeon-gold-6242": both_threads(32, 16) | siblings(32),
    "xeon-phi-7210": neighbours(0, 64, 2),
    # Threads are not bound on that system: the numbers of rows mean no core, and nothing stands out.
    "m1-ultra": set(),
    "kunpeng-920-6426": neighbours(0, 64, 32) | neighbours(0, 64, 4),
    "ryzen-9-5950x": both_threads(16, 8) | siblings(16),
    # Its clock knows 5, 10, 15 and 21 ns, and some siblings are as far apart as some cores.
    "ryzen-9-7950x": neighbours(0, 32, 16) | neighbours(0, 32, 2),
    "core-i9-12900k": neighbours(0, 16, 2) | neighbours(16, 24, 4),
    # The two rings of a socket do not show: which one a line's home is on changes from pair to pair.
    "dual-xeon-e5-2680v4": both_threads(28, 14) | siblings(28),
    "threadripper-1950x": both_threads(16, 8) | both_threads(16, 4) | siblings(16),
}


@pytest.mark.parametrize("name", PROCESSORS)
def test_groups_of_real_processors(name: str) -> None:
    assert all_groups(find_groups(matrix_of(name))) == PROCESSORS[name]


@pytest.mark.parametrize("name", PROCESSORS)
def test_groups_do_not_depend_on_the_numbers_of_cpus(name: str) -> None:
    matrix = matrix_of(name)
    order = np.random.default_rng(1).permutation(len(matrix))
    found = all_groups(find_groups(matrix[np.ix_(order, order)]))
    assert {tuple(sorted(int(order[cpu]) for cpu in group)) for group in found} == PROCESSORS[name]


@pytest.mark.parametrize("name", PROCESSORS)
def test_links_reproduce_the_latencies_of_real_processors(name: str) -> None:
    matrix = matrix_of(name)
    tree = latency_tree(find_groups(matrix), matrix)
    # Cores of one cluster of the 12900K are farther from each other than from the rest: no tree is like that.
    assert tree.error < (0.15 if name == "core-i9-12900k" else 0.01)
    assert sorted(tree.cpus) == list(range(len(matrix)))
    assert all(hop > 0 for level in tree.levels for hop in level.hop_ns)
    summed = sums_of_hops(tree.levels, tree.cpus)
    off = ~np.eye(len(matrix), dtype=bool)
    ratio = summed[off] / matrix[off]
    assert 0.95 < np.median(ratio) < 1.05


def sums_of_hops(levels: Sequence[object], cpus: Sequence[int]) -> Matrix:
    """Latencies along the tree, by walking it: an account of its own."""
    count = len(cpus)
    total = np.zeros((count, count))
    for level in levels:
        node = np.empty(count, dtype=int)
        for index, part in enumerate(level.parts):  # type: ignore[attr-defined]
            node[list(part.cpus)] = index
        hop = np.array(level.hop_ns)[node]  # type: ignore[attr-defined]
        total += np.where(node[:, None] != node[None, :], hop[:, None] + hop[None, :], 0)
    return total


# ---- trees with noise ------------------------------------------------------------------------------------


def noisy_tree(
    branching: Sequence[int], latencies: Sequence[float], noise: float, outliers: float, seed: int
) -> tuple[Matrix, Groups]:
    """A tree, outermost level first, with CPUs in any order; outliers are 2 to 10 times too long."""
    random = np.random.default_rng(seed)
    cpus = int(np.prod(branching))
    order = random.permutation(cpus)
    matrix = np.full((cpus, cpus), latencies[0])
    groups: Groups = set()
    size = cpus
    for count, latency in zip(branching, latencies[1:], strict=False):
        size //= count
        label = order // size
        matrix[label[:, None] == label[None, :]] = latency
        if size > 1:
            groups |= {tuple(np.flatnonzero(label == each).tolist()) for each in range(cpus // size)}
    factor = np.exp(random.normal(0, noise, matrix.shape))
    factor *= np.where(random.random(matrix.shape) < outliers, random.uniform(2, 10, matrix.shape), 1)
    upper = np.triu(matrix * factor, 1)
    return upper + upper.T, groups


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int], list[float]]:
    """One to four levels, each at least twice as quick as the one around it."""
    depth = draw(st.integers(1, 4))
    branching = [draw(st.integers(2, 4)) for _ in range(depth - 1)] + [draw(st.integers(2, 8))]
    ratios = [draw(st.floats(2.0, 4.0)) for _ in range(depth - 1)]
    inner = draw(st.floats(4.0, 50.0))
    return branching, [float(inner * np.prod(ratios[level:])) for level in range(depth)]


@settings(deadline=None, max_examples=40)
@given(trees(), st.integers(0, 2**31))
def test_trees_without_noise_are_found_exactly(tree: tuple[list[int], list[float]], seed: int) -> None:
    branching, latencies = tree
    matrix, groups = noisy_tree(branching, latencies, 0, 0, seed)
    root = find_groups(matrix)
    assert all_groups(root) == groups
    off = ~np.eye(len(matrix), dtype=bool)
    found = latency_tree(root, matrix)
    assert np.allclose(sums_of_hops(found.levels, found.cpus)[off], matrix[off], rtol=0.01)


@settings(deadline=None, max_examples=40)
@given(trees(), st.floats(0.0, 0.05), st.integers(0, 2**31))
def test_trees_with_noise_are_found(tree: tuple[list[int], list[float]], noise: float, seed: int) -> None:
    matrix, groups = noisy_tree(*tree, noise, 0, seed)
    assert all_groups(find_groups(matrix)) == groups


NOISY = [
    ([2, 8, 8, 2], [200, 100, 25, 9]),
    ([2, 4, 8], [200, 90, 30]),
    ([2, 14, 2], [130, 48, 10]),
    ([64], [50]),
    ([32, 2], [90, 42]),
    ([4, 16], [60, 40]),
    ([4, 4, 4], [200, 100, 40]),
]


@pytest.mark.parametrize(("branching", "latencies"), NOISY)
@pytest.mark.parametrize("seed", [1, 2])
def test_noise_of_ten_per_cent(branching: list[int], latencies: list[float], seed: int) -> None:
    matrix, groups = noisy_tree(branching, latencies, 0.1, 0, seed)
    assert all_groups(find_groups(matrix)) == groups


@pytest.mark.parametrize(
    ("branching", "latencies"), [([2, 4, 8], [200, 90, 30]), ([64], [50]), ([8, 4], [90, 30])]
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_outliers_of_an_interrupt_change_nothing(
    branching: list[int], latencies: list[float], seed: int
) -> None:
    matrix, groups = noisy_tree(branching, latencies, 0.05, 0.01, seed)
    assert all_groups(find_groups(matrix)) == groups


def test_one_pair_of_threads_measured_too_long_is_completed() -> None:
    matrix, groups = noisy_tree([4, 8, 2], [100, 30, 9], 0.02, 0, 1)
    pair = next(group for group in groups if len(group) == 2)
    matrix[pair] = matrix[pair[::-1]] = 80
    root = find_groups(matrix)
    assert all_groups(root) == groups
    rows = level_rows(tree := latency_tree(root, matrix), level_names(tree, [], "names"), root)
    assert [row.name for row in rows] == ["cluster", "core"]
    assert set(rows[1].found) == {"near", "completed"}


def test_threads_that_a_coarse_clock_shows_at_two_latencies() -> None:
    """No cut has all siblings: some are as far apart as two cores once were by a lucky draw."""
    for seed in range(20):
        matrix, groups = noisy_tree([2, 8, 2], [70, 17, 5.3], 0.02, 0, seed)
        pairs = [group for group in groups if len(group) == 2]
        for pair in pairs[::2]:
            matrix[pair] = matrix[pair[::-1]] = 10.6
        stray = (
            pairs[1][0],
            next(group for group in groups if len(group) == 16 and pairs[1][0] not in group)[0],
        )
        matrix[stray] = matrix[stray[::-1]] = 10.3
        assert all_groups(find_groups(matrix)) == groups, seed


@pytest.mark.parametrize("noise", [0.05, 0.08])
def test_two_groups_of_three(noise: float) -> None:
    """Nine latencies between them have no scatter to speak of; a factor of two is no chance."""
    for seed in range(20):
        matrix, groups = noisy_tree([2, 3], [60, 30], noise, 0, seed)
        assert all_groups(find_groups(matrix)) == groups, seed


# ---- what has no groups ----------------------------------------------------------------------------------


def test_a_mesh_has_none() -> None:
    """Latency rises by a hop per tile; both cores of a tile are found where there are two."""
    x, y = np.meshgrid(np.arange(8), np.arange(8))
    hops = np.abs(x.ravel()[:, None] - x.ravel()) + np.abs(y.ravel()[:, None] - y.ravel())
    for start, hop in ((40, 1.5), (40, 5), (20, 5)):
        for noise in (0.0, 0.02, 0.1):
            matrix = (start + hop * hops) * np.exp(np.random.default_rng(1).normal(0, noise, hops.shape))
            matrix = np.triu(matrix, 1)
            assert all_groups(find_groups(matrix + matrix.T)) == set(), (start, hop, noise)
    tiles = np.repeat(np.repeat(40 + 1.5 * hops, 2, axis=0), 2, axis=1)
    tiles[np.arange(128), np.arange(128) ^ 1] = 20
    assert all_groups(find_groups(tiles)) == neighbours(0, 128, 2)


def test_a_ring_has_none() -> None:
    at = np.arange(24)
    hops = np.abs(at[:, None] - at)
    for hop in (1.0, 3.0, 10.0):
        assert all_groups(find_groups(30 + hop * np.minimum(hops, 24 - hops))) == set()


@pytest.mark.parametrize("cpus", [4, 8, 64])
@pytest.mark.parametrize("noise", [0.001, 0.01, 0.1])
def test_scatter_alone_has_none(cpus: int, noise: float) -> None:
    for seed in range(3):
        matrix, _ = noisy_tree([cpus], [50], noise, 0, seed)
        assert all_groups(find_groups(matrix)) == set()


@pytest.mark.parametrize("cpus", [1, 2, 3, 4])
def test_few_cpus_that_are_alike(cpus: int) -> None:
    matrix = np.full((cpus, cpus), 50.0)
    root = find_groups(matrix)
    tree = latency_tree(root, matrix)
    assert all_groups(root) == set()
    assert [len(level.parts) for level in tree.levels] == [cpus]
    assert tree.levels[0].hop_ns == pytest.approx([20.0 if cpus == 1 else 25.0] * cpus)


def test_an_outlier_is_lowered_to_what_its_neighbours_say() -> None:
    matrix, _ = noisy_tree([2, 4], [100, 20], 0, 0, 1)
    disturbed = matrix.copy()
    near = np.argwhere(matrix == 20)[0]
    disturbed[tuple(near)] = disturbed[tuple(near[::-1])] = 300
    np.fill_diagonal(matrix, 1)
    np.fill_diagonal(disturbed, 1)
    assert np.allclose(without_outliers(np.log(disturbed)), np.log(matrix))
    assert len(partitions(without_outliers(np.log(disturbed)))) == 1


# ---- names -----------------------------------------------------------------------------------------------


def test_names_of_levels() -> None:
    matrix = matrix_of("dual-epyc-7r13")
    tree = latency_tree(find_groups(matrix), matrix)
    assert level_names(tree, [], "--level-names") == ["group", "cluster", "core", "pu"]
    assert level_names(tree, ["package", "l3"], "--level-names") == ["package", "l3", "core", "pu"]
    for wrong in (["package"], ["package", "package"], ["package", "core"], ["package", " "]):
        with pytest.raises(InputError, match="--level-names"):
            level_names(tree, wrong, "--level-names")


def test_levels_say_how_they_were_found() -> None:
    matrix = matrix_of("threadripper-1950x")
    root = find_groups(matrix)
    tree = latency_tree(root, matrix)
    rows = level_rows(tree, level_names(tree, ["die", "l3"], "names"), root)
    assert [(row.name, len(row.groups), row.found) for row in rows] == [
        ("die", 2, ("completed", "near")),
        ("l3", 4, ("near",)),
        ("core", 16, ("near",)),
    ]
    assert [row.looks_like for row in rows] == [
        "sockets or dies",
        "cores of one L2 or L3 cache",
        "hardware threads of a core",
    ]
