"""The checker of certificates: accepts what the search writes, refuses every way of forging it.

SPDX-License-Identifier: BSD-3-Clause
"""

import contextlib
import itertools
import json
import math

import numpy as np
import pytest

from corewise import _core as core
from corewise.analysis.placement.certificate import check_certificate
from corewise.analysis.placement.certificate.cuts import _in_steps
from corewise.analysis.placement.certificate.facts import Node, Traffic
from corewise.analysis.placement.certificate.limits import Limits
from corewise.analysis.placement.certificate.tree import Walk
from corewise.base.documents import Fields, parse_json
from corewise.data.machines import load_machine
from corewise.errors import InputError, RunError

RING = core.Machine.from_synthetic("ring:8")


def random_pattern(ranks, seed, messages=3):
    draw = np.random.default_rng(seed)
    matrix = np.zeros((ranks, ranks), dtype=np.uint64)
    for rank in range(ranks):
        for peer in draw.integers(0, ranks, messages):
            if peer != rank:
                matrix[rank, peer] = draw.integers(1, 11)
    return core.Pattern.from_dense(f"random {seed}", matrix)


def certified(machine, patterns, weights=None, **options):
    found = core.Searcher(machine).search(patterns, weights=weights, certify=True, **options)
    assert found.certificate is not None, found.statement
    return found, json.loads(found.certificate)


@pytest.fixture(scope="module")
def grown():
    """A pattern whose tree has all kinds of entries that a forger could touch."""
    pattern = random_pattern(8, 2)
    found, document = certified(RING, pattern)
    assert len(document["tree"]) > 50
    assert {"(", "L"} <= set(document["tree"])
    return pattern, found, document


def check(machine, patterns, weights, document):
    """A document as a search writes it, or as a forger changed it."""
    read = parse_json(document, "p.json") if isinstance(document, str) else Fields("p.json", "", document)
    check_certificate(machine, patterns, weights, read)


def refused(document, pattern, error=RunError, machine=RING, weights=None, match=None):
    with pytest.raises(error, match=match) as caught:
        check(machine, [pattern], weights, document)
    assert error is RunError or str(caught.value).startswith("p.json: ")


@pytest.mark.parametrize(
    "text", ["ring:8", "ring:6", "mesh:3x2 core:2", "pack:2 l3:2 core:3", "flat:7", "torus:3x3"]
)
@pytest.mark.parametrize("seed", range(4))
def test_what_the_search_writes_holds(text, seed):
    machine = core.Machine.from_synthetic(text)
    ranks = min(len(machine.units), 7)
    pattern = random_pattern(ranks, seed)
    found, document = certified(machine, pattern)
    assert found.proven_optimal
    check(machine, [pattern], None, document)
    check(machine, [pattern], None, found.certificate)


@pytest.mark.parametrize("seed", range(6))
def test_a_certified_bound_is_the_least_of_all_placements(seed):
    machine = core.Machine.from_synthetic(("ring:6", "mesh:3x2", "pack:2 core:3")[seed % 3])
    pattern = random_pattern(5, 100 + seed)
    found, document = certified(machine, pattern)
    searcher = core.Searcher(machine)
    least = min(
        searcher.evaluate(pattern, list(placement)).bottleneck_ns
        for placement in itertools.permutations(range(len(machine.units)), 5)
    )
    assert found.evaluation.bottleneck_ns == pytest.approx(least, rel=1e-12)
    assert document["bound_ns"] == pytest.approx(least, rel=1e-12)


def test_several_patterns_with_weights_and_phases():
    machine = core.Machine.from_synthetic("ring:7")
    patterns = [
        random_pattern(6, 7),
        core.generate("recursive_doubling", {"ranks": "6"}),
        random_pattern(6, 8),
    ]
    weights = [2.0, 0.25, 1.0]
    _, document = certified(machine, patterns, weights)
    check(machine, patterns, weights, document)
    with pytest.raises(InputError, match="pattern_digest"):
        check(machine, patterns, [1.0, 0.25, 1.0], document)
    with pytest.raises(InputError, match="pattern_digest"):
        check(machine, patterns[::-1], weights, document)


