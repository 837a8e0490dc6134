"""What messages of a real MPI cost: the program that measures runs under each MPI, and its table is read.

A run keeps the tables of its time, and a validation uses them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Mpi, find_mpi

from corewise.bench.rows import Listener
from corewise.bench.simmpi.messages import QUICK, Extent, measure
from corewise.cli import message_costs
from corewise.cli.main import execute
from corewise.data.message_costs import (
    AFTER,
    BEFORE,
    CostRow,
    MessageCosts,
    load_message_costs,
    save_message_costs,
)
from corewise.errors import RunError
from corewise.mpi.find import find

TINY = Extent(1, 16, (0,), 1)
"""Waiting ranks that share cores with other tests make every message of a measurement take long."""
SEND_C = r"""
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int data[2] = {0}, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  else MPI_Recv(data + 1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}
"""


def test_messages_are_measured(mpi: Mpi, tmp_path: Path) -> None:
    """No time is asserted: only that there are all of them, and that they make a table."""
    costs = measure(find(str(mpi.prefix)), QUICK, Listener())
    save_message_costs(costs, tmp_path / "m.json")
    assert load_message_costs(tmp_path / "m.json") == costs
    sizes = [row.bytes for row in costs.rows]
    assert {4**power for power in range(1, 9)} <= set(sizes) and sizes[-1] == QUICK.most_bytes
    assert costs.moved_bytes == QUICK.moved_bytes
    assert 0 <= costs.eager_bytes <= QUICK.most_bytes


def test_a_run_keeps_the_tables_of_its_time(
    mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One before it and one after it, which a validation takes without being told."""
    monkeypatch.setattr(message_costs, "Extent", lambda: TINY)
    for name, value in mpi.yield_env.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "send.c").write_text(SEND_C)
    program = mpi.build(tmp_path / "send", tmp_path / "send.c")
    folder = tmp_path / "send.cw"
    words = ["run", "-n", "2", "--mpi", str(mpi.prefix), "--messages", "-o", str(folder), "--", str(program)]
    assert execute(words) == 0
    before, after = (load_message_costs(folder / name) for name in (BEFORE, AFTER))
    assert before.mpi == after.mpi and before.moved_bytes == after.moved_bytes == TINY.moved_bytes
    capsys.readouterr()
    assert execute(["replay", "--validate", "-m", "flat:2", str(folder), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["tables"] == [str(folder / BEFORE), str(folder / AFTER)]
    assert row["messages"] == 1 and row["range_ns"][0] <= row["range_ns"][1]
    # Nothing is measured for a folder that is taken.
    monkeypatch.setattr(message_costs, "measure", None)
    assert execute(words) == 2
    assert "exists and is not empty" in capsys.readouterr().err


@pytest.mark.parametrize("status", [0, 3])
def test_a_run_stands_without_the_table_after_it(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is measured after a run that ended well, and where that fails the run's own result stands."""
    mpi = find_mpi("mpich")
    table = MessageCosts("a processor", "mpich", 8, (0,), (CostRow(8, 1, (2,), (3,)),))
    answers = [table]

    def once(*_: object) -> MessageCosts:
        if not answers:
            raise RunError("no more measuring")
        return answers.pop()

    monkeypatch.setattr(message_costs, "measure", once)
    (tmp_path / "send.c").write_text(SEND_C)
    program = mpi.build(tmp_path / "send", tmp_path / "send.c")
    words = ["run", "-n", "2", "--mpi", str(mpi.prefix), "--messages", "-o", str(tmp_path / "send.cw")]
    assert execute([*words, "--", str(program), str(status)]) == status
    assert load_message_costs(tmp_path / "send.cw" / BEFORE) == table
    assert not (tmp_path / "send.cw" / AFTER).exists()
    assert (f"has no {AFTER}: no more measuring" in capfd.readouterr().err) == (status == 0)
