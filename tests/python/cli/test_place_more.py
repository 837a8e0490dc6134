"""`corewise place` beyond one pattern and one table: several patterns, named and given placements,
objectives, certificates, explanations, verification by simulation, split advice. Values against hand counts
or NumPy.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from place_reference import RING_GB_PER_S, brute_force, cost_of, ring_file, ring_matrix

from corewise import _core
from corewise.analysis.placement.comparison import PlacementStudy, study_placements
from corewise.cli.main import execute
from corewise.data.machines import load_machine
from corewise.data.placement import load_placement

AFFINITIES = dict(_core.affinities())


def make(folder: Path, name: str, family: str, *parameters: str) -> str:
    file = folder / f"{name}.json"
    assert execute(["patterns", "make", family, *parameters, "-o", str(file)]) == 0
    return str(file)


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert execute(["place", *arguments, "--json"]) == 0, capsys.readouterr().err
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    document["by"] = {row["placement"]: row for row in document["rows"]}
    return document


def shift(ranks: int, distance: int, size: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    matrix = np.zeros((ranks, ranks), np.uint64)
    for rank in range(ranks):
        matrix[rank, (rank + distance) % ranks] = size
    return matrix


def matrix_file(folder: Path, name: str, matrix: np.ndarray[Any, np.dtype[np.uint64]]) -> str:
    file = folder / f"{name}.csv"
    lines = [f"{a},{b},{matrix[a, b]}" for a, b in np.argwhere(matrix)]
    file.write_text("\n".join(["from,to,bytes", *lines]) + "\n")
    return str(file)


TWO_CLUSTERS = """
format = "corewise-machine"
version = 1
name = "clusters"
[interconnect]
kind = "tree"
[[interconnect.level]]
name = "cluster"
count = 2
up_bandwidth = "60 GB/s"
down_bandwidth = "60 GB/s"
hop_latency = "40 ns"
[[interconnect.level]]
name = "core"
count = 3
up_bandwidth = "30 GB/s"
down_bandwidth = "30 GB/s"
hop_latency = "20 ns"
"""
"""A cluster's link carries what two cores send: few messages load the cores' own links most."""


def test_where_all_placements_have_the_same_link_loads_times_decide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = tmp_path / "clusters.toml"
    machine.write_text(TWO_CLUSTERS)
    pair = matrix_file(tmp_path, "pair", shift(2, 1, 3000))
    decided = found(capsys, pair, "-m", str(machine), "--placement", "0,3")
    assert (decided["objective"], decided["all_alike"]) == ("flow", False)
    assert {int(unit.removeprefix("core")) // 3 for unit in decided["by"]["best"]["units"]} in ({0}, {1})
    # 3000 bytes by 30 GB/s and two or four hops.
    assert decided["by"]["best"]["cost"] == pytest.approx(100 + 40)
    assert decided["by"]["given"]["cost"] == pytest.approx(100 + 120)
    assert decided["by"]["worst"]["bottleneck_ns"] == decided["by"]["best"]["bottleneck_ns"]
    asked = found(capsys, pair, "-m", str(machine), "--objective", "bottleneck")
    assert (asked["objective"], asked["all_alike"]) == ("bottleneck", True)
    full = matrix_file(
        tmp_path, "full", np.full((6, 6), 3000, np.uint64) - np.diag([3000] * 6).astype(np.uint64)
    )
    alike = found(capsys, full, "-m", str(machine))
    assert (alike["objective"], alike["all_alike"]) == ("bottleneck", True)


def test_the_best_compromise_against_every_placement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ring, step = ring_matrix(8, 4096), shift(8, 3, 8192)
    files = [matrix_file(tmp_path, "ring", ring), matrix_file(tmp_path, "step", step)]
    placements, one, _ = brute_force(ring, 8)
    _, other, _ = brute_force(step, 8)
    joint = 2 * one + other
    document = found(capsys, *files, "--weight", "2", "-m", "cell-be")
    best = document["by"]["best"]
    assert best["cost"] == pytest.approx(joint.min() / RING_GB_PER_S, rel=1e-12)
    assert cost_of(best, placements, joint) == joint.min()
    assert document["proven_optimal"]
    assert document["weights"] == [2, 1]
    first, second = document["prices"]
    assert first["own_cost"] == pytest.approx(one.min() / RING_GB_PER_S)
    assert second["own_cost"] == pytest.approx(other.min() / RING_GB_PER_S)
    for price, costs in ((first, one), (second, other)):
        assert price["shared_cost"] == pytest.approx(cost_of(best, placements, costs) / RING_GB_PER_S)
        assert price["price"] == pytest.approx(price["shared_cost"] / price["own_cost"])
        assert price["identity_cost"] == pytest.approx(costs[0] / RING_GB_PER_S)
    assert execute(["place", *files, "-m", "cell-be"]) == 0
    out = capsys.readouterr().out
    assert "the best compromise and its price per pattern" in out


def test_hop_bytes_of_several_patterns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ring, step = ring_matrix(6, 4096), shift(6, 2, 1024)
    files = [matrix_file(tmp_path, "ring", ring), matrix_file(tmp_path, "step", step)]
    _, _, one = brute_force(ring, 6)
    _, _, other = brute_force(step, 6)
    document = found(capsys, *files, "-m", "ps3", "--objective", "hop-bytes", "-w", "1", "-w", "3")
    assert document["by"]["best"]["cost"] == (one + 3 * other).min()


def test_named_placements_are_rows_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ring_file(tmp_path, "ranks=8", "bytes=4096"))
    placements, costs, _ = brute_force(ring_matrix(8, 4096), 8)
    rows = found(capsys, file, "-m", "cell-be", "--named")["by"]
    assert {"even_odd", "ring", "overlap", "leap2", "greedy", "hypercube", "rules"} < set(rows)
    for name, units in AFFINITIES.items():
        assert rows[name]["unit_of_rank"] == units
        assert rows[name]["bottleneck_bytes"] == cost_of(rows[name], placements, costs)
    assert min(row["ratio"] for row in rows.values()) == 1


def test_a_given_placement_by_name_list_and_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ring_file(tmp_path, "ranks=8"))
    saved = tmp_path / "best.json"
    assert execute(["place", file, "-m", "cell-be", "-o", str(saved)]) == 0
    for text, units in (
        ("even_odd", AFFINITIES["even_odd"]),
        ("0,2,4,6,7,5,3,1", [0, 2, 4, 6, 7, 5, 3, 1]),
        ("SPE1,SPE0,SPE2,SPE3,SPE4,SPE5,SPE6,SPE7", [1, 0, 2, 3, 4, 5, 6, 7]),
        (str(saved), list(load_placement(saved).unit_of_rank)),
    ):
        given = found(capsys, file, "-m", "cell-be", "--placement", text)["by"]["given"]
        assert given["unit_of_rank"] == units


def test_explain_names_link_messages_rule_and_swap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Table 1, row 9, as a pattern: three messages meet on the link from SPE4 to SPE6."""
    matrix = np.zeros((8, 8), np.uint64)
    for to, source in ((5, 4), (6, 0), (7, 2)):
        matrix[source, to] = 65536
    file = matrix_file(tmp_path, "nine", matrix)
    document = found(capsys, file, "-m", "cell-be", "--placement", "identity", "--explain")
    explanation = document["explanation"]
    assert document["explained"] == "given"
    (link,) = explanation["links"]
    assert link["link"] == "ccw:SPE4>SPE6"
    assert link["bytes"] == 3 * 65536
    assert link["time_ns"] == pytest.approx(3 * 65536 / RING_GB_PER_S)
    assert [(each["sender"], each["receiver"]) for each in link["crossings"]] == [(0, 6), (2, 7), (4, 5)]
    ((_, rules),) = explanation["rules"]
    assert [each["rule"] for each in rules["breaks"]] == [1]
    placements, costs, _ = brute_force(matrix, 8)
    swaps = []
    for a in range(8):
        for b in range(a):
            units = list(range(8))
            units[a], units[b] = units[b], units[a]
            swaps.append(costs[(placements == units).all(axis=1)][0] / RING_GB_PER_S)
    assert explanation["looked_at"] == 28
    assert explanation["change"]["after"] == pytest.approx(min(swaps))
    capsys.readouterr()
    assert execute(["place", file, "-m", "cell-be", "--placement", "identity", "--explain"]) == 0
    out = capsys.readouterr().out
    assert "rule 1: no more than 2 overlapping messages" in out
    assert "0->6 (SPE0 to SPE6)" in out
    assert "on ccw:SPE4>SPE6" in out
    assert "best single step of 28: rank" in out


