"""The collectives' benchmark on shared memory: its cases name algorithms that are there; its rows.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "bench" / "collectives" / "run.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """bench/collectives/run.py as a module."""
    specification = importlib.util.spec_from_file_location("bench_collectives_run", SOURCE)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def test_a_row_holds_ratios_to_the_mpi_and_to_the_floor(bench: ModuleType) -> None:
    case = bench.Case("barrier", 0, "pairwise_exchange")
    case.times = [(100.0, 300.0, 80.0), (100.0, 200.0, 100.0), (200.0, 300.0, 160.0)]
    row = bench.row("mpich", 2, case)
    assert row["id"] == "shm-barrier-0-2-mpich"
    assert (row["ours"], row["theirs"], row["floor"]) == (100, 300, 100)
    assert row["ratio"] == 2  # the median of 3, 2, 1.5
    assert row["over_floor"] == 1.25  # the median of 1.25, 1, 1.25
    assert row["n"] == 3
    assert row["runs"] == [2]
    case.run_ends = [2, 3]
    assert bench.row("mpich", 2, case)["runs"] == [2.5, 1.5]
    assert {"what", "unit", "rival", "spread"} <= set(row)


def test_where_there_is_no_floor_the_row_says_so(bench: ModuleType) -> None:
    case = bench.Case("broadcast", 4096, "local_store_tree")
    case.times = [(100.0, 300.0, 0.0), (100.0, 200.0, 0.0)]
    assert bench.row("openmpi", 2, case)["floor"] is None
    assert bench.row("openmpi", 2, case)["over_floor"] is None


def test_every_case_names_an_algorithm_of_its_collective(bench: ModuleType) -> None:
    for case in bench.cases():
        table = (ROOT / "src" / "coll" / case.collective / "table.hpp").read_text()
        names = re.findall(r'Row<P>\{"(\w+)"', table)
        assert case.algorithm.split(":")[0] in names
