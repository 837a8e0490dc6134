"""Buffers of sent messages take turns (``src/preload/packing/buffers.hpp``), seen from behind the library.

``packing/turns.c`` is both the program, which checks every message, and the library behind the packing
library, which counts from how many places packed messages went on.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

import packing_runs
import pytest
from conftest import YIELD_ENV
from packing_runs import FLAGS, MPI_NAMES, SOURCES

TIMEOUT_S = 900.0
KB = 1024


@cache
def built(name: str) -> tuple[Path, Path]:
    """The library that counts, and the program."""
    mpi, folder = packing_runs.library(name), packing_runs.engine_program(name).parent
    source = SOURCES / "turns.c"
    shim = mpi.build(
        folder / f"turns.{name}.so", source, flags=(*FLAGS, "-DSHIM", "-shared", "-fPIC", "-ldl")
    )
    return shim, mpi.build(folder / f"turns.{name}", source, flags=FLAGS)


def places(name: str, packing: str, *arguments: int) -> int:
    """From how many places rank 0 sent 64 messages; all of them must have arrived."""
    mpi, (shim, program) = packing_runs.library(name), built(name)
    words = [f"LD_PRELOAD={packing_runs.packing_library(name)}:{shim}", f"COREWISE_PACKING={packing}"]
    command = [str(mpi.mpiexec), "-n", "2", "/usr/bin/env", *words, str(program), *map(str, arguments)]
    done = subprocess.run(
        command,
        env={**os.environ, **mpi.env, **YIELD_ENV[name.partition("_")[0]]},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = dict(line.split() for line in done.stdout.splitlines())
    assert said["wrong"] == "0"
    return int(said["places"])


@pytest.mark.parametrize("name", MPI_NAMES)
def test_buffers_of_sent_messages_take_turns_in_as_many_bytes_as_asked(name: str) -> None:
    """As many as fit; one where fewer than two do, below the smallest size, or where nothing was asked."""
    asked = f"always;rotate={256 * KB}:{8 * KB}"
    assert places(name, asked, 16 * KB) == 16
    assert places(name, asked, 13 * KB) == 16  # in sizes of powers of two
    assert places(name, asked, 128 * KB) == 2
    assert places(name, asked, 256 * KB) == 1
    assert places(name, asked, 4 * KB) == 1
    assert places(name, "always", 16 * KB) == 1


@pytest.mark.parametrize("name", MPI_NAMES)
def test_more_messages_at_once_than_take_turns_arrive_as_well(name: str) -> None:
    """The others are packed into memory of their own."""
    assert places(name, f"always;rotate={64 * KB}:0", 16 * KB, 32) >= 32


def test_what_follows_always_must_be_turns() -> None:
    """Anything else is no setting: then `auto` decides, which on Open MPI sends nothing packed."""
    for packing in ("always;nonsense", "always;rotate=65536", "always;", "alwaysx"):
        assert places("openmpi", packing, 16 * KB) == 0


@pytest.mark.parametrize("name", MPI_NAMES)
def test_a_table_says_whether_buffers_take_turns(name: str) -> None:
    """With rows that pack, as a tuning file has them."""
    rows = "send=1048576:64;receive=1048576:64;both=1048576:64"
    assert places(name, f"{rows};rotate={64 * KB}:0", 16 * KB) == 4
    assert places(name, rows, 16 * KB) == 1
