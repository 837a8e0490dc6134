"""Every collective becomes one record with the bytes that this rank contributes, and one part per peer where
the shares differ. Arguments that mean nothing on a rank are nonsense in ``preload/collectives.c``.

Bytes: rooted ones what the rank gives (gather) or takes (scatter), nothing where it is in place; all-to-all
and all-gather what one peer gets; reduce-scatter what the rank receives.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from preload_runs import ALL_NAMES, program, record
from trace_decoder import NO_PEER, Record

RANKS, ROOT, INT = 4, 2, 4
Event = tuple[str, str, int, int]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the profiles of this module go."""
    return tmp_path_factory.mktemp("collectives")


@cache
def scenarios(name: str, folder: Path) -> list[dict[str, list[Record]]]:
    """Per rank: scenario -> records."""
    folder.mkdir(exist_ok=True)
    done = record(name, RANKS, program(name, "collectives"), folder).succeeded()
    assert done.out == "ok collectives\n"
    traces = done.ranks
    assert all(trace.losses() == {} for trace in traces.values())
    return [traces[rank].by_function() for rank in range(RANKS)]


@pytest.fixture(params=ALL_NAMES)
def ranks(request: pytest.FixtureRequest, folders: Path) -> list[dict[str, list[Record]]]:
    """What the program left under one MPI."""
    return scenarios(request.param, folders / request.param)


def moved(records: list[Record]) -> list[Event]:
    """Procedure, role, peer and bytes of everything but plain calls."""
    return [(r.procedure[4:], r.role, r.peer, r.bytes) for r in records if r.role != "plain"]


def whole(name: str, size: int, peer: int = NO_PEER) -> Event:
    """A collective's own record."""
    return name, "collective", peer, size


def parts(name: str, shares: dict[int, int]) -> list[Event]:
    """A collective with its shares: peer -> bytes."""
    listed = [(name, "collective_part", peer, size) for peer, size in shares.items() if size]
    return [whole(name, sum(shares.values())), *listed]


def test_rooted(ranks: list[dict[str, list[Record]]]) -> None:
    for rank, found in enumerate(ranks):
        own = INT * (rank + 1)
        assert moved(found["rooted"]) == [
            whole("Bcast", 20, ROOT),
            whole("Reduce", 24, ROOT),
            whole("Gather", 28, ROOT),
            whole("Scatter", 32, ROOT),
            whole("Gatherv", own, ROOT),
            whole("Scatterv", own, ROOT),
        ]


def test_rooted_in_place(ranks: list[dict[str, list[Record]]]) -> None:
    for rank, found in enumerate(ranks):
        gives = 0 if rank == ROOT else 1
        own = INT * (rank + 1) * gives
        assert moved(found["rooted_in_place"]) == [
            whole("Reduce", 24, ROOT),
            whole("Gather", 28 * gives, ROOT),
            whole("Scatter", 32 * gives, ROOT),
            whole("Gatherv", own, ROOT),
            whole("Scatterv", own, ROOT),
        ]


def test_rootless(ranks: list[dict[str, list[Record]]]) -> None:
    for rank, found in enumerate(ranks):
        own = INT * (rank + 1)
        expected = [
            whole("Barrier", 0),
            whole("Allreduce", 12),
            whole("Scan", 16),
            whole("Exscan", 20),
            whole("Allgather", 24),
            whole("Allgatherv", own),
            whole("Alltoall", 28),
            whole("Reduce_scatter_block", 32),
            whole("Reduce_scatter", own),
        ]
        assert moved(found["rootless"]) == expected
        assert moved(found["rootless_in_place"]) == expected[1:]


def test_all_to_all(ranks: list[dict[str, list[Record]]]) -> None:
    for rank, found in enumerate(ranks):
        shares = {peer: 0 if peer == rank else INT * (peer + 1) for peer in range(RANKS)}
        same = dict.fromkeys(range(RANKS), 12)
        assert moved(found["all_to_all"]) == [
            *parts("Alltoallv", shares),
            *parts("Alltoallw", shares),
            *parts("Alltoallv", same),
            *parts("Alltoallw", same),
        ]


