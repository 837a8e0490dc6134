"""Large blocks of malloc in mapped memory, which all ranks of a node map: where the heap is asked for.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from itertools import product
from pathlib import Path

import accelerating_runs as runs
import pytest
from preload_runs import described

from corewise.errors import InputError
from corewise.mpi import build, launch

pytestmark = pytest.mark.first_test

TRAP = "traps/mapped_heap.c"
SYSTEM = Path("/sys/kernel/mm/transparent_hugepage")
FORCED = {"COREWISE_ACCELERATE_HEAP": "forced", "COREWISE_ACCELERATE_AFTER": "0"}


@cache
def heap_library(name: str) -> str:
    return str(build.build_accelerate(described(name), allocating=True))


def trap(name: str, n: int, folder: Path, **more: str) -> runs.Ran:
    """The program, which checks its own results."""
    variables = {"LD_PRELOAD": heap_library(name), **FORCED, **more}
    ran = runs.run(name, n, [runs.program(name, TRAP)], folder, variables).succeeded()
    assert "right" in ran.done.stdout.splitlines()
    return ran


def said(ran: runs.Ran, what: str) -> int:
    found = re.search(rf"^{what}: (\d+)$", ran.done.stdout, re.MULTILINE)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("name", runs.NAMES)
def test_the_program_is_right_without_the_library(name: str) -> None:
    done = runs.run(name, 2, [runs.program(name, TRAP)]).succeeded().done
    assert "right" in done.stdout.splitlines()


@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, (2, 3))])
def test_large_blocks_are_mapped_memory(name: str, n: int, tmp_path: Path) -> None:
    """By every function that gives some, beside threads and forks, and after MPI has ended."""
    ran = trap(name, n, tmp_path)
    for rank in range(n):
        assert ran.mapped[rank]["MPI_Allreduce"] == said(ran, "fitting")
        assert ran.mapped[rank]["malloc"] >= said(ran, "blocks")


@pytest.mark.parametrize("name", runs.NAMES)
def test_no_byte_differs(name: str, tmp_path: Path) -> None:
    """Random collectives whose large buffers happen to be mapped memory, on all ranks or on some."""
    variables = {"LD_PRELOAD": heap_library(name), **FORCED, "COREWISE_ACCELERATE_HEAP": "forced:64 KiB"}
    words = [runs.program(name, "random_collectives.cpp"), 91, 120, 400_000]
    ran = runs.run(name, 3, words, tmp_path, variables).succeeded()
    assert "120 calls, 0 wrong" in ran.done.stdout
    assert sum(sum(calls.values()) - calls["malloc"] for calls in ran.mapped.values()) > 0


def test_blocks_below_the_least_size_are_not(tmp_path: Path) -> None:
    ran = trap("mpich", 2, tmp_path, COREWISE_ACCELERATE_HEAP="forced:1 GiB")
    assert ran.mapped[0]["malloc"] == ran.mapped[0]["MPI_Allreduce"] == 0


@pytest.mark.parametrize(
    "more", [{"COREWISE_ACCELERATE_HEAP": "off"}, {"COREWISE_ACCELERATE_HEAP": "nonsense"}]
)
def test_it_can_be_off_in_that_library_too(more: dict[str, str], tmp_path: Path) -> None:
    ran = trap("openmpi", 2, tmp_path, **more)
    assert ran.mapped[0]["malloc"] == ran.mapped[0]["MPI_Allreduce"] == 0


def test_where_mapped_memory_is_off_there_is_none(tmp_path: Path) -> None:
    ran = trap("mpich", 2, tmp_path, COREWISE_ACCELERATE_MAPPED="off")
    assert ran.mapped[0]["malloc"] == 0
    assert ran.calls[0]["malloc", "no shared memory left"] > 0


def test_it_is_refused_where_huge_pages_would_be_lost(tmp_path: Path) -> None:
    """And only there: by what the kernel says here."""
    texts = [
        (SYSTEM / name).read_text() if (SYSTEM / name).exists() else ""
        for name in ("enabled", "shmem_enabled")
    ]
    lost = "[always]" in texts[0] and not re.search(r"\[(always|within_size|force)\]", texts[1])
    ran = trap("mpich", 2, tmp_path, COREWISE_ACCELERATE_HEAP="on")
    assert (ran.mapped[0]["malloc"] == 0) == lost
    assert (ran.calls[0]["malloc", "huge pages would be lost"] > 0) == lost


def test_the_usual_library_gives_no_memory() -> None:
    """Nothing stands before the C library's allocator unless it is asked for."""
    nm = shutil.which("nm")
    assert nm is not None
    names = {}
    for kind, library in (("usual", runs.accelerate_library("mpich")), ("heap", heap_library("mpich"))):
        listed = subprocess.run(
            [nm, "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
        )
        names[kind] = {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}
    allocator = {
        *("malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign", "malloc_usable_size"),
    }
    assert names["heap"] - names["usual"] == allocator


@pytest.mark.parametrize("value", ["yes", "on:", "on:1", "forced:4 KiB", "off:1 MiB"])
def test_a_wrong_value_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, launch.HEAP_KNOB, value)
    with pytest.raises(InputError, match=r"COREWISE_ACCELERATE_HEAP.*found .*allowed: "):
        launch.heap_wanted()


@pytest.mark.parametrize(
    ("value", "wanted"), [("", False), ("off", False), ("on", True), ("forced:1 MiB", True)]
)
def test_the_environment_says_which_library_is_loaded(
    value: str, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, launch.HEAP_KNOB, value)
    assert launch.heap_wanted() == wanted