def test_two_units_on_a_stop_of_a_ring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Messages within a stop cross no link; the rules are about the others."""
    file = str(ring_file(tmp_path, "ranks=4", "bytes=65536"))
    given = ["--placement", "0,1,2,3", "--explain"]
    document = found(capsys, file, "-m", "ring:4 core:2", *given)
    ((_, phase),) = document["explanation"]["rules"]
    crossing = {(each["sender"], each["receiver"]) for each in phase["messages"]}
    assert crossing == {(1, 2), (2, 1), (3, 0), (0, 3)}
    assert (phase["clockwise"], phase["counter_clockwise"], phase["overlap"]) == (2, 2, 2)


def test_a_long_list_of_messages_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = make(tmp_path, "all", "all_to_all", "ranks=10", "bytes=65536")
    arguments = ["place", file, "-m", "ring:10", "--method", "local", "--explain"]
    assert execute([*arguments, "--placement", "identity"]) == 0
    assert re.search(r" and \d+ more; on cw:", " ".join(capsys.readouterr().out.split()))


def test_explain_on_any_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a mesh there are no rules; the best placement is explained, and where nothing is better it says
    so."""
    file = make(tmp_path, "halo", "halo_2d", "dims=2x2")
    explanation = found(capsys, file, "-m", "mesh:2x2", "--explain")["explanation"]
    assert explanation["rules"] == []
    assert explanation["change"] is None
    assert execute(["place", file, "-m", "mesh:2x2", "--explain"]) == 0
    out = capsys.readouterr().out
    assert "no single step is better" in out
    assert "rules of thumb" not in out


