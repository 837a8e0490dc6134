"""Functions where it is hard: in signal handlers at any instruction, in threads without end, until SIGKILL.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from functions_runs import HOOKS, built, events, nested
from preload_runs import record

CALLS, THREADS, CALLS_OF_THREAD = 20000, 16, 500


@pytest.mark.parametrize(
    ("name", "mode", "killed"),
    [("openmpi", "drain", True), ("mpich", "drain", False), ("mpich", "thread", False)],
)
def test_nothing_is_lost_or_mixed_up(name: str, mode: str, killed: bool, tmp_path: Path) -> None:
    """Small buffers, a timer; only a handler's own functions may be missing, and are counted."""
    program = built(name, tmp_path, "storm.c", [HOOKS])
    folder = tmp_path / "traces"
    folder.mkdir()
    knobs = {"COREWISE_TRACE_BUFFER": "4 KiB", "COREWISE_TRACE_MODE": mode}
    done = record(name, 1, program, folder, ["kill"] if killed else [], knobs=knobs)
    assert (done.status != 0) == killed
    trace = done.ranks[0]
    assert trace.state == ("running" if killed else "finalized")
    assert set(trace.losses()) <= {"lost_nested"}
    texts = [events(trace, slot) for slot in range(len(trace.slots))]
    first, *others = texts
    assert first[0] == "+main"
    assert nested([*first, "-main"] if killed else first)
    assert first.count("+work") == CALLS // 8 * 8
    threads = [text for slot in others for text in slot]
    assert threads.count("+work") == THREADS * CALLS_OF_THREAD
    assert threads.count("+in_thread") == threads.count("-in_thread") == THREADS
    # Threads follow each other in a slot; each one's functions nest.
    assert all(nested(slot) for slot in others)
    assert 1 <= len(others) <= THREADS
    known = {"main", "work", "in_thread", "on_tick", "in_handler", "at_the_threads_end"}
    assert {text[1:] for slot in texts for text in slot} <= known
    assert "+on_tick" in first + threads


@pytest.mark.skipif(platform.machine() != "x86_64", reason="capability: the trap flag of x86-64")
@pytest.mark.parametrize(("name", "mode"), [("openmpi", "drain"), ("mpich", "thread"), ("mpich", "flight")])
def test_a_signal_at_every_instruction(name: str, mode: str, tmp_path: Path) -> None:
    """Wherever a handler interrupts the recorder, its functions neither wait for it nor disturb it."""
    program = built(name, tmp_path, "every_instruction.c", [HOOKS])
    folder = tmp_path / "traces"
    folder.mkdir()
    knobs = {"COREWISE_TRACE_BUFFER": "4 KiB", "COREWISE_TRACE_MODE": mode}
    done = record(name, 1, program, folder, knobs=knobs, timeout=900).succeeded()
    trace = done.ranks[0]
    texts = [events(trace, slot) for slot in range(len(trace.slots))]
    handlers = sum(text == "+in_handler" for slot in texts for text in slot)
    handled, lost = int(done.out), trace.number("lost_nested")
    assert (trace.state, set(trace.losses())) == ("finalized", {"lost_nested"})
    assert 0 < lost < 2 * handled
    if mode == "flight":  # what is left is the end
        assert 0 < handlers < handled
        return
    assert all(nested(slot) for slot in texts)
    assert [slot.count("+work") for slot in texts] == [3000, 2 * 200]
    assert 2 * handlers + lost <= 2 * handled
