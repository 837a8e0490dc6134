"""The pages of the status: every row of the inventory is on one, and claims are told as they were found.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import findings
import pytest
import status

import inventory
from corewise.analysis.result import number_row, statement_row

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    number_row("one/1", "near | far", "000 table 1", 100, 115, "us", "C"),
    statement_row("one/2", "cannot", "000", False, refuted="two contradicts one"),
    statement_row("two/2", 'untrue, "quoted"', "001", False, 7.0, "us"),
    number_row("two/3", "claims nothing", "001", 100, 300, "us", None),
]


def found() -> findings.Findings:
    rows = [dataclasses.asdict(row) for row in ROWS]
    return findings.from_result(
        {"version": "1.2", "commit": "0123456789abc", "rows": rows}, "2026-11-25", "corewise paper all"
    )


def written(folder: Path, rows: list[dict[str, str]]) -> dict[str, str]:
    status.write(folder, rows, found())
    return {path.stem: path.read_text() for path in folder.glob("*.md")}


def test_findings_are_read_as_they_were_written() -> None:
    again = findings.parsed(findings.text_of(found()))
    assert again == found()
    assert [(row["study"], row["id"], row["verdict"]) for row in again.rows] == [
        ("one", "1", "holds"), ("one", "2", "refuted"), ("two", "2", "fails"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new"), [("verdict", "word"), ("# date", "# day"), ("holds", "perhaps"), ("# commit = ", "")]
)
def test_a_file_that_holds_no_findings_is_refused(old: str, new: str) -> None:
    with pytest.raises(ValueError, match="findings: "):
        findings.parsed(findings.text_of(found()).replace(old, new))


def test_the_committed_findings_are_of_every_study() -> None:
    committed = findings.parsed(findings.FILE.read_text(encoding="utf-8"))
    assert {row["verdict"] for row in committed.rows} == set(findings.VERDICTS)
    assert {"affinity", "mapping", "placement", "collectives"} <= {row["study"] for row in committed.rows}
    assert [row["id"] for row in committed.rows if row["verdict"] == "refuted" and not row["why"]] == []


def test_every_row_of_the_inventory_is_on_the_page_of_its_issue(tmp_path: Path) -> None:
    rows = [dict(row) for row in inventory.load(ROOT / "tests" / "inventory.csv")]
    pages = written(tmp_path / "status", rows)
    issues = {row["issue"].replace(" ", "-") for row in rows if row["issue"]}
    assert {f"issue-{issue}" for issue in issues} | {f"paper-00{n}" for n in range(5)} < pages.keys()
    for issue in issues:
        wanted = [row for row in rows if row["issue"].replace(" ", "-") == issue]
        lines = [line for line in pages[f"issue-{issue}"].splitlines() if line.startswith("| ")]
        headings = pages[f"issue-{issue}"].count("| what |")
        assert len(lines) - headings == len(wanted)
        cells = {len(re.split(r"(?<!\\)\|", line)) for line in lines}
        assert cells == {7}, issue


def test_a_page_shows_command_test_and_what_is_owed(tmp_path: Path) -> None:
    row = {
        "id": "a", "level": "must", "state": "here", "issue": "2", "real_mpi": "true", "what": "a * b | c",
        "where": "issue 2; paper 000 sec. 1", "command": "corewise run | head", "test": "cpp:sim/A.B",
    }  # fmt: skip
    later = {
        **row,
        "id": "b",
        "state": "later",
        "command": "",
        "test": "",
        "what": "not yet",
        "where": "issue 2",
    }
    pages = written(tmp_path / "status", [row, later])
    shown = r"| a \* b \| c | issue 2; paper 000 sec. 1 | `corewise run \| head` | `cpp:sim/A.B` | yes |"
    assert shown in pages["issue-2"] and shown in pages["paper-000"]
    assert "## Must, owed" in pages["issue-2"] and "not yet" in pages["issue-2"]
    assert "not yet" not in pages["paper-000"]
    assert "1 of 2 must rows" in pages["index"]
    assert "1 hold, 1 are refuted, 1 fail" in pages["index"]
    assert "| [Issue 2](issue-2.md) | 1 | 1 | 0 | 0 |" in pages["index"]
    assert r"| near \| far | 000 table 1 | 100 | 115 us | +15.0 % | **holds** |" in pages["findings"]
    assert "**refuted**: two contradicts one" in pages["findings"]
    assert "claims nothing" not in pages["findings"]


def test_must_rows_without_command_or_test_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "inventory.csv"
    path.write_text(
        ",".join(inventory.FIELDS) + "\n"
        "a,must,later,7,false,not yet,issue 7,,\n"
        "b,must,later,7,false,half,issue 7,corewise doctor,\n"
        "c,aim,later,7,false,an aim,issue 7,,\n"
        "d,must,here,7,false,done,issue 7,corewise doctor,cpp:sim\n"
    )
    assert inventory.main(["--inventory", str(path), "--owed"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["a (issue 7): no command and no test: not yet", "b (issue 7): no test: half"]
    assert len(lines) == 3 and lines[2].startswith("inventory: 4 rows")


@pytest.mark.parametrize("number", ["000", "001", "002", "003", "004"])
def test_each_paper_has_a_page_of_the_site(number: str) -> None:
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [
        text
        for page in sorted((ROOT / "docs" / "papers").glob("*.md"))
        if number in (text := page.read_text(encoding="utf-8")).splitlines()[0]
        and f"(papers/{page.name})" in listed
    ]
    assert pages, f"no page of docs/papers that docs/README.md lists is headed by paper {number}"
    assert any("corewise paper" in text for text in pages)
