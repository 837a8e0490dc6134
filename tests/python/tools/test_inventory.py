"""The inventory: every mistake is planted and found; then the real one has to pass.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import pytest
from this_repository import FAILURE, ROOT, SKIPPED, case, junit

import inventory as check_inventory

GOOD_ROW = {
    "id": "thing",
    "level": "must",
    "state": "here",
    "issue": "",
    "real_mpi": "false",
    "what": "a thing, in words",
    "where": "issue 2",
    "command": "corewise thing",
    "test": "tests/python/test_thing.py::test_it",
}


def inventory(folder: Path, *rows: Mapping[str, str]) -> Path:
    """An inventory of `rows`; each may differ from the good one in some fields."""
    path = folder / "inventory.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, GOOD_ROW, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**GOOD_ROW, **row} for row in rows)
    return path


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("what", "", "field 'what' is empty"),
        ("level", "should", "allowed: must, aim"),
        ("state", "soon", "allowed: here, later"),
        ("state", "later", "a later row names its issue"),
        ("issue", "someday", '"roadmap N"'),
        ("real_mpi", "no", "allowed: true, false"),
        ("id", "A Thing", "must be a slug"),
        ("test", "test_it", "allowed: tests/FILE.py::NAME"),
    ],
)
def test_inventory_mistake_is_caught(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], field: str, value: str, message: str
) -> None:
    path = inventory(tmp_path, {field: value})
    assert check_inventory.main(["--inventory", str(path)]) == 1
    assert message in capsys.readouterr().out


@pytest.mark.parametrize(
    ("test", "status"),
    [
        ("tests/python/tools/test_inventory.py::test_inventory_names_tests_of_the_sources", 0),
        ("tests/python/tools/test_inventory.py::test_that_never_was", 1),
        ("tests/python/test_nowhere.py::test_it", 1),
        ("cpp:port", 0),
        ("cpp:port/Nothing.Here", 1),
        ("cpp:nowhere", 1),
    ],
)
def test_inventory_names_tests_of_the_sources(tmp_path: Path, test: str, status: int) -> None:
    assert check_inventory.main(["--inventory", str(inventory(tmp_path, {"test": test}))]) == status


def test_inventory_duplicate_id_is_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = inventory(tmp_path, {}, {})
    assert check_inventory.main(["--inventory", str(path)]) == 1
    assert "thing: this id is taken" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "id,what\nthing,a\n", "{header}\nthing,must\n"])
def test_inventory_that_cannot_be_read_is_the_users_error(tmp_path: Path, text: str) -> None:
    assert check_inventory.main(["--inventory", str(tmp_path / "nowhere.csv")]) == 2
    path = tmp_path / "other.csv"
    path.write_text(text.format(header=",".join(GOOD_ROW)))
    assert check_inventory.main(["--inventory", str(path)]) == 2


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (case(), 0),
        (case(name="test_it[openmpi]") + case(name="test_it[mpich]"), 0),
        (case(name="test_it[openmpi]") + case(FAILURE, name="test_it[mpich]"), 1),
        (case(FAILURE), 1),
        (case(SKIPPED), 1),
        (case(name="test_other"), 1),
        (case(group="tests.mpi.test_thing"), 1),
    ],
)
def test_inventory_must_row_without_a_pass_fails(tmp_path: Path, body: str, status: int) -> None:
    path = inventory(tmp_path, {})
    arguments = ["--inventory", str(path), "--junit", str(junit(tmp_path, body))]
    assert check_inventory.main(arguments) == status


@pytest.mark.parametrize("field", ["command", "test"])
def test_inventory_must_row_needs_command_and_test(tmp_path: Path, field: str) -> None:
    path = inventory(tmp_path, {field: ""})
    assert check_inventory.main(["--inventory", str(path), "--junit", str(junit(tmp_path, case()))]) == 1


@pytest.mark.parametrize("change", [{"level": "aim"}, {"state": "later", "issue": "3"}])
def test_inventory_aims_and_later_rows_are_not_owed(tmp_path: Path, change: Mapping[str, str]) -> None:
    path = inventory(tmp_path, change)
    report = junit(tmp_path, case(FAILURE))
    assert check_inventory.main(["--inventory", str(path), "--junit", str(report)]) == 0


def test_inventory_reads_cpp_results(tmp_path: Path) -> None:
    junit(tmp_path, '<testcase name="machine" classname="machine"/>', "r/ctest.xml")
    junit(
        tmp_path,
        '<testcase name="Order" classname="Ring"/>'
        '<testcase name="Comes/0" classname="Of/Table"/><testcase name="Comes/1" classname="Of/Table"/>',
        "r/cpp/test_machine.xml",
    )
    for test, status in [
        ("cpp:machine", 0),
        ("cpp:machine/Ring.Order", 0),
        ("cpp:machine/Table.Comes", 0),
        ("cpp:machine/Table.Goes", 1),
        ("cpp:place", 1),
    ]:
        arguments = ["--inventory", str(inventory(tmp_path, {"test": test})), "--junit", str(tmp_path / "r")]
        assert check_inventory.main(arguments) == status, test


def test_real_inventory_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_inventory.main([]) == 0
    assert "inventory: " in capsys.readouterr().out


def test_real_inventory_covers_every_issue_and_paper() -> None:
    rows = check_inventory.load(ROOT / "tests" / "inventory.csv")
    issues = {row["issue"] for row in rows}
    assert {"roadmap 1", "roadmap 2", "roadmap 3", "roadmap 4", *map(str, range(16, 24))} <= issues
    ids = {str(row["id"]) for row in rows}
    for prefix, least in [("p000-", 20), ("p001-", 10), ("p002-", 10), ("p003-", 15), ("p004-", 15)]:
        assert sum(name.startswith(prefix) for name in ids) >= least, prefix
