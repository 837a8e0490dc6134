"""`corewise place` within limits: fixed ranks, units kept free, hardware threads of a core, several programs.

Costs against NumPy over every placement, the rules as one would say them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from place_reference import RING_GB_PER_S, brute_force, ring_file, ring_matrix

from corewise import _core
from corewise.cli.main import execute
from corewise.data.machines import load_machine
from corewise.data.placement import load_placement

THREADS = "l3:2 core:3 pu:2"
"""Twelve units, two to a core."""


def made(folder: Path, name: str, *arguments: str) -> str:
    file = folder / f"{name}.json"
    assert execute(["patterns", "make", *arguments, "-o", str(file)]) == 0
    return str(file)


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert execute(["place", *arguments, "--json"]) == 0, capsys.readouterr().err
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    document["by"] = {row["placement"]: row for row in document["rows"]}
    return document


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert execute([*arguments]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_fixed_ranks_and_free_units_against_every_placement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(ring_file(tmp_path, "ranks=6", "bytes=4096"))
    placements, costs, _ = brute_force(ring_matrix(6, 4096), 8)
    kept = (placements[:, 0] == 3) & (placements[:, 4] == 0) & (placements[:, :6] != 6).all(axis=1)
    document = found(
        capsys, file, "-m", "cell-be", "--fix", "0=SPE3", "--fix", "4=0", "--keep-free", "SPE6", "--named"
    )
    best = document["by"]["best"]
    assert document["proven_optimal"]
    assert best["bottleneck_bytes"] == costs[kept].min()
    assert costs[kept].min() > costs.min() or costs[kept].max() < costs.max()
    for row in document["rows"]:
        assert row["unit_of_rank"][0] == 3 and row["unit_of_rank"][4] == 0 and 6 not in row["unit_of_rank"]
    assert document["by"]["identity"]["unit_of_rank"] == [3, 1, 2, 4, 0, 5]
    assert document["left_free"] == sorted(set(range(8)) - set(best["unit_of_rank"]))
    assert execute(["place", file, "-m", "cell-be", "--keep-free", "SPE6,1"]) == 0
    assert "left free: SPE1 SPE6" in capsys.readouterr().out


def test_threads_of_a_core_are_shared_only_where_none_idles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neighbours on one core would be nearest; six ranks on six cores have a core each all the same."""
    file = made(tmp_path, "ring", "ring", "ranks=6", "bytes=64KiB")
    for objective in ("bottleneck", "flow", "hop-bytes", "distance"):
        rows = found(capsys, file, "-m", THREADS, "--objective", objective)["by"]
        for which in ("best", "identity", "random", "worst"):
            assert sorted(unit // 2 for unit in rows[which]["unit_of_rank"]) == list(range(6))
    shared = found(capsys, file, "-m", THREADS, "--objective", "distance", "--share-cores")["by"]["best"]
    assert len({unit // 2 for unit in shared["unit_of_rank"]}) == 3
    eight = made(tmp_path, "eight", "ring", "ranks=8", "bytes=64KiB")
    cores = [unit // 2 for unit in found(capsys, eight, "-m", THREADS)["by"]["best"]["unit_of_rank"]]
    assert sorted(np.bincount(cores).tolist()) == [1, 1, 1, 1, 2, 2]


def test_a_bundled_processor_with_threads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Eight cores of two threads, eight of one: sixteen ranks get a core each."""
    file = made(tmp_path, "halo", "halo_2d", "dims=4x4")
    document = found(capsys, file, "-m", "core-i9-12900k", "--time", "2")
    units = load_machine("core-i9-12900k").units
    cores = [units[unit].domains[-1] for unit in document["by"]["best"]["unit_of_rank"]]
    assert len(set(cores)) == 16


@pytest.mark.parametrize(
    "limits",
    [
        ["--fix", "2=5"],
        ["--fix", "0=3", "--fix", "5=8", "--keep-free", "1,11"],
        ["--keep-free", "0,1,2"],
        [],
        ["--share-cores", "--fix", "1=7"],
    ],
)
def test_certificates_within_limits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], limits: list[str]
) -> None:
    file = made(tmp_path, "random", "random", "ranks=6", "degree=3", "seed=3")
    proof = tmp_path / "proof.json"
    document = found(capsys, file, "-m", THREADS, *limits, "--certificate", str(proof))
    assert document["proven_optimal"]
    certify = ["certify", str(proof), file, "-m", THREADS]
    assert execute(certify) == 0
    assert "holds: no placement of" in capsys.readouterr().out
    written = json.loads(proof.read_text())
    assert written["version"] == 3
    without = {**written, "fixed": [], "kept_free": [], "cores": []}
    proof.write_text(json.dumps(without))
    free = found(capsys, file, "-m", THREADS, "--share-cores")["by"]["best"]["cost"]
    if free < written["bound_ns"] * (1 - 1e-9):
        assert execute(certify) == 1, "a bound that placements outside of the limits are below"
    if written["fixed"]:
        other = dict(written, fixed=[[rank, (unit + 1) % 12] for rank, unit in written["fixed"]])
        proof.write_text(json.dumps(other))
        assert execute(certify) == 1
    capsys.readouterr()
    proof.write_text(json.dumps(dict(written, cores=[[0, 3]])))
    assert "cores" in refused(capsys, *certify)


def test_a_certificate_says_what_it_is_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ring_file(tmp_path, "ranks=4", "bytes=4096"))
    proof = tmp_path / "proof.json"
    place = ["place", file, "-m", "cell-be", "--fix", "0=SPE3", "--keep-free", "SPE6"]
    assert execute([*place, "--certificate", str(proof)]) == 0
    capsys.readouterr()
    assert execute(["certify", str(proof), file, "-m", "cell-be"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "on cell-be with rank 0 on SPE3, nobody on SPE6 costs less" in said


def test_programs_together_against_every_placement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ring, pair = made(tmp_path, "ring", "ring", "ranks=4", "bytes=4096"), tmp_path / "pair.csv"
    pair.write_text("from,to,bytes\n0,1,10000\n1,0,10000\n")
    joint = np.zeros((6, 6), np.uint64)
    joint[:4, :4] = ring_matrix(4, 4096)
    joint[4, 5] = joint[5, 4] = 10000
    placements, costs, _ = brute_force(joint, 8)
    file = tmp_path / "best.json"
    both = [ring, str(pair), "--together", "-m", "cell-be"]
    document = found(capsys, *both, "-o", str(file))
    assert document["proven_optimal"]
    assert document["by"]["best"]["cost"] == pytest.approx(costs.min() / RING_GB_PER_S)
    first, second = document["programs"]
    assert (first["first_rank"], first["ranks"], second["first_rank"], second["ranks"]) == (0, 4, 4, 2)
    units = document["by"]["best"]["unit_of_rank"]
    assert first["unit_of_rank"] + second["unit_of_rank"] == units
    assert list(load_placement(tmp_path / "best-1.json").unit_of_rank) == units[:4]
    assert list(load_placement(tmp_path / "best-2.json").unit_of_rank) == units[4:]
    assert not file.exists()
    _, alone, _ = brute_force(ring_matrix(4, 4096), 8)
    assert document["prices"][0]["own_cost"] == pytest.approx(alone.min() / RING_GB_PER_S)
    assert document["prices"][0]["price"] >= 1
    fixed = found(capsys, *both, "--fix", "4=SPE0")
    kept = placements[:, 4] == 0
    assert fixed["by"]["best"]["cost"] == pytest.approx(costs[kept].min() / RING_GB_PER_S)
    assert execute(["place", *both]) == 0
    assert "its price per program" in capsys.readouterr().out


def test_weights_of_programs_count_their_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (
        made(tmp_path, "one", "ring", "ranks=3", "bytes=1000"),
        made(tmp_path, "other", "ring", "ranks=2"),
    )
    joint = np.zeros((5, 5), np.uint64)
    joint[:3, :3] = ring_matrix(3, 3000)
    matrix = _core.generate("ring", {"ranks": "2"}).matrix()
    joint[3:, 3:] = matrix
    _, costs, _ = brute_force(joint, 8)
    document = found(capsys, one, other, "--together", "-m", "cell-be", "-w", "3")
    assert document["by"]["best"]["cost"] == pytest.approx(costs.min() / RING_GB_PER_S)


def test_phases_of_programs_meet_in_their_order() -> None:
    from corewise.analysis.placement.programs import Programs

    one = _core.generate("recursive_doubling", {"ranks": "4", "bytes": "8"})
    other = _core.generate("ring", {"ranks": "2", "bytes": "100"})
    joint = Programs((one, other), (1.0, 2.0)).joint()
    assert (joint.ranks, len(joint.phases)) == (6, len(one.phases))
    for number, phase in enumerate(joint.phases):
        senders, receivers, sizes, _ = phase.coordinates()
        expected = np.zeros((6, 6), np.uint64)
        a, b, size, _ = one.phases[number].coordinates()
        expected[a, b] = size
        if number == 0:
            a, b, size, _ = other.phases[0].coordinates()
            expected[a + 4, b + 4] = 2 * size
        dense = np.zeros((6, 6), np.uint64)
        dense[senders, receivers] = sizes
        assert (dense == expected).all()


def test_many_ranks_within_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = made(tmp_path, "halo", "halo_3d", "dims=4x4x2", "face_bytes=64KiB")
    for objective in ("flow", "bottleneck", "distance", "hop-bytes"):
        document = found(
            capsys, file, "-m", "chiplet-2s", "--objective", objective, "--evaluations", "60000",
            "--fix", "0=core9", "--fix", "31=0", "--keep-free", "core32,core33",
        )  # fmt: skip
        for row in document["rows"]:
            units = row["unit_of_rank"]
            assert (units[0], units[31]) == (9, 0) and not {32, 33} & set(units)


def test_a_verification_draws_within_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = made(tmp_path, "ring", "ring", "ranks=6")
    document = found(capsys, file, "-m", "mesh:3x3", "--fix", "0=4", "--verify", "--rounds", "8")
    for row in document["verified"]["rows"]:
        assert row["unit_of_rank"] is None or row["unit_of_rank"][0] == 4


def test_nothing_to_gain_is_said_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = made(tmp_path, "ring", "ring", "ranks=2")
    document = found(capsys, file, "-m", "core:2", "--verify")
    assert document["all_alike"] and "verified" not in document
    assert execute(["place", file, "-m", "core:2", "--verify"]) == 0
    said = capsys.readouterr().out
    assert "nothing to gain: every placement costs the same" in said and "nothing was run" in said
    eight = made(tmp_path, "eight", "ring", "ranks=8")
    assert found(capsys, eight, "-m", "flat")["all_alike"]
    assert not found(capsys, eight, "-m", "cell-be")["all_alike"]


def test_wrong_limits_are_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = made(tmp_path, "ring", "ring", "ranks=8")
    place = ["place", file, "-m", "cell-be"]
    for words, parts in (
        (["--fix", "0"], ["--fix '0'", "RANK=UNIT"]),
        (["--fix", "0=SPE9"], ["SPE9", "SPE", "0 to 7"]),
        (["--fix", "8=0"], ["fix", "8=0", "0 to 7"]),
        (["--fix", "99=SPE3"], ["--fix '99=SPE3'", "found rank 99", "0 to 7"]),
        (["--fix", "0=1", "--fix", "0=2"], ["fix", "0=2", "each rank once"]),
        (["--fix", "0=1", "--keep-free", "1"], ["fix", "0=1"]),
        (["--keep-free", "1"], ["keep-free", "every rank has a unit"]),
        (["--keep-free", ""], ["--keep-free"]),
        (["--fix", "0=1", "--objective", "distance", "--method", "multilevel"], ["multilevel", "limits"]),
        (["--together", "--export", "mpich"], ["--export mpich", "--together", "-o"]),
    ):
        said = refused(capsys, *place, *words)
        assert all(part in said for part in parts), said