def test_without_blocking(ranks: list[dict[str, list[Record]]]) -> None:
    for rank, found in enumerate(ranks):
        assert moved(found["without_blocking"]) == [
            whole("Ibarrier", 0),
            whole("Ibcast", 20, ROOT),
            whole("Iallreduce", 12),
            whole("Igatherv", INT * (rank + 1), ROOT),
            *parts("Ialltoallv", {peer: INT * (peer + 1) for peer in range(RANKS)}),
        ]


def test_persistent(ranks: list[dict[str, list[Record]]]) -> None:
    for rank, found in enumerate(ranks):
        shares = {peer: INT * (peer + 1) for peer in range(RANKS)}
        records = found["persistent"]
        assert moved(records) == [
            whole("Bcast_init", 20, ROOT),
            ("Startall", "send", rank ^ 1, 8),
            *parts("Alltoallv_init", shares),
            ("Startall", "post_receive", rank ^ 1, 8),
            ("Recv_init", "arrival", rank ^ 1, 8),
            whole("Bcast_init", 20, ROOT),
        ]
        plain = [r.procedure[4:] for r in records if r.role == "plain"]
        inits = ["Bcast_init", "Send_init", "Alltoallv_init", "Recv_init"]
        assert plain == [*inits, "Startall", "Waitall", "Start", "Wait", *["Request_free"] * 4]
        started = next(r for r in records if r.procedure == "MPI_Startall")
        together = [r for r in records if r.start == started.start and r.role != "arrival"]
        assert len(together) == 1 + 4 + RANKS
        assert [r.duration for r in together[1:]] == [0] * (len(together) - 1)
        assert started.duration > 0


def test_neighbours_on_a_line(ranks: list[dict[str, list[Record]]]) -> None:
    for rank, found in enumerate(ranks):
        ends = [(rank - 1, 12), (rank + 1, 16)]
        near = [peer for peer, _ in ends if 0 <= peer < RANKS]
        differ = {peer: size for peer, size in ends if peer in near}
        assert moved(found["neighbours_on_a_line"]) == [
            *parts("Neighbor_allgather", dict.fromkeys(near, 8)),
            *parts("Neighbor_alltoall", dict.fromkeys(near, 20)),
            *parts("Neighbor_allgatherv", dict.fromkeys(near, 12)),
            *parts("Neighbor_alltoallv", differ),
            *parts("Neighbor_alltoallw", differ),
            *parts("Ineighbor_alltoall", dict.fromkeys(near, 24)),
        ]


def test_neighbours_in_a_graph(ranks: list[dict[str, list[Record]]]) -> None:
    for rank, found in enumerate(ranks):
        shares = {(rank + 1) % RANKS: 4, (rank + 2) % RANKS: 8}
        assert moved(found["neighbours_in_a_graph"]) == parts("Neighbor_alltoallv", shares)


def test_on_an_intercommunicator(ranks: list[dict[str, list[Record]]]) -> None:
    for rank, found in enumerate(ranks):
        upper = rank >= 2
        remote = (0, 1) if upper else (2, 3)
        root = 0 if upper else NO_PEER
        assert moved(found["on_an_intercommunicator"]) == [
            whole("Allgather", 12),
            whole("Reduce", 16 * upper, root),
            whole("Gather", 20 * upper, root),
            *parts("Alltoallv", {remote[0]: 4, remote[1]: 8}),
        ]


def test_shares_follow_their_collective(ranks: list[dict[str, list[Record]]]) -> None:
    """One call: the parts carry its start and site, and no time of their own."""
    for found in ranks:
        latest: Record | None = None
        for each in found["all_to_all"]:
            if each.role == "collective":
                latest = each
            elif each.role == "collective_part":
                assert latest is not None
                assert (each.start, each.site, each.comm) == (latest.start, latest.site, latest.comm)
                assert (each.duration, each.procedure) == (0, latest.procedure)
