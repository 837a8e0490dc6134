"""`corewise bench mapping`: problems, J and validity by hand, the rows, contestants at tiny size.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from corewise import InputError, _core
from corewise.bench.mapping import contended, instances, machines, orders, reference, ring, trees
from corewise.bench.mapping.problems import Problem, cases
from corewise.bench.mapping.trees import Contestant, Outcomes
from corewise.bench.peers import KAHIP, SCOTCH, SHAREDMAP, Peer
from corewise.bench.programs import folder_of
from corewise.bench.rows import Listener, Row, stamped
from corewise.cli.main import execute
from corewise.data.machines import bundled_machines, load_machine
from corewise.errors import RunError

PEERS = Path(__file__).resolve().parents[3] / "build" / "peers" / "bin" / "python"
"""Where bench/mapping/README.md installs the wheels of others."""


def test_cost_and_validity_by_hand() -> None:
    """Unordered pairs, leaf first; a doubled or absent unit is no mapping."""
    problem = Problem(4, "2:2", "1:10", {(0, 1): 5, (1, 2): 7, (0, 3): 2})
    assert problem.cost([0, 1, 2, 3]) == 5 * 1 + 7 * 10 + 2 * 10
    assert problem.cost([0, 2, 3, 1]) == 5 * 10 + 7 * 1 + 2 * 1
    assert problem.is_valid([3, 2, 1, 0])
    assert not problem.is_valid([0, 0, 1, 2])
    assert not problem.is_valid([0, 1, 2, 4])
    assert not problem.is_valid([0, 1, 2])


def test_contestants_read_the_problem_files(tmp_path: Path) -> None:
    """What is written is read by the peers' own module; the halo's known identity cost holds."""
    problem = cases(tiny=True)["halo-4x2x2"]
    problem.write(tmp_path / "p.txt")
    assert problem.cost(list(range(16))) == 147320
    code = (
        "import sys; from problem import Problem; p = Problem.read(sys.argv[1]); print(*map(len, p.lists()))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "p.txt")]
    done = subprocess.run(command, cwd=folder_of("mapping"), capture_output=True, text=True, check=True)
    pairs = len(problem.pairs)
    assert list(map(int, done.stdout.split())) == [17, 2 * pairs, 2 * pairs]


def test_an_invalid_mapping_never_counts() -> None:
    """A tool that doubles ranks up would look cheaper than the optimum: it gets no cost at all."""
    problem = Problem(4, "2:2", "1:10", {(0, 1): 5, (1, 2): 7})
    ours, invalid, mixed = Outcomes(), Outcomes(), Outcomes()
    ours.add(problem, 0.5, [0, 1, 2, 3])
    invalid.add(problem, 0.1, [0, 0, 0, 0])
    mixed.add(problem, 0.2, [0, 0, 0, 0])
    mixed.add(problem, 0.2, [2, 1, 0, 3])
    rows = trees.pair_of_rows("case", "1", ours, "bad", {"fast": invalid})
    assert [(row.theirs, row.ratio) for row in rows] == [(None, None)] * 2
    assert rows[0].more["rival_invalid"] == "1 of 1"
    cost, time = trees.pair_of_rows("case", "1", ours, "some", {"fast": invalid, "strong": mixed})
    assert cost.rival == "some strong"
    assert cost.theirs == 5 * 10 + 7 * 1
    assert cost.ratio == pytest.approx(57 / 75)
    assert time.ratio == pytest.approx(0.2 / 0.5)
    assert cost.more["rival_invalid"] == "2 of 3"


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stands in for ``multilevel_mapping.cpp``, which takes long to build: the same search from Python."""
    program = tmp_path_factory.mktemp("ours") / "multilevel_mapping"
    script = [
        f"#!{sys.executable}",
        "import sys, time, numpy",
        f"sys.path.insert(0, {str(folder_of('mapping'))!r})",
        "from corewise import _core",
        "from problem import Problem",
        "problem = Problem.read(sys.argv[1])",
        "low, high = zip(*problem.pairs)",
        "rows = numpy.zeros((problem.ranks, problem.ranks), 'uint64')",
        "rows[low, high] = list(problem.pairs.values())",
        "pattern = _core.Pattern.from_dense('case', rows)",
        "tree = [':'.join(map(str, each)) for each in (problem.hierarchy, problem.distances)]",
        "begin = time.process_time()",
        "distances = _core.tree_distances(*tree)",
        "searcher = _core.Searcher(_core.Machine.from_synthetic(f'core:{len(distances)}'))",
        "found = searcher.search(pattern, objective='distance', distances=distances,",
        "    seed=int(sys.argv[3]), method='multilevel', effort=int(sys.argv[2]))",
        "print(time.process_time() - begin, *found.unit_of_rank)",
    ]
    program.write_text("\n".join(script) + "\n")
    program.chmod(0o755)
    return program


