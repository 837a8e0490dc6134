"""However a run ends, what was recorded is there: every completed call, exactly once.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from preload_runs import (
    KNOWN_CALLS,
    SUDDEN,
    Traced,
    assert_known_calls,
    library,
    preload,
    program,
    record,
)
from trace_decoder import NO_PEER, PROC_NULL, Trace, decode, decode_folder


def end_as(name: str, how: str, folder: Path, ranks: int = 2) -> Traced:
    """Run ends.c."""
    return record(name, ranks, program(name, "ends"), folder, [how], timeout=600)


@pytest.mark.parametrize("how", sorted(SUDDEN))
def test_sudden_end_loses_nothing(name: str, how: str, tmp_path: Path) -> None:
    done = end_as(name, how, tmp_path)
    assert done.status != 0
    assert sorted(done.ranks) == [0, 1]
    for trace in done.ranks.values():
        assert_known_calls(trace)
    ended = done.ranks[1]
    assert [r.procedure for r in ended.records if r.procedure != "MPI_Send"][4:] == []
    assert ended.state == SUDDEN[how]


def test_abort_is_recorded(name: str, tmp_path: Path) -> None:
    done = end_as(name, "abort", tmp_path)
    assert done.status == 9
    for trace in done.ranks.values():
        assert_known_calls(trace)
    aborted = done.ranks[1]
    assert (aborted.state, aborted.number("abort_code")) == ("aborted", 9)
    others = [r.procedure for r in aborted.records if r.procedure != "MPI_Send"]
    # MPICH 5.0 may return from MPI_Abort: the program goes on until it is killed.
    assert others[4] == "MPI_Abort"
    assert others[5:] == ["MPI_Barrier", "MPI_Finalize"][: len(others) - 5]
    assert done.ranks[0].state in ("running", "finalized")


@pytest.mark.parametrize("how", ["fork", "exec"])
def test_children_leave_the_parent_alone(name: str, how: str, tmp_path: Path) -> None:
    done = end_as(name, how, tmp_path).succeeded()
    assert done.out == "ok ends\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rank-00000.cwt", "rank-00001.cwt"]
    for trace in done.ranks.values():
        assert_known_calls(trace)
        assert trace.state == "finalized"
        assert list(trace.records)[-1].procedure == "MPI_Finalize"


@pytest.mark.parametrize("mode", ["drain", "flight"])
def test_flight_recorder_keeps_the_newest(name: str, mode: str, tmp_path: Path) -> None:
    knobs = {"COREWISE_TRACE_MODE": mode, "COREWISE_TRACE_BUFFER": "4KiB"}
    done = record(name, 2, program(name, "ends"), tmp_path, ["kill"], knobs=knobs, timeout=600)
    for trace in done.ranks.values():
        tags = [r.tag for r in trace.records if r.procedure == "MPI_Send"]
        if mode == "drain":
            assert tags == list(range(KNOWN_CALLS))
        else:
            # At least one whole half of 4 KiB, at most both.
            assert 126 <= len(tags) <= 256
            assert tags == list(range(KNOWN_CALLS - len(tags), KNOWN_CALLS))
    files = [path.read_bytes() for path in tmp_path.glob("*.cwt")]
    assert [b"CHNK" in data for data in files] == [mode == "drain"] * 2


def test_the_os_clock(name: str, tmp_path: Path) -> None:
    done = record(
        name, 2, program(name, "ends"), tmp_path, ["fork"], knobs={"COREWISE_TRACE_CLOCK": "os"}
    ).succeeded()
    for trace in done.ranks.values():
        assert_known_calls(trace)
        assert trace.number("clock") == 1
        # CLOCK_MONOTONIC_RAW in nanoseconds: both calibration pairs are pairs of equals.
        assert abs(trace.number("start_ticks") - trace.number("start_ns")) < 10_000_000
        assert abs(trace.number("latest_ticks") - trace.number("latest_ns")) < 10_000_000
        starts = [r.start for r in trace.records]
        assert starts == sorted(starts)


@pytest.mark.parametrize("name", ["openmpi", "mpich", "mpich_abi"])
def test_threads(name: str, tmp_path: Path) -> None:
    done = record(name, 2, program(name, "threads"), tmp_path).succeeded()
    assert done.out == "ok threads\n"
    for rank, trace in done.ranks.items():
        assert trace.losses() == {}
        assert trace.number("thread_level") == 3
        # Main thread, four players; the thousand visitors take over the players' buffers.
        assert len(trace.slots) <= 5
        found = Counter(r.event for r in trace.by_function()["ping_pong"])
        expected = Counter()
        for tag in range(4):
            ball = 4 * (tag + 1)
            expected["MPI_Send", "send", 1 - rank, tag, ball] = 200
            expected["MPI_Irecv", "post_receive", 1 - rank, tag, 32] = 200
            expected["MPI_Irecv", "arrival", 1 - rank, tag, ball] = 200
        expected["MPI_Wait", "plain", -1, 0, 0] = 800
        assert found == expected
        visits = Counter(r.event for r in trace.by_function()["visit"])
        assert visits == {("MPI_Send", "send", PROC_NULL, 0, 4): 1000}


@pytest.mark.parametrize("name", ["openmpi", "mpich", "mpich_abi"])
def test_handles_freed_while_a_call_is_inside(name: str, tmp_path: Path) -> None:
    done = record(name, 1, program(name, "freed"), tmp_path).succeeded()
    assert done.out == "ok freed\n"
    found = Counter(r.event for r in done.ranks[0].by_function()["send_it"])
    assert found == {("MPI_Ssend", "send", 0, 7, 16): 2000}
    slow = [
        r.event for r in done.ranks[0].records if r.procedure in ("MPI_Bcast", "MPI_Alltoallw", "MPI_Mrecv")
    ]
    assert Counter(slow) == {
        ("MPI_Bcast", "collective", 0, 0, 16): 20,
        ("MPI_Alltoallw", "collective", NO_PEER, 0, 16): 20,
        ("MPI_Alltoallw", "collective_part", 0, 0, 16): 20,
        ("MPI_Mrecv", "receive", 0, 7, 16): 20,
    }
    assert done.ranks[0].losses() == {}


@pytest.mark.parametrize(("given", "used"), [("mpich", "openmpi"), ("openmpi", "mpich")])
def test_a_program_of_the_other_mpi_runs_untouched(given: str, used: str, tmp_path: Path) -> None:
    """A script may start it, which no look at the command line sees."""
    environment = {
        "LD_PRELOAD": str(preload(given)),
        "COREWISE_TRACE_DIR": str(tmp_path),
        **library(used).env,
    }
    done = subprocess.run(
        [program(used, "freed")],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "ok freed\n")
    (note,) = tmp_path.iterdir()
    assert note.name == "other-mpi.txt"
    assert len(note.read_text().splitlines()) == 2


@pytest.mark.parametrize("name", ["openmpi", "mpich", "mpich_abi"])
def test_more_requests_than_the_table_holds(name: str, tmp_path: Path) -> None:
    posted, capacity = 70_000, 65_536
    done = record(name, 2, program(name, "many"), tmp_path).succeeded()
    assert done.out == "ok many\n"
    flood = Counter(r.role for r in done.ranks[0].by_function()["flood"])
    assert (flood["post_receive"], flood["arrival"]) == (posted, capacity)
    assert done.ranks[0].losses() == {"lost_requests": posted - capacity}
    after = Counter(r.role for r in done.ranks[0].by_function()["after"])
    assert (after["post_receive"], after["arrival"]) == (1000, 1000)
    assert done.ranks[1].count("MPI_Send", "send") == posted + 1000


def test_spawned_processes_are_outside(name: str, tmp_path: Path) -> None:
    done = record(name, 1, program(name, "spawn"), tmp_path).succeeded()
    assert done.out == "ok spawn\n"
    (parent,) = decode_folder(tmp_path).values()
    moved = [(r.procedure, r.role, r.peer) for r in parent.by_function()["across"] if r.role != "plain"]
    assert moved == [("MPI_Send", "send", -4), ("MPI_Recv", "receive", -4), ("MPI_Recv", "receive", -4)]
    assert parent.number("spawned") == 0
    spawned = [decode(p) for p in sorted(tmp_path.glob("spawn*-rank-*.cwt"))]
    if name == "openmpi":  # gives -x variables to the first job only
        assert spawned == []
        return
    assert [t.number("rank") for t in spawned] == [0, 1]
    for trace in spawned:
        assert (trace.number("spawned"), trace.number("world_size"), trace.state) == (1, 2, "finalized")
        comms = [c for c in trace.comms.values() if c.remote]
        assert [c.remote for c in comms] == [[-4]]
    moved = [(r.procedure, r.role, r.peer) for r in spawned[1].by_function()["across"] if r.role != "plain"]
    assert moved == [("MPI_Recv", "receive", -4), ("MPI_Send", "send", -4), ("MPI_Send", "send", -4)]


# ---- hostile surroundings -----------------------------------------------------------------------------

HOSTILE_CALLS = 60_000
RECORD_BYTES = 32


def hostile(name: str, how: str, folder: Path) -> Traced:
    """Run hostile.c with and without the preload; the outcome must be the same."""
    plain = library(name).run(1, program(name, "hostile"), [how])
    done = record(name, 1, program(name, "hostile"), folder, [how])
    assert (done.status, done.out, done.err) == (plain.returncode, plain.stdout, plain.stderr)
    assert (done.status, done.out) == (4, "errors 0\n")
    return done


def assert_kept_and_lost(trace: Trace, at_least: int) -> None:
    """A prefix of the known calls is readable, the rest is counted."""
    tags = [r.tag for r in trace.records if r.procedure == "MPI_Send"]
    assert tags == list(range(len(tags)))
    assert at_least <= len(tags) < HOSTILE_CALLS
    # Besides the sends, MPI_Finalize (16 bytes) is lost too.
    missing = (HOSTILE_CALLS - len(tags)) * RECORD_BYTES
    assert missing <= trace.losses()["lost_bytes"] <= missing + 16
    assert trace.state == "finalized"


@pytest.mark.parametrize("how", ["nothing", "few_descriptors", "close", "cover"])
def test_descriptors_taken_away(name: str, how: str, tmp_path: Path) -> None:
    trace = hostile(name, how, tmp_path).ranks[0]
    assert [r.tag for r in trace.records if r.procedure == "MPI_Send"] == list(range(HOSTILE_CALLS))
    assert (trace.losses(), trace.state) == ({}, "finalized")


def test_file_renamed_and_closed(name: str, tmp_path: Path) -> None:
    hostile(name, "rename", tmp_path)
    assert_kept_and_lost(decode(tmp_path / "rank-00000.cwt.moved"), at_least=1000)


def test_file_size_limited(name: str, tmp_path: Path) -> None:
    trace = hostile(name, "file_size", tmp_path).ranks[0]
    assert_kept_and_lost(trace, at_least=2000)


def test_signal_handlers_in_between(name: str, tmp_path: Path) -> None:
    trace = hostile(name, "alarms", tmp_path).ranks[0]
    sends = [r for r in trace.records if r.procedure == "MPI_Send"]
    assert len(sends) % HOSTILE_CALLS == 0 and sends
    assert [r.tag for r in sends] == [i % HOSTILE_CALLS for i in range(len(sends))]
    assert {(r.peer, r.bytes, r.role) for r in sends} == {(PROC_NULL, 4, "send")}
    assert trace.losses() == {}


def test_file_system_full(name: str, tmp_path: Path) -> None:
    """On a file system of its own of 256 KiB, mounted in a namespace of the test's."""
    folder = tmp_path / "small"
    kept = tmp_path / "kept"
    folder.mkdir()
    command = record_command(name, folder)
    script = 'mount -t tmpfs -o size=256k none "$1" && shift && "$@"; s=$?; cp "$FROM"/* "$TO"; exit $s'
    kept.mkdir()
    environment = {**os.environ, **library(name).env, "FROM": str(folder), "TO": str(kept)}
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(folder), *command],
        capture_output=True, text=True, check=False, timeout=600, env=environment,
    )  # fmt: skip
    if "unshare" in done.stderr and "not permitted" in done.stderr:
        pytest.skip("capability: this host grants no user namespaces")
    assert (done.returncode, done.stdout, done.stderr) == (4, "errors 0\n", "")
    assert_kept_and_lost(decode(kept / "rank-00000.cwt"), at_least=1000)


