"""Faults while a helper thread drains, or the recording thread does: all records, and the program as it was.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from preload_runs import SUDDEN, assert_known_calls, library, program, record
from trace_decoder import PROC_NULL, Trace

FAULT_CALLS = 40_000
SMALL = "4 KiB"
"""Halves that fill some forty times in each of these runs."""
THREAD = {"COREWISE_TRACE_MODE": "thread", "COREWISE_TRACE_BUFFER": SMALL}
MODES = {"drain": {"COREWISE_TRACE_MODE": "drain", "COREWISE_TRACE_BUFFER": SMALL}, "thread": THREAD}
MODE_NUMBERS = {"drain": 0, "flight": 1, "thread": 2}


@pytest.mark.parametrize("how", ["kill", "segv", "abort", "_exit", "exec"])
def test_a_helper_thread_loses_nothing_either(name: str, how: str, tmp_path: Path) -> None:
    done = record(name, 2, program(name, "ends"), tmp_path, [how], knobs=THREAD, timeout=600)
    plain = library(name).run(2, program(name, "ends"), [how], timeout=600)
    assert (done.status, done.out) == (plain.returncode, done.out if plain.returncode else plain.stdout)
    assert sorted(done.ranks) == [0, 1]
    for trace in done.ranks.values():
        assert trace.number("mode") == MODE_NUMBERS["thread"]
        assert_known_calls(trace)
    ended = done.ranks[1]
    assert ended.state == SUDDEN.get(how, "aborted" if how == "abort" else "finalized")


def sends(trace: Trace, function: str) -> list[int]:
    """Tags of what a function sent."""
    found = trace.by_function().get(function, [])
    assert {(r.procedure, r.role, r.peer, r.bytes) for r in found} <= {("MPI_Send", "send", PROC_NULL, 4)}
    return [r.tag for r in found]


@pytest.mark.parametrize("mode", sorted(MODES))
def test_children_that_end_in_any_way(name: str, mode: str, tmp_path: Path) -> None:
    plain = library(name).run(1, program(name, "faults"), ["children"])
    done = record(name, 1, program(name, "faults"), tmp_path, ["children"], knobs=MODES[mode])
    assert (done.status, done.out, done.err) == (plain.returncode, plain.stdout, plain.stderr)
    assert (done.status, done.out) == (3, "ok faults\n")
    assert [p.name for p in tmp_path.iterdir()] == ["rank-00000.cwt"]
    trace = done.ranks[0]
    assert (trace.state, trace.losses()) == ("finalized", {})
    assert sends(trace, "known_calls") == list(range(FAULT_CALLS))
    assert Counter(r.role for r in trace.by_function()["outstanding"])["arrival"] == 200


@pytest.mark.parametrize("mode", sorted(MODES))
def test_calls_in_signal_handlers(name: str, mode: str, tmp_path: Path) -> None:
    done = record(name, 1, program(name, "faults"), tmp_path, ["handler"], knobs=MODES[mode])
    assert (done.status, done.out, done.err) == (3, "ok faults\n", "")
    trace = done.ranks[0]
    known = sends(trace, "known_calls")
    assert known and known == [i % FAULT_CALLS for i in range(len(known))]
    assert len(known) % FAULT_CALLS == 0
    # A call in a handler inside an MPI call is that call's; one that interrupts the recorder is counted.
    assert set(sends(trace, "in_handler")) <= {1}
    assert set(trace.losses()) <= {"lost_nested"}


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_threads_that_come_and_go(name: str, tmp_path: Path) -> None:
    done = record(name, 2, program(name, "threads"), tmp_path, knobs=THREAD).succeeded()
    for trace in done.ranks.values():
        assert (trace.losses(), trace.number("mode")) == ({}, MODE_NUMBERS["thread"])
        assert len(trace.slots) <= 5
        visits = Counter(r.event for r in trace.by_function()["visit"])
        assert visits == {("MPI_Send", "send", PROC_NULL, 0, 4): 1000}


def test_a_helper_thread_on_a_full_disk(name: str, tmp_path: Path) -> None:
    plain = library(name).run(1, program(name, "hostile"), ["file_size"])
    done = record(name, 1, program(name, "hostile"), tmp_path, ["file_size"], knobs=THREAD)
    assert (done.status, done.out, done.err) == (plain.returncode, plain.stdout, plain.stderr)
    trace = done.ranks[0]
    tags = [r.tag for r in trace.records if r.procedure == "MPI_Send"]
    assert tags == list(range(len(tags))) and len(tags) >= 2000
    assert trace.losses()["lost_bytes"] > 0
    assert trace.state == "finalized"


WITHOUT_PRIVILEGE = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]
"""Root that may write only where the mode says so."""


def may_write(folder: Path) -> bool:
    """Whether a rank started in this way can make a file there."""
    touch = ["touch", str(folder / "tried")]
    return subprocess.run([*WITHOUT_PRIVILEGE, *touch], check=False, capture_output=True).returncode == 0


def test_a_folder_that_may_not_be_written(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    command = [str(program(name, "faults")), "children"]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None or not may_write(tmp_path) or may_write(folder):
            pytest.skip("capability: root cannot give up its privilege to write here")
        command = [*WITHOUT_PRIVILEGE, *command]
    done = record(name, 1, command[0], folder, command[1:])
    assert (done.status, done.out, done.err) == (3, "ok faults\n", "")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("mode", ["drain", "flight", "thread"])
def test_memory_of_a_rank_is_bounded(name: str, mode: str, tmp_path: Path) -> None:
    """Private pages that the preload adds and what its trace file has mapped, in KiB; the default buffers."""
    plain = library(name).run(1, program(name, "faults"), ["memory"])
    done = record(name, 1, program(name, "faults"), tmp_path, ["memory"], knobs={"COREWISE_TRACE_MODE": mode})
    without, nothing = (int(word) for word in plain.stdout.split())
    private, mapped = (int(word) for word in done.out.split())
    assert (done.status, nothing) == (3, 0)
    assert 64 <= mapped <= 200
    assert private - without + mapped <= 512
    assert 128 * 1024 <= done.ranks[0].number("memory_bytes") <= 512 * 1024