@pytest.fixture(scope="module")
def found(ours: Path) -> tuple[list[Row], list[Peer]]:
    """Both tiny trees with two seeds."""
    with pytest.MonkeyPatch.context() as patch:
        mine = [Contestant("corewise", effort, (str(ours),)) for effort in trees.EFFORTS]
        patch.setattr(trees, "ours", lambda listener: mine)
        return trees.rows(cases(tiny=True), 2, sys.executable, Listener())


def test_rows_are_complete_and_absent_peers_are_named(found: tuple[list[Row], list[Peer]]) -> None:
    rows, absent = found
    tools = 3 - len(absent)
    assert len(rows) == 2 * 2 * 2 * max(1, tools)
    stamped("mapping", "A processor", [row.to_json() for row in rows])
    for row in rows:
        assert row.n == 2
        assert row.ours is not None and row.ours > 0
        assert row.unit != "J" or row.ratio is None or row.ratio >= 1.0, row


def test_scotch_is_met_on_its_own_ground(found: tuple[list[Row], list[Peer]]) -> None:
    """On a halo that fits, both are valid and both reach the optimum (proven in the test below)."""
    rows, absent = found
    if SCOTCH in absent:
        pytest.skip("capability: scotch (Debian package libscotch-dev) and a C compiler")
    row = next(row for row in rows if row.id == "mapping-J-halo-4x2x2-effort-1-scotch")
    assert (row.ours, row.theirs, row.more["rival_invalid"]) == (147320, 147320, "0 of 4")


@pytest.mark.parametrize("peer", [SHAREDMAP, KAHIP], ids=lambda peer: peer.name)
def test_wheels_map_or_are_refused(peer: Peer, tmp_path: Path) -> None:
    """Each wheel answers with a unit per rank; whether it is valid is for the study to say."""
    found = trees.wheel(peer, str(PEERS)) if PEERS.exists() else []
    if not found:
        pytest.skip(f"capability: {peer.name} (its wheel in build/peers)")
    problem = cases(tiny=True)["halo-4x2x2"]
    problem.write(tmp_path / "p.txt")
    cpu_s, units = found[0].run(tmp_path / "p.txt", 1)
    assert cpu_s > 0
    assert len(units) == 16
    assert not problem.is_valid(units) or problem.cost(units) >= 147320


def test_all_contestants_agree_about_the_ring() -> None:
    """A small real run, against the enumeration in C."""
    rows = ring.rows(5, 2, Listener())
    stamped("mapping", "A processor", [row.to_json() for row in rows])
    assert [row.n for row in rows] == [5, 5, 5, 5, 2, 2]
    assert all(row.ours is not None and row.ours > 0 for row in rows)


def test_contestants_that_disagree_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    contest = ring.Contest(Listener())
    monkeypatch.setattr(contest, "plain", lambda flows, symmetry: 1)
    with pytest.raises(RunError, match="contestants disagree"):
        ring.solved(contest, 3)


def test_an_instance_is_proven_to_its_published_optimum() -> None:
    """The smallest; a wrong optimum ends the run."""
    assert instances.proven_ms(instances.INSTANCES[0]) > 0
    with pytest.raises(RunError, match="nug12: found 578, the proven optimum is 577"):
        instances.proven_ms(replace(instances.INSTANCES[0], optimum=577))


def test_a_machine_says_whether_its_best_is_proven() -> None:
    machine = load_machine("ps3")
    row = machines.proof_row(machine, _core.generate("ring", {"ranks": "6"}), 10.0)
    assert (row.id, row.theirs, row.more["proven"]) == ("mapping-machine-ps3-ring", 10, True)
    assert machines.remark([row], 10.0) == "1 of 1 pairs of machine and pattern proven within 10 s"


def test_cases_that_are_not_there_are_one_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["bench", "mapping", "--cases", "forests"]) == 2
    said = capsys.readouterr().err
    assert (
        "--cases: found 'forests', allowed: ring, instances, machines, trees, contended, "
        "orders, reference, all" in said
    )
    assert execute(["bench", "mapping", "--peers", "no-such-python"]) == 2
    assert "--peers: found 'no-such-python', allowed: a Python" in capsys.readouterr().err


def pattern_of(name: str, rows: list[list[int]]) -> _core.Pattern:
    """From dense bytes."""
    return _core.Pattern.from_dense(name, np.array(rows, dtype=np.uint64))


def by_distance(
    distances: NDArray[np.float64], pattern: _core.Pattern, should_stop: Callable[[], bool] | None = None
) -> _core.SearchResult:
    """The least weighted distance where only distances are known."""
    searcher = _core.Searcher(_core.Machine.from_synthetic(f"core:{len(distances)}"))
    return searcher.search(pattern, objective="distance", distances=distances, should_stop=should_stop)


