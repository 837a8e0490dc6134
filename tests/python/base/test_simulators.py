"""A corewise that was compiled without its simulators: what works, and what says that they are missing.

The build that `make demo` makes is too long for a test. Here the module that takes the simulators' place is
loaded under their name, and the build is only configured.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import trace_writer as tw
from trace_writer import RankTrace

from corewise import InputError, _core
from corewise.base import simulators
from corewise.data.machines import load_machine
from corewise.trials import host

ROOT = Path(__file__).resolve().parents[3]
STAND_IN = ROOT / "src" / "bind" / "lab" / "without_lab.py"
RUN = """
import contextlib, importlib.util, io, json, sys

spec = importlib.util.spec_from_file_location("corewise._lab", sys.argv[1])
sys.modules["corewise._lab"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["corewise._lab"])
from corewise.cli.main import execute

for line in json.loads(sys.argv[2]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = execute(line)
    print(json.dumps([status, out.getvalue(), err.getvalue()]))
"""


@dataclass(frozen=True)
class Done:
    """A command in such a corewise."""

    status: int
    out: str
    err: str


NEED_THEM = {
    "sim on a Cell": ["sim", "ring", "ranks=8", "bytes=1KiB", "--machine", "cell-be"],
    "collective": ["collective", "broadcast", "--ranks", "4", "--bytes", "1KiB", "--machine", "cell-be"],
    "collective list": ["collective", "list"],
    "simcc": ["simcc", "program.c", "-o", "program"],
    "simrun": ["simrun", "-n", "2", "--machine", "ring:4", "program"],
    "replay": ["replay", "p.cw", "--machine", "ring:4"],
    "explore on a Cell": ["explore", "ring", "ranks=3", "bytes=1KiB", "--machine", "cell-be"],
    "place by time on a Cell": ["place", "p.cw", "--machine", "cell-be", "--objective", "simulated"],
    "paper": ["paper", "affinity", "--quick"],
    "paper mapping": ["paper", "mapping", "--quick"],
}
WORK = {
    "version": ["--version"],
    "report": ["report", "p.cw", "--machine", "cell-be", "--html", "report.html"],
    "place": ["place", "p.cw", "--machine", "cell-be", "-o", "placement.json"],
    "sim": ["sim", "ring", "ranks=4", "bytes=1KiB", "--machine", "ring:4"],
    "place by time": ["place", "p.cw", "--machine", "ring:4", "--objective", "simulated"],
    "matrix": ["matrix", "p.cw"],
}


def profile(folder: Path) -> Path:
    """Two ranks that exchange a message."""
    traces = []
    for rank in range(2):
        trace = RankTrace(rank, 2)
        trace.put(tw.PLAIN, "MPI_Init", ticks=70_000)
        trace.put(tw.SEND, "MPI_Send", 1 - rank, 500, ticks=37)
        trace.put(tw.RECEIVE, "MPI_Recv", 1 - rank, 500, ticks=4_321)
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=9_000)
        traces.append(trace)
    return tw.write_run(folder, traces)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("without")
    profile(where / "p.cw")
    (where / "program.c").write_text("int main(void) { return 0; }\n")
    (where / "program").write_bytes(b"\x7fELF")
    return where


@pytest.fixture(scope="module")
def done(folder: Path) -> dict[str, Done]:
    """Every command, one after the other in one process."""
    lines = {**NEED_THEM, **WORK}
    words = [sys.executable, "-c", RUN, str(STAND_IN), json.dumps(list(lines.values()))]
    ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    rows = [Done(*json.loads(row)) for row in ran.stdout.splitlines()]
    return dict(zip(lines, rows, strict=True))


@pytest.mark.parametrize("name", NEED_THEM)
def test_a_command_that_needs_them_says_what_to_type(name: str, done: dict[str, Done]) -> None:
    found = done[name]
    assert found.status == 2
    assert found.out == ""
    assert len(found.err.splitlines()) == 1
    assert "simulators" in found.err and "`make package`" in found.err


def test_nothing_is_left_by_them(folder: Path, done: dict[str, Done]) -> None:
    assert done
    left = {each.name for each in folder.iterdir()}
    assert left == {"p.cw", "program.c", "program", "report.html", "placement.json"}


@pytest.mark.parametrize("name", WORK)
def test_what_the_demo_does_works_without_them(name: str, done: dict[str, Done]) -> None:
    assert (done[name].status, "internal error" in done[name].err) == (0, False), done[name].err


def test_a_report_says_what_is_left_out(done: dict[str, Done]) -> None:
    (note,) = [line for line in done["report"].err.splitlines() if "make package" in line]
    assert "p.cw: not replayed on the ideal machine: simulators" in note


def test_doctor_says_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.find, "find_all", lambda: [])

    def rows() -> list[host.Finding]:
        return [each for each in host.examine() if each.what == "simulators"]

    assert rows() == [] and simulators.missing() == ""
    spec = importlib.util.spec_from_file_location("corewise._lab", STAND_IN)
    assert spec is not None and spec.loader is not None
    stand_in = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stand_in)
    monkeypatch.setitem(sys.modules, "corewise._lab", stand_in)
    (row,) = rows()
    assert not row.present
    assert "`make package`" in row.found and "replay" in row.therefore
    with pytest.raises(InputError, match="simulators"):
        simulators.require()
    with pytest.raises(InputError, match="simulators"):
        _core.contended_times(
            load_machine("cell-be"),
            _core.generate("ring", {"ranks": "2", "bytes": "1 KiB"}),
            np.zeros((1, 2), np.int32),
            "simulated",
        )


def test_the_demos_build_compiles_no_simulator(tmp_path: Path) -> None:
    """What ninja would do, and what would be installed."""
    tools = Path(sys.executable).parent
    options = {
        "COREWISE_PYTHON": "ON",
        "COREWISE_TESTS": "OFF",
        "COREWISE_UNITY": "ON",
        "COREWISE_QUICK": "ON",
        "CMAKE_MAKE_PROGRAM": tools / "ninja",
        "Python_EXECUTABLE": sys.executable,
    }
    words = [tools / "cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path]
    words += [f"-D{name}={value}" for name, value in options.items()]
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    subprocess.run(words, check=True, capture_output=True, env=environment)
    plan = subprocess.run([tools / "ninja", "-C", tmp_path, "-n"], check=True, capture_output=True, text=True)
    built = {word for line in plan.stdout.splitlines() for word in line.split() if "/CMakeFiles/" in word}
    targets = {word.partition("/CMakeFiles/")[2].partition(".dir/")[0] for word in built}
    assert {"_core", "corewise_pattern", "corewise_profile", "corewise_sim"} <= targets
    assert not targets & {
        "_lab",
        *(f"corewise_{room}" for room in ("cell", "lab", "replay", "shm", "simmpi")),
    }
    installed = (tmp_path / "src" / "bind" / "cmake_install.cmake").read_text()
    assert 'RENAME "_lab.py"' in installed and "without_lab.py" in installed
    rooms = (tmp_path / "cmake_install.cmake").read_text()
    assert "src/bind/cmake_install.cmake" in rooms and "src/simmpi/cmake_install.cmake" not in rooms
