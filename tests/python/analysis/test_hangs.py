"""Who is stuck: groups of waiting ranks worked out by hand, and what an old profile does not say.

What made-up ranks noted of their end.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import trace_writer as tw

from corewise.analysis.profile.findings import find_out
from corewise.analysis.profile.hangs import FINISHED, Need, RankState, RunEnd, explain_end, find_deadlocks
from corewise.data.profile import load_profile


def waiting(rank: int, *needs: set[int]) -> RankState:
    """A rank in a call that waits for one rank of each set."""
    return RankState(rank, "in call", "in a call", needs=tuple(Need(frozenset(each)) for each in needs))


def test_two_ranks_that_wait_for_each_other() -> None:
    assert find_deadlocks([waiting(0, {1}), waiting(1, {0})]) == ((0, 1),)


def test_a_cycle_begins_with_its_least_rank() -> None:
    states = [waiting(0, {2}), waiting(1, {3}), waiting(2, {3}), waiting(3, {1})]
    assert find_deadlocks(states) == ((1, 3),)


def test_a_wildcard_is_met_by_any_rank_that_may_come() -> None:
    states = [waiting(0, {1, 2}), waiting(1, {0}), RankState(2, "outside", "outside of MPI")]
    assert find_deadlocks(states) == ()
    states[2] = RankState(2, "finished", "finished")
    assert find_deadlocks(states) == ((0, 1),)


def test_all_needs_must_be_met() -> None:
    outside = RankState(2, "outside", "outside of MPI")
    assert find_deadlocks([waiting(0, {1}, {2}), waiting(1, {0}), outside]) == ((0, 1),)
    assert find_deadlocks([waiting(0, {2}), waiting(1, {0}), outside]) == ()


def test_who_waits_for_a_rank_that_is_gone_is_in_no_cycle() -> None:
    states = [waiting(0, {1}), RankState(1, "crashed", "SIGSEGV")]
    assert find_deadlocks(states) == ()
    assert states[0].waits_for == (1,)


def test_a_rank_may_wait_for_itself() -> None:
    assert find_deadlocks([waiting(0, {0}), RankState(1, "finished", "finished")]) == ((0,),)


def test_an_older_profile_does_not_say_where_ranks_were(tmp_path: Path) -> None:
    for rank in range(2):
        trace = tw.RankTrace(rank, 2, state=tw.RUNNING)
        trace.put(tw.SEND, "MPI_Send", 1 - rank, 8)
        trace.write(tmp_path / f"rank-{rank:05}.cwt")
    world = load_profile(tmp_path).world
    assert [each.ending for each in world.ranks] == ["running", "running"]
    assert explain_end(world) is FINISHED


# ---- what ranks noted of their end -------------------------------------------------------------------------

MAPS = "400000-500000 r-xp 00000000 08:01 7 /opt/none/flow\n"
SITES = {1: 0x400100, 2: 0x400200, 3: 0x400300}
SIGABRT = 6
CRASHED = "finished, then SIGABRT in flow+0x400"


def rank_of(number: int, state: int = tw.RUNNING, size: int = 2) -> tw.RankTrace:
    """A rank that has made a barrier, from flow+0x100."""
    trace = tw.RankTrace(number, size, state=state, version=3, maps=MAPS, sites=SITES)
    trace.put(tw.COLLECTIVE, "MPI_Barrier", site=1)
    return trace


def crash(trace: tw.RankTrace) -> None:
    trace.signal, trace.instruction = SIGABRT, 0x400400


def finish(trace: tw.RankTrace) -> None:
    trace.put(tw.PLAIN, "MPI_Finalize", site=3)
    trace.state = tw.FINALIZED


def abort(trace: tw.RankTrace, site: int, goes_on: bool) -> None:
    """As under an MPI whose MPI_Abort ends the rank, or returns to it."""
    trace.put(tw.PLAIN, "MPI_Abort", site=site)
    trace.state, trace.abort_code = tw.ABORTED, 7
    if goes_on:
        trace.put(tw.COLLECTIVE, "MPI_Barrier", site=1)


def end_of(folder: Path, *ranks: tw.RankTrace) -> RunEnd:
    return explain_end(load_profile(tw.write_run(folder, ranks)).world)


def test_a_crash_after_finalize_is_said_though_all_ranks_finished(tmp_path: Path) -> None:
    first, second = rank_of(0), rank_of(1)
    for trace in (first, second):
        finish(trace)
    assert end_of(tmp_path / "a.cw", first, second) is FINISHED
    crash(first)
    end = end_of(tmp_path / "b.cw", first, second)
    assert [each.doing for each in end.ranks] == [CRASHED, "finished"]
    assert {each.state for each in end.ranks} == {"finished"}
    assert end.ranks[0].crash == "SIGABRT in flow+0x400"
    assert end.statements == (f"rank 0 {CRASHED}",)
    found = find_out(tmp_path / "b.cw").rows[0]
    assert (found.kind, found.title) == ("late-crash", f"a rank crashed after MPI_Finalize: rank 0 {CRASHED}")
    first.later = 10**9
    world = load_profile(tw.write_run(tmp_path / "c.cw", [first, second])).world
    assert world.ranks[0].wall_ns < 10**9, "what comes after MPI_Finalize is no part of the run"


def test_a_crash_after_finalize_while_another_rank_is_inside(tmp_path: Path) -> None:
    first, second = rank_of(0), rank_of(1)
    finish(first)
    crash(first)
    second.enter(tw.PLAIN, "MPI_Finalize", site=3)
    end = end_of(tmp_path / "a.cw", first, second)
    assert end.statements == (f"rank 0 {CRASHED}",)
    assert end.ranks[1].doing.startswith("in MPI_Finalize, flow+0x300, since ")
    assert find_out(tmp_path / "a.cw").rows[0].title == f"the run did not finish: rank 0 {CRASHED}"


def test_who_leaves_without_a_note_is_not_said_to_be_ended_from_outside(tmp_path: Path) -> None:
    """_exit(), exec and a kill leave the same: nothing."""
    why = "and no rank is known to have waited for another: SIGKILL, SIGTERM, _exit() and exec leave no note"
    end = end_of(tmp_path / "a.cw", rank_of(0), rank_of(1))
    assert [each.state for each in end.ranks] == ["outside", "outside"]
    assert end.statements == (f"no end of ranks 0-1 was noted, {why}",)
    first = rank_of(0)
    finish(first)
    end = end_of(tmp_path / "b.cw", first, rank_of(1))
    assert end.statements == (f"no end of rank 1 was noted, {why}",)


def test_an_exit_is_noted(tmp_path: Path) -> None:
    second = rank_of(1)
    second.exit_ticks = second.end_ticks
    said = "rank 1 ended by exit() without MPI_Finalize, after MPI_Barrier at flow+0x100"
    assert end_of(tmp_path / "a.cw", rank_of(0), second).statements == (said,)


def test_an_abort_that_returned_is_named_by_its_own_place(tmp_path: Path) -> None:
    second = rank_of(1)
    abort(second, 2, goes_on=True)
    end = end_of(tmp_path / "a.cw", rank_of(0), second)
    assert (end.ranks[1].doing, end.ranks[1].where) == (
        "called MPI_Abort with code 7, flow+0x200",
        "flow+0x200",
    )
    assert end.statements == ("rank 1 called MPI_Abort with code 7, flow+0x200",)


def test_of_aborts_in_several_places_that_of_the_last_call_is_known(tmp_path: Path) -> None:
    first, second = rank_of(0), rank_of(1)
    abort(first, 2, goes_on=False)
    abort(second, 3, goes_on=True)
    end = end_of(tmp_path / "a.cw", first, second)
    assert [each.doing for each in end.ranks] == [
        "called MPI_Abort with code 7, flow+0x200",
        "called MPI_Abort with code 7",
    ]


def test_the_place_of_an_abort_is_not_taken_from_another_rank(tmp_path: Path) -> None:
    """Its own record is lost: a flight recorder keeps the newest ones."""
    first, second = rank_of(0), rank_of(1)
    abort(first, 2, goes_on=True)
    second.state, second.abort_code = tw.ABORTED, 8
    end = end_of(tmp_path / "a.cw", first, second)
    assert [each.doing for each in end.ranks] == [f"called MPI_Abort with code {code}" for code in (7, 8)]


def test_a_crash_after_an_abort_that_returned(tmp_path: Path) -> None:
    second = rank_of(1)
    abort(second, 2, goes_on=True)
    crash(second)
    end = end_of(tmp_path / "a.cw", rank_of(0), second)
    said = "called MPI_Abort with code 7, flow+0x200, then SIGABRT in flow+0x400"
    assert (end.ranks[1].state, end.ranks[1].doing) == ("aborted", said)
    assert end.statements == (f"rank 1 {said}",)
