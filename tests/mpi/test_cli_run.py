"""``corewise run`` and ``build-preload`` as a user meets them, on real MPIs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import os
import shutil
from pathlib import Path

import documents
import pytest
from conftest import ROOT, Mpi, find_mpi
from installed_tool import assert_one_line_error, corewise, document
from preload_runs import described

from corewise.data.machines import load_machine
from corewise.data.placement import make_placement, save_placement

BUILDING = "building the preload for"
BUFFER_BYTES, MESSAGE_RECORD_BYTES = 4096, 32

# Three messages of 40 bytes each from rank 0 to rank 1, on any MPI.
SEND_C = r"""
#include <mpi.h>

int main(int argc, char** argv) {
  int data[10] = {0}, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 3; ++i) {
    if (rank == 0) MPI_Send(data, 10, MPI_INT, 1, i, MPI_COMM_WORLD);
    else MPI_Recv(data, 10, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
"""


def ring(mpi: Mpi) -> Path:
    """The bundled ring, as `make apps` builds it."""
    program = ROOT / "build" / "apps" / mpi.name / "ring"
    assert program.is_file(), f"{program} is missing: make apps"
    return program


def counted(path: Path) -> list[dict[str, int]]:
    """The program's own count, as a report writes its matrix."""
    with path.open(newline="") as file:
        rows = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]
    names = {"from": "from", "to": "to", "bytes": "bytes", "count": "messages"}
    return [{names[key]: value for key, value in row.items()} for row in rows if row["count"] > 0]


def sent(profile: Path) -> list[dict[str, int]]:
    """The profile's matrix of messages."""
    matrix: list[dict[str, int]] = document("report", profile)["matrix"]["sent"]
    return matrix


def test_the_rings_matrix_through_small_buffers(mpi: Mpi, tmp_path: Path) -> None:
    """Ten times what the buffers hold: full ones are drained inline, nothing is lost."""
    counts, profile = tmp_path / "counts.csv", tmp_path / "ring.cw"
    program = [ring(mpi), "--bytes", 512, "--rounds", 500, "--count-file", counts]
    options = ["-n", 2, "--mpi", mpi.prefix, "--buffer", "4 KiB", "-o", profile, "--json"]
    done = corewise("run", *options, "--", *program)
    assert done.returncode == 0, done.stderr
    # Standard output is the object's alone: the program's own goes to standard error.
    (row,) = documents.read(done.stdout)["rows"]
    assert (row["profile"], row["ranks_seen"], row["exit_status"]) == (str(profile), 2, 0)
    assert sent(profile) == counted(counts)
    assert document("report", profile)["records"] > 2 * 10 * BUFFER_BYTES / MESSAGE_RECORD_BYTES


def test_the_standard_abi_is_recognised_and_recorded(mpi_abi: Mpi, tmp_path: Path) -> None:
    """One program for any library with the ABI: its preload is chosen by what the program links."""
    (tmp_path / "send.c").write_text(SEND_C)
    program = mpi_abi.build(tmp_path / "send", tmp_path / "send.c")
    profile = tmp_path / "send.cw"
    done = corewise("run", "-n", 2, "--mpi", mpi_abi.prefix, "-o", profile, "--", program)
    assert done.returncode == 0, done.stderr
    assert sent(profile) == [{"from": 0, "to": 1, "bytes": 120, "messages": 3}]
    assert document("report", profile)["mpi"]["name"] == "abi"


# --- placements -------------------------------------------------------------------------------------------


def host_placement(folder: Path) -> tuple[Path, list[int]]:
    """Two ranks (one on a host of one core) on this host against rank order: the file, and their CPUs."""
    host = load_machine("host")
    units = list(reversed(range(min(2, len(host.units)))))
    path = folder / "placement.json"
    save_placement(make_placement(host, units), path)
    return path, [host.units[unit].os_index for unit in units]


def test_placement_binds_as_the_file_says(mpi: Mpi, tmp_path: Path) -> None:
    file, cpus = host_placement(tmp_path)
    profile = tmp_path / "bound.cw"
    options = ["-n", len(cpus), "--mpi", mpi.prefix, "--placement", file, "-o", profile]
    done = corewise("run", *options, "--", ring(mpi), "--rounds", 5)
    assert done.returncode == 0, done.stderr
    allowed = [row["cpus"] for row in document("report", profile)["rank_rows"]]
    # Open MPI binds to a whole core, which may have several processing units.
    assert [int(text.replace("-", ",").split(",")[0]) for text in allowed] == cpus
    assert len(set(allowed)) == len(cpus)


def test_a_placement_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    file, cpus = host_placement(tmp_path)
    mpich = find_mpi("mpich")
    run = ["run", "--mpi", mpich.prefix, "-o", tmp_path / "x.cw", "--placement"]
    many = corewise(*run, file, "-n", len(cpus) + 1, "--", ring(mpich))
    assert_one_line_error(many, file.name, f"places {len(cpus)} ranks", f"-n is {len(cpus) + 1}")
    cell = load_machine("cell-be")
    save_placement(make_placement(cell, [0, 1]), tmp_path / "cell.json")
    foreign = corewise(*run, tmp_path / "cell.json", "-n", 2, "--", ring(mpich))
    assert_one_line_error(foreign, "cell.json", "cell-be")


# --- the preload and its cache ----------------------------------------------------------------------------


def wrapper_for(compiler: str, folder: Path, name: str, log: Path) -> Path:
    """A compiler that logs its calls, preprocesses in earnest and otherwise leaves an empty library.

    Its version is what the file beside the log says.
    """
    path = folder / name
    path.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec cat {log}.version\necho "$1" >> {log}\n'
        f'[ "$1" = -E ] && exec {compiler} "$@"\n'
        'while [ "$1" != -o ]; do shift; done\n: > "$2"\n'
    )
    path.chmod(0o755)
    return path


