"""Regions and phases in C, C++, Fortran and Python; MPI_Pcontrol (paper 003, table 1).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from functions_runs import FLAGS, HOOKS, SOURCES, built, events, nested
from installed_tool import corewise
from preload_runs import MPI_NAMES, library, record
from trace_decoder import decode_folder

from corewise.mpi import build

SWAP = ["+swap_messages", "-swap_messages"]
CONTROLLED = [
    *("+main", "=begun before MPI_Init", "<whole program", *SWAP, "level 0"),
    *("level 1", "=begun while stopped", *SWAP),
    # Entered before the stop, left during it; entered during the stop, left after it.
    *("+across", "level 0", "-across", "level 1", "+across", "-across"),
    *("+entered_before_the_stop", "<begun before the stop", "level 0"),
    *(">begun before the stop", "-entered_before_the_stop", "level 1"),
    *("+entered_before_the_resume", "<begun before the resume", ">begun before the resume"),
    *("-entered_before_the_resume", *SWAP, ">whole program"),
    *("<after MPI_Finalize", ">after MPI_Finalize", "-main"),
]


@pytest.mark.parametrize("name", MPI_NAMES)
def test_recording_stops_and_resumes(name: str, tmp_path: Path) -> None:
    """Across a stop functions and regions nest, and requests keep their meaning."""
    program = built(name, tmp_path, "control.c", [HOOKS])
    folder = tmp_path / "traces"
    folder.mkdir()
    done = record(name, 2, program, folder).succeeded()
    assert done.out == ""
    for rank, trace in done.ranks.items():
        assert events(trace) == CONTROLLED
        assert nested(events(trace))
        assert (len(trace.slots), trace.losses()) == (1, {})
        tags = {
            role: [each.tag for each in trace.records if each.role == role]
            for role in ("send", "post_receive", "arrival")
        }
        # 4 was posted while recording and completed while stopped, 5 the reverse, 2 never seen.
        assert tags == {"send": [1, 3, 5, 6], "post_receive": [1, 3, 4, 6], "arrival": [1, 3, 5, 6]}
        assert {(r.peer, r.bytes) for r in trace.records if r.role == "arrival"} == {(1 - rank, 4)}
        stopped = [each.start for each in trace.records if each.role == "recording"]
        assert len(stopped) == 6
        quiet = [
            each.procedure
            for each in trace.records
            for stop, resume in zip(stopped[::2], stopped[1::2], strict=True)
            if each.procedure and stop < each.start < resume and each.role not in ("arrival", "recording")
        ]
        # What resumes recording is itself recorded, from its call on.
        assert set(quiet) == {"MPI_Pcontrol"}


def test_a_thread_that_catches_up(tmp_path: Path) -> None:
    """What began and ended while recording was stopped stays out; a filter's look-up leaves errno alone."""
    program = built("mpich", tmp_path, "catching_up.c", [HOOKS])
    profile = tmp_path / "catching_up.cw"
    done = corewise(
        *["run", "-n", 1, "--mpi", library("mpich").prefix, "-o", profile, "--functions", "!in_thread", "--"],
        program,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    trace = decode_folder(profile)[0]
    slots = range(len(trace.slots))
    regions = [text for slot in slots for text in events(trace, slot) if text[0] in "<>"]
    assert regions == ["<while recording", ">while recording"]


REPEATED = ["<step 0", ">step 0", "<step 1", ">step 1", "<step 0", ">step 0", "<step 1", ">step 1"]
FORTRAN = ["<fortran", "<padded", ">padded", ">fortran", "=fortran phase"]
NAMES, DEEPEST, DEEP, MANY = 1024, 32, 40, 1100


@pytest.mark.parametrize("name", MPI_NAMES)
@pytest.mark.parametrize("language", ["c", "fortran"])
def test_names(name: str, language: str, tmp_path: Path) -> None:
    """Told apart by their text, wherever it lies; bounded in length, number and depth, the rest counted."""
    flags: list[str] = []
    if language == "fortran":
        compiler = shutil.which("gfortran")
        if compiler is None:
            pytest.skip("capability: no gfortran")
        sources = [build.include_folder() / "corewise.f90", SOURCES / "work.f90"]
        objects = [str(tmp_path / f"{source.stem}.o") for source in sources]
        for source, output in zip(sources, objects, strict=True):
            command = [compiler, "-std=f2008", "-Wall", "-Werror", "-c", str(source), "-o", output]
            subprocess.run(command, check=True, cwd=tmp_path)
        flags = ["-DWITH_FORTRAN", *objects, "-lgfortran"]
    source = ["-no-pie"] if name == "mpich" else []
    program = tmp_path / "regions"
    mpi = library(name)
    command = [str(mpi.mpicc), "-O2", str(SOURCES / "regions.c"), *flags, *source, *FLAGS, "-o", str(program)]
    subprocess.run(command, check=True)
    folder = tmp_path / "traces"
    folder.mkdir()
    trace = record(name, 1, program, folder).succeeded().ranks[0]
    found = events(trace)
    fortran = FORTRAN if flags else []
    deep = ["<deep"] * DEEPEST + [">deep"] * DEEPEST
    before = [*REPEATED, "<" + "x" * 255, ">" + "x" * 255, "<", ">", *fortran, *deep]
    assert found[: len(before)] == before
    known = len({text[1:] for text in before} | {"thread", "inner"})
    kept = [f"=many {i}" for i in range(NAMES - known)]
    assert found[len(before) :] == kept
    assert events(trace, 1) == ["<thread", "<inner", ">inner", ">thread"]
    assert len(trace.regions) == NAMES
    assert trace.losses() == {"lost_names": DEEP - DEEPEST + MANY - len(kept)}


def test_without_a_profile_nothing_happens(tmp_path: Path) -> None:
    """The header's calls find nobody, also in C++ and without optimisation."""
    for number, (options, compiler) in enumerate(
        (([], "mpicc"), (["-O0", "-no-pie", "-fno-pie"], "mpicc"), (["-x", "c++", "-O0"], "mpicxx"))
    ):
        output = tmp_path / f"regions{number}"
        tool = str(getattr(library("mpich"), compiler))
        source = tmp_path / "calls.c"
        source.write_text(
            '#include "corewise.h"\nint main(void) { corewise_phase("p"); corewise_begin("a"); '
            "corewise_end(); corewise_end(); return 7; }\n"
        )
        flags = [*options, "-Wall", "-Wextra", "-Werror", f"-I{build.include_folder()}", "-o", str(output)]
        subprocess.run([tool, *flags, str(source)], check=True)
        assert subprocess.run([str(output)], check=False).returncode == 7
        symbols = subprocess.run(["nm", "-D", str(output)], capture_output=True, text=True, check=True).stdout
        assert " w corewise_begin" in symbols


PYTHON = """
from corewise import regions
regions.phase("before MPI")
with regions.region("outer"):
    from mpi4py import MPI

    @regions.region("step")
    def step(n):
        if n == 1:
            raise ValueError(n)

    for n in range(2):
        try:
            step(n)
        except ValueError:
            pass
    regions.begin("\\u00fcber")
    regions.end()
    regions.phase("solve")
regions.end()
print("through")
"""


def test_python(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PYTHON)
    folder = tmp_path / "traces"
    folder.mkdir()
    done = record("mpich", 1, sys.executable, folder, [script]).succeeded()
    assert done.out == "through\n"
    steps = ["<step", ">step"] * 2
    assert events(done.ranks[0]) == [
        *("=before MPI", "<outer", *steps, "<\u00fcber", ">\u00fcber", "=solve", ">outer"),
    ]
    # The same without a profile: mpi4py's wheel takes the MPI that the loader finds.
    plain = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False,
        env={**os.environ, "LD_LIBRARY_PATH": str(library("mpich").prefix / "lib")},
    )  # fmt: skip
    assert (plain.returncode, plain.stdout) == (0, "through\n")
