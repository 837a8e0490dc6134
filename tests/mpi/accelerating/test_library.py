"""The accelerate library as it is built, and as ``corewise run --accelerate`` uses it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import accelerating_runs as runs
import pytest
from conftest import CORES, Mpi
from installed_tool import assert_one_line_error, corewise, document
from preload_runs import ALL_NAMES, MPI_NAMES, described, library

from corewise.data.accelerate import COPIES_GO
from corewise.data.tuned_hosts import processor_name
from corewise.mpi import build
from corewise.mpi.generators import accelerating

CALLS = 300
SUM_C = r"""
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  long sum = 0, wrong = 0;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (long i = 0; i < CALLS; ++i) {
    long mine = i * (rank + 1);
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != i * size * (size + 1) / 2;
  }
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Finalize();
  if (rank == 0) printf("wrong sums: %ld\n", wrong);
  return 0;
}
"""


@cache
def accelerate_library(name: str) -> Path:
    """The library for an MPI, built once."""
    return build.build_accelerate(described(name))


@pytest.mark.parametrize("name", ALL_NAMES)
def test_only_collectives_and_the_ends_of_mpi_are_visible(name: str) -> None:
    """Under both of their names; nothing else, and no C++ library comes along."""
    words = ["nm", "-D", "--defined-only", str(accelerate_library(name))]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    wrapped = re.findall(r"P(MPI_\w+)\(.*\{", accelerating.source(build.library_procedures(described(name))))
    assert len(wrapped) > 60
    assert {line.split()[-1] for line in listed.splitlines()} == {
        symbol for procedure in wrapped for symbol in (procedure, f"P{procedure}")
    }
    words = ["readelf", "-d", str(accelerate_library(name))]
    needed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "libstdc++" not in needed


def sums(mpi: Mpi, folder: Path) -> Path:
    """The program, built for an MPI."""
    (folder / "sums.c").write_text(SUM_C)
    return mpi.build(folder / "sums", folder / "sums.c", flags=(f"-DCALLS={CALLS}",))


@pytest.mark.parametrize("name", MPI_NAMES)
def test_a_run_says_what_became_of_its_collectives(name: str, tmp_path: Path) -> None:
    """Every call is counted once: taken over, or passed on for a reason."""
    mpi, profile = library(name), tmp_path / "sums.cw"
    options = ["-n", 2, "--mpi", mpi.prefix, "-o", profile, "--accelerate"]
    done = corewise("run", *options, "--", sums(mpi, tmp_path))
    assert done.returncode == 0, done.stderr
    assert "wrong sums: 0" in done.stdout.splitlines()
    assert {path.name for path in profile.glob("accelerate*")} == {"accelerate.0.csv", "accelerate.1.csv"}
    rows = {row["procedure"]: row for row in document("report", profile)["accelerate"]}
    sum_row = rows["MPI_Allreduce"]
    assert sum_row["taken"] > CALLS
    assert sum_row["taken"] + sum_row["passed_on"] == 2 * CALLS
    assert (rows["MPI_Ibarrier"]["taken"], rows["MPI_Ibarrier"]["passed_on"]) == (0, 2)


@pytest.mark.parametrize("name", MPI_NAMES)
def test_a_set_up_measures_how_copies_go(name: str, tmp_path: Path) -> None:
    """On AMD's processors, between ranks with a core each, unless it is told."""
    program, told = sums(library(name), tmp_path), {"COREWISE_ACCELERATE_COPY": "self.same=memcpy"}
    ran = [
        runs.run(name, n, [program], tmp_path / str(number), variables).succeeded()
        for number, (n, variables) in enumerate([(2, {}), (2, told), (2 * CORES, {})])
    ]
    assert all("wrong sums: 0" in each.done.stdout.splitlines() for each in ran)
    measures = CORES > 1 and processor_name().startswith("AuthenticAMD-")
    assert sorted(ran[0].copies) == ([0, 1] if measures else [])
    assert set(ran[0].copies.values()) <= set(COPIES_GO)
    assert (ran[1].copies, ran[2].copies) == ({}, {})