def record_command(name: str, folder: Path) -> list[str]:
    """The launcher's command line for hostile.c."""
    from preload_runs import launcher_options

    variables = {"LD_PRELOAD": str(preload(name)), "COREWISE_TRACE_DIR": str(folder)}
    options = launcher_options(library(name), variables)
    return [str(library(name).mpiexec), *options, "-n", "1", str(program(name, "hostile")), "nothing"]


@pytest.mark.parametrize("where", ["missing", "file", "/sys", "/proc/1/fd"])
def test_nowhere_to_write(name: str, where: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    done = record(name, 1, program(name, "hostile"), tmp_path / where, ["nothing"])
    assert (done.status, done.out) == (4, "errors 0\n")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "mine"


def test_nothing_is_written_unless_asked(name: str, tmp_path: Path) -> None:
    from preload_runs import launcher_options

    mpi = library(name)
    options = launcher_options(mpi, {"LD_PRELOAD": str(preload(name))})
    done = mpi.run(1, program(name, "hostile"), ["nothing"], launcher_args=options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, "errors 0\n")
    assert list(tmp_path.iterdir()) == []


# ---- programs that are not MPI programs ----------------------------------------------------------------


@pytest.mark.parametrize(
    "command", ["ls /", "bash -c 'echo $((6*7))'", "python3 -c 'print(6*7)'", "cat /dev/null"]
)
def test_other_programs_notice_nothing(name: str, command: str, tmp_path: Path) -> None:
    variables = {"LD_PRELOAD": str(preload(name)), "COREWISE_TRACE_DIR": str(tmp_path)}
    outcomes = [
        subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=env)
        for env in (dict(os.environ), {**os.environ, **variables})
    ]
    plain, preloaded = ((each.returncode, each.stdout, each.stderr) for each in outcomes)
    assert preloaded == plain
    assert plain[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_library_loaded_for_itself(name: str, tmp_path: Path) -> None:
    shared = next((library(name).prefix / "lib").glob("libmpi.so.[0-9]*"))
    done = record(name, 1, program(name, "loaded"), tmp_path, [shared]).succeeded()
    assert done.out == "ok loaded\n"
    assert list(tmp_path.iterdir()) == []
