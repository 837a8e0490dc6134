"""Corners of MPI that correct programs enter: what is recorded there is what was done.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

from preload_runs import program, record
from trace_decoder import Trace

LARGE, INT = 20000, 4
Event = tuple[str, str, int, int, int]


def run(name: str, scenario: str, folder: Path, ranks: int = 2) -> list[Trace]:
    """The traces of a scenario of corners.c, in order of rank."""
    done = record(name, ranks, program(name, "corners"), folder, [scenario], timeout=60).succeeded()
    assert done.out == f"ok {scenario}\n"
    assert [trace.losses() for trace in done.ranks.values()] == [{}] * ranks
    return [done.ranks[rank] for rank in range(ranks)]


def events(trace: Trace, *roles: str) -> list[Event]:
    """What was recorded in one of these roles."""
    return [each.event for each in trace.records if each.role in roles]


def test_starts_under_another_handle(name: str, tmp_path: Path) -> None:
    sends = events(run(name, "restarted", tmp_path)[0], "send")
    of_large = [("MPI_Start", "send", 1, 3, LARGE * INT), ("MPI_Startall", "send", 1, 3, LARGE * INT)]
    assert sends == of_large * 2 + [("MPI_Start", "send", 1, 4, 10 * INT)] * 4


def test_requests_that_were_looked_at(name: str, tmp_path: Path) -> None:
    arrivals = events(run(name, "looked_at", tmp_path)[0], "arrival")
    posted = ["MPI_Irecv", "MPI_Irecv", "MPI_Recv_init", "MPI_Recv_init"]
    assert arrivals == [(call, "arrival", 1, tag, tag * INT) for tag, call in enumerate(posted, 1)]


def test_cancelled_by_another_thread(name: str, tmp_path: Path) -> None:
    (trace,) = run(name, "cancelled", tmp_path, ranks=1)
    assert events(trace, "cancel", "arrival") == [
        ("MPI_Irecv", "cancel", 0, tag, 4 * INT) for tag in (1, 2, 3)
    ]


def test_a_session_that_outlives_finalize(name: str, tmp_path: Path) -> None:
    sender, receiver = run(name, "session", tmp_path)
    assert events(sender, "send") == [("MPI_Send", "send", 1, 1, INT), ("MPI_Send", "send", 1, 2, INT)]
    assert events(receiver, "receive") == [
        ("MPI_Recv", "receive", 0, 1, INT),
        ("MPI_Recv", "receive", 0, 2, INT),
    ]
    assert [(trace.state, list(trace.records)[-1].procedure) for trace in (sender, receiver)] == [
        ("finalized", "MPI_Session_finalize")
    ] * 2


def test_descriptions_on_a_disk_that_was_full(name: str, tmp_path: Path) -> None:
    for trace in run(name, "full", tmp_path):
        one, other = (each for each in trace.records if each.role in ("send", "receive"))
        assert one.event == other.event and one.bytes == 3 * INT
        comm, datatype = trace.comms[one.comm], trace.datatypes[one.datatype]
        assert (comm.ranks, trace.names[comm.created_by]) == ([1, 0], "MPI_Comm_split")
        assert (datatype.name, datatype.size, datatype.extent) == ("vector", 3 * INT, 5 * INT)
        assert list(trace.regions.values()) == ["solve"]


def test_a_handle_that_is_another_type(name: str, tmp_path: Path) -> None:
    sends = events(run(name, "other_types", tmp_path)[0], "send")
    assert sends == [("MPI_Send", "send", 1, count, count * INT) for count in range(1, 5)]


def test_an_error_handler_that_jumps(name: str, tmp_path: Path) -> None:
    for rank, trace in enumerate(run(name, "jumped", tmp_path)):
        exchanges = events(trace, "send", "arrival")
        assert exchanges == [("MPI_Sendrecv", role, 1 - rank, 1, INT) for role in ("send", "arrival")] * 3
        assert (trace.state, list(trace.records)[-1].procedure) == ("finalized", "MPI_Finalize")


def test_calls_in_callbacks_belong_to_the_call_around_them(name: str, tmp_path: Path) -> None:
    """They have no records, and those after them are as ever."""
    (trace,) = run(name, "callbacks", tmp_path, ranks=1)
    talks = [("Irecv", "post_receive"), ("Send", "send"), ("Wait", "plain"), ("Irecv", "arrival")]
    before = ["Op_create", "Reduce_local", "Op_free", "Comm_dup", "Comm_create_keyval"]
    found = [
        each.event[:2] for each in trace.records if each.procedure not in ("MPI_Init", "MPI_Init_thread")
    ]
    calls = [
        *((call, "plain") for call in [*before, "Comm_set_attr", "Comm_set_attr", "Comm_free"]),
        *talks,
        *((call, "plain") for call in ("Grequest_start", "Grequest_complete", "Wait")),
        *talks,
    ]
    wanted = [(f"MPI_{call}", role) for call, role in [*calls, ("Finalize", "plain")]]
    assert found[-len(wanted) :] == wanted
    assert not any(each.tag == 9 for each in trace.records)
