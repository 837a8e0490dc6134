"""Replay with measured messages: what a table says is what they take, and where its profile holds it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trace_writer as tw
from replayed_runs import DEFAULTS, Record, link, ping_pong, recorded, run
from trace_writer import RankTrace

from corewise.cli.main import execute
from corewise.data.message_costs import AFTER, BEFORE, CostRow, MessageCosts, save_message_costs

MEASURED = MessageCosts(
    "a processor", "an mpi", 1_000, (0, 100_000),
    (CostRow(500, 50, (400, 600), (450, 700)), CostRow(8_000, 200, (4_200, 8_200), (5_200, 10_200))),
)  # fmt: skip


def test_measured_messages_take_what_the_table_says(tmp_path: Path) -> None:
    """New buffers cost what the last column says; the latency to the nearest unit is in the table."""
    found = run(ping_pong(tmp_path / "p.cw"), messages=MEASURED, settings={"header_bytes": 0})
    one_way = 600 + 500 / link()[1]
    assert found.time_ns == pytest.approx(1_000 + one_way + 300 + one_way, abs=0.01)
    assert found.path.software_ns + found.path.transfer_ns == pytest.approx(2 * one_way, abs=0.01)


def test_measured_long_messages_are_copied_both_ways_and_again(tmp_path: Path) -> None:
    def program(rounds: int) -> Record:
        def member(trace: RankTrace) -> None:
            for _ in range(rounds):
                start = trace.now
                trace.put(tw.SEND, "MPI_Sendrecv", 1 - trace.rank, 8_000, ticks=55, tag=0)
                end, trace.now = trace.now, start
                trace.put(tw.ARRIVAL, "MPI_Sendrecv", 1 - trace.rank, 8_000, ticks=end - start)
                trace.now = end

        return member

    once, twice = (
        run(
            recorded(tmp_path / f"{rounds}.cw", program(rounds), program(rounds)),
            messages=MEASURED,
            settings={"header_bytes": 0, "eager_bytes": MEASURED.eager_bytes},
        ).time_ns
        for rounds in (1, 2)
    )
    assert once == pytest.approx(10_200, abs=1)
    # A rank moved 16,000 bytes since: its buffers stay where they are, and the first column holds.
    assert twice - once == pytest.approx(5_200, abs=1)


def test_a_table_is_read_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, file = ping_pong(tmp_path / "p.cw"), tmp_path / "m.json"
    save_message_costs(MEASURED, file)
    words = ["replay", str(folder), "-m", "mesh:4x1", "--messages", str(file), "--json"]
    assert execute(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["options"]["messages"] == [str(file)]
    (row,) = document["rows"]
    assert row["time_ns"] == run(folder, messages=MEASURED, settings=DEFAULTS).time_ns
    file.write_text("{}")
    assert execute(words) == 2
    assert "m.json: field 'format'" in capsys.readouterr().err


def slower(factor: float) -> MessageCosts:
    """The table above with every time times this."""
    rows = tuple(
        CostRow(
            row.bytes,
            factor * row.send_ns,
            tuple(factor * ns for ns in row.one_way_ns),
            tuple(factor * ns for ns in row.both_ns),
        )
        for row in MEASURED.rows
    )
    return replace(MEASURED, rows=rows)


def with_tables(folder: Path, *factors: float) -> Path:
    """A profile that holds tables, as `corewise run --messages` leaves them."""
    for name, factor in zip((BEFORE, AFTER), factors, strict=False):
        save_message_costs(slower(factor), folder / name)
    return folder


def rows_of(capsys: pytest.CaptureFixture[str], *words: str | Path) -> list[dict[str, Any]]:
    assert execute(["replay", *map(str, words), "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rows"]
    return found


def test_a_validation_uses_the_tables_that_the_profile_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The prediction by the medians, and the range of what each table gives alone; of parts too."""
    own, plain = with_tables(ping_pong(tmp_path / "p.cw"), 1, 3), ping_pong(tmp_path / "q.cw")
    on = ["--validate", "-m", "mesh:4x1", "--cut", "71us"]
    with_own, without = rows_of(capsys, *on, own, plain)
    once, twice, thrice = (
        run(own, messages=slower(factor), settings=DEFAULTS, cuts_ns=[71_000]) for factor in (1, 2, 3)
    )
    assert with_own["tables"] == [str(own / BEFORE), str(own / AFTER)]
    assert with_own["time_ns"] == twice.time_ns
    assert with_own["range_ns"] == [once.time_ns, thrice.time_ns]
    assert [part["range_ns"] for part in with_own["parts"]] == [
        [low.time_ns, high.time_ns] for low, high in zip(once.parts, thrice.parts, strict=True)
    ]
    # A profile without tables is replayed as ever, and so is one for which none are wanted.
    assert (without["tables"], without["range_ns"]) == ([], None)
    assert without["time_ns"] == run(plain, settings=DEFAULTS).time_ns
    assert rows_of(capsys, *on, "--messages", "none", own)[0]["time_ns"] == without["time_ns"]
    # Another machine's replay takes them where it is told to.
    assert rows_of(capsys, "-m", "mesh:4x1", own)[0]["tables"] == []
    assert rows_of(capsys, "-m", "mesh:4x1", "--messages", own, plain)[0]["time_ns"] == twice.time_ns


