"""Programs that are not ours, from Debian's packages, unchanged: what they compute is the same with and
without the preload, and every byte that was sent has arrived.

hpcc (C, all its benchmarks on a small problem), LAMMPS (C++, a melt of 864 atoms) and Quantum ESPRESSO's pw.x
(Fortran, the hydrogen molecule), all under Debian's Open MPI. A program that is not installed is a missing
capability. Inputs are in ``programs/``; hpcc's is Debian's own example, made smaller.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from corewise._core import World, read_run

INPUTS = Path(__file__).resolve().parent / "programs"
COREWISE = Path(sys.executable).parent / "corewise"
LAUNCHER = "mpiexec.openmpi"
HPCC_INPUT = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")


@dataclass(frozen=True)
class Pair:
    """One program's results without and with the preload, and what was recorded."""

    plain: list[str]
    recorded: list[str]
    world: World
    problems: list[str]


def need(program: str) -> str:
    """The program's path; skips where it or its launcher is not installed."""
    for name in (LAUNCHER, program):
        if shutil.which(name) is None:
            pytest.skip(f"capability: {name} is not installed")
    return str(shutil.which(program))


def run_both(
    folder: Path,
    ranks: int,
    command: list[str],
    prepare: Callable[[Path], None],
    results: Callable[[Path, str], list[str]],
) -> Pair:
    """Runs the program in two fresh folders, the second time recorded."""
    found = []
    for name, before in (
        ("plain", [LAUNCHER, "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]),
        ("recorded", [str(COREWISE), "run", "-n", str(ranks), "-o", "profile.cw", "--"]),
    ):
        place = folder / name
        place.mkdir()
        prepare(place)
        done = subprocess.run(
            [*before, *command], cwd=place, capture_output=True, text=True, check=False, timeout=900
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        found.append(results(place, done.stdout))
    profile = read_run(str(folder / "recorded" / "profile.cw"))
    return Pair(found[0], found[1], profile.worlds[0], list(profile.problems))


def check(pair: Pair, ranks: int) -> None:
    """Equal results; nothing lost; sent is received."""
    assert pair.plain, "the program's results were not found in its output"
    assert pair.recorded == pair.plain
    assert pair.problems == []
    assert [rank.rank for rank in pair.world.ranks] == list(range(ranks))
    assert all(rank.ending == "finalized" for rank in pair.world.ranks)
    assert pair.world.differences() == []
    sent, received = pair.world.matrix("sent"), pair.world.matrix("received")
    assert sent.sum() > 0 and (sent == received).all()


@pytest.fixture(scope="module")
def hpcc(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """hpcc on two ranks; the numbers that do not depend on time."""

    def prepare(place: Path) -> None:
        packed = HPCC_INPUT.with_name(HPCC_INPUT.name + ".gz")
        text = (
            HPCC_INPUT.read_text() if HPCC_INPUT.is_file() else gzip.decompress(packed.read_bytes()).decode()
        )
        for setting, value in (("Ns", "192"), ("Ps", "1"), ("NBs", "32")):
            text = re.sub(rf"^\d+(\s+{setting})$", rf"{value}\1", text, flags=re.M)
        (place / "hpccinf.txt").write_text(text)

    def results(place: Path, _: str) -> list[str]:
        wanted = (
            r"^(?:Success|HPL_[RAXB]normI|HPL_N|PTRANS_residual|PTRANS_n|\w+_Errors|MPIFFT_(?:N|maxErr))=.*$"
        )
        return re.findall(wanted, (place / "hpccoutf.txt").read_text(), re.M)

    return run_both(tmp_path_factory.mktemp("hpcc"), 2, [need("hpcc")], prepare, results)


@pytest.fixture(scope="module")
def lammps(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """LAMMPS on four ranks; every atom's place and velocity to the last bit."""
    command = [need("lmp"), "-in", str(INPUTS / "melt.lammps"), "-log", "none", "-var", "dump", "atoms.txt"]
    return run_both(
        tmp_path_factory.mktemp("lammps"),
        4,
        command,
        lambda place: None,
        lambda place, _: (place / "atoms.txt").read_text().splitlines(),
    )


@pytest.fixture(scope="module")
def espresso(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """pw.x on three ranks; energies as printed. The pseudopotential is made by ld1.x of the same package."""

    def prepare(place: Path) -> None:
        with (INPUTS / "hydrogen.ld1").open() as text:
            subprocess.run(
                [need("ld1.x")], stdin=text, cwd=place, check=True, capture_output=True, timeout=600
            )

    def results(_: Path, out: str) -> list[str]:
        return [line for line in out.splitlines() if " energy " in line or "contribution" in line]

    folder = tmp_path_factory.mktemp("espresso")
    return run_both(folder, 3, [need("pw.x"), "-in", str(INPUTS / "hydrogen.pw")], prepare, results)


def test_hpcc_computes_the_same(hpcc: Pair) -> None:
    check(hpcc, 2)
    assert "Success=1" in hpcc.recorded


def test_lammps_computes_the_same(lammps: Pair) -> None:
    check(lammps, 4)
    assert len(lammps.recorded) > 864


def test_quantum_espresso_computes_the_same(espresso: Pair) -> None:
    check(espresso, 3)
    assert any("total energy" in line for line in espresso.recorded)


def test_fortran_calls_of_quantum_espresso_were_seen(espresso: Pair) -> None:
    assert {"MPI_Allreduce", "MPI_Bcast", "MPI_Comm_split", "MPI_Barrier"} <= set(espresso.world.procedures)
