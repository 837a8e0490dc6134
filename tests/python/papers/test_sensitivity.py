"""Which finding hangs on which number: what is varied and said of it, on rows made by hand and on a run.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import documents
import pytest
from installed_tool import assert_one_line_error, corewise

from corewise import InputError, _lab
from corewise.analysis.result import Row, number_row, statement_row, statement_table
from corewise.data.machines import load_cell, load_machine, parsed_parameters
from corewise.papers.sensitivity import study
from corewise.papers.sensitivity.data import (
    Change,
    Parameter,
    Sensitivity,
    chosen_parameters,
    outcome_of,
    parameters_of,
    variants_of,
)
from corewise.papers.sensitivity.views import rows_of, tables_of, variant_text


def parameter(name: str, value: float, unit: str = "core cycles", source: str = "assumed") -> Parameter:
    return Parameter(name, unit, value, 1, 100, source)


def test_numbers_are_halved_and_doubled_within_their_range() -> None:
    assert list(parameter("a", 10).changes()) == [Change("a", "half", 5), Change("a", "double", 20)]
    assert list(parameter("a", 1).changes()) == [Change("a", "double", 2)]
    assert [change.value for change in parameter("a", 60).changes()] == [30, 100]
    assert [change.value for change in parameter("a", 3).changes()] == [1, 6]
    assert list(Parameter("f", "0 or 1", 1, 0, 1, "assumed").changes()) == [Change("f", "other", 0)]
    assert list(Parameter("a", "core cycles", 0, 0, 9, "assumed").changes()) == []


def test_variants_are_single_changes_and_pairs_of_two_numbers() -> None:
    two = [parameter("a", 10), parameter("b", 1)]
    assert [variant_text(each) for each in variants_of(two, pairs=False)] == [
        "as it is", "a half", "a double", "b double",
    ]  # fmt: skip
    together = variants_of(two, pairs=True)[4:]
    assert [variant_text(each) for each in together] == ["a half and b double", "a double and b double"]


def test_which_numbers_are_varied() -> None:
    known = parameters_of(load_machine("cell-blade"))
    names = {each.name for each in known}
    assert "mfc_command_interval_cycles" in names
    assert not names & {"jitter_seed", "affinity_seed", "atomic_cache_lines"}
    assumed = chosen_parameters(known, (), fitted=False)
    assert all(each.assumed for each in assumed)
    assert {each.name for each in assumed} < {each.name for each in chosen_parameters(known, (), fitted=True)}
    (one,) = chosen_parameters(known, ("retry_cycles", "retry_cycles"), fitted=False)
    assert one.name == "retry_cycles"
    with pytest.raises(InputError, match="'nonsense', allowed: core_clock_ghz, "):
        chosen_parameters(known, ("nonsense",), fitted=False)


def made(fails: Mapping[str, set[str]]) -> Sensitivity:
    """Findings 1 and 2 that hold but on the variants given."""
    parameters = (parameter("a", 10), parameter("b", 10))
    outcomes = {}
    findings = ()
    for variant in variants_of(parameters, pairs=False):
        failing = fails.get(variant_text(variant), set())
        rows = [statement_row(id, f"finding {id}", "", id not in failing) for id in ("1", "2")]
        rows.append(number_row("n", "a number", "", 10, 12 if "n" in failing else 11, "us", "C"))
        outcomes[variant], findings = outcome_of({"p": rows})
    return Sensitivity(parameters, findings, outcomes)


def test_what_hangs_on_a_number_is_named() -> None:
    found = made({"a half": {"1"}, "b double": {"1", "n"}})
    hanging = {each.id: [variant_text(v) for v in variants] for each, variants in found.hang().items()}
    assert hanging == {"1": ["a half", "b double"], "n": ["b double"]}
    rows = {row.id: row for row in rows_of(found)}
    assert rows["S/p/1"].holds is False and rows["S/p/1"].ours == 2
    assert "fails with a half; b double" in rows["S/p/1"].what
    assert rows["S/p/2"].holds is True and rows["S/p/2"].what == "finding 2"
    findings, parameters = tables_of(found, list(rows.values()))
    assert findings.note == "3 of 3 findings hold; of these 2 hang on a number varied here"
    assert ("a half", "1", "0", "10.0 %", "nan %") in parameters.rows
    assert ("b double", "2", "0", "20.0 %", "nan %") in parameters.rows


def test_a_finding_that_fails_as_it_is_and_holds_elsewhere_is_won() -> None:
    found = made({"as it is": {"2"}, "a half": {"2"}, "a double": {"2"}, "b half": {"2"}})
    cells = {row[0]: row[1:3] for row in tuple(tables_of(found, []))[1].rows}
    assert cells["b double"] == ("0", "1")
    assert cells["a half"] == ("0", "0")


def barrier_us(parameters: Mapping[str, float]) -> float:
    return float(_lab.time_barrier(list(range(8)), 20, machine=load_cell("cell-be", parameters)))


def barrier_rows(parameters: Mapping[str, float]) -> Iterable[Row]:
    """Held against what it takes as it is: every change is an error."""
    us = barrier_us(parameters)
    return [number_row("K3", "barrier of 8 SPEs", "as it is", barrier_us({}), us, "us", "C")]


def test_a_run_simulates_every_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "ROWS", {"barrier": barrier_rows})
    shares: list[float] = []
    names = ("command_snoop_cycles", "mfc_queue_entries")
    found = study.measure(study.Plan(("barrier",), names), shares.append)
    assert shares == sorted(shares) and shares[-1] == 1
    assert next(iter(found.outcomes)) == ()
    error = {variant_text(each): outcome.errors["barrier", "C"] for each, outcome in found.outcomes.items()}
    assert error["command_snoop_cycles double"] > error["as it is"] + 0.2
    assert error["mfc_queue_entries half"] == error["as it is"]
    assert [each.id for each in found.hang()] == ["K3"]


def test_parameters_of_a_machine_are_set_by_name() -> None:
    slow = load_cell("cell-be", {"command_snoop_cycles": 400})
    names = {name: value for name, _, value, *_ in _lab.cell_parameters(slow)}
    assert names["command_snoop_cycles"] == 400
    assert parsed_parameters(["a=1", "b=2.5"]) == {"a": 1, "b": 2.5}
    for wrong, said in (
        ("a", "found 'a', allowed: NAME=NUMBER"),
        ("a=x", "found 'a=x'"),
        ("=1", "found '=1'"),
    ):
        with pytest.raises(InputError, match=said):
            parsed_parameters([wrong])
    with pytest.raises(InputError, match="found a twice"):
        parsed_parameters(["a=1", "a=2"])
    with pytest.raises(InputError, match=r"simulation\.nonsense"):
        load_cell("cell-be", {"nonsense": 1})
    with pytest.raises(InputError, match="command_snoop_cycles"):
        load_cell("cell-be", {"command_snoop_cycles": -1})
    with pytest.raises(InputError, match=r"mesh-6x4.*allowed: one whose simulation"):
        load_cell("mesh-6x4")


def test_a_refuted_statement_says_why() -> None:
    rows = [
        statement_row("1", "holds", "x", True, refuted="no reason needed"),
        statement_row("2", "cannot", "x", False, refuted="two contradicts one"),
        statement_row("3", "fails", "x", False),
    ]
    assert [row.refuted for row in rows] == [None, "two contradicts one", None]
    table = statement_table("said", rows)
    assert [cells[1] for cells in table.rows] == ["yes", "refuted", "NO"]
    assert table.note == "1 of 3 statements hold, 1 is refuted: 2: two contradicts one"


def test_wrong_options_are_one_line() -> None:
    for arguments, said in (
        (["sensitivity", "--paper", "x"], "option '--paper': found 'x', allowed: affinity, collectives"),
        (["sensitivity", "--parameter", "x"], "option '--parameter': found 'x', allowed: core_clock_ghz"),
        (["affinity", "--set", "x"], "option '--set': found 'x', allowed: NAME=NUMBER"),
        (["mapping", "--machine", "ps3"], "option '--machine': found 6 SPEs, allowed: a Cell with 8"),
        (
            ["collectives", "--machine", "cell-be"],
            "option '--machine': found 8 SPEs, allowed: a blade with 16",
        ),
    ):
        assert_one_line_error(corewise("paper", *arguments), said)


def test_the_command_prints_one_object() -> None:
    done = corewise(
        "paper", "sensitivity", "--paper", "affinity", "--parameter", "rest_spread_bus_cycles", "--json"
    )
    assert done.returncode == 0, done.stderr
    document = documents.read(done.stdout)
    rows = {row["id"]: row for row in document["rows"]}
    assert rows["S/affinity/B12/position"]["holds"] is True
    limit = rows["S/affinity/B12/limit"]
    assert (limit["holds"], limit["ours"]) == (False, 1)
    assert limit["what"].endswith("fails with rest_spread_bus_cycles half")
