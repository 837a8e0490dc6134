"""Sweeps on the ranks of an MPI run, by mpi4py.futures: the same bytes as by threads of one process.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from preload_runs import MPI_NAMES, library

COREWISE = Path(sys.executable).with_name("corewise")
SWEEP = ["explore", "ring", "ranks=6", "-m", "ps3", "--samples", "40", "--runs", "2", "--json"]


def launch(name: str, ranks: int, *more: object) -> subprocess.CompletedProcess[str]:
    """The sweep under mpi4py's launcher; mpi4py loads the MPI that is found first."""
    mpi = library(name)
    words = ["-m", "mpi4py.futures", COREWISE, *SWEEP, "--executor", "mpi4py", *more]
    env = {"LD_LIBRARY_PATH": str(mpi.prefix / "lib")}
    return mpi.run(ranks, sys.executable, words, env=env, timeout=120)


@pytest.mark.parametrize("name", MPI_NAMES)
def test_ranks_do_the_jobs_of_a_sweep(name: str) -> None:
    alone = subprocess.run([COREWISE, *SWEEP], capture_output=True, text=True, check=True)
    launched = launch(name, 3)
    assert launched.returncode == 0, launched.stderr
    assert launched.stdout == alone.stdout


def test_wrong_input_ends_all_ranks_with_one_line() -> None:
    launched = launch("mpich", 2, "--resume", "/proc/none/kept")
    assert launched.returncode == 2
    assert launched.stdout == ""
    assert launched.stderr.count("corewise: ") == 1 and "kept: cannot be written" in launched.stderr
