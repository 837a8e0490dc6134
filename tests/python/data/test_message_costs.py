"""Files of message costs: what is written is read again, and what is no table is refused by its field."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corewise.data.message_costs import (
    AFTER,
    BEFORE,
    CostRow,
    MessageCosts,
    load_message_costs,
    median_costs,
    profile_tables,
    save_message_costs,
)
from corewise.errors import InputError

COSTS = MessageCosts(
    "AMD EPYC",
    "openmpi 4.1.4",
    4040,
    (0, 8 << 20),
    (CostRow(4, 52.5, (228.0, 418.0), (297.0, 418.0)), CostRow(1 << 20, 88.0, (115e3, 126e3), (126e3, 13e4))),
)


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    save_message_costs(COSTS, tmp_path / "m.json")
    assert load_message_costs(tmp_path / "m.json") == COSTS


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("format",), "corewise-noise", "format"),
        (("version",), 2, "version"),
        (("surplus",), 1, "surplus"),
        (("eager_bytes",), -1, "eager_bytes"),
        (("mpi",), 7, "mpi"),
        (("moved_bytes",), [8, 8], "moved_bytes"),
        (("moved_bytes",), [], "moved_bytes"),
        (("moved_bytes",), [0, 1, 2], "one_way_ns"),
        (("rows",), [], "rows: found 0, allowed: 1 to 256"),
        (("rows", 1, "bytes"), 4, "bytes"),
        (("rows", 0, "send_ns"), 229, "send_ns"),
        (("rows", 0, "one_way_ns"), [1], "one_way_ns"),
        (("rows", 0, "one_way_ns"), [0, 1], "one_way_ns"),
        (("rows", 0, "both_ns"), [227, 500], "both_ns"),
        (("rows", 0, "more"), 1, "more"),
    ],
)
def test_what_is_no_table_is_refused(
    path: tuple[str | int, ...], value: object, said: str, tmp_path: Path
) -> None:
    save_message_costs(COSTS, tmp_path / "m.json")
    document: Any = json.loads((tmp_path / "m.json").read_text())
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    (tmp_path / "m.json").write_text(json.dumps(document))
    with pytest.raises(InputError) as error:
        load_message_costs(tmp_path / "m.json")
    assert "m.json" in str(error.value) and said in str(error.value)


def scaled(factor: float) -> MessageCosts:
    """The table with every time of its second row times this."""
    first, second = COSTS.rows
    one_way, both = (tuple(factor * each for each in times) for times in (second.one_way_ns, second.both_ns))
    return replace(COSTS, rows=(first, CostRow(second.bytes, factor * second.send_ns, one_way, both)))


@pytest.mark.parametrize(("factors", "median"), [((1,), 1), ((3, 1), 2), ((1, 9, 2), 2), ((8, 1, 2, 4), 3)])
def test_of_tables_every_time_has_its_median(factors: tuple[float, ...], median: float) -> None:
    files = [Path(f"{index}.json") for index in range(len(factors))]
    assert median_costs(files, list(map(scaled, factors))) == scaled(median)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("processor", "Xeon"),
        ("mpi", "mpich 5"),
        ("moved_bytes", (0, 1)),
        ("rows", (replace(COSTS.rows[0], bytes=5),)),
    ],
)
def test_tables_that_do_not_belong_together_are_refused(field: str, value: Any) -> None:
    other = replace(COSTS, **{field: value})
    with pytest.raises(InputError) as error:
        median_costs([Path("a.json"), Path("b.json")], [COSTS, other])
    assert f"b.json: field '{field}'" in str(error.value) and "a.json" in str(error.value)


def test_tables_may_differ_by_where_the_eager_limit_was_found() -> None:
    own = (replace(COSTS.rows[0], bytes=100), replace(COSTS.rows[0], bytes=200))
    tables = [
        replace(COSTS, eager_bytes=limit, rows=(COSTS.rows[0], row, COSTS.rows[1]))
        for limit, row in zip((200, 100), own, strict=True)
    ]
    assert median_costs([Path("a"), Path("b")], tables) == replace(COSTS, eager_bytes=100)


def test_a_profile_holds_the_tables_of_its_run_or_none(tmp_path: Path) -> None:
    assert profile_tables(tmp_path) == []
    save_message_costs(COSTS, tmp_path / AFTER)
    assert profile_tables(tmp_path) == [tmp_path / AFTER]
    save_message_costs(COSTS, tmp_path / BEFORE)
    assert profile_tables(tmp_path) == [tmp_path / BEFORE, tmp_path / AFTER]
