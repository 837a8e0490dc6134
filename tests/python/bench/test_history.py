"""`corewise bench history`: recorded results side by side, the change of every row, the picture.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corewise.bench.history import MOST_CURVES, figure, history_of, tables
from corewise.cli.main import execute
from corewise.errors import InputError


def result(path: Path, version: str, ours: dict[str, float | None], **more: object) -> Path:
    """A file of `--json`; spread 10 %, ratio 2."""
    rows = [
        {"id": f"sim-{name}", "what": name, "unit": "ns", "ours": value, "ratio": 2.0, "spread": 0.1, "n": 9}
        for name, value in ours.items()
    ]
    content = {"name": "bench sim", "version": version, "commit": "0123456789", "machine": "A", "rows": rows}
    path.write_text(json.dumps({**content, **more}))
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [
        result(tmp_path / "old.json", "0.8", {"flow": 100, "packet": 50, "gone": 7, "nothing": None}),
        result(tmp_path / "middle.json", "0.9", {"flow": 90, "packet": 51}),
        result(tmp_path / "new.json", "0.10", {"flow": 150, "packet": 52, "fresh": 3}),
    ]


def test_a_row_goes_through_all_files(files: list[Path]) -> None:
    history = history_of(files)
    assert history.labels == ("0.8 0123456", "0.9 0123456", "0.10 0123456")
    by_id = {line.id: line for line in history.lines}
    assert list(by_id) == ["sim-flow", "sim-packet", "sim-gone", "sim-fresh"]
    assert [point and point.ours for point in by_id["sim-flow"].points] == [100, 90, 150]
    assert by_id["sim-flow"].change == pytest.approx(0.5)
    assert by_id["sim-gone"].change is None and by_id["sim-fresh"].points[:2] == (None, None)


def test_a_change_within_the_spread_is_marked(files: list[Path]) -> None:
    (table,) = tables(history_of(files))
    cells = {row[0]: row for row in table.rows}
    assert cells["sim-flow"][2:] == ("100", "90", "150", "+50 %", "2.00 to 2.00")
    assert cells["sim-packet"][5] == "+4 % ~"
    assert cells["sim-gone"][2:6] == ("7", "", "", "")


def test_processors_are_never_compared(tmp_path: Path) -> None:
    paths = [
        result(tmp_path / "a.json", "0.8", {"flow": 100}),
        result(tmp_path / "b.json", "0.9", {"flow": 10}, machine="B"),
    ]
    assert [line.change for line in history_of(paths).lines] == [None, None]
    assert [table.title for table in tables(history_of(paths))] == ["bench sim on A", "bench sim on B"]
    with pytest.raises(InputError, match="no row is in two files"):
        figure(history_of(paths))


def test_files_of_one_version_are_told_apart_by_name(files: list[Path], tmp_path: Path) -> None:
    again = result(tmp_path / "again.json", "0.8", {"flow": 101})
    assert history_of([files[0], again]).labels == ("0.8 0123456 old", "0.8 0123456 again")


def test_a_picture_has_the_rows_that_changed_most(tmp_path: Path) -> None:
    before = {f"row{number}": 100.0 for number in range(12)}
    after = {name: 100.0 + 10 * number for number, name in enumerate(before)}
    paths = [result(tmp_path / "a.json", "1", before), result(tmp_path / "b.json", "2", after)]
    (panel,) = figure(history_of(paths)).panels
    assert len(panel.series) == MOST_CURVES
    assert (panel.series[0].label, panel.series[0].y) == ("row11", (1.0, 2.1))
    assert "the 8 of 12 rows that changed most" in panel.title


def test_the_command_shows_and_draws(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "history.svg"
    command = ["bench", "history", *map(str, files)]
    assert execute([*command, "-o", str(picture)]) == 0
    said = capsys.readouterr()
    assert "+50 %" in said.out and "~" in said.out and "history.svg written" in said.err
    assert "0.10" in picture.read_text() and picture.read_text().startswith("<?xml")
    assert execute([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["beyond_spread"] is True and rows[1]["beyond_spread"] is False


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", ["not JSON"]),
        ("[]", ["an object"]),
        ('{"name": "place", "version": "1", "rows": []}', ["'name'", "'place'", "bench QUESTION"]),
        ('{"name": "bench sim", "rows": []}', ["'version'"]),
        ('{"name": "bench sim", "version": "1", "rows": [{"unit": "ns", "ours": 1}]}', ["rows[0].id"]),
        (
            '{"name": "bench sim", "version": "1", "rows": [{"id": "sim-a", "unit": "ns", "ours": "x"}]}',
            ["rows[0].ours", "'x'", "a number"],
        ),
    ],
)
def test_what_is_no_result_is_one_error(
    text: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(text)
    assert execute(["bench", "history", str(path)]) == 2
    said = capsys.readouterr().err
    assert [word for word in (str(path), *words) if word not in said] == []