def test_free_units_are_steps_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pair.csv"
    file.write_text("from,to,bytes\n0,1,4096\n")
    document = found(capsys, str(file), "-m", "cell-be", "--placement", "1,2", "--explain")
    assert document["explanation"]["looked_at"] == 1 + 2 * 6


@pytest.mark.parametrize("objective", ["flow", "simulated"])
def test_contended_time_as_objective(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], objective: str
) -> None:
    file = make(tmp_path, "ring", "ring", "ranks=4", "bytes=16384", "direction=forward")
    document = found(capsys, file, "-m", "ring:5", "--objective", objective, "--method", "exhaustive")
    pattern = _core.generate("ring", {"ranks": "4", "bytes": "16384", "direction": "forward"})
    rows = document["by"]
    machine = _core.Machine.from_synthetic("ring:5")
    every = np.array(np.meshgrid(*[range(5)] * 4)).reshape(4, -1).T
    every = every[[len(set(row)) == 4 for row in every.tolist()]].astype(np.int32)
    times = _core.contended_times(machine, pattern, every, model=objective)
    assert len(times) == 120
    assert rows["best"]["cost"] == pytest.approx(times.min(), rel=1e-9)
    assert document["proven_optimal"]
    assert document["unit"] == "ns"
    assert rows["identity"]["ratio"] >= 1


def test_weighted_distance_as_objective(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ring_file(tmp_path, "ranks=6"))
    document = found(capsys, file, "-m", "ps3", "--objective", "distance")
    assert document["proven_optimal"]
    distances = np.round(_core.machine_distances(load_machine("ps3")), 6)
    every = np.array(list(permutations(range(6))))
    # Both ways of every pair of neighbours: 2 x 4096 bytes over each of six distances.
    costs = sum(8192 * distances[every[:, rank], every[:, (rank + 1) % 6]] for rank in range(6))
    assert document["by"]["best"]["cost"] == pytest.approx(costs.min())
    assert document["by"]["identity"]["cost"] == pytest.approx(costs[0])
    assert document["by"]["best"]["cost"] <= document["by"]["identity"]["cost"]
    assert document["bound"] == pytest.approx(document["by"]["best"]["cost"])


