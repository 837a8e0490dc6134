"""The preload wraps every procedure that it can and shows nothing else to the program.

What a library offers is read from the library file itself: its C procedures that have a ``PMPI_`` twin and
that the standard's list names.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from preload_runs import ALL_NAMES, described, preload
from trace_decoder import symbols

from corewise.mpi import build, fortran
from corewise.mpi.generators import recording as wrappers


def defined(library: Path) -> set[str]:
    """Names of the functions that a shared library defines."""
    done = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    return {row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] in "TW"}


def procedures_of(preload: Path) -> set[str]:
    """What a preload defines of MPI; the rest is hooks of functions, and names for regions."""
    return {n for n in defined(preload) if n.startswith("MPI_")}


def shared_library(name: str) -> Path:
    """The library file itself: libmpi.so may be a linker script."""
    stem = "libmpi_abi" if name.endswith("_abi") else "libmpi"
    found = sorted((described(name).prefix / "lib").glob(f"{stem}.so.[0-9]*"))
    return found[0]


@pytest.mark.parametrize("name", ALL_NAMES)
def test_every_procedure_is_wrapped(name: str) -> None:
    offered = defined(shared_library(name))
    standard = {procedure.name for procedure in wrappers.standard_procedures()}
    wanted = {n for n in standard if n in offered and f"P{n}" in offered}
    assert len(wanted) > 300
    wrapped = procedures_of(preload(name))
    assert wrapped == wanted, (sorted(wanted - wrapped), sorted(wrapped - wanted))


@pytest.mark.parametrize("name", ALL_NAMES)
def test_only_mpi_procedures_and_hooks_are_visible(name: str) -> None:
    done = subprocess.run(
        ["nm", "-D", "--defined-only", str(preload(name))], capture_output=True, text=True, check=True
    )
    shown = [line.split()[-1] for line in done.stdout.splitlines()]
    # The wheels have no Fortran, whose names test_fortran.py looks at.
    allowed = re.compile(r"MPI_[A-Z]\w*|corewise_\w+|__cyg_profile_func_(?:enter|exit)")
    assert [n for n in shown if not allowed.fullmatch(n)] == []


@pytest.mark.parametrize("name", ALL_NAMES)
def test_the_preload_brings_one_mpi_and_no_cxx_runtime(name: str) -> None:
    done = subprocess.run(["readelf", "-d", str(preload(name))], capture_output=True, text=True, check=True)
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", done.stdout))
    assert "libstdc++.so.6" not in needed
    stem = "libmpi_abi.so" if name.endswith("_abi") else "libmpi.so"
    assert [n.startswith(stem) for n in needed if n.startswith("libmpi")] == [True]
    assert not any("hwloc" in n for n in needed)


@pytest.mark.parametrize("name", ALL_NAMES)
def test_wrappers_forward_to_their_twins(name: str) -> None:
    """No wrapper may call another wrapper: what MPI_Send does must not count as two calls."""
    done = subprocess.run(
        ["nm", "-D", "--undefined-only", str(preload(name))], capture_output=True, text=True, check=True
    )
    undefined = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
    called = {n for n in undefined if n.startswith(("MPI_", "PMPI_"))}
    callbacks = {n for n in called if n.startswith("MPI_")}
    # Predefined callbacks are named MPI_ and have no twin.
    assert not callbacks & defined(preload(name))
    wrapped = procedures_of(preload(name))
    # MPICH's handle conversions are macros.
    missing = {n for n in wrapped if f"P{n}" not in called and not n.endswith(("_c2f", "_f2c"))}
    assert missing == set()


def test_numbers_and_names_agree() -> None:
    standard = [procedure.name for procedure in wrappers.standard_procedures()]
    assert standard == sorted(set(standard))
    names = [*standard, *fortran.other_names()]
    assert len(set(names)) == len(names)
    text = wrappers.numbered(names)
    listed = re.findall(r"k(MPI_\w+) = (\d+),", text)
    assert listed == [(n, str(i)) for i, n in enumerate(names)]
    assert re.findall(r'"(MPI_\w+)"', text) == names
    # The record format has 10 bits, one value for "unknown".
    assert len(names) < 1023


def test_recipes_name_procedures_of_the_standard() -> None:
    standard = {procedure.name for procedure in wrappers.standard_procedures()}
    unknown = {n for n in wrappers.recipes() if n not in standard and not n.endswith("_c")}
    # The table is made by joining prefixes: these combinations do not exist.
    assert unknown <= {"MPI_Isend_init", "MPI_Ibarrier_c"}, unknown
    assert standard >= wrappers.BY_HAND
    assert not wrappers.BY_HAND & set(wrappers.recipes())


@pytest.mark.parametrize("name", ALL_NAMES)
def test_generated_parameters_are_the_headers(name: str) -> None:
    """Every wrapper has the parameters of the standard, in its order."""
    standard = {procedure.name: procedure for procedure in wrappers.standard_procedures()}
    for procedure in build.library_procedures(described(name)):
        named = [n for _, n in procedure.parameters]
        assert named == [n for _, n in standard[procedure.name].parameters]


def test_the_decoder_can_name_functions() -> None:
    """Of the preload itself, which has only dynamic symbols if it is stripped."""
    _, names, segments = symbols(str(preload("mpich")))
    assert "MPI_Send" in {n for _, n in names}
    assert segments
