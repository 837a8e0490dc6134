"""Section 8 of paper 004 in simulation: both forms, the same on every host, its statements by hand, and that
the machine and the ranks of the whole plan are within what a simulation takes.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corewise.data.machines import load_machine
from corewise.papers.node import transforms
from corewise.papers.node.data import NODE_CORES, Found, Transformed
from corewise.papers.node.study import PAPER
from corewise.sim.ranks import RunOptions, compile_program, run_program

SMALL = transforms.Plan((64,), (16, 64, 128))


def test_both_forms_are_simulated_and_the_same_again() -> None:
    first = transforms.transformed(SMALL)
    assert [(each.side, each.processors) for each in first] == [(64, 16), (64, 64)]  # 128 have no row each
    assert first == transforms.transformed(SMALL)
    few, many = first
    # Computation alone, by hand: 4 rows of 64 on each of 16 processors, twice transformed and twice moved.
    row_us = 5 * 64 * 6 / transforms.ASSUMED["flops_per_ns"] / 1e3
    move_us = 64 * 16 / (transforms.COPY_MB_PER_S["plain"] / 1e3) / 1e3
    assert few.pure_us > 4 * 2 * (row_us + move_us)
    # A node's 32 rows by its seven workers.
    assert few.threaded_us > 32 * 2 * (row_us + move_us) / 7
    assert few.threaded_us < few.slowed_us < 1.36 * few.threaded_us
    assert many.pure_us < few.pure_us and many.threaded_us < few.threaded_us


SUM = """
#include <mpi.h>
#include <stdio.h>
int main(int count, char** words) {
  int rank, sum;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d\\n", sum);
  MPI_Finalize();
  return 0;
}
"""


def test_the_whole_plan_has_a_machine_and_ranks(tmp_path: Path) -> None:
    most = max(count for _, count in transforms.FULL.cases())
    nodes, source, program = tmp_path / "nodes.json", tmp_path / "sum.c", tmp_path / "sum.sim"
    nodes.write_text(json.dumps(transforms.cluster_document(most // NODE_CORES)), encoding="utf-8")
    machine = load_machine(str(nodes))
    assert len(machine.units) == most == 4096
    links = [machine.links[link].name for link in machine.routes(0, most - 1)[0]]
    assert links == ["core0:up", "node0:up", "node511:down", "core4095:down"]
    source.write_text(SUM, encoding="utf-8")
    assert compile_program([str(source), "-o", str(program)], cxx=False) == 0
    ran = run_program(program, [], most, str(nodes), options=RunOptions(output=tmp_path / "said.txt"))
    assert ran.ok, ran.message
    assert (tmp_path / "said.txt").read_text(encoding="utf-8") == f"{most * (most - 1) // 2}\n"


def test_statements_by_hand() -> None:
    points = (Transformed(1024, 64, 8.0, 10.0, 16.0), Transformed(1024, 512, 6.0, 4.0, 8.0))
    found = Found("host", 2, transformed=points)
    result = PAPER.result("host", found)
    rows = {row.id: row for row in result.rows}
    assert rows["fig8/1024/64"].ours == pytest.approx(0.8) and rows["fig8/1024/64"].holds
    assert rows["fig8/1024/512"].ours == pytest.approx(1.5) and rows["fig8/1024/512"].holds
    assert rows["fig8/1024/512/slowed"].ours == pytest.approx(0.75)
    assert rows["fig8/1024/512/slowed"].holds is False and rows["fig8/1024/64/slowed"].holds
    assert rows["fig8/1024/scales"].ours == pytest.approx(1.875) and rows["fig8/1024/scales"].holds
    assert [figure.name for figure in result.figures] == ["004-figure-8"]
    assert any("figure 8" in table.title for table in result.tables)
