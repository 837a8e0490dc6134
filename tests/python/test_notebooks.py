"""The notebooks of the documents run from the first cell to the last, and show what they promise.

Cells are executed as Python, in one namespace and in order, as a kernel does it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trace_writer as tw

import corewise

NOTEBOOKS = Path(__file__).resolve().parents[2] / "docs" / "notebooks"


def cells(name: str) -> list[str]:
    document = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert all(not each.get("outputs") for each in document["cells"]), "outputs belong to whoever runs it"
    return ["".join(each["source"]) for each in document["cells"] if each["cell_type"] == "code"]


def run_all(name: str) -> list[Any]:
    """Runs every cell; returns what each shows: the value of its last line, where that is an expression."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for source in cells(name):
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), scope)
        shown.append(
            eval(compile(ast.Expression(last.value), name, "eval"), scope) if last is not None else None
        )
    return shown


def test_placing() -> None:
    shown = run_all("placing")
    assert shown[0]._repr_html_()
    gain, places = shown[2]
    assert gain == pytest.approx(2.0)
    assert sorted(places.values()) == sorted(corewise.machine("cell-be").units)
    assert shown[3] == pytest.approx(2.0, rel=0.01)
    assert shown[4] < 1.0  # as the text says
    assert shown[5] > 1.0
    assert "<svg" in shown[6]._repr_html_()


def test_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tw.ring_run(tmp_path / "ring.cw", 4, 3, 1_000)
    shown = run_all("profile")
    assert "<svg" in shown[0]._repr_html_()
    assert np.array_equal(shown[1], [3_000] * 4)
    assert "ring of 4" in shown[2]
    assert shown[3]._repr_html_()
    assert shown[4].shape == (4,)
    assert list(shown[5]["bytes"]["sum"]) == [3_000] * 4
    assert sorted(shown[6].unit_of_rank) == sorted(set(shown[6].unit_of_rank))