def test_phases_that_cost_by_links_and_by_cuts_close_a_tree():
    machine = load_machine("cell-blade")
    pattern = core.generate("recursive_doubling", {"ranks": "16"})
    found, document = certified(machine, pattern)
    assert found.proven_optimal
    assert "P" in document["tree"]
    check(machine, [pattern], None, document)
    # Symmetries that exchange phases of one weight: the tree needs them, and other weights do not have them.
    first = document["rank_symmetries"]
    kept = [image for image in first if _keeps_every_phase(pattern, image)]
    assert 0 < len(kept) < len(first)
    refused(document | {"rank_symmetries": kept}, pattern, machine=machine, match="tree")
    for letter in "LC":
        refused(
            document | {"tree": document["tree"].replace("P", letter)}, pattern, machine=machine, match="tree"
        )


def _keeps_every_phase(pattern, image):
    for phase in pattern.phases:
        senders, receivers, sizes, _ = (values.tolist() for values in phase.coordinates())
        sent = set(zip(senders, receivers, sizes, strict=True))
        if {(image[a], image[b], size) for a, b, size in sent} != sent:
            return False
    return True


def test_equal_phases_are_one_for_search_and_checker():
    machine = load_machine("cell-blade")
    patterns = [core.generate("recursive_doubling", {"ranks": "16"})] * 7
    found, document = certified(machine, patterns)
    assert found.proven_optimal
    assert "P" in document["tree"]
    check(machine, patterns, None, document)


def test_phases_of_different_weights_are_not_exchanged():
    ring = np.zeros((4, 4), dtype=np.uint64)
    for rank in range(4):
        ring[rank, (rank + 1) % 4] = 12
    patterns = [core.Pattern.from_dense("ring", ring), core.Pattern.from_dense("back", ring.T.copy())]
    reflection = [0, 3, 2, 1]
    Traffic(patterns, [2.0, 2.0]).check_symmetry(reflection)
    with pytest.raises(RunError, match="rank_symmetries"):
        Traffic(patterns, [1.0, 2.0]).check_symmetry(reflection)


def test_with_phases_branch_and_bound_agrees_with_enumeration():
    for seed in range(150):
        draw = np.random.default_rng(seed)
        machine = core.Machine.from_synthetic(("ring:6", "mesh:3x2", "pack:2 core:3", "ring:7")[seed % 4])
        ring = np.zeros((6, 6), dtype=np.uint64)
        for rank in range(6):
            ring[rank, (rank + 1) % 6] = draw.integers(1, 3) if seed % 2 else 7
        patterns = [
            core.Pattern.from_dense("ring", ring),
            core.Pattern.from_dense("back", ring.T.copy()),
            core.generate("recursive_doubling", {"ranks": "6"}),
            random_pattern(6, seed, 1),
        ][: draw.integers(2, 5)]
        weights = [1.0, 1.0, 0.01, draw.uniform(0.1, 3)][: len(patterns)]
        if seed % 5 == 0:  # equal phases, which are one
            patterns, weights = [*patterns, patterns[0]], [*weights, 0.3]
        limits = core.Limits(machine, 6, [(int(draw.integers(6)), 2)] if seed % 3 == 0 else [], [])
        searcher = core.Searcher(machine)
        best = searcher.search(patterns, weights=weights, limits=limits, method="exhaustive")
        how = {"method": "branch-and-bound", "local_evaluations": 1, "certify": True}
        bounded = searcher.search(patterns, weights=weights, limits=limits, **how)
        assert best.proven_optimal and bounded.proven_optimal
        assert bounded.evaluation.bottleneck_ns == pytest.approx(best.evaluation.bottleneck_ns, rel=1e-12)
        check(machine, patterns, weights, bounded.certificate)


def test_a_proof_begins_with_a_good_placement():
    """From a local search alone this tree has ten million nodes, nearly all to find the best placement."""
    pattern = core.generate("recursive_doubling", {"ranks": "16"})
    found, _ = certified(load_machine("mesh-6x4"), pattern, nodes=10_000)
    assert found.proven_optimal, found.statement
    assert found.evaluation.bottleneck_ns == 512
    check(load_machine("mesh-6x4"), [pattern], None, found.certificate)


def test_a_bound_below_the_cost_is_certified_too():
    machine = core.Machine.from_synthetic("mesh:4x4")
    pattern = core.generate("transpose", {"ranks": "16"})
    found = core.Searcher(machine).search(pattern, nodes=20, certify=True)
    assert not found.proven_optimal
    assert 0 < found.bound < found.evaluation.bottleneck_ns
    assert found.gap == pytest.approx(found.evaluation.bottleneck_ns / found.bound - 1)
    assert "not proven: at most" in found.statement
    assert found.certificate is not None
    check(machine, [pattern], None, found.certificate)
    document = json.loads(found.certificate)
    document["bound_ns"] = found.evaluation.bottleneck_ns
    refused(document, pattern, machine=machine)


