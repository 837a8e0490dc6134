"""`corewise explain datatype`: every stage, the plan, the numbers, what is packed; and wrong input.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corewise.cli.main import execute
from corewise.data.packing_tuning import PackingRow, PackingTuning, save_packing_tuning


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = execute(["explain", "datatype", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    status, out, err = run(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    found: dict[str, object] = json.loads(out)
    return found


@pytest.fixture
def tuning(tmp_path: Path) -> str:
    rows = (
        *(PackingRow("send", "dense", size, 8, 2.0, 1.9) for size in (1024, 4096)),
        *(PackingRow("send", "dense", size, 64, 2.0, 1.9) for size in (1024, 4096)),
        PackingRow("send", "dense", 4096, 512, 0.5, 0.5),
        *(PackingRow("pack", "dense", size, 512, 2.0, 1.5) for size in (1024, 1 << 20)),
    )
    path = tmp_path / "tuning.csv"
    tuning = PackingTuning("maker-1-2", "a host", "mpich 5.0.2", "corewise", "2026-01-31", "tune", rows)
    save_packing_tuning(tuning, path)
    return str(path)


def test_every_stage_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "hvector(10, 1, 48, vector(3, 1, 2, double))")
    assert (status, err) == (0, "")
    titles = [line for line in out.splitlines() if line.startswith(("as constructed", "after", "plan"))]
    assert titles == [
        "as constructed",
        "after unwrap",
        "after fuse, the canonical form",
        "plan of one item",
    ]
    after = out[out.index("after fuse") :]
    assert "repeat 30 times, stride 16 B\n    run of 8 B\n" in after


def test_what_is_canonical_already_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "double")[1]
    assert out.startswith("as constructed, the canonical form\n  run of 8 B\n")


def test_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "vector(512, 8, 16, double)", "--count", "3")
    expected = {
        "name": "explain datatype",
        "datatype": "vector(512, 8, 16, double)",
        "size": 32768,
        "lb": 0,
        "ub": 65472,
        "extent": 65472,
        "true_lb": 0,
        "true_extent": 65472,
        "count": 3,
        "bytes": 98304,
        "runs": 1536,
        "mean_run": 64.0,
        "line_density": 1.0,
        "contiguous": False,
        "packing": [],
    }
    assert {key: found[key] for key in expected} == expected
    assert found["density"] == pytest.approx(98304 / (3 * 65472))
    rows = found["rows"]
    assert isinstance(rows, list)
    assert rows[0]["stage"] == "constructed"
    assert rows[-1]["layout"][-1].strip() == "run of 64 B"


def test_what_the_packing_library_would_do(tuning: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "vector(32, 8, 16, double)", "--tuning", tuning)
    packing = {each["use"]: each["packed"] for each in found["packing"]}  # type: ignore[attr-defined]
    assert packing == {"send": True, "receive": False, "pack": True, "unpack": False}
    out = run(capsys, "vector(16, 32, 64, double)", "--tuning", tuning)[1]
    sends = next(line for line in out.splitlines() if "send" in line)
    assert sends.startswith("left to the MPI") and "170 B" in sends
    found = document(capsys, "contiguous(32, double)", "--tuning", tuning)
    assert all("contiguous" in each["reason"] for each in found["packing"])  # type: ignore[attr-defined]


def test_no_line_is_thin_to_the_engine_of_open_mpi(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In messages; to MPI_Pack it is, and a thin line has rows of its own."""
    rows = tuple(PackingRow(use, "dense", 4096, 8, 2.0, 1.9) for use in ("send", "pack"))
    for mpi, packed in (("openmpi 5.0.11", [True, False]), ("mpich 5.0.2", [False, False])):
        tuning = PackingTuning("maker-1-2", "a host", mpi, "corewise", "2026-01-31", "tune", rows)
        save_packing_tuning(tuning, tmp_path / "t.csv")
        found = document(capsys, "vector(512, 1, 8, double)", "--tuning", str(tmp_path / "t.csv"))
        choices = {each["use"]: each["packed"] for each in found["packing"]}  # type: ignore[attr-defined]
        assert [choices["send"], choices["pack"]] == packed


def test_a_type_without_data(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "vector(0, 1, 2, int)", "--count", "4")
    assert [found[key] for key in ("size", "extent", "runs", "density", "bytes")] == [0, 0, 0, 0.0, 0]
    found = document(capsys, "int", "--count", "0")
    assert [found[key] for key in ("size", "runs", "bytes")] == [4, 0, 0]


def test_wrong_input_is_one_line_and_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, expected in (
        (["vector(1, 2, int)"], "found 3 arguments, allowed: 4"),
        (["integerr"], "found 'integerr'"),
        (["int", "--count", "9000000000000000000"], "field 'count'"),
        (["int", "--tuning", str(tmp_path / "none.csv")], "none.csv"),
    ):
        status, out, err = run(capsys, *arguments)
        assert (status, out) == (2, ""), arguments
        assert expected in err
        assert err.count("\n") == 1
    assert run(capsys, "int", "--count", "-1")[0] == 2
