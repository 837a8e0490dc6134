"""The collectives' benchmark on shared memory: its cases name algorithms that are there; its rows. The sweep.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from corewise import InputError
from corewise.analysis.selection import configuration
from corewise.bench.collectives import study
from corewise.data.tuning import Choice, TuningRow
from corewise.papers.collectives.cases import Case, run_cases

ROOT = Path(__file__).resolve().parents[3]
MPI = SimpleNamespace(name="mpich", version="5.0")


@pytest.fixture(scope="module")
def tune() -> ModuleType:
    """bench/collectives/tune.py as a module."""
    source = ROOT / "bench" / "collectives" / "tune.py"
    specification = importlib.util.spec_from_file_location("bench_collectives_tune", source)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def test_a_row_holds_ratios_to_the_mpi_and_to_the_floor() -> None:
    case = study.Case("barrier", 0, "pairwise_exchange")
    case.times = [(100.0, 300.0, 80.0), (100.0, 200.0, 100.0), (200.0, 300.0, 160.0)]
    row = study.row(MPI, 2, case)
    assert row.id == "collectives-barrier-0-2-mpich-5.0"
    assert (row.ours, row.theirs, row.floor) == (100, 300, 100)
    assert row.ratio == 2  # the median of 3, 2, 1.5
    assert row.more["over_floor"] == 1.25  # the median of 1.25, 1, 1.25
    assert (row.n, row.mpi, row.rival) == (3, "mpich 5.0", "mpich 5.0")
    assert row.more["runs"] == [2]
    case.run_ends = [2, 3]
    assert study.row(MPI, 2, case).more["runs"] == [2.5, 1.5]


def test_where_there_is_no_floor_the_row_says_so() -> None:
    case = study.Case("broadcast", 4096, "local_store_tree")
    case.times = [(100.0, 300.0, 0.0), (100.0, 200.0, 0.0)]
    assert study.row(MPI, 2, case).floor is None
    assert study.row(MPI, 2, case).more["over_floor"] is None


def test_every_case_names_an_algorithm_of_its_collective() -> None:
    for case in study.cases(study.SIZES):
        table = (ROOT / "src" / "coll" / case.collective / "table.hpp").read_text()
        names = re.findall(r'Row<P>\{"(\w+)"', table)
        assert case.algorithm.split(":")[0] in names


# --- the sweep --------------------------------------------------------------------------------------------


def row_for(collective: str, ranks: int) -> TuningRow:
    return TuningRow("all", collective, ranks, 0, None, (128,), Choice("tree", (), (1.0,)), ())


def test_a_tuning_names_the_commands_that_make_it(tune: ModuleType) -> None:
    whole = [row_for(name, ranks) for name in tune.SIZES for ranks in tune.RANKS]
    assert tune.command_for(whole) == tune.COMMAND
    some = [row_for(name, ranks) for name in ("reduce", "barrier") for ranks in (16, 8)]
    assert tune.command_for(some) == f"{tune.COMMAND} --collectives barrier,reduce --ranks 8,16"
    different = [*some, *(row_for("scan", ranks) for ranks in tune.RANKS)]
    assert tune.command_for(different) == (
        f"{tune.COMMAND} --collectives barrier,reduce --ranks 8,16 && {tune.COMMAND} --collectives scan"
    )


def test_only_what_an_algorithm_cannot_do_is_left_out_of_a_sweep() -> None:
    good = Case("broadcast", 2, 128, configuration("eager_tree"))
    too_long = Case("broadcast", 2, 1024, configuration("eager_tree"))
    assert list(run_cases([good, too_long], leave_out_unusable=True)) == [good]
    for wrong in (
        Case("broadcast", 2, 128, configuration("eager_tree", min_piece=1024)),
        Case("broadcast", 2, 128, configuration("pieces", buffers=4)),
        Case("broadcast", 2, 128, configuration("nosuch")),
    ):
        with pytest.raises(InputError, match="found"):
            run_cases([good, wrong], leave_out_unusable=True)
