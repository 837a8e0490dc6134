"""Ranks are where a placement says, or the run says why not: launchers that bind, refuse, or do otherwise.

The wheels' MPIs and Debian's (Open MPI 4.1 and MPICH, both under the prefix /usr), where they are installed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import CORES, find_mpi
from installed_tool import corewise, document
from preload_runs import preload

from corewise.data.machines import load_machine
from corewise.data.placement import make_placement, save_placement
from corewise.mpi import find
from corewise.mpi.recorded import recorded_program

pytestmark = pytest.mark.first_test

HERE = Path(__file__).resolve().parent
LAUNCHERS = ("openmpi", "mpich", "mpiexec.openmpi", "mpiexec.mpich")
UNITS = [unit.os_index for unit in load_machine("host").units]
RANKS = min(2, CORES, len(UNITS))
ROUNDS = 8


def launcher_of(name: str) -> Path:
    """The wheels' launcher, or Debian's by its own name."""
    if not name.startswith("mpiexec"):
        return find_mpi(name).mpiexec
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"capability: no Debian MPI ({name})")
    return Path(found)


def ring(name: str, folder: Path) -> Path:
    """The program reordering/world.c, for the MPI of a launcher."""
    launcher = launcher_of(name)
    compiler = launcher.with_name(launcher.name.replace("mpiexec", "mpicc"))
    output = folder / "world"
    source = HERE / "reordering" / "world.c"
    flags = ["-D_GNU_SOURCE", "-Wno-deprecated-declarations", "-pthread", "-w"]
    subprocess.run([str(compiler), *flags, "-o", str(output), str(source)], check=True)
    return output


def reversed_placement(folder: Path) -> Path:
    """Ranks against the order of cores."""
    file = folder / "reversed.json"
    save_placement(make_placement(load_machine("host"), list(reversed(range(RANKS)))), file)
    return file


def cpus_of_ranks(profile: Path) -> list[int]:
    """The first CPU that each rank was allowed to run on, as it was recorded."""
    rows = document("report", profile)["rank_rows"]
    return [int(row["cpus"].replace("-", ",").split(",")[0]) for row in rows]


@pytest.mark.parametrize("option", ["--placement", "--reorder"])
@pytest.mark.parametrize("name", LAUNCHERS)
def test_ranks_are_where_the_placement_says(name: str, option: str, tmp_path: Path) -> None:
    """Bound by the launcher, or bound core by core and reordered."""
    program, profile = ring(name, tmp_path), tmp_path / "world.cw"
    options = ["-n", RANKS, "--mpi", launcher_of(name), option, reversed_placement(tmp_path), "-o", profile]
    done = corewise("run", *options, "--", program)
    assert done.returncode == 0, done.stderr
    assert cpus_of_ranks(profile) == UNITS[:RANKS][::-1]


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_profile_is_verified_by_the_launcher_that_recorded_it(name: str, tmp_path: Path) -> None:
    """Not by what lies under the same prefix."""
    program, profile = ring(name, tmp_path), tmp_path / "world.cw"
    launcher = launcher_of(name)
    done = corewise("run", "-n", RANKS, "--mpi", launcher, "-o", profile, "--", program)
    assert done.returncode == 0, done.stderr
    assert recorded_program(profile) == ([str(program)], RANKS, str(launcher))
    verified = corewise("place", profile, "--machine", "host", "--verify", "--rounds", ROUNDS, "--json")
    assert verified.returncode == 0, verified.stderr
    assert {row["rounds"] for row in json.loads(verified.stdout)["verified"]["rows"]} == {ROUNDS}


def stand_in(folder: Path, body: str) -> Path:
    """MPICH behind a launcher of our own, which does `body` with what it is told to launch."""
    real = find_mpi("mpich")
    folder.mkdir()
    for part in ("include", "lib"):
        (folder / part).symlink_to(real.prefix / part)
    (folder / "bin").mkdir()
    launcher = folder / "bin" / "mpiexec"
    launcher.write_text(
        f'#!/bin/sh\nreal={real.mpiexec}\n[ "$1" = --version ] && exec $real --version\n{body}\n'
    )
    launcher.chmod(0o755)
    return launcher


# What follows is: -n RANKS -bind-to user:1,0 PROGRAM ...
BINDS_OTHERWISE = (
    'if [ "$3" = -bind-to ]; then n=$2; shift 4; set -- -n $n -bind-to none "$@"; fi\nexec $real "$@"'
)
REFUSES = 'if [ "$3" = -bind-to ]; then echo "unrecognized modifier: user" >&2; exit 7; fi\nexec $real "$@"'


@pytest.mark.skipif(RANKS < 2, reason="capability: two cores")
@pytest.mark.parametrize(
    ("body", "said"),
    [(BINDS_OTHERWISE, "does not bind as it was told"), (REFUSES, "status 7, saying: unrecognized modifier")],
)
def test_a_launcher_that_does_not_bind_is_found_out(body: str, said: str, tmp_path: Path) -> None:
    """Before the program runs; `corewise doctor` says it too."""
    launcher, file = stand_in(tmp_path / "mpi", body), reversed_placement(tmp_path)
    for option in ("--placement", "--reorder"):
        options = ["-n", RANKS, "--mpi", launcher, option, file, "-o", tmp_path / "x.cw"]
        done = corewise("run", *options, "--", "/bin/echo", "hello")
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        (line,) = done.stderr.splitlines()
        assert said in line
        assert not (tmp_path / "x.cw").exists()
    environment = {**os.environ, "COREWISE_MPI_PREFIXES": str(tmp_path / "mpi")}
    examined = json.loads(corewise("doctor", "--json", env=environment).stdout)["rows"]
    (row,) = (row for row in examined if str(tmp_path) in row["found"] and row["what"] == "MPI mpich")
    assert said in row["found"]
    assert "run --placement" in row["therefore"]
    assert "off" in row["therefore"]


def test_a_launcher_that_works_is_said_to(tmp_path: Path) -> None:
    rows = {row["what"]: row for row in document("doctor")["rows"]}
    for mpi in find.find_all():
        assert "binds ranks as told" in rows[f"MPI {mpi.name}"]["therefore"]


def test_a_launcher_that_fails_is_named(tmp_path: Path) -> None:
    """Not taken for a program without MPI."""
    launcher = stand_in(tmp_path / "mpi", 'echo "no slots left" >&2; exit 9')
    options = ["-n", 1, "--mpi", launcher, "--preload", preload("mpich"), "-o", tmp_path / "x.cw"]
    done = corewise("run", *options, "--", "/bin/echo", "hello")
    assert done.returncode == 9
    assert "no slots left" in done.stderr
    assert "mpiexec ended with exit status 9" in done.stderr
