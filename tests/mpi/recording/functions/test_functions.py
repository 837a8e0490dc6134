"""Function entry and exit by the hooks of -finstrument-functions (paper 003, sections 3.1 and 4.2.2).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from functions_runs import HOOKS, built, call, events, nested, with_libraries
from installed_tool import assert_one_line_error, corewise
from preload_runs import library, record
from trace_decoder import decode_folder

PIE, NO_PIE = ("-fPIE", "-pie"), ("-fno-PIE", "-no-pie")
LIBRARY = ["+from_library", "+static_in_library", "-static_in_library", "-from_library"]
PLUGIN = [text.replace("library", "plugin", 1) if "from" in text else text for text in LIBRARY]
RECURSION = call("recursive", "recursive", "recursive", "inlined")
# What longjmp leaves has no exit; what is called without hooks is as if it were not there.
LEAP = ["+catches", "+is_left", "+leaps", "-catches"]
MAIN = [
    *("+main", "+starts", "-starts", *RECURSION),
    *(*call("hidden_inside", "inlined"), *LIBRARY, *LEAP, *call("on_signal")),
    *(*call("runs_a_thread"), *call("forks"), "+loads", *PLUGIN, "-loads"),
    *(*call("after_finalize"), "-main"),
]
# before_init, recursive and inlined had returned when recording started.
LOST = {"lost_functions": 6}


@pytest.mark.parametrize(("name", "flags"), [("openmpi", PIE), ("mpich", PIE), ("mpich", NO_PIE)])
def test_every_entry_and_exit(name: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    """Inlined, static, recursive, in libraries, left by longjmp, in handlers, threads and children."""
    program, plugin = with_libraries(name, tmp_path, flags)
    folder = tmp_path / "traces"
    folder.mkdir()
    trace = record(name, 1, program, folder, [plugin]).succeeded().ranks[0]
    assert events(trace) == MAIN
    assert events(trace, 1) == call("in_thread", "recursive", "recursive", "inlined")
    assert (len(trace.slots), trace.state, trace.losses()) == (2, "finalized", LOST)
    functions = [each for each in trace.slots[0] if each.role.startswith("function_")]
    starts = [each.start for each in functions]
    # main and starts were entered before MPI_Init was called, and in this order.
    init = next(each for each in trace.slots[0] if each.procedure == "MPI_Init")
    assert starts == sorted(starts)
    assert starts[1] < init.start < init.start + init.duration < starts[2]


def test_the_program_behaves_the_same_without_a_profile(tmp_path: Path) -> None:
    """The hooks are there, nobody asked for a trace."""
    program, plugin = with_libraries("mpich", tmp_path)
    done = record("mpich", 1, program, tmp_path, [plugin], knobs={"COREWISE_TRACE_DIR": ""})
    assert (done.status, done.out, done.err) == (0, "", "")
    assert not list(tmp_path.glob("*.cwt"))


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_exceptions_leave_no_function_open(name: str, tmp_path: Path) -> None:
    program = built(name, tmp_path, "exceptions.cpp", [HOOKS])
    folder = tmp_path / "traces"
    folder.mkdir()
    trace = record(name, 1, program, folder).succeeded().ranks[0]
    inside = [*call("Guard"), *call("throws"), *call("~Guard")]
    assert events(trace) == [
        "+main",
        "+catches",
        "+passes<int>",
        *inside,
        "-passes<int>",
        "-catches",
        "-main",
    ]
    assert nested(events(trace))


DEEP_C = r"""
#include <mpi.h>

__attribute__((noinline)) int deep(int depth) {
  if (depth == 0) return MPI_Init(0, 0) + MPI_Finalize();
  return deep(depth - 1) + 1;
}