GATHERV_C = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int counts[] = {1, 3000}, places[] = {0, 1};
  static int own[3000], all[3001];
  for (int call = 0; call < 100; ++call) {
    for (int i = 0; i < counts[rank]; ++i) own[i] = 7 * call + rank;
    MPI_Gatherv(own, counts[rank], MPI_INT, all, counts, places, MPI_INT, call % 2, MPI_COMM_WORLD);
    for (int i = 0; rank == call % 2 && i < 3001; ++i) wrong += all[i] != 7 * call + (i > 0);
  }
  printf("wrong: %d\\n", wrong);
  return MPI_Finalize();
}
"""


@pytest.mark.parametrize("name", MPI_NAMES)
def test_gathers_of_unequal_blocks_are_taken_over(name: str, tmp_path: Path) -> None:
    """A short block and one that goes by one copy, to either rank, by the table that this host gets."""
    mpi, profile = library(name), tmp_path / "gatherv.cw"
    (tmp_path / "gatherv.c").write_text(GATHERV_C)
    program = mpi.build(tmp_path / "gatherv", tmp_path / "gatherv.c")
    done = corewise("run", "-n", 2, "--mpi", mpi.prefix, "-o", profile, "--accelerate", "--", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines().count("wrong: 0") == 2
    (row,) = [row for row in document("report", profile)["accelerate"] if row["procedure"] == "MPI_Gatherv"]
    assert row["taken"] > 100


TUNING = """\
format,corewise-tuning
version,2
port,shm
machine,host
description,made up
who,nobody
when,2026-01-31
command,none
processor,GenuineIntel-6-1
host,a processor
mpi,mpich 5.0.2
cores,2

set,collective,ranks,bytes_from,bytes_to,measured_bytes,algorithm,latency_us,lost
all,allreduce,{ranks},0,,8,mpi,0.5,
"""


@pytest.mark.parametrize("ranks", [2, 24])
def test_a_tuning_goes_before_the_built_in_table(ranks: int, tmp_path: Path) -> None:
    """What it says of 24 ranks is nothing to 2."""
    mpi, profile, tuning = library("mpich"), tmp_path / "sums.cw", tmp_path / "host.csv"
    tuning.write_text(TUNING.replace("cores,2", "cores,64").format(ranks=ranks))
    options = ["-n", 2, "--mpi", mpi.prefix, "-o", profile, "--accelerate", "--accelerate-tuning", tuning]
    done = corewise("run", *options, "--", sums(mpi, tmp_path))
    assert done.returncode == 0, done.stderr
    (row,) = [row for row in document("report", profile)["accelerate"] if row["procedure"] == "MPI_Allreduce"]
    assert (row["taken"] > 0) == (ranks == 24)


def test_a_tuning_without_the_option_is_refused(tmp_path: Path) -> None:
    done = corewise("run", "-n", 2, "--accelerate-tuning", tmp_path / "host.csv", "--", "true")
    assert_one_line_error(done, "--accelerate-tuning", "without --accelerate")


def test_without_the_option_nothing_is_counted(tmp_path: Path) -> None:
    mpi, profile = library("mpich"), tmp_path / "sums.cw"
    done = corewise("run", "-n", 2, "--mpi", mpi.prefix, "-o", profile, "--", sums(mpi, tmp_path))
    assert done.returncode == 0, done.stderr
    assert (list(profile.glob("accelerate*")), document("report", profile)["accelerate"]) == ([], [])


def test_the_library_can_be_built_ahead() -> None:
    mpi = library("mpich")
    done = corewise("build-preload", "--mpi", mpi.prefix, "--accelerate")
    assert done.stdout.split() == [str(accelerate_library("mpich"))]
    refused = corewise("build-preload", "--mpi", mpi.prefix, "--accelerate", "--without", "sites")
    assert_one_line_error(refused, "--without", "'sites'", "--accelerate")
