"""`corewise export`: what it says, writes and refuses, and that a failure leaves the target as it was.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trace_writer as tw
from exported_runs import expected, made_up_run

import corewise.data.events as events_module
from corewise import InputError, RunError
from corewise.cli.main import execute
from corewise.data.events import COLUMNS, GROUPS, KINDS
from corewise.export import FORMATS, export_profile, load_events

DOCS = Path(__file__).resolve().parents[3] / "docs" / "recording" / "export.md"


def test_the_same_profile_gives_the_same_bytes(tmp_path: Path) -> None:
    profile, _ = made_up_run(tmp_path)
    for form in ("perfetto", "csv", "parquet", "arrow"):
        for name in "ab":
            export_profile(profile, form, tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes(), form


def test_a_damaged_file_costs_its_rank_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile, ranks = made_up_run(tmp_path)
    (profile / "rank-00001.cwt").write_bytes(b"not a trace")
    assert execute(["export", str(profile), "--to", "csv", "-o", str(tmp_path / "t.csv")]) == 0
    assert "rank-00001.cwt" in capsys.readouterr().err
    assert (tmp_path / "t.csv").read_text().count("\n") == 1 + len(expected([ranks[0], ranks[2]]))


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile, ranks = made_up_run(tmp_path)
    target = tmp_path / "t.csv"
    arguments = ["export", str(profile), "--to", "csv", "-o", str(target), "--ranks", "0", "--json"]
    assert execute(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    rows = len(expected(ranks[:1]))
    assert document["name"] == "export"
    assert document["rows"] == [
        {
            "format": "csv",
            "target": str(target),
            "records": rows,
            "written": rows,
            "left_out": 0,
            "bytes": target.stat().st_size,
        }
    ]


WRONG = {
    "format": (["--to", "xml", "-o", "{tmp}/x"], ["--to", "'xml'", "otf2, perfetto, parquet, arrow, csv"]),
    "folder as file": (["--to", "csv", "-o", "{tmp}"], ["found a folder"]),
    "no folder": (["--to", "csv", "-o", "{tmp}/none/x"], ["there is no folder"]),
    "archive exists": (["--to", "otf2", "-o", "{tmp}/flow.cw"], ["a folder that is not empty"]),
    "archive is file": (["--to", "otf2", "-o", "{tmp}/flow.cw/meta.json"], ["found a file"]),
    "archive nowhere": (["--to", "otf2", "-o", "{tmp}/none/x"], ["there is no folder"]),
    "rank": (["--to", "csv", "-o", "{tmp}/x", "--ranks", "1-3"], ["--ranks", "found 3", "0..2"]),
    "ranks": (["--to", "csv", "-o", "{tmp}/x", "--ranks", "3-1"], ["--ranks", "'3-1'", "0-3,7"]),
    "kind": (["--to", "csv", "-o", "{tmp}/x", "--kinds", "sends"], ["--kinds", "'sends'", "messages"]),
    "time": (["--to", "csv", "-o", "{tmp}/x", "--from", "12"], ["--from", "12"]),
    "window": (["--to", "csv", "-o", "{tmp}/x", "--from", "2s", "--until", "1 s"], ["--until", "--from 2s"]),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_wrong_input_is_one_line_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    profile, _ = made_up_run(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    arguments, words = WRONG[case]
    status = execute(["export", str(profile), *(each.format(tmp=tmp_path) for each in arguments)])
    error = capsys.readouterr().err
    assert status == 2
    assert error.count("\n") == 1
    for word in words:
        assert word in error
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("profile", ["nothing.cw", "file.cw", "empty.cw"])
def test_what_is_no_profile_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], profile: str
) -> None:
    (tmp_path / "file.cw").write_text("x")
    (tmp_path / "empty.cw").mkdir()
    status = execute(["export", str(tmp_path / profile), "--to", "csv", "-o", str(tmp_path / "x")])
    assert status == 2
    assert profile in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("form", list(FORMATS))
def test_a_failure_on_the_way_leaves_the_target_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    profile, _ = made_up_run(tmp_path)
    target = tmp_path / "target"
    if form != "otf2":
        target.write_text("precious")
    before = sorted(tmp_path.iterdir())
    real = events_module.Events._rows

    def fail_later(self: Any, *arguments: Any) -> Any:
        for number, found in enumerate(real(self, *arguments)):
            yield found
            if found[0].rank == 1 and number == 0:
                raise OSError(28, "No space left on device")

    monkeypatch.setattr(events_module.Events, "_rows", fail_later)
    with pytest.raises(RunError, match="target: cannot be written: No space left on device"):
        export_profile(profile, form, target)
    assert sorted(tmp_path.iterdir()) == before
    if form != "otf2":
        assert target.read_text() == "precious"


def test_an_empty_folder_is_filled_and_stays_what_it_is(tmp_path: Path) -> None:
    """With its rights, and for who is in it; by a link to it, too."""
    run = tw.ring_run(tmp_path / "ring.cw", size=2)
    target, link = tmp_path / "archive", tmp_path / "link"
    target.mkdir(mode=0o700)
    link.symlink_to(target)
    before = target.stat()
    export_profile(run, "otf2", link)
    assert (target / "traces.otf2").is_file() and link.is_symlink()
    assert (target.stat().st_ino, target.stat().st_mode) == (before.st_ino, before.st_mode)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["archive", "link", "ring.cw"]


def test_an_existing_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    profile, _ = made_up_run(tmp_path)
    target = tmp_path / "t.csv"
    target.write_text("old")
    target.chmod(0o640)
    export_profile(profile, "csv", target)
    assert target.read_text().startswith("world,")
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("missing", "extra", "use"),
    [
        ("pandas", "frames", lambda path: load_events(path).to_pandas()),
        ("polars", "frames", lambda path: load_events(path).to_polars()),
        ("pyarrow", "frames", lambda path: load_events(path).to_arrow()),
        ("pyarrow", "frames", lambda path: export_profile(path, "parquet", path.parent / "x")),
        ("otf2", "otf2", lambda path: export_profile(path, "otf2", path.parent / "x")),
    ],
)
def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, extra: str, use: Any
) -> None:
    profile, _ = made_up_run(tmp_path)

    def without(name: str) -> Any:
        if name.split(".")[0] == missing:
            raise ImportError(f"No module named '{name}'")
        return importlib.import_module(name)

    monkeypatch.setattr(events_module, "importlib", SimpleNamespace(import_module=without))
    with pytest.raises(InputError, match=rf"{missing}.*corewise\[{extra}\]"):
        use(profile)
    assert not (tmp_path / "x").exists()


def test_the_page_lists_every_column_kind_and_form() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for column in COLUMNS:
        assert f"| `{column.name}` |" in text, column.name
    for kind in KINDS:
        assert f"`{kind}`" in text, kind
    for name in (*GROUPS, *FORMATS):
        assert f"`{name}`" in text, name