def test_a_split_tree_holds_and_may_not_lose_a_set():
    machine = load_machine("cell-blade")
    pattern = core.generate("dissemination", {"ranks": "16"})
    found, document = certified(machine, pattern)
    assert found.proven_optimal
    assert document["split"] >= 0
    check(machine, [pattern], None, document)
    refused(document | {"split": -1}, pattern, machine=machine, match="tree")
    refused(document | {"split": 10_000}, pattern, InputError, machine=machine, match="split")
    refused(document | {"tree": document["tree"][:-1]}, pattern, machine=machine, match="tree")


def test_proofs_without_a_tree_hold():
    machine = core.Machine.from_synthetic("flat:8")
    pattern = core.generate("all_to_all", {"ranks": "8"})
    _, document = certified(machine, pattern)
    check(machine, [pattern], None, document)
    assert document["tree"] == "R"
    document["cuts"] = []
    refused(document, pattern, machine=machine)


def test_a_higher_bound_is_refused(grown):
    pattern, _, document = grown
    refused(document | {"bound_ns": document["bound_ns"] * 1.01}, pattern, match="bound_ns")
    refused(document | {"bound_ns": 0}, pattern, match="bound_ns")
    refused(document | {"bound_ns": math.nan}, pattern, InputError, match="bound_ns")


def test_a_wrong_cost_or_placement_is_refused(grown):
    pattern, _, document = grown
    refused(document | {"cost_ns": document["cost_ns"] * 0.99}, pattern, match="cost_ns")
    refused(document | {"cost_ns": math.nan}, pattern, InputError, match="cost_ns")
    worse = next(
        list(placement)
        for placement in itertools.permutations(range(8))
        if core.Searcher(RING).evaluate(pattern, list(placement)).bottleneck_ns > document["cost_ns"] * 1.1
    )
    refused(document | {"unit_of_rank": worse}, pattern, match="cost_ns")
    for wrong in (
        [0] * 8,
        list(range(7)),
        [*range(7), 8],
        [*range(7), -1],
        [0.0, *range(1, 8)],
        ["0", *range(1, 8)],
    ):
        refused(document | {"unit_of_rank": wrong}, pattern, InputError, match="unit_of_rank")


def test_a_placement_that_raises_both_cost_and_bound_is_refused(grown):
    """The whole claim moved to a worse placement: only the tree can tell."""
    pattern, _, document = grown
    searcher = core.Searcher(RING)
    worse = next(
        list(placement)
        for placement in itertools.permutations(range(8))
        if searcher.evaluate(pattern, list(placement)).bottleneck_ns > document["cost_ns"] * 1.3
    )
    cost = searcher.evaluate(pattern, worse).bottleneck_ns
    forged = document | {"unit_of_rank": worse, "cost_ns": cost, "bound_ns": cost}
    refused(forged, pattern, match="tree")


