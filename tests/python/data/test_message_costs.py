"""Files of message costs: what is written is read again, and what is no table is refused by its field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corewise.data.message_costs import CostRow, MessageCosts, load_message_costs, save_message_costs
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
