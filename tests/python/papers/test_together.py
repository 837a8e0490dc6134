"""`corewise paper all`: every study of the table runs, and one page says what became of the papers' claims.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from threading import Barrier, Lock

import pytest
from rich.console import Console

from corewise.analysis.result import PaperResult, Progress, Row, Table, number_row, statement_row
from corewise.cli import main
from corewise.cli.papers import group
from corewise.cli.papers.show import fitted
from corewise.errors import RunError
from corewise.papers.together import run_all, together

ROWS = (
    number_row("1", "near", "x", 100, 115, "us", "C"),
    number_row("2", "far", "x", 100, 116, "us", "H"),
    number_row("3", "of no set", "x", 100, 300, "us", None),
    statement_row("4", "true", "x", True),
    statement_row("5", "cannot", "x", False, refuted="two contradicts one"),
    statement_row("6", "untrue", "x", False, 7.0, "us"),
)
VERDICTS = ["holds", "fails", None, "holds", "refuted", "fails"]


def test_what_became_of_a_claim() -> None:
    assert [row.verdict for row in ROWS] == VERDICTS
    assert Row("7", "only ours", "x", None, 3.0, "us", None, None, None).verdict is None


def results() -> dict[str, PaperResult]:
    hanging = (Table("Findings that hang", ("finding",), (("f",),)), Table("more", ("x",), ()))
    return {
        "one": PaperResult("paper one", "a Cell", ROWS, (Table("its own", ("x",), ()),)),
        "sensitivity": PaperResult("paper sensitivity", "variants", ROWS[3:4], hanging),
    }


def test_results_become_one() -> None:
    found = together(results(), {"two": "no MPI was found"})
    assert [row.id for row in found.rows] == [*(f"one/{at}" for at in range(1, 7)), "sensitivity/4"]
    summary, refuted, fails, hanging = found.tables
    assert summary.rows[0] == ("one", "2", "1", "2", "3", "77.0 %", "200.0 %", "a Cell")
    assert summary.rows[1][:5] == ("sensitivity", "1", "0", "0", "0")
    assert summary.rows[2][0] == "two" and summary.rows[2][-1] == "did not run: no MPI was found"
    assert refuted.rows == (("one/5", "cannot", "two contradicts one"),)
    assert [cells[0] for cells in fails.rows] == ["one/2", "one/6"]
    assert fails.rows[1][2:] == ("", "7 us", "")
    assert hanging.title == "Findings that hang"


def test_what_hangs_on_a_number_is_in_its_own_table_alone() -> None:
    found = results()
    found["sensitivity"] = replace(found["sensitivity"], rows=ROWS[5:])
    fails, hanging = together(found, {}).tables[-2:]
    assert [cells[0] for cells in fails.rows] == ["one/2", "one/6"]
    assert hanging.title == "Findings that hang"


def test_all_that_holds_needs_no_table_of_what_does_not() -> None:
    found = together({"one": PaperResult("paper one", "a Cell", ROWS[:1])}, {})
    assert [table.title for table in found.tables] == ["What became of the papers' claims"]


@pytest.fixture(autouse=True)
def whole_group(capfd: pytest.CaptureFixture[str]) -> None:
    """A group is made once in a process, from the table as it is then: the real one."""
    assert main.execute(["paper", "--help"]) == 0
    capfd.readouterr()


def studies(*, failing: bool) -> tuple[group.Study, ...]:
    def whole(quick: bool, progress: Progress) -> PaperResult:
        progress(1.0)
        return results()["one"] if quick else results()["sensitivity"]

    def broken(quick: bool, progress: Progress) -> PaperResult:
        raise RunError("no MPI was found")

    first = group.Study("one", "", lambda: None, whole)
    return (first, group.Study("two", "", lambda: None, broken)) if failing else (first,)


def test_the_command_runs_every_study_and_writes_one_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(group, "STUDIES", studies(failing=False))
    page = tmp_path / "all.html"
    assert main.execute(["paper", "all", "--quick", "--json", "--html", str(page)]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["name"] == "paper all"
    assert [row["id"] for row in document["rows"]] == [f"one/{at}" for at in range(1, 7)]
    text = page.read_text()
    for word in ("What became of the papers", "two contradicts one", "Refuted", "Fails", "Every claim"):
        assert word in text


def test_a_study_that_cannot_run_is_named_and_the_others_are_shown(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(group, "STUDIES", studies(failing=True))
    assert main.execute(["paper", "all", "--quick"]) == 1
    out, err = capfd.readouterr()
    assert "did not run: no MPI was found" in out and "two contradicts one" in out
    assert err.splitlines()[-1] == "corewise: paper two did not run: no MPI was found"


def test_simulations_run_beside_each_other_and_measurements_alone() -> None:
    """Both simulations wait until the other runs too; a measurement counts who runs beside it."""
    both, lock = Barrier(2), Lock()
    running: list[str] = []
    beside: dict[str, list[str]] = {}

    def study(name: str, measures: bool) -> tuple[str, bool, Callable[[bool, Progress], PaperResult]]:
        def whole(quick: bool, progress: Progress) -> PaperResult:
            with lock:
                running.append(name)
            if not measures:
                both.wait()
            with lock:
                beside[name] = [other for other in running if other != name]
            progress(1.0)
            if not measures:
                both.wait()
            with lock:
                running.remove(name)
            return PaperResult(name, "", (), ())

        return name, measures, whole

    shares: list[float] = []
    order = [("first", True), ("a", False), ("second", True), ("b", False)]
    found, missing = run_all([study(*each) for each in order], True, shares.append)
    assert list(found) == ["first", "a", "second", "b"] and not missing
    assert beside == {"first": [], "a": ["b"], "second": [], "b": ["a"]}
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_an_error_that_is_none_of_ours_ends_everything() -> None:
    def broken(quick: bool, progress: Progress) -> PaperResult:
        raise ZeroDivisionError

    def never(quick: bool, progress: Progress) -> PaperResult:
        raise AssertionError("a measurement began")

    with pytest.raises(ZeroDivisionError):
        run_all([("broken", False, broken), ("host", True, never)], True, lambda share: None)


def test_studies_that_measure_this_host_are_known() -> None:
    assert {study.name for study in group.STUDIES if study.measures} == {"profiling", "node"}


def test_every_study_is_a_command_of_its_own() -> None:
    names = [study.name for study in group.STUDIES]
    assert len(set(names)) == len(names) and "all" not in names
    for study in group.STUDIES:
        assert callable(study.whole) and study.help.startswith(("Repeat", "Find", "Show"))


def test_a_long_cell_makes_a_column_of_text_and_numbers_stay_numbers() -> None:
    rows = (("a", "1.5", ""), ("b", "2", "a reason that takes more than a line of a page"))
    assert Table("t", ("id", "number", "why"), rows).text_columns() == {0, 2}
    assert Table("t", ("id", "number"), ()).text_columns() == {0}


def test_a_long_text_wraps_on_a_terminal_and_leaves_the_others_their_width() -> None:
    console = Console(width=60, file=StringIO(), record=True)
    console.print(fitted(Table("t", ("id", "why", "number"), (("a/claim", "word " * 60, "1.5 us"),))))
    shown = console.export_text()
    assert "a/claim" in shown and "1.5 us" in shown and shown.count("word") == 60
    assert max(map(len, shown.splitlines())) <= 60
