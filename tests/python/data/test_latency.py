"""Matrices of latencies: what is read, and every refusal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corewise.data.latency import read_latencies
from corewise.errors import InputError


def read(tmp_path: Path, text: str) -> np.ndarray:
    file = tmp_path / "node.csv"
    file.write_text(text)
    return read_latencies(file)


def test_directions_are_joined(tmp_path: Path) -> None:
    """Their mean where they agree; the smaller one where an interrupt came between."""
    text = "7,50,60,60\n52,0,60,60\n60,60,0,60\n200,60,60,0\n"
    found = read(tmp_path, text)
    assert found[0].tolist() == [0, 51, 60, 60]
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize(
    "text",
    [
        ",,\n10,,\n20,30,\n",
        "0,10,20\n,0,30\n,,0\n",
        "# by hand\n0,10,20\n,,30\n,,\n\n",
        "# semicolons, as some write them\n;;\r\n10;;\r\n20;30;\r\n",
        "\t\t\n10\t\t\n20\t30\t\n",
    ],
)
def test_one_half_may_be_blank(text: str, tmp_path: Path) -> None:
    assert read(tmp_path, text).tolist() == [[0, 10, 20], [10, 0, 30], [20, 30, 0]]


WRONG = {
    "empty": ("", ["node.csv", "empty"]),
    "comment alone": ("# nothing\n", ["node.csv", "empty"]),
    "not square": ("0,1,2\n1,0,2\n", ["2 rows of 3 cells", "square"]),
    "header of numbers": ("1,2\n5,1\n1,5\n", ["3 rows of 2 cells", "without a header"]),
    "printed": (" CPU: x\nNum cores: 2\n      0  1\n", ["node.csv", "core-to-core-latency", "--csv"]),
    "hole in the lower half": (",,,\n1,,,\n2,,,\n3,3,3,\n", ["node.csv:3", "column 2", "nothing"]),
    "hole in the upper half": (",1,1,1\n,,,1\n,,,1\n,,,\n", ["node.csv:2", "column 3", "nothing"]),
    "ragged": ("0,1\n1,0,5\n", ["node.csv:2", "3 cells", "2, as in the first row"]),
    "header": ("cpu0,cpu1\n0,1\n1,0\n", ["node.csv:1", "allowed"]),
    "text": ("0,1\nfast,0\n", ["node.csv:2", "column 1", "'fast'", "nanoseconds"]),
    "negative": ("0,-1\n1,0\n", ["node.csv:1", "column 2", "'-1'", "over 0"]),
    "zero": ("0,0\n1,0\n", ["node.csv:1", "column 2", "'0'", "over 0"]),
    "nan": ("0,1\nnan,0\n", ["node.csv:2", "column 1", "'nan'"]),
    "infinite": ("0,inf\n1,0\n", ["node.csv:1", "'inf'"]),
    "too long": ("0,1e12\n1,0\n", ["node.csv:1", "'1e12'", "1e9"]),
    "blank on both sides": ("0,,3\n,0,3\n3,3,0\n", ["node.csv:1", "column 2", "nothing"]),
    "blank here and there": ("0,1,\n1,0,\n2,,0\n", ["column 3", "nothing"]),
    "one-sided": ("0,10\n100,0\n", ["10 in row 1, column 2 and 100 back", "factor"]),
    "too many": ("\n".join(",".join(["1"] * 1025) for _ in range(1025)), ["1025", "at most 1024"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_what_is_allowed(name: str, tmp_path: Path) -> None:
    text, words = WRONG[name]
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)
