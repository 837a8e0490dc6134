"""`corewise patterns`: listing, making, showing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from corewise.analysis.profile.cells import sum_in_blocks
from corewise.cli.main import execute
from corewise.data.patterns import load_pattern
from corewise.plots.heatmap import log_levels


def test_list_names_generators_with_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["patterns", "--json"]) == 0
    rows = {row["pattern"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert {one["name"] for one in rows["ring"]["parameters"]} >= {"ranks", "bytes", "direction", "periodic"}
    assert execute(["patterns"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in rows)


@pytest.mark.parametrize("suffix", [".json", ".csv", ".mtx"])
def test_make_writes_the_pattern(tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / f"ring{suffix}"
    assert execute(["patterns", "make", "ring", "ranks=4", "bytes=1 KiB", "-o", str(file)]) == 0
    assert f"written to {file}" in capsys.readouterr().out
    wanted = [[0, 1024, 0, 1024], [1024, 0, 1024, 0], [0, 1024, 0, 1024], [1024, 0, 1024, 0]]
    assert load_pattern(file).matrix().tolist() == wanted


def test_show_names_the_pattern_and_draws_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ring.json"
    execute(["patterns", "make", "ring", "ranks=4", "direction=forward", "-o", str(file)])
    capsys.readouterr()
    assert execute(["patterns", "show", str(file)]) == 0
    out = capsys.readouterr().out
    assert "4 ranks, 4 messages, 16 KiB between 4 pairs" in out
    assert "recognised: unidirectional ring of 4, forward (degree of match 1.000)" in out
    rows = ["0▏  ██    ▕", "1▏    ██  ▕", "2▏      ██▕", "3▏██      ▕"]
    assert all(row in out for row in rows), out


def test_show_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "given.csv"
    file.write_text("from,to,bytes,count\n0,1,10,2\n1,0,20,1\n")
    assert execute(["patterns", "show", str(file), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == [
        {"from": 0, "to": 1, "bytes": 10, "messages": 2},
        {"from": 1, "to": 0, "bytes": 20, "messages": 1},
    ]
    assert (document["summary"]["ranks"], document["summary"]["bytes"]) == (2, 30)


NOT_SQUARE = "%%MatrixMarket matrix coordinate integer general\n2 3 1\n1 2 5\n"


@pytest.mark.parametrize(
    "name, text, words",
    [
        ("a.json", None, ["cannot be read", "No such file"]),
        ("a.mtx", NOT_SQUARE, ["2", "3", "square"]),
        ("a.csv", "from,to\n", ["bytes"]),
        ("a.json", '{"format": "corewise-pattern", "version": 9}', ["version", "9", "allowed: "]),
    ],
)
def test_wrong_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str | None, words: list[str]
) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    assert execute(["patterns", "show", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"corewise: {file}")
    assert error.count("\n") == 1
    assert all(word in error for word in words), error


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["rings"], ["rings", "ring"]),
        (["ring", "rank=4"], ["rank", "ranks"]),
        (["ring", "ranks"], ["'ranks'", "NAME=VALUE"]),
        (["ring", "ranks=4", "ranks=5"], ["'ranks'", "twice"]),
        (["ring", "ranks=4", "-o", "ring.txt"], ["'.txt'", ".json, .csv, .mtx"]),
    ],
)
def test_wrong_makes(arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["patterns", "make", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert all(word in error for word in words), error


def test_an_output_in_no_folder_is_wrong_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["patterns", "make", "ring", "-o", "/nowhere/at/all/ring.json"]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_shades_are_logarithmic_between_least_and_most() -> None:
    cells = np.array([[0, 1, 2], [4, 8, 16], [15, 3, 0]], dtype=np.uint64)
    assert log_levels(cells, 4).tolist() == [[0, 1, 2], [3, 4, 4], [4, 2, 0]]
    alike = np.array([[0, 7], [7, 0]], dtype=np.uint64)
    assert log_levels(alike, 4).tolist() == [[0, 4], [4, 0]]
    assert log_levels(np.zeros((2, 2), np.uint64), 4).tolist() == [[0, 0], [0, 0]]


def test_large_matrices_are_summed_in_blocks_that_lose_nothing() -> None:
    matrix = np.arange(65 * 65, dtype=np.uint64).reshape(65, 65)
    senders, receivers = np.indices(matrix.shape).reshape(2, -1)
    blocks, side = sum_in_blocks(65, 64, senders, receivers, matrix.ravel())
    assert (blocks.shape, side) == ((33, 33), 2)
    assert blocks[0, 0] == 0 + 1 + 65 + 66
    assert blocks[32, 32] == 65 * 65 - 1
    assert blocks.sum() == matrix.sum()


def test_dims_say_how_many_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["patterns", "make", "halo_2d", "dims=4x4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["ranks"] == 16
