"""Our loops inside Open MPI's own datatype engine: nothing is sent as MPI_PACKED, our plans move everything.

``packing/transfers.c`` moves types in every way that Open MPI moves by its convertors; where a convertor is
not what we take it for, or the version is not known, nothing is taken over. Open MPI 5.0 (the wheel) and 4.1
(Debian's). That each byte is right is in ``test_differential.py``.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import atexit
import re
import subprocess
from functools import cache
from pathlib import Path

import packing_runs
import pytest
from packing_runs import DEBIAN, SOURCES

from corewise.mpi import build
from corewise.mpi.generators.packing import engine_is_known

atexit.register(packing_runs.end_session)
NAMES = ("openmpi", DEBIAN)
SMALL_FRAGMENTS = {
    f"OMPI_MCA_btl_{module}_{limit}": size
    for module in ("sm", "vader", "self")
    for limit, size in (("eager_limit", "200"), ("max_send_size", "312"))
}
"""Fragments of a few hundred bytes: the limits of both versions' transports between processes of a host."""


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """Each Open MPI in turn."""
    if request.param == DEBIAN:
        packing_runs.require_debian()
    return str(request.param)


@cache
def transfers(name: str) -> Path:
    """``packing/transfers.c`` built for an MPI."""
    output = packing_runs.engine_program(name).with_name(f"transfers.{name}")
    flags = (*packing_runs.FLAGS, *(["-ldl"] if name == DEBIAN else []))
    return packing_runs.library(name).build(output, SOURCES / "transfers.c", flags=flags)


def run_transfers(
    name: str, ranks_env: dict[str, str], folder: Path, ranks: int = 2
) -> list[tuple[int, ...]]:
    """Run it; for each rank whether the engine was on, and how many transfers it packed and unpacked."""
    words = [*(f"{key}={value}" for key, value in ranks_env.items()), str(transfers(name)), str(folder)]
    env = {**packing_runs.YIELD_ENV["openmpi"], "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    done = packing_runs.library(name).run(ranks, "/usr/bin/env", words, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok transfers") == ranks, done.stdout + done.stderr
    return [
        tuple(map(int, found))
        for found in re.findall(r"^engine (\d+) (\d+) (\d+)$", done.stdout, re.MULTILINE)
    ]


@pytest.mark.parametrize("fragments", ["usual", "small"])
def test_every_kind_of_transfer(name: str, fragments: str, tmp_path: Path) -> None:
    """Messages, collectives, one-sided calls, files and MPI_Pack arrive whole, and the engine moved them."""
    limits = SMALL_FRAGMENTS if fragments == "small" else {}
    found = run_transfers(name, packing_runs.packing_environment(name) | limits, tmp_path)
    assert [on for on, _, _ in found] == [1, 1]
    assert all(packed > 200 and unpacked > 100 for _, packed, unpacked in found)


def test_a_table_decides_about_transfers(name: str, tmp_path: Path) -> None:
    """Those that it does not name are the MPI's own; `pack` is about sent data, `unpack` about received."""
    for table, packs, unpacks in (("message=9999:9999", 0, 0), ("pack=268435456:9999999", 1, 0)):
        found = run_transfers(name, packing_runs.packing_environment(name, table), tmp_path)
        assert all((on, packed > 0, unpacked > 0) == (1, packs, unpacks) for on, packed, unpacked in found)


def test_three_ranks(name: str, tmp_path: Path) -> None:
    """Each has two others."""
    found = run_transfers(name, packing_runs.packing_environment(name), tmp_path, ranks=3)
    assert all(packed > 200 and unpacked > 100 for _, packed, unpacked in found)


def test_off_takes_nothing(name: str, tmp_path: Path) -> None:
    """The functions are there and hand on."""
    found = run_transfers(name, packing_runs.packing_environment(name, "off"), tmp_path)
    assert found == [(0, 0, 0), (0, 0, 0)]


def test_unknown_convertors_are_left_alone(name: str, tmp_path: Path) -> None:
    """Fields that are eight bytes elsewhere: the proof fails, the MPI's own engine does everything."""
    shifted = build.build_packing(packing_runs.described(name), definitions=("COREWISE_CONVERTOR_SHIFT=8",))
    env = packing_runs.packing_environment(name) | {"LD_PRELOAD": str(shifted)}
    assert run_transfers(name, env, tmp_path) == [(0, 0, 0), (0, 0, 0)]


def test_only_known_versions_are_taken_over() -> None:
    """`corewise run` says so of others; the library asks the same table."""
    assert engine_is_known("openmpi", "5.0.11") and engine_is_known("openmpi", "4.1.4")
    assert not engine_is_known("openmpi", "5.1.0") and not engine_is_known("openmpi", "4.10.0")
    assert engine_is_known("mpich", "9.9")


def exported(name: str) -> set[str]:
    """What the packing library of an MPI exports beside MPI's own names."""
    library = str(packing_runs.packing_library(name))
    words = ["nm", "-D", "--defined-only", library]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    symbols = {line.split()[-1] for line in listed.splitlines()}
    return {symbol for symbol in symbols if not symbol.upper().startswith(("MPI", "PMPI"))}


@pytest.mark.parametrize("name", ["mpich", "mpich_abi"])
def test_other_mpis_have_none_of_it(name: str) -> None:
    """No symbol of Open MPI's is exported there."""
    assert exported(name) == set()


def test_only_these_functions_are_replaced() -> None:
    """Others of Open MPI's, as those with checksums, stay its own."""
    assert exported("openmpi") == {
        "opal_generic_simple_pack",
        "opal_generic_simple_unpack",
        "opal_convertor_set_position_nocheck",
        "opal_convertor_raw",
        "corewise_packing_engine",
    }
