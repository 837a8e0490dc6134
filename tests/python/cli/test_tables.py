"""Tables on a terminal of 80 columns: no line is wider, and no cell is cut.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import pytest

from corewise.cli import main
from corewise.report.layout import Column, by_rows

COMMANDS = {
    "machines": "machines",
    "units and links": "machines show chiplet-2s --links",
    "generators": "patterns",
    "templates": "patterns name halo.json",
    "choice": "explain collective broadcast --ranks 16 --bytes 128",
    "datatype": "explain datatype vector(512,8,16,double) --count 4",
    "collectives": "collective list",
    "collective": "collective broadcast --bytes 128 -m ps3",
    "pattern on a Cell": "sim halo_3d dims=2x2x2 -m cell-be",
    "pattern on a mesh": "sim dissemination ranks=16 -m mesh-6x4 --repeat 2",
}
DRAWN = "┏┓┡┩│┃└"


@pytest.mark.parametrize("name", COMMANDS)
def test_tables_fit_80_columns_uncut(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    assert main.execute(["patterns", "make", "halo_2d", "dims=4x2", "-o", "halo.json"]) == 0
    capsys.readouterr()
    assert main.execute(COMMANDS[name].split()) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith("│ ") and line.endswith(" │")]
    assert any(line.startswith(("┏", "┌")) for line in lines) and rows
    assert [line for line in lines if len(line) > 80 and line[0] in DRAWN] == []
    assert [line for line in rows if "…" in line] == []


def test_only_one_module_builds_tables() -> None:
    package = Path(main.__file__).parents[1]
    users = [path for path in package.rglob("*.py") if "rich.table" in path.read_text(encoding="utf-8")]
    assert [path.relative_to(package).as_posix() for path in users] == ["report/layout.py"]


def test_cells_are_given_row_by_row() -> None:
    headings = [Column("name"), Column("bytes", right=True)]
    table = by_rows(headings, [("a", "1"), ("b", "20")], "sizes", "all of them")
    assert [(each.name, list(each.cells), each.right) for each in table.columns] == [
        ("name", ["a", "b"], False),
        ("bytes", ["1", "20"], True),
    ]
    assert (table.title, table.remark) == ("sizes", "all of them")
    assert [list(each.cells) for each in by_rows(headings, []).columns] == [[], []]
