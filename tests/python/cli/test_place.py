"""`corewise place`, checked by value against a brute force in NumPy that shares nothing with the search."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import trace_writer as tw
from place_reference import RING_GB_PER_S, brute_force, cost_of, ring_file, ring_matrix

from corewise.cli.main import execute
from corewise.data.machines import machine_directory
from corewise.data.placement import load_placement


def rows_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, object]]:
    """The rows of ``corewise place --json`` by placement."""
    assert execute(["place", *arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    return {row["placement"]: row for row in document["rows"]} | {"document": document}


def test_ring_on_cell_against_brute_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = ring_file(tmp_path, "ranks=8", "bytes=4096")
    capsys.readouterr()
    placements, bottlenecks, hop_bytes = brute_force(ring_matrix(8, 4096), 8)
    rows = rows_of(capsys, str(file), "--machine", "cell-be")
    assert rows["best"]["bottleneck_bytes"] == bottlenecks.min() == 4096
    assert rows["worst"]["bottleneck_bytes"] == bottlenecks.max()
    assert rows["identity"]["unit_of_rank"] == list(range(8))
    for which in ("best", "identity", "random", "worst"):
        row = rows[which]
        expected = cost_of(row, placements, bottlenecks)
        assert row["bottleneck_bytes"] == expected
        assert row["bottleneck_ns"] == pytest.approx(expected / RING_GB_PER_S, rel=1e-12)
        assert row["hop_bytes"] == cost_of(row, placements, hop_bytes)
        assert row["ratio"] == pytest.approx(expected / 4096, rel=1e-12)
    document = rows["document"]
    assert document["proven_optimal"] and document["worst_proven"] and document["prediction"]
    assert "covering all 40320" in str(document["statement"])
    # The ring maps onto itself in four ways that keep the eight SPEs: none, two mirrors, half a turn.
    assert document["symmetry_order"] == 4


def test_random_row_is_the_median(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = ring_file(tmp_path, "ranks=8", "bytes=4096")
    capsys.readouterr()
    _, bottlenecks, _ = brute_force(ring_matrix(8, 4096), 8)
    low, high = np.quantile(bottlenecks, [0.4, 0.6])
    row = rows_of(capsys, str(file), "--machine", "cell-be")["random"]
    assert low <= float(str(row["bottleneck_bytes"])) <= high


@pytest.mark.parametrize("objective", ["bottleneck", "hop-bytes"])
def test_irregular_matrix_on_ps3_against_brute_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], objective: str
) -> None:
    rng = np.random.default_rng(7)
    matrix = (rng.integers(0, 1000, (6, 6)) * (rng.random((6, 6)) < 0.4)).astype(np.uint64)
    np.fill_diagonal(matrix, 0)
    file = tmp_path / "given.csv"
    lines = [f"{a},{b},{matrix[a, b]}" for a, b in np.argwhere(matrix)]
    file.write_text("\n".join(["from,to,bytes", *lines]) + "\n")
    placements, bottlenecks, hop_bytes = brute_force(matrix, 6)
    rows = rows_of(capsys, str(file), "--machine", "ps3", "--objective", objective)
    costs = bottlenecks if objective == "bottleneck" else hop_bytes
    assert cost_of(rows["best"], placements, costs) == costs.min()
    assert cost_of(rows["worst"], placements, costs) == costs.max()
    assert rows["best"]["ratio"] == 1.0
    assert rows["identity"]["ratio"] == pytest.approx(costs[0] / costs.min(), rel=1e-12)
    # Of equal cost the one that is better by the other objective.
    other = hop_bytes if objective == "bottleneck" else bottlenecks
    assert cost_of(rows["best"], placements, other) == other[costs == costs.min()].min()


def test_summed_takes_all_phases_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.csv"
    file.write_text("from,to,bytes,phase\n0,1,512,there\n0,1,1024,again\n")
    phased = rows_of(capsys, str(file), "--machine", "cell-be")
    row = phased["identity"]
    assert (row["bottleneck_bytes"], row["bottleneck_phase"]) == (1024, "again")
    assert row["bottleneck_ns"] == pytest.approx(1536 / RING_GB_PER_S)
    summed = rows_of(capsys, str(file), "--machine", "cell-be", "--summed")
    assert summed["identity"]["bottleneck_bytes"] == 1536
    assert summed["identity"]["bottleneck_ns"] == pytest.approx(1536 / RING_GB_PER_S)
    # A half-way pair shares its bytes between the two directions.
    assert (phased["best"]["bottleneck_bytes"], summed["best"]["bottleneck_bytes"]) == (512, 768)


def test_a_silent_pattern_costs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = ring_file(tmp_path, "ranks=1")
    capsys.readouterr()
    rows = rows_of(capsys, str(file), "--machine", "cell-be")
    assert [rows[which]["ratio"] for which in ("best", "identity", "random", "worst")] == [1.0] * 4
    assert rows["best"]["bottleneck_link"] is None
    assert execute(["place", str(file), "--machine", "cell-be"]) == 0


def test_the_table_says_how_it_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = ring_file(tmp_path, "ranks=8", "bytes=4096")
    capsys.readouterr()
    output = tmp_path / "best.json"
    assert execute(["place", str(file), "--machine", "cell-be", "-o", str(output)]) == 0
    out = capsys.readouterr().out
    assert "prediction: this is not the machine at hand" in out
    assert "best (proven)" in out
    assert "covering all 40320" in out
    assert load_placement(output).machine == "cell-be"
    again = rows_of(capsys, str(file), "--machine", "cell-be")
    assert list(load_placement(output).unit_of_rank) == again["best"]["unit_of_rank"]


def test_a_narrow_table_keeps_its_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ring_file(tmp_path, "ranks=8")
    capsys.readouterr()
    for columns, more in (("80", []), ("100", ["294 912"]), ("124", ["294 912", "SPE0 SPE1 SPE2 SPE3 ..."])):
        monkeypatch.setenv("COLUMNS", columns)
        assert execute(["place", str(file), "--machine", "cell-be"]) == 0
        out = capsys.readouterr().out
        assert "identity: SPE0 SPE1 SPE2 SPE3 SPE4 SPE5 SPE6 SPE7\n" in out
        identity = "identity (rank order) │           320 │"
        for word in ("bottleneck ns", identity, "cw:PPE>SPE1", "4.000", *more):
            assert word in out, (columns, word)
        assert max(map(len, out.splitlines())) <= int(columns)


def test_a_profile_of_collectives_has_nothing_to_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four ranks reduce 64 bytes together: as modelled, each sends 32 to each of three others."""
    alone = tw.ring_run(tmp_path / "alone.cw", rounds=0)
    assert execute(["place", str(alone), "--machine", "cell-be"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no point-to-point messages: nothing to place; 384 bytes of collectives" in captured.err
    both = tw.ring_run(tmp_path / "both.cw", rounds=1)
    assert execute(["place", str(both), "--machine", "cell-be"]) == 0
    assert "384 bytes of collectives are not in the placement" in capsys.readouterr().out
    assert rows_of(capsys, str(both), "--machine", "cell-be")["document"]["collective_bytes"] == 384  # type: ignore[index]


def test_beyond_eight_ranks_nothing_is_claimed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By a local search; branch and bound may prove such a pattern, and then says so."""
    file = ring_file(tmp_path, "ranks=16", "bytes=4096")
    capsys.readouterr()
    local = rows_of(capsys, str(file), "--machine", "cell-blade", "--method", "local")
    assert not local["document"]["proven_optimal"]
    assert "not proven" in str(local["document"]["statement"])
    rows = rows_of(capsys, str(file), "--machine", "cell-blade")
    document = rows["document"]
    cost, bound = float(str(rows["best"]["cost"])), float(str(document["bound"]))
    assert cost <= float(str(local["best"]["cost"]))
    assert bound <= cost * (1 + 1e-9)
    if document["proven_optimal"]:
        assert bound == pytest.approx(cost)
    for found in (rows, local):
        assert float(str(found["best"]["ratio"])) <= float(str(found["identity"]["ratio"]))
        assert sorted(found["best"]["unit_of_rank"]) == list(range(16))  # type: ignore[call-overload]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = ring_file(tmp_path, "ranks=12")
    capsys.readouterr()
    outputs = []
    for _ in range(2):
        assert execute(["place", str(file), "--machine", "mesh:4x4", "--json"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_export_for_this_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = ring_file(tmp_path, "ranks=1")
    capsys.readouterr()
    assert execute(["place", str(file), "--machine", "host", "--export", "openmpi-rankfile"]) == 0
    captured = capsys.readouterr()
    # Usable as $(corewise place ...): the launcher's line alone, wherever it is run.
    assert captured.out == f"mpiexec -n 1 --map-by rankfile:file={tmp_path / 'rankfile'}\n"
    assert "best placement" in captured.err
    assert "nominal" in captured.err
    assert "prediction" not in captured.err
    assert (tmp_path / "rankfile").read_text() == "rank 0=localhost slot=0\n"
    again = ["place", str(file), "--machine", "host", "--export", "openmpi-rankfile", "--export-file"]
    assert execute([*again, "rankfile"]) == 0
    Path("precious").write_text("data\n")
    capsys.readouterr()
    assert execute([*again, "precious"]) == 2
    assert "no rank file" in capsys.readouterr().err
    assert Path("precious").read_text() == "data\n"
    document = rows_of(capsys, str(file), "--machine", "host", "--export", "mpich")["document"]
    assert document["export"]["arguments"][:2] == ["-n", "1"]  # type: ignore[index]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["missing.json", "--machine", "cell-be"], ["missing.json: cannot be read"]),
        (["ring.json", "--machine", "missing.toml"], ["missing.toml: cannot be read"]),
        (["ring.json", "--machine", "wrong.toml"], ["wrong.toml", "colour", "allowed"]),
        (["square.mtx", "--machine", "cell-be"], ["square.mtx", "square"]),
        (["ring.json", "--machine", "ps3"], ["ring.json", "ranks", "found 8", "at most 6", "'ps3'"]),
        (["ring.json", "--machine", "cell-be", "--objective", "speed"], ["'speed'", "hop-bytes"]),
        (["ring.json", "--machine", "cell-be", "--export", "pbs"], ["'pbs'", "openmpi-rankfile"]),
        (["ring.json", "--machine", "cell-be", "--export", "mpich"], ["'SPE0'", "operating-system index"]),
        (["ring.json"], ["--machine"]),
        (["ring.json", "-m", "host", "--rounds", "3"], ["--rounds", "only with --verify"]),
        (["ring.json", "-m", "host", "--export-file", "x"], ["--export-file", "only with --export"]),
        (["ring.json", "-m", "cell-be", "-o", "."], ["found a folder"]),
        (["none.cw", "--machine", "cell-be"], ["none.cw"]),
    ],
)
def test_wrong_input_is_one_line_and_status_2(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    ring_file(tmp_path, "ranks=8")
    Path("square.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n2 3 1\n1 2 5\n")
    cell = (machine_directory() / "cell-be.toml").read_text()
    Path("wrong.toml").write_text(cell + '\ncolour = "blue"\n')
    capsys.readouterr()
    assert execute(["place", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("corewise: ")
    assert captured.err.count("\n") == 1
    assert all(word in captured.err for word in words), captured.err