def test_certificate_is_written_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ring_file(tmp_path, "ranks=8", "bytes=4096"))
    proof = tmp_path / "proof.json"
    base = ["place", file, "-m", "cell-be"]
    assert execute([*base, "--certificate", str(proof)]) == 0
    capsys.readouterr()
    certify = [file, "-m", "cell-be"]
    assert execute(["certify", str(proof), *certify]) == 0
    out = capsys.readouterr().out
    assert "holds: no placement of" in out
    assert f"{4096 / RING_GB_PER_S:.6g} ns" in out
    document = json.loads(proof.read_text())
    document["bound_ns"] = document["cost_ns"] = document["cost_ns"] / 2
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(document))
    assert execute(["certify", str(forged), *certify]) == 1
    assert capsys.readouterr().err.startswith(f"corewise: {forged} does not hold: certificate")
    other = str(make(tmp_path, "other", "hypercube", "ranks=8"))
    assert execute(["certify", str(proof), other, "-m", "cell-be"]) == 2
    capsys.readouterr()
    assert execute(["certify", str(proof), *certify, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["holds"] and row["bound_ns"] == row["cost_ns"] == pytest.approx(4096 / RING_GB_PER_S)


def test_a_clock_ends_the_search_with_bound_and_gap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = make(tmp_path, "random", "random", "ranks=16", "degree=4")
    document = found(capsys, file, "-m", "cell-blade", "--method", "branch-and-bound", "--time", "0.3")
    assert document["bound"] > 0
    assert document["by"]["best"]["cost"] >= document["bound"] * (1 - 1e-9)
    assert document["gap"] == pytest.approx(document["by"]["best"]["cost"] / document["bound"] - 1)
    assert execute(["place", file, "-m", "cell-blade", "--method", "branch-and-bound", "--time", "0.3"]) == 0
    out = capsys.readouterr().out
    assert "a clock could end the search" in out


def test_verify_by_simulation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a mesh where rank order is far from the best: the gain is found, and the model's error is stated."""
    scrambled = np.zeros((9, 9), np.uint64)
    order = [0, 8, 1, 7, 2, 6, 3, 5, 4]
    for a, b in pairwise(order):
        scrambled[a, b] = scrambled[b, a] = 1 << 20
    file = matrix_file(tmp_path, "line", scrambled)
    document = found(capsys, file, "-m", "mesh:3x3", "--verify", "--rounds", "8")
    verified = document["verified"]
    rows = {row["which"]: row for row in verified["rows"]}
    assert list(rows)[:2] == ["default", "best"]
    assert {"next 1", "next 2", "random"} < set(rows)
    assert all(row["rounds"] == 8 for row in rows.values())
    assert rows["best"]["faster"] is True
    assert rows["best"]["low"] > 1
    assert "faster than the default" in verified["statement"]
    assert verified["model_error"] is not None
    assert rows["next 1"]["predicted_ratio"] > 1
    again = found(capsys, file, "-m", "mesh:3x3", "--verify", "--rounds", "8")
    assert again["verified"] == verified


@pytest.mark.parametrize(("certificate", "words"), [("none.json", ["none.json"]), ("deep.txt", ["JSON"])])
def test_what_is_no_certificate_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], certificate: str, words: list[str]
) -> None:
    (tmp_path / "deep.txt").write_text("[" * 100_000)
    ring = str(ring_file(tmp_path, "ranks=8"))
    capsys.readouterr()
    assert execute(["certify", str(tmp_path / certificate), ring, "-m", "cell-be"]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert captured.err.startswith("corewise: ")
    assert all(word in captured.err for word in words), captured.err


def test_verify_runs_the_rows_that_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = make(tmp_path, "ring", "ring", "ranks=4", "bytes=16384")
    base = [file, "-m", "ring:5", "--objective", "flow", "--verify"]

    def run(*more: str) -> set[str]:
        rows = found(capsys, *base, *more)["verified"]["rows"]
        return {name for row in rows for name in row["which"].split(" = ")}

    usual = {"default", "best", "next 1", "next 2", "random"}
    assert run() == usual
    assert run("--placement", "0,2,1,3") == usual | {"given"}
    assert run("--named") >= usual | {"identity (rank order)", "random (median)", "worst", "greedy"}


def test_verify_says_when_nothing_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two equal cores: whatever is predicted, there is no difference to be found."""
    file = make(tmp_path, "two", "ring", "ranks=2", "bytes=65536")
    capsys.readouterr()
    assert execute(["place", file, "-m", "core:2", "--verify", "--rounds", "9"]) == 0
    out = capsys.readouterr().out
    assert "no significant difference between the placements" in out


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_every_part_fits_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    files = [
        str(ring_file(tmp_path, "ranks=8", "bytes=65536")),
        make(tmp_path, "tree", "binomial_tree", "ranks=8", "bytes=65536"),
    ]
    capsys.readouterr()
    monkeypatch.setenv("COLUMNS", str(columns))
    command = ["place", *files, "-m", "cell-be", "--placement", "overlap", "--explain", "--verify"]
    assert execute([*command, "--rounds", "8"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= columns
    for word in ("price", "rule 1", "predicted and verified", "gain over default", "best single step"):
        assert word in out


def test_split_advice_is_alone_on_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ring_file(tmp_path, "ranks=8"))
    for form, word in (
        ("split", "MPI_Comm_split("),
        ("split-fortran", "call MPI_Comm_split("),
        ("split-python", ".Split("),
    ):
        capsys.readouterr()
        assert execute(["place", file, "-m", "cell-be", "--export", form]) == 0
        captured = capsys.readouterr()
        assert word in captured.out
        assert "bottleneck" not in captured.out
        assert "best placement" in captured.err


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["ring.json", "-m", "cell-be", "--method", "magic"], ["'magic'", "branch-and-bound"]),
        (["ring.json", "-m", "cell-be", "-w", "1", "-w", "2"], ["'weight'", "found 2", "at most 1"]),
        (["ring.json", "-m", "cell-be", "-w", "0"], ["'weight': found 0", "above 0"]),
        (["ring.json", "small.json", "-m", "cell-be"], ["small.json: ", "ranks", "found 4", "8"]),
        (["ring.json", "-m", "cell-be", "--placement", "leap3"], ["'leap3'", "leap2", ".json"]),
        (["ring.json", "-m", "cell-be", "--placement", "0,1"], ["places 2 ranks", "8"]),
        (["ring.json", "-m", "cell-be", "--placement", "0,1,2,3,4,5,6,9"], ["'9'", "0 to 7"]),
        (["ring.json", "-m", "cell-be", "--placement", "0,0,1,2,3,4,5,6"], ["--placement", "unit 0"]),
        (["ring.json", "-m", "cell-be", "--", "./a.out"], ["./a.out", "only with --verify"]),
        (["ring.json", "-m", "cell-be", "--verify", "--", "./a.out"], ["./a.out", "'cell-be'", "host"]),
        (["ring.json", "-m", "host", "--verify"], ["--verify", "found a pattern file", "-- PROGRAM"]),
        (["ring.json", "-m", "cell-be", "--mpi", "mpich"], ["--mpi mpich", "-- PROGRAM"]),
        (
            ["ring.json", "-m", "cell-be", "--objective", "flow", "--certificate", "x.json"],
            ["certificate", "flow", "bottleneck"],
        ),
        (
            ["ring.json", "-m", "cell-be", "--objective", "flow", "--method", "multilevel"],
            ["'multilevel'", "flow", "exhaustive"],
        ),
        (
            ["ring.json", "-m", "cell-be", "-o", "x.json", "--certificate", "./x.json"],
            ["--certificate", "x.json", "the file of --output"],
        ),
        (
            ["ring.json", "-m", "cell-be", "--objective", "distance", "--method", "multilevel"],
            ["'multilevel'", "'cell-be'", "tree"],
        ),
        (["big.json", "-m", "mesh-6x4", "--method", "exhaustive"], ["'exhaustive'", "branch-and-bound"]),
        (
            ["pair.json", "-m", "core:2", "--verify", "--rounds", "6"],
            ["cannot tell 4 placements apart", "7 or more"],
        ),
        (["pair.json", "-m", "mesh-6x4", "--verify"], ["--verify", "'default'", "take time"]),
        (["pair.json", "-m", "mesh-6x4", "--time", "1e999"], ["--time: found inf", "31536000 seconds"]),
        (["pair.json", "-m", "mesh-6x4", "--time", "nan"], ["--time", "0.001"]),
    ],
)
def test_wrong_input_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    ring_file(tmp_path, "ranks=8")
    make(tmp_path, "small", "ring", "ranks=4")
    make(tmp_path, "pair", "ring", "ranks=2")
    make(tmp_path, "big", "random", "ranks=12", "degree=3", "seed=1")
    (tmp_path / "deep.txt").write_text("[" * 100_000)
    capsys.readouterr()
    assert execute(["place", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("corewise: ")
    assert captured.err.count("\n") == 1
    assert all(word in captured.err for word in words), captured.err
    assert not list(tmp_path.glob("x*")), "half of what was asked for is written"


def test_nothing_is_written_where_the_certificate_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unproven(*arguments: Any, **more: Any) -> PlacementStudy:
        return replace(study_placements(*arguments, **more), certificate=None)

    monkeypatch.setattr("corewise.cli.place.command.study_placements", unproven)
    best = tmp_path / "best.json"
    arguments = ["-m", "cell-be", "-o", str(best), "--certificate", str(tmp_path / "proof.json")]
    assert execute(["place", str(ring_file(tmp_path, "ranks=8")), *arguments]) == 2
    assert "nothing is proven here" in capsys.readouterr().err
    assert not best.exists()


def test_a_certificate_with_an_impossible_number_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ring, proof = str(ring_file(tmp_path, "ranks=8")), tmp_path / "proof.json"
    assert execute(["place", ring, "-m", "cell-be", "--certificate", str(proof)]) == 0
    proof.write_text(json.dumps({**json.loads(proof.read_text()), "cost_ns": 10**400}))
    capsys.readouterr()
    assert execute(["certify", str(proof), ring, "-m", "cell-be"]) == 2
    assert "proof.json: field 'cost_ns'" in capsys.readouterr().err


def test_the_largest_seed_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ring = str(ring_file(tmp_path, "ranks=8"))
    document = found(capsys, ring, "-m", "cell-be", "--seed", str(2**64 - 1), "--verify", "--rounds", "8")
    assert document["verified"]["rows"][0]["rounds"] == 8