int main(void) {
  return deep(99) == 99 ? 0 : 1;
}
"""


def test_what_is_open_at_the_start_is_bounded(tmp_path: Path) -> None:
    """101 functions are open: 64 entries are kept, the others counted."""
    source = tmp_path / "deep.c"
    source.write_text(DEEP_C)
    program = library("mpich").build(tmp_path / "deep", source, flags=[HOOKS, "-fno-optimize-sibling-calls"])
    folder = tmp_path / "traces"
    folder.mkdir()
    trace = record("mpich", 1, program, folder).succeeded().ranks[0]
    assert events(trace) == ["+main"] + ["+deep"] * 63 + ["-deep"] * 100 + ["-main"]
    assert trace.losses() == {"lost_functions": 101 - 64}


# --- filters ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """functions.c for MPICH, and its plugin."""
    return with_libraries("mpich", tmp_path_factory.mktemp("filters"))


def chosen(program: tuple[Path, Path], folder: Path, *options: object) -> list[str]:
    """What `corewise run` with these options records of the main thread."""
    profile = folder / "chosen.cw"
    run = ["run", "-n", 1, "--mpi", library("mpich").prefix, "-o", profile, *options]
    done = corewise(*run, "--", *program)
    assert done.returncode == 0, done.stderr
    trace = decode_folder(profile)[0]
    assert nested(events(trace)) or "-catches" in events(trace)
    return events(trace)


def only(*names: str) -> list[str]:
    """What is left when these are recorded."""
    return [text for text in MAIN if text[1:] in names]


def test_filters_by_name(program: tuple[Path, Path], tmp_path: Path) -> None:
    """Patterns that record, patterns that leave out, both; a linked library, and one that is loaded."""
    asked = ["--functions", "from_*", "--functions", "recursive"]
    assert chosen(program, tmp_path / "1", *asked) == only("from_library", "recursive")
    asked += ["--function-library", program[1], "--functions", "!recurs*"]
    assert chosen(program, tmp_path / "2", *asked) == only("from_library", "from_plugin")
    left = [text for text in MAIN if "inlined" not in text and "static" not in text]
    found = chosen(program, tmp_path / "3", "--functions", "!inlined", "--functions", "!static_*")
    # The plugin was not named, so nobody knows which of its functions is the static one.
    assert found == left[: left.index("+from_plugin") + 1] + PLUGIN[1:] + left[left.index("-loads") :]


def test_filters_by_time_and_depth(program: tuple[Path, Path], tmp_path: Path) -> None:
    """Short functions vanish with all that is in them; what holds an MPI call or never returned stays."""
    long = chosen(program, tmp_path / "1", "--min-function-time", "10 s")
    assert long == ["+main", "+starts", "-starts", *LEAP, "-main"]
    expected, depth = [], 0
    for text in MAIN:
        depth -= text[0] == "-"
        if text == "-catches":
            depth -= 2  # is_left and leaps
        if depth < 2:
            expected.append(text)
        depth += text[0] == "+"
    assert chosen(program, tmp_path / "2", "--function-depth", 2) == expected
    both = chosen(program, tmp_path / "3", "--function-depth", 1, "--functions", "recursive")
    assert both == call("recursive")


def test_a_filter_that_says_nothing_is_refused(program: tuple[Path, Path], tmp_path: Path) -> None:
    run = ["run", "-n", 1, "--mpi", library("mpich").prefix, "-o", tmp_path / "x.cw"]
    for options, words in (
        (["--functions", "recursiv"], ("--functions", "'recursiv'", "recursive")),
        (["--functions", "!"], ("--functions", "'!'", "allowed")),
        (["--functions", ""], ("--functions", "''", "allowed")),
        (["--function-depth", -1], ("--function-depth", "-1", "1 to 63")),
        (["--function-depth", 64], ("--function-depth", "64", "1 to 63")),
        (["--min-function-time", "1"], ("--min-function-time", "'1'", "us")),
        (["--min-function-time", "1 year"], ("--min-function-time", "'1 year'", "us")),
        (["--function-library", __file__], ("--function-library", "test_functions.py", "shared library")),
    ):
        done = corewise(*run, *options, "--", *program)
        assert_one_line_error(done, *words)
    none = corewise(*run, "--functions", "zzz*", "--", *program)
    assert_one_line_error(none, "'zzz*'", "matches no instrumented function")
    # What compiler and linker add is no function of the program's.
    assert not re.search(r"\b(_init|_fini|_start|__do_global\w*|frame_dummy|\w*_tm_clones)\b", none.stderr)
    plain = built("mpich", tmp_path, "exceptions.cpp")
    done = corewise(*run, "--functions", "main", "--", plain)
    assert_one_line_error(done, "exceptions", "-finstrument-functions", "--function-library")
    assert not (tmp_path / "x.cw").exists()