def test_every_changed_entry_of_the_tree_is_refused_or_still_true(grown):
    """A letter may become another reason that holds as well; it may not hide a branch."""
    pattern, _, document = grown
    tree = document["tree"]
    for at in range(0, len(tree), max(1, len(tree) // 40)):
        for letter in "LCPA(X":
            if letter == tree[at]:
                continue
            forged = document | {"tree": tree[:at] + letter + tree[at + 1 :]}
            if letter in "(X" or tree[at] == "(":
                refused(forged, pattern, match="tree")
    for at in range(0, len(tree), max(1, len(tree) // 40)):
        refused(document | {"tree": tree[:at]}, pattern, match="tree")
    refused(document | {"tree": tree + "L"}, pattern, match="left over")
    refused(document | {"tree": ""}, pattern, match="tree")
    refused(document | {"tree": "R"}, pattern, match="root")


def test_a_subtree_left_out_is_refused(grown):
    pattern, _, document = grown
    tree = document["tree"]
    for at in [k for k, letter in enumerate(tree) if letter == "("][:10]:
        for end in range(at + 1, min(at + 12, len(tree))):
            refused(document | {"tree": tree[:at] + tree[end:]}, pattern, match="tree")


def test_an_invented_symmetry_is_refused(grown):
    pattern, _, document = grown
    swap = [1, 0, *range(2, 8)]
    forged = document | {"unit_symmetries": [*document["unit_symmetries"], swap]}
    refused(forged, pattern, match="unit_symmetries")
    forged = document | {"rank_symmetries": [*document["rank_symmetries"], swap]}
    refused(forged, pattern, match="rank_symmetries")
    for wrong in ([0] * 8, [*range(7)], "01234567", [True, *range(1, 8)], [8, *range(1, 8)]):
        refused(document | {"unit_symmetries": [wrong]}, pattern, InputError)
        refused(document | {"rank_symmetries": [wrong]}, pattern, InputError)


def test_symmetries_left_out_leave_branches_open(grown):
    pattern, _, document = grown
    refused(document | {"unit_symmetries": []}, pattern, match="tree")


def test_wrong_cuts_and_orders_are_refused(grown):
    pattern, _, document = grown
    for wrong in ([[99]], [[]], [list(range(8))], ["0"], [[0.5]], [None]):
        refused(document | {"cuts": wrong}, pattern, InputError, match="cuts")
    refused(document | {"chain": [10_000]}, pattern, InputError, match="chain")
    refused(document | {"order": [0] * 8}, pattern, InputError, match="order")
    refused(document | {"order": document["order"][::-1]}, pattern, match="tree")


def test_a_chain_that_is_none_is_refused():
    pattern = core.generate("all_to_all", {"ranks": "8"})
    _, document = certified(RING, pattern)
    assert document["tree"] == "R"
    document["chain"] = [0, 1]
    single = [stops for stops in document["cuts"] if len(stops) == 1]
    document["cuts"] = single
    refused(document, pattern, match="chain|root")


def test_another_machine_or_pattern_is_named(grown):
    pattern, _, document = grown
    refused(document, random_pattern(8, 3), InputError, match="pattern_digest")
    other = core.Machine.from_synthetic("mesh:4x2")
    refused(document, pattern, InputError, machine=other, match="machine_digest")


def test_a_forger_who_fixes_the_digest_still_fails(grown):
    """The digest only helps the reader: the proof is checked on the pattern itself."""
    pattern, _, document = grown
    doubled = core.Pattern.from_dense("doubled", random_matrix_times_two(pattern))
    _, other = certified(RING, doubled)
    forged = document | {"pattern_digest": other["pattern_digest"]}
    refused(forged, doubled, match="cost_ns")


def random_matrix_times_two(pattern):
    senders, receivers, sizes, _ = pattern.phases[0].coordinates()
    matrix = np.zeros((8, 8), dtype=np.uint64)
    matrix[senders, receivers] = sizes * 2
    return matrix


def test_the_form_is_strict(grown):
    pattern, _, document = grown
    refused("no json", pattern, InputError, match="JSON")
    refused("[]", pattern, InputError, match="object")
    for field in document:
        refused({k: v for k, v in document.items() if k != field}, pattern, InputError, match=field)
        refused(document | {field: None}, pattern, InputError, match=field)
    refused(document | {"note": "x"}, pattern, InputError, match="note")
    refused(document | {"version": 4}, pattern, InputError, match="version")
    refused(document | {"version": 1}, pattern, InputError, match="fixed")
    refused(document | {"fixed": None}, pattern, InputError, match="fixed")
    first = {
        field: value for field, value in document.items() if field not in ("fixed", "kept_free", "cores")
    }
    check(RING, [pattern], None, first | {"version": 1})
    check(RING, [pattern], None, document | {"version": 2})
    refused(document | {"format": "other"}, pattern, InputError, match="format")
    refused(document | {"objective": "hop-bytes"}, pattern, InputError, match="objective")


class _Adversary(Walk):
    """Writes the tree itself: closes every branch for which the checker takes any reason."""

    def proves(self):
        try:
            self._letters = ""
            self.check()
        except LookupError:
            return False
        return True

    def _descend(self, loads, inside):
        for unit in self._candidates():
            self._at.append(unit)
            after = self._put(loads, len(self._at) - 1, unit)
            within = inside | (self._cuts.inside[:, unit] << (len(self._at) - 1))
            if not any(self._closes(letter, after, within) for letter in "LCPA"):
                if len(self._at) == self._ranks:
                    raise LookupError
                self._descend(after, within)
            self._at.pop()


def symmetries(size, check):
    found = []
    for image in map(list, itertools.permutations(range(size))):
        with contextlib.suppress(RunError):
            check(image)
            found.append(image)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_no_forger_can_prove_more_than_the_optimum(seed):
    """Any order, every symmetry there is, any cut to split by: what the checker's rules allow is true."""
    draw = np.random.default_rng(seed)
    machine = core.Machine.from_synthetic(("ring:5", "mesh:3x2", "pack:2 l3:2 core:1", "ring:6")[seed % 4])
    matrix = np.zeros((4, 4), dtype=np.uint64)
    for rank in range(4):
        matrix[rank, (rank + 1) % 4] = 12
    # Forwards and backwards: a reflection of the ranks exchanges the two.
    patterns = [core.Pattern.from_dense("ring", matrix), core.Pattern.from_dense("back", matrix.T.copy())]
    weights = [1.0, 1.0]
    if seed % 3:
        patterns.append(random_pattern(4, seed, 2))
        weights.append(0.3)
    least = core.Searcher(machine).search(patterns, weights=weights).evaluation.bottleneck_ns
    _, document = certified(machine, patterns, weights, method="branch-and-bound")
    node, traffic = Node(machine), Traffic(patterns, weights)
    document["order"] = draw.permutation(4).tolist()
    document["unit_symmetries"] = symmetries(len(machine.units), node.check_symmetry)
    document["rank_symmetries"] = symmetries(4, traffic.check_symmetry)
    for split in (-1, *draw.integers(0, len(document["cuts"]), 2).tolist()):
        above = document | {"split": split, "bound_ns": least * (1 + 1e-7)}
        assert not _Adversary(above, node, traffic, Limits(None, machine, 4)).proves()
    below = document | {"split": -1, "bound_ns": least * (1 - 1e-12)}
    assert _Adversary(below, node, traffic, Limits(None, machine, 4)).proves()


@pytest.mark.parametrize("seed", range(16))
def test_no_forger_can_prove_more_than_the_optimum_within_limits(seed):
    """The same with fixed ranks, units kept free and cores of two threads, by every allowed symmetry."""
    draw = np.random.default_rng(seed)
    machine = core.Machine.from_synthetic(("ring:5", "l3:2 core:2 pu:2", "core:3 pu:2", "mesh:3x2")[seed % 4])
    units = draw.permutation(len(machine.units)).tolist()
    fixed = [(int(rank), units.pop()) for rank in draw.permutation(4)[: seed // 4]]
    limits = core.Limits(machine, 4, fixed, [units.pop()] if seed % 3 == 0 else [])
    pattern = random_pattern(4, seed, 2)
    found = core.Searcher(machine).search(pattern, limits=limits, certify=True, method="branch-and-bound")
    assert found.proven_optimal and limits.hold(found.unit_of_rank)
    document = json.loads(found.certificate)
    node, traffic = Node(machine), Traffic([pattern], None)
    checked = (
        Limits(parse_json(found.certificate, "c"), machine, 4) if limits.any else Limits(None, machine, 4)
    )
    free = [rank for rank in draw.permutation(4).tolist() if rank not in dict(fixed)]
    document["order"] = [rank for rank, _ in fixed] + free

    def check_units(image):
        node.check_symmetry(image)
        checked.check_unit_symmetry(image)

    def check_ranks(image):
        traffic.check_symmetry(image)
        checked.check_rank_symmetry(image)

    few = len(machine.units) < 7
    document["unit_symmetries"] = symmetries(len(machine.units), check_units) if few else []
    document["rank_symmetries"] = symmetries(4, check_ranks)
    least = found.evaluation.bottleneck_ns
    for split in (-1, *draw.integers(0, len(document["cuts"]), 2).tolist()):
        above = document | {"split": split, "bound_ns": least * (1 + 1e-7)}
        assert not _Adversary(above, node, traffic, checked).proves()
    below = document | {"split": -1, "bound_ns": least * (1 - 1e-12)}
    assert _Adversary(below, node, traffic, checked).proves()


def test_numbers_beyond_a_double_are_refused(grown):
    pattern, _, document = grown
    refused(document | {"cost_ns": 10**400}, pattern, InputError, match="cost_ns")
    refused(document | {"bound_ns": 10**400}, pattern, InputError, match="bound_ns")
    refused("[" * 100_000, pattern, InputError, match="JSON")


@pytest.mark.parametrize("links", range(1, 13))
def test_a_whole_number_of_steps_is_not_rounded_up(links):
    """However many: a step too many would be a bound that no placement has to keep."""
    steps = np.random.default_rng(links).integers(1, 10**9, 20_000)
    for shares in (1, 2, 3, 5, 6, 7, 12):
        whole = steps[steps * links % shares == 0]
        sent = (whole * links // shares).astype(float)
        stepped = _in_steps(sent, float(links), 1 / shares)
        np.testing.assert_allclose(stepped, sent, rtol=1e-12)
        if shares == 1 and links > 1:
            more = _in_steps(sent + 1, float(links), 1.0)
            np.testing.assert_allclose(more, sent + links, rtol=1e-15)


def test_large_traffic_with_a_small_rest_holds():
    """Two ranks that talk in petabytes share a stop; what leaves it is 97 bytes."""
    machine = core.Machine.from_synthetic("mesh:2x1 core:2")
    matrix = np.zeros((3, 3), dtype=np.uint64)
    matrix[1, 0] = matrix[0, 1] = 2**56 + 1
    matrix[1, 2] = 97
    pattern = core.Pattern.from_dense("large", matrix)
    for method in ("exhaustive", "branch-and-bound"):
        _, document = certified(machine, pattern, method=method)
        check(machine, [pattern], None, document)
        assert document["bound_ns"] == pytest.approx(97 / machine.links[0].bandwidth_gb_per_s, rel=1e-12)


def test_a_tree_too_large_is_said(grown):
    pattern, _, _ = grown
    found = core.Searcher(RING).search(pattern, objective="hop-bytes", certify=True)
    assert found.certificate is None


def test_methods_agree_on_a_thousand_patterns():
    """Bottleneck against the optimum: 1.00 always, by enumeration and by branch and bound."""
    searcher = core.Searcher(RING)
    for seed in range(1000):
        pattern = random_pattern(8, 10_000 + seed)
        best = searcher.search(pattern)
        assert best.proven_optimal
        assert best.method == "exhaustive"
        if seed % 50 == 0:
            bounded = searcher.search(pattern, method="branch-and-bound", local_evaluations=500)
            assert bounded.proven_optimal
            assert bounded.method == "branch-and-bound"
            assert bounded.evaluation.bottleneck_ns == pytest.approx(best.evaluation.bottleneck_ns, rel=1e-12)
        assert best.optimal[0] == best.unit_of_rank


def test_should_stop_and_errors_from_it():
    searcher = core.Searcher(core.Machine.from_synthetic("ring:16"))
    pattern = random_pattern(16, 5, 5)
    asked = []
    found = searcher.search(pattern, nodes=10**12, should_stop=lambda: len(asked) > 5 or asked.append(1))
    assert "stopped from outside" in found.statement
    assert not found.proven_optimal

    def fail():
        raise ValueError("from the callback")

    with pytest.raises(ValueError, match="from the callback"):
        searcher.search(pattern, nodes=10**12, should_stop=fail)


def test_wrong_requests_are_one_line():
    searcher = core.Searcher(RING)
    pattern = random_pattern(8, 1)
    for options, field in (
        ({"method": "fast"}, "method"),
        ({"weights": [1.0, 2.0]}, "weights"),
        ({"weights": [0.0]}, "weights"),
        ({"starts": [("short", [0, 1])]}, "starts"),
        ({"starts": [("one unit", [0] * 8)]}, "placement|unit_of_rank|unit"),
    ):
        with pytest.raises(InputError, match=field) as error:
            searcher.search(pattern, **options)
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="ranks"):
        searcher.search(random_pattern(9, 1))
    with pytest.raises(InputError, match="ranks"):
        searcher.search([pattern, random_pattern(7, 1)])
    with pytest.raises(InputError, match="patterns"):
        searcher.search([])


def test_the_unmerged_group_is_no_larger():
    for text in ("ring:8", "mesh:3x2 core:2", "flat:6"):
        searcher = core.Searcher(core.Machine.from_synthetic(text))
        assert 1 <= searcher.unmerged_symmetry_order <= searcher.symmetry_order


def test_patterns_without_traffic_cost_nothing():
    empty = core.Pattern.from_dense("empty", np.zeros((8, 8), dtype=np.uint64))
    for method in ("auto", "exhaustive", "branch-and-bound", "local"):
        found = core.Searcher(RING).search(empty, method=method, certify=True)
        assert found.evaluation.bottleneck_ns == 0
        assert found.gap == 0
        assert found.certificate is None