def test_a_built_preload_is_kept(tmp_path: Path) -> None:
    """The second call compiles nothing; another compiler does, or another version under the same name.

    That it compiles is said in a line, also where nobody watches.
    """
    mpi = find_mpi("mpich")
    log = tmp_path / "calls"
    (tmp_path / "calls.version").write_text("1\n")
    real = shutil.which(os.environ.get("CXX") or "g++")
    assert real is not None
    first, other = (wrapper_for(real, tmp_path, name, log) for name in ("one-cxx", "other-cxx"))
    environment = {key: value for key, value in os.environ.items() if key != "XDG_CACHE_HOME"}
    environment |= {"HOME": str(tmp_path / "home"), "CXX": str(first)}

    said: list[str] = []

    def build() -> Path:
        done = corewise("build-preload", "--mpi", mpi.prefix, "--json", env=environment)
        assert done.returncode == 0, done.stderr
        said.append(done.stderr)
        (row,) = documents.read(done.stdout)["rows"]
        assert row["mpi"] == mpi.name
        return Path(row["library"])

    library = build()
    assert library.is_relative_to(tmp_path / "home" / ".cache" / "corewise")
    before = (library.stat().st_mtime_ns, log.read_text())
    each = before[1].count("\n")
    assert each >= 2
    assert build() == library
    assert (library.stat().st_mtime_ns, log.read_text()) == before
    assert said[0].splitlines() == [f"corewise: {BUILDING} mpich {described('mpich').version}, once"]
    assert said[1] == ""
    environment["CXX"] = str(other)
    assert build() != library
    assert log.read_text().count("\n") == 2 * each
    (tmp_path / "calls.version").write_text("2\n")
    assert build() not in (library, before)
    assert log.read_text().count("\n") == 3 * each
    # A wrapper in front of the compiler, as ccache is.
    environment["CXX"] = f"env {other}"
    build()
    assert log.read_text().count("\n") == 4 * each


@pytest.mark.parametrize("named", ["no-such-compiler", "'"])
def test_a_compiler_that_is_not_there_is_refused(named: str, tmp_path: Path) -> None:
    environment = {**os.environ, "CXX": named, "XDG_CACHE_HOME": str(tmp_path)}
    mpich = find_mpi("mpich")
    done = corewise("build-preload", "--mpi", mpich.prefix, env=environment)
    assert_one_line_error(done, "CXX", f"found '{named}'")