def test_a_range_is_shown_where_there_are_several_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = with_tables(ping_pong(tmp_path / "p.cw"), 1)
    assert execute(["replay", "--validate", "-m", "mesh:4x1", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "measured of an mpi" in " ".join(shown.split()) and "by single tables" not in shown
    with_tables(folder, 1, 3)
    assert execute(["replay", "--validate", "-m", "mesh:4x1", str(folder)]) == 0
    assert "by single tables" in capsys.readouterr().out


CLUSTER = """
format = "corewise-machine"
version = 1
name = "two"
[interconnect]
kind = "tree"
[[interconnect.level]]
name = "box"
count = 2
up_bandwidth = "1 GB/s"
down_bandwidth = "1 GB/s"
hop_latency = "1 us"
[[interconnect.level]]
name = "core"
count = 2
up_bandwidth = "9 GB/s"
down_bandwidth = "9 GB/s"
hop_latency = "9 ns"
[cluster]
nodes = ["a", "b"]
os_indexes = [0, 1]
logical_cores = [0, 1]
"""


def test_a_table_of_one_node_is_refused_on_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, plain = with_tables(ping_pong(tmp_path / "p.cw"), 1), ping_pong(tmp_path / "q.cw")
    (tmp_path / "two.toml").write_text(CLUSTER)
    for machine, nodes in (("roadrunner", 8), (str(tmp_path / "two.toml"), 2)):
        for words in (["--messages", own, plain], ["--validate", own]):
            assert execute(["replay", *map(str, words), "-m", machine]) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert f"with {nodes} nodes, allowed: a machine of one node" in line
        assert rows_of(capsys, "--validate", own, "-m", machine, "--messages", "none")
        assert rows_of(capsys, "--validate", plain, "-m", machine)


def test_wrong_tables_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, own = ping_pong(tmp_path / "p.cw"), with_tables(ping_pong(tmp_path / "q.cw"), 1)
    save_message_costs(replace(MEASURED, mpi="another mpi"), tmp_path / "m.json")
    for words, said in (
        (["--messages", folder], "allowed: a profile of `corewise run --messages`"),
        (["--messages", own, "--messages", tmp_path / "m.json"], "m.json: field 'mpi': found another mpi"),
        (["--messages", own, "--messages", "none"], "allowed: none alone, or files"),
    ):
        assert execute(["replay", str(folder), "-m", "mesh:4x1", *map(str, words)]) == 2
        assert said in capsys.readouterr().err
