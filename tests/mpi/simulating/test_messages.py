"""What messages of a real MPI cost: the program that measures runs under each MPI, and its table is read.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

from conftest import Mpi

from corewise.bench.rows import Listener
from corewise.bench.simmpi.messages import QUICK, measure
from corewise.data.message_costs import load_message_costs, save_message_costs
from corewise.mpi.find import find


def test_messages_are_measured(mpi: Mpi, tmp_path: Path) -> None:
    """No time is asserted: only that there are all of them, and that they make a table."""
    costs = measure(find(str(mpi.prefix)), QUICK, Listener())
    save_message_costs(costs, tmp_path / "m.json")
    assert load_message_costs(tmp_path / "m.json") == costs
    sizes = [row.bytes for row in costs.rows]
    assert {4**power for power in range(1, 9)} <= set(sizes) and sizes[-1] == QUICK.most_bytes
    assert costs.moved_bytes == QUICK.moved_bytes
    assert 0 <= costs.eager_bytes <= QUICK.most_bytes