def test_the_halo_of_sixteen_is_proven() -> None:
    """Two levels, 4 x 4 units: the cost that all tools find is the least there is."""
    problem_pairs: list[list[int]] = [[0] * 16 for _ in range(16)]
    for a in range(16):
        for b in range(a + 1, 16):
            apart = [abs(a // 4 - b // 4), abs(a // 2 % 2 - b // 2 % 2), abs(a % 2 - b % 2)]
            if max(apart) == 1:
                problem_pairs[a][b] = (0, 1024, 32, 1)[sum(apart)]
    pattern = pattern_of("halo", problem_pairs)
    distances = _core.tree_distances("4:4", "1:10")
    found = by_distance(distances, pattern)
    assert found.method == "branch-and-bound"
    assert found.proven_optimal
    assert found.cost == found.bound == 147320
    assert _core.weighted_distance(distances, pattern, found.unit_of_rank) == found.cost


def test_distances_of_machines_and_their_errors() -> None:
    """Latency or hops; arrays are checked with the field that is wrong."""
    ring = _core.Machine.from_synthetic("ring:6")
    hops = _core.machine_distances(ring, "hops")
    assert hops[0].tolist() == [0, 1, 2, 3, 2, 1]
    assert _core.machine_distances(ring).shape == (6, 6)
    pattern = pattern_of("two", [[0, 3], [4, 0]])
    found = _core.Searcher(ring).search(pattern, objective="distance")
    assert found.cost == pytest.approx(7 * _core.machine_distances(ring)[0, 1])
    with pytest.raises(InputError, match="field 'kind': found 'miles'"):
        _core.machine_distances(ring, "miles")
    with pytest.raises(InputError, match="as in the other direction"):
        by_distance(np.array([[0.0, 1.0], [2.0, 0.0]]), pattern)
    with pytest.raises(InputError, match=r"field 'distances': found 1 x 2, allowed: a square array"):
        by_distance(np.zeros((1, 2)), pattern)
    with pytest.raises(InputError, match="field 'distances': found 3 units, allowed: 6"):
        _core.Searcher(ring).search(pattern, objective="distance", distances=np.zeros((3, 3)))
    with pytest.raises(InputError, match="field 'method': found 'guess'"):
        _core.Searcher(ring).search(pattern, objective="distance", method="guess")
    with pytest.raises(InputError, match=r"unit_of_rank\[1\]': found 0"):
        _core.weighted_distance(ring, pattern, [0, 0])


def test_a_proof_can_be_stopped_from_outside() -> None:
    """`should_stop` is asked; what is known then is a bound."""
    rng = np.random.default_rng(3)
    pattern = pattern_of("random", rng.integers(0, 20, (16, 16)).tolist())
    mesh = _core.machine_distances(_core.Machine.from_synthetic("mesh:4x4"), "hops")
    asked: list[int] = []

    def should_stop() -> bool:
        asked.append(1)
        return len(asked) > 2

    found = by_distance(mesh, pattern, should_stop=should_stop)
    assert not found.proven_optimal
    assert len(asked) == 3
    assert 0 < found.bound <= found.cost
    assert sorted(found.unit_of_rank) == list(range(16))


def test_contended_time_beside_a_tool_that_keeps_rank_order(tmp_path: Path) -> None:
    """A rival by hand: what it takes is the flow of its placement; an invalid one counts for nothing."""
    problem = cases(tiny=True)["halo-4x4x2"]
    program = tmp_path / "tool"
    doubled, in_order = " ".join(["0"] * 32), " ".join(map(str, range(32)))
    program.write_text(f"#!/bin/sh\nif [ $3 = 1 ]; then echo 0.1 {doubled}; else echo 0.1 {in_order}; fi\n")
    program.chmod(0o755)
    (row,) = contended.rows_of("tiny", problem, [Contestant("tool", "plain", (str(program),))], 0.2, 2)
    machine, pattern = contended.machine_of(problem), contended.pattern_of(problem)
    assert len(machine.units) == 32 and machine.hops()[0, 1] < machine.hops()[0, 4]
    matrix = pattern.matrix()
    assert (matrix == matrix.T).all() and matrix.sum() == 2 * sum(problem.pairs.values())
    order = np.arange(32, dtype=np.int32)[None]
    assert row.theirs == pytest.approx(
        _core.contended_times(machine, [pattern], order, model="flow")[0], rel=1e-3
    )
    assert row.rival == "tool plain" and row.ratio is not None and row.ratio >= 1
    (alone,) = contended.rows_of("tiny", problem, [], 0.1, 1)
    assert alone.rival is None and alone.ours is not None


def test_orders_of_a_model_that_is_right_and_of_one_that_is_wrong() -> None:
    """Loss by hand, equals by their mean; the row against the simulator and the flow model."""
    simulated = np.array([2.0, 1.0, 4.0, 3.0])
    assert orders.lost(np.array([20.0, 10.0, 40.0, 30.0]), simulated) == 0
    assert orders.lost(5 - simulated, simulated) == 3
    assert orders.lost(np.array([1.0, 1.0, 5.0, 1.0]), simulated) == 1
    assert orders.lost_by_leaders(np.array([10.0, 12.0, 10.3, 10.6]), simulated) == 1
    assert orders.lost_by_leaders(np.array([10.0, 10.4, 10.3, 10.6]), simulated) == 0
    machine, pattern = load_machine("mesh-6x4"), _core.generate("ring", {"ranks": "8"})
    extent = replace(orders.QUICK, exchanged=3, random=3)
    chosen = orders.placements(machine, pattern, extent)
    assert len(set(chosen)) == len(chosen) >= 6
    table = np.array(chosen, np.int32)
    packets = np.asarray(_core.contended_times(machine, [pattern], table, model="simulated"))
    flow = np.asarray(_core.contended_times(machine, [pattern], table, model="flow"))
    row = orders.row(machine, pattern, extent)
    losses = row.more["loss"]
    assert isinstance(losses, dict)
    picked = flow <= flow.min() * (1 + 1e-9)
    assert losses["flow"] == pytest.approx(packets[picked].mean() / packets.min() - 1, abs=1e-4)
    assert row.ours is not None and -1 <= row.ours <= 1 and row.n == len(chosen)
    flows, leaders, *_ = orders.remarks([row])
    assert flows.startswith("flow: rank correlation") and "1 pairs" in flows
    assert leaders.startswith("flow, then packets: picking by it loses")


def test_every_bundled_machine_has_its_order_held() -> None:
    every = [(machine.name, pattern.name) for machine, pattern in orders.pairs(orders.FULL)]
    assert len(set(every)) == len(every) == len(bundled_machines()) * len(orders.FULL.patterns)
    assert orders.ranks_on(load_machine("ps3"), 64) == 4
    assert orders.ranks_on(load_machine("dual-epyc-7r13"), 64) == 64


def test_the_best_known_is_never_worse_than_ours() -> None:
    (problem,) = (each for each in reference.PROBLEMS if each.name == "columns-48-mesh")
    extent = reference.Extent(0.05, 0.3, 1, 64)
    row = reference.row(problem, extent)
    assert row.theirs is not None and row.ours is not None and row.theirs <= row.ours
    assert row.more["over_best"] >= 1 and row.more["found_by"]  # type: ignore[operator]
    assert "at worst (columns-48-mesh)" in reference.remark([row])


def test_one_problem_beside_searches_of_a_time_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "mapping", "--reference", "--quick", "--problem", "halo27-16-scrambled-xeon"]
    assert execute([*command, "--reference-time", "0.5", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["id"] == "mapping-reference-halo27-16-scrambled-xeon"
    assert 1 <= row["over_best"] <= 1.05
    assert execute(["bench", "mapping", "--reference", "--problem", "forest"]) == 2
    assert "--problem: found 'forest', allowed: " in capsys.readouterr().err
    assert execute(["bench", "mapping", "--cases", "ring", "--reference-time", "600"]) == 2
    assert "found with 'ring', allowed: with --reference" in capsys.readouterr().err


def test_the_problems_of_the_reference_are_of_every_kind() -> None:
    made = {each.name: each.pattern() for each in reference.PROBLEMS}
    assert len(made) == len(reference.PROBLEMS)
    assert min(each.ranks for each in made.values()) == 16
    assert max(each.ranks for each in made.values()) == 256
    for each in reference.PROBLEMS:
        assert len(load_machine(each.machine).units) >= made[each.name].ranks
    plain = _core.generate("ring", {"ranks": "6"})
    mixed = reference.scrambled(plain, 3)
    assert sorted(mixed.matrix().sum(axis=1)) == sorted(plain.matrix().sum(axis=1))
    assert (mixed.matrix() != plain.matrix()).any()


def test_a_ring_of_large_chiplets_is_annealed_hot_enough() -> None:
    """Where no clusters of ranks move the mean is 8726 ns, and as cold as on a torus 9224."""
    problem = reference.Problem("ring", "ring:7 core:16", reference.geometric(112, 25))
    contest = reference.Contest(problem)
    times = [
        contest.costs.of(contest.search(math.inf, seed=seed, evaluations=400_000)) for seed in range(1, 9)
    ]
    assert statistics.mean(times) < 8500  # 8263 on x86-64
