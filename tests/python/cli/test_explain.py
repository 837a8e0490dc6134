"""`corewise explain collective`: the row that decides, in text and as JSON, and what it says of wrong input.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy_tuning import TOY

from corewise.cli.main import execute


@pytest.fixture
def toy(tmp_path: Path) -> str:
    path = tmp_path / "toy.csv"
    path.write_text(TOY)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = execute(["explain", "collective", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_row_that_won_and_those_that_lost(toy: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "broadcast", "--ranks", "16", "--bytes", "128", "-m", toy)
    assert (status, err) == (0, "")
    assert "eager_tree(closing=counters, degree=4)" in out.splitlines()[0]
    won, lost = (line for line in out.splitlines() if "won" in line or "lost" in line)
    assert "0.75" in won
    assert "local_store_tree(degree=3, fenced=true)" in lost
    assert "4.00" in lost  # times the winner's
    assert "corewise 0.0, 2026-01-31: tune" in out


def test_the_same_as_json(toy: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "broadcast", "-n", "16", "-b", "12", "-m", toy, "--json")
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert document["name"] == "explain collective"
    assert (document["bytes_from"], document["bytes_to"], document["set"]) == (0, 128, "all")
    assert document["rows"] == [
        {
            "won": True,
            "algorithm": "eager_tree",
            "parameters": {"closing": "counters", "degree": 4},
            "latency_us": 0.5,
            "ratio": 1.0,
        },
        {
            "won": False,
            "algorithm": "local_store_tree",
            "parameters": {"degree": 3, "fenced": True},
            "latency_us": 2.5,
            "ratio": 5.0,
        },
    ]


@pytest.mark.parametrize("size", ["1048576", "1 MiB", "1024KiB", "1048576 B", "1 MB"])
def test_sizes_as_people_write_them(size: str, toy: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "broadcast", "-n", "16", "-b", size, "-m", toy, "--json")
    assert status == 0
    assert json.loads(out)["rows"][0]["latency_us"] == 700.0


WRONG = {
    "collective": (["bcast", "-n", "16", "-b", "8"], ["'collective'", "found 'bcast'", "allowed: broadcast"]),
    "ranks": (["broadcast", "-n", "17", "-b", "8"], ["'ranks'", "found 17", "allowed: 16 for broadcast"]),
    "no ranks": (["broadcast", "-b", "8"], ["--ranks"]),
    "size": (["broadcast", "-n", "16", "-b", "eight"], ["'bytes'", "found 'eight'", "64 KiB"]),
    "fraction": (["broadcast", "-n", "16", "-b", "1.5"], ["'bytes'", "found '1.5'"]),
    "unit": (["broadcast", "-n", "16", "-b", "1 KO"], ["'bytes'", "found '1 KO'"]),
    "digits": (["broadcast", "-n", "16", "-b", "9" * 5000], ["'bytes'", "whole number of bytes"]),
    "negative": (["broadcast", "-n", "16", "--bytes=-1"], ["'bytes'", "found '-1'"]),
    "set": (
        ["broadcast", "-n", "16", "-b", "8", "--selection", "best"],
        ["'selection'", "found 'best'", "paper or all"],
    ),
    "set without rows": (["broadcast", "-n", "16", "--selection", "paper"], ["'collective'"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_gets_one_line(name: str, toy: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, words = WRONG[name]
    status, out, err = run(capsys, *arguments, "-m", toy)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert [word for word in words if word not in err] == [], err


@pytest.mark.parametrize(
    ("machine", "words"),
    [("mesh-6x4", ["no tuning", "cell-blade"]), ("none.csv", ["none.csv", "No such file"])],
)
def test_a_machine_without_tuning(machine: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "broadcast", "-n", "16", "-m", machine)
    assert status == 2
    assert [word for word in words if word not in err] == [], err
