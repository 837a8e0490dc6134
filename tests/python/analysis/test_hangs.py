"""Who is stuck: groups of waiting ranks worked out by hand, and what an old profile does not say.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import trace_writer as tw

from corewise.analysis.profile.hangs import FINISHED, Need, RankState, explain_end, find_deadlocks
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
