"""Where every rank was when a run that did not finish ended, and who waited for whom.

`explain_end` is the door: from a world to a `RunEnd` with a `RankState` per rank, the deadlocks among them
and a few sentences that a report opens with. Pure functions; times are nanoseconds.

A `Need` is met by any one of its ranks, and a rank goes on when all its needs are met. A rank that was
outside of MPI might still have come: nobody who waits for it is called stuck. Only ranks that wait for each
other in a closed group are called a deadlock.

A rank notes that it finished, called MPI_Abort or ran its exit handlers, and the signals of a fault. Who is
killed, or leaves by _exit() or exec, notes nothing: these cannot be told apart.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from corewise._core import CodePlace, Crash, OpenCall, OpenOperation, RankSummary, World
from corewise.data.profile import datatype_text
from corewise.data.quantities import bytes_text, count_text, cpu_list, time_text
from corewise.data.symbols.addresses import CodePoint, find_points, object_state
from corewise.data.symbols.elf import follows_call

NO_PEER, PROC_NULL, ANY, OUTSIDE = -1, -2, -3, -4
_FINALIZE, _ABORT = "MPI_Finalize", "MPI_Abort"
_NEVER_WAIT = frozenset({"MPI_Bsend", "MPI_Bsend_c"})
_ANY_REQUEST = ("MPI_Waitany", "MPI_Waitsome")
_MOST_NAMED = 4
_SYSTEM = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")


@dataclass(frozen=True)
class Need:
    """Something that a rank waits for: that any one of `ranks` does its part."""

    ranks: frozenset[int]


@dataclass(frozen=True)
class RankState:
    """One rank at the end of a run.

    Attributes
    ----------
    rank : int
    state : str
        ``in call``, ``outside`` (of MPI), ``crashed``, ``exited``, ``aborted``, ``finished`` or ``missing``.
    doing : str
        What it did, as a sentence without the rank: "in MPI_Send to 2, 4 MiB, tag 7, dead.c:7, since 5.0 s".
    procedure : str
        The MPI call that it was in, or the last one; empty where none is known.
    peer, tag, bytes : int
        Of that call; peer -1 where it has none, -3 for any source. Bytes of a receive are its room.
    datatype : str
        Its datatype, empty where unknown.
    where : str
        Its line of source: ``dead.c:7``; without debug information ``main+0x1c``.
    since_ns : float
        For how long it had been doing that.
    needs : tuple of Need
        What it waited for; all of it.
    crash : str
        The signal that ended it and where: "SIGSEGV in solve(), solve.c:88"; else empty. A rank that had
        finished or called MPI_Abort before keeps that state.
    """

    rank: int
    state: str
    doing: str
    procedure: str = ""
    peer: int = NO_PEER
    tag: int = 0
    bytes: int = 0
    datatype: str = ""
    where: str = ""
    since_ns: float = 0.0
    needs: tuple[Need, ...] = ()
    crash: str = ""

    @property
    def waits_for(self) -> tuple[int, ...]:
        """Every rank that it waited for, in order."""
        return tuple(sorted(frozenset().union(*(need.ranks for need in self.needs))))


@dataclass(frozen=True)
class RunEnd:
    """How a run ended that did not finish, or in which a rank crashed after MPI_Finalize.

    Attributes
    ----------
    ranks : tuple of RankState
        In order; of any other run that finished, empty.
    deadlocks : tuple of tuple of int
        Each a cycle: every rank waits for the next one, the last for the first.
    statements : tuple of str
        What happened, most telling first: for people.
    """

    ranks: tuple[RankState, ...] = ()
    deadlocks: tuple[tuple[int, ...], ...] = ()
    statements: tuple[str, ...] = ()

    def state(self, rank: int) -> RankState | None:
        """Of one rank; None where nothing is known of it."""
        return next((each for each in self.ranks if each.rank == rank), None)


FINISHED = RunEnd()
"""Of a run that finished, and no rank of which crashed later."""


def explain_end(world: World) -> RunEnd:
    """How a world ended; empty where all ranks finished and none crashed later, or if its files cannot say.

    Parameters
    ----------
    world : World
        Read with the time at which its launcher ended, so that "since" covers the hang.
    """
    finished = all(rank.ending == "finalized" for rank in world.ranks) and len(world.ranks) == world.size
    if finished and not any(rank.end.crash for rank in world.ranks):
        return FINISHED
    if not any(rank.end.open or rank.end.last.procedure for rank in world.ranks):
        return FINISHED
    group = _Group(world)
    states = tuple(group.state(rank) for rank in range(world.size))
    deadlocks = find_deadlocks(states)
    return RunEnd(states, deadlocks, tuple(_statements(group, states, deadlocks)))


# ---- one rank --------------------------------------------------------------------------------------------


class _Group:
    """The ranks of a world, with what each had open."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.by_rank: dict[int, RankSummary] = {rank.rank: rank for rank in world.ranks}
        self.started_ns = min((rank.started_realtime_ns for rank in world.ranks), default=0)
        self.counts = {rank.rank: _counts(rank) for rank in world.ranks}

    def state(self, number: int) -> RankState:
        rank = self.by_rank.get(number)
        if rank is None:
            return RankState(number, "missing", "left no readable trace")
        open_call = _longest(rank)
        crash = next((crash_text(each, self.started_ns) for each in rank.end.crash), "")
        if rank.ending == "finalized":
            return RankState(number, "finished", f"finished{_then(crash)}", crash=crash)
        if rank.ending == "aborted":
            return self._aborted(rank, crash)
        if crash:
            return self._of_call(rank, open_call, "crashed", crash)
        if rank.end.exit_ns >= 0:
            return self._exited(rank, open_call)
        if open_call is None:
            return self._outside(rank)
        return self._of_call(rank, open_call, "in call", "")

    def _aborted(self, rank: RankSummary, crash: str) -> RankState:
        where = self._abort_place(rank)
        said = f"called MPI_Abort with code {rank.abort_code}" + (f", {where}" if where else "")
        return RankState(rank.rank, "aborted", f"{said}{_then(crash)}", _ABORT, where=where, crash=crash)

    def _abort_place(self, rank: RankSummary) -> str:
        """Where it called MPI_Abort; empty if unknown. The call may return, and others follow."""
        last = rank.end.last
        return self.where(last.called_from) if last.procedure == _ABORT else self._one_abort

    @cached_property
    def _one_abort(self) -> str:
        """The place in which all ranks that aborted did so; empty where there are several.

        Places are counted for all ranks together.
        """
        names = self.world.procedures
        found = [site for site in self.world.sites if names[site.procedure] == _ABORT]
        aborted = sum(rank.ending == "aborted" for rank in self.world.ranks)
        if len(found) != 1 or found[0].ranks != aborted:
            return ""
        return self.where(_Offset(found[0].object, found[0].file_offset))

    def _exited(self, rank: RankSummary, open_call: OpenCall | None) -> RankState:
        if open_call is None:
            last = _after(rank, self)
            return RankState(rank.rank, "exited", f"ended by exit() without MPI_Finalize{last}")
        inside = self._of_call(rank, open_call, "exited", "")
        said = inside.doing.rpartition(", since ")[0] or inside.doing
        return _with(inside, f"was ended by its MPI after an error {said}", ())

    def _outside(self, rank: RankSummary) -> RankState:
        last = rank.end.last
        since_ns = max(0.0, rank.wall_ns - last.end_ns) if last.procedure else rank.wall_ns
        where = self.where(last.called_from)
        doing = f"outside of MPI since {time_text(since_ns)}{_after(rank, self)}"
        return RankState(rank.rank, "outside", doing, last.procedure, where=where, since_ns=since_ns)

    def _of_call(self, rank: RankSummary, open_call: OpenCall | None, state: str, first: str) -> RankState:
        if open_call is None:
            return RankState(rank.rank, state, first, crash=first)
        call = open_call.call
        since_ns = max(0.0, rank.wall_ns - call.since_ns)
        where = self.where(call.called_from)
        said = [f"in {call.procedure}{_about(self, open_call)}", where, f"since {time_text(since_ns)}"]
        doing = ", ".join(part for part in said if part)
        return RankState(
            rank=rank.rank,
            state=state,
            doing=f"{first} ({doing})" if first else doing,
            procedure=call.procedure,
            peer=call.peer if call.kind != "call" else NO_PEER,
            tag=call.tag,
            bytes=call.bytes,
            datatype=_datatype(self.world, call),
            where=where,
            since_ns=since_ns,
            needs=() if state == "crashed" else self._needs(rank.rank, open_call),
            crash=first,
        )

    def where(self, place: CodePlace | _Offset) -> str:
        """A call site as ``file.c:7``."""
        return _short_place(place, self.started_ns, returns=True)

    # ---- what it waited for ----

    def _needs(self, rank: int, open_call: OpenCall) -> tuple[Need, ...]:
        call = open_call.call
        if call.procedure == _FINALIZE:
            return tuple(
                Need(frozenset({other}))
                for other in range(self.world.size)
                if other != rank and not self._is_leaving(other)
            )
        if call.kind == "collective":
            return self._late(rank, call)
        own = () if call.procedure in _NEVER_WAIT else self._need_of(rank, call)
        pending = [self._need_of(rank, each) for each in open_call.pending]
        if call.procedure.startswith(_ANY_REQUEST):
            union: frozenset[int] = frozenset().union(*(n.ranks for needs in pending for n in needs))
            complete = open_call.requests <= len(open_call.pending)
            return (Need(union),) if union and complete else ()
        return (*own, *(need for needs in pending for need in needs))

    def _need_of(self, rank: int, operation: OpenOperation) -> tuple[Need, ...]:
        if operation.kind not in ("send", "receive", "probe"):
            return ()
        if operation.peer == ANY:
            return (Need(frozenset(self._members(operation.comm)) - {rank}),)
        return (Need(frozenset({operation.peer})),) if 0 <= operation.peer < self.world.size else ()

    def _members(self, comm: int) -> Sequence[int]:
        if not 0 <= comm < len(self.world.communicators):
            return range(self.world.size)
        known = self.world.communicators[comm]
        listed = [*known.ranks, *known.remote_ranks]
        return [each for each in listed if 0 <= each < self.world.size] or range(self.world.size)

    def _is_leaving(self, rank: int) -> bool:
        summary = self.by_rank.get(rank)
        if summary is None:
            return False
        inside = any(each.call.procedure == _FINALIZE for each in summary.end.open)
        return summary.ending == "finalized" or inside

    def ordinal(self, rank: int, comm: int) -> int:
        """How many collectives a rank has made on a communicator."""
        return self.counts.get(rank, {}).get(comm, 0)

    def is_in(self, rank: int, comm: int) -> OpenOperation | None:
        """The collective on a communicator that a rank was in."""
        summary = self.by_rank.get(rank)
        found = (each.call for each in summary.end.open) if summary is not None else ()
        return next((each for each in found if each.kind == "collective" and each.comm == comm), None)

    def _late(self, rank: int, call: OpenOperation) -> tuple[Need, ...]:
        """Members that have not come to the collective that a rank is in."""
        mine = self.ordinal(rank, call.comm)
        if call.comm < 0:
            return ()
        others = [each for each in self._members(call.comm) if each != rank]
        late = [
            each
            for each in others
            if self.ordinal(each, call.comm) + bool(self.is_in(each, call.comm)) <= mine
        ]
        return tuple(Need(frozenset({each})) for each in late)


def _counts(rank: RankSummary) -> dict[int, int]:
    """By communicator; several that are one in the world's list count together."""
    counts: dict[int, int] = {}
    for made in rank.end.collectives:
        counts[made.comm] = counts.get(made.comm, 0) + made.count
    return counts


def _then(crash: str) -> str:
    return f", then {crash}" if crash else ""


def _with(state: RankState, doing: str, needs: tuple[Need, ...]) -> RankState:
    return RankState(
        state.rank, state.state, doing, state.procedure, state.peer, state.tag, state.bytes, state.datatype,
        state.where, state.since_ns, needs,
    )  # fmt: skip


def _longest(rank: RankSummary) -> OpenCall | None:
    """Of several threads the one that has been in its call longest."""
    return min(rank.end.open, key=lambda each: each.call.since_ns, default=None)


def _after(rank: RankSummary, group: _Group) -> str:
    last = rank.end.last
    where = group.where(last.called_from)
    return f", after {last.procedure}" + (f" at {where}" if where else "") if last.procedure else ""


def _about(group: _Group, open_call: OpenCall) -> str:
    """What stands behind the name of the call."""
    call = open_call.call
    if call.kind == "collective":
        root = f" from root {call.peer}" if call.peer >= 0 else ""
        return f"{root}{_on(group.world, call)}"
    if call.kind != "call":
        return _message(group.world, call) + "".join(_half(group, each) for each in open_call.pending)
    if not open_call.requests:
        return ""
    many = "a request" if open_call.requests == 1 else f"{open_call.requests} requests"
    named = [f"{each.kind}{_message(group.world, each)}" for each in open_call.pending[:_MOST_NAMED]]
    more = open_call.requests - len(named)
    named += [f"{more} more or done"] if named and more > 0 else []
    return f" on {many}" + (f" ({'; '.join(named)})" if named else "")


def _half(group: _Group, operation: OpenOperation) -> str:
    return f" and {operation.kind}{_message(group.world, operation)}"


def _message(world: World, call: OpenOperation) -> str:
    way = "to" if call.kind == "send" else "from"
    peers = {
        ANY: "any rank",
        PROC_NULL: "MPI_PROC_NULL",
        OUTSIDE: "another world",
        NO_PEER: "an unknown rank",
    }
    peer = peers.get(call.peer, str(call.peer))
    tag = "any tag" if call.tag == -1 else f"tag {call.tag}"
    parts = [f" {way} {peer}"]
    if call.kind != "probe":
        room = "" if call.kind == "send" else "up to "
        parts.append(f"{room}{bytes_text(call.bytes)}{_elements(world, call)}")
    return ", ".join([*parts, tag]) + _on(world, call)


def _elements(world: World, call: OpenOperation) -> str:
    name = _datatype(world, call)
    if not name:
        return ""
    size = world.datatypes[call.datatype].size_bytes
    return f" ({count_text(call.bytes // size)} {name})" if size else f" ({name})"


def _datatype(world: World, call: OpenOperation) -> str:
    if call.datatype < 0:
        return ""
    known = world.datatypes[call.datatype]
    return datatype_text(known.name, known.size_bytes, known.derived)


def _on(world: World, call: OpenOperation) -> str:
    """Which communicator, unless it is the world in a message."""
    if not 0 <= call.comm < len(world.communicators):
        return ""
    name = world.communicators[call.comm].name
    if name == "MPI_COMM_WORLD" and call.kind != "collective":
        return ""
    return f" on {name or 'a communicator of ' + str(world.communicators[call.comm].size)}"


# ---- places ----------------------------------------------------------------------------------------------


class _Offset(NamedTuple):
    """A place as call sites are listed: as an offset into the file of the code."""

    object: str
    offset: int


def crash_text(crash: Crash, started_ns: int) -> str:
    """A crash as ``SIGSEGV in solve(), solve.c:88``.

    Where the instruction lies in a library of the system, the function of the program that called it is named
    too, as the stack says: a word there that a call of the program left, and so may be one left over.
    """
    name = (
        signal.Signals(crash.signal).name if crash.signal in set(signal.Signals) else f"signal {crash.signal}"
    )
    said = f"{name} in {_function_place(crash.at, started_ns, returns=False)}"
    if not crash.at.object.startswith(_SYSTEM):
        return said
    caller = next((each for each in crash.stack if _may_have_called(each)), None)
    return (
        said if caller is None else f"{said}, called from {_function_place(caller, started_ns, returns=True)}"
    )


def _may_have_called(place: CodePlace) -> bool:
    ours = place.object.startswith("/") and not place.object.startswith(_SYSTEM)
    return ours and "/libcorewise" not in place.object and follows_call(place.object, place.offset)


def _point(place: CodePlace | _Offset, started_ns: int, returns: bool) -> CodePoint:
    if not place.object or object_state(place.object, started_ns) == "changed":
        return CodePoint()
    return find_points(place.object, [place.offset], returns=returns)[0]


def _function_place(place: CodePlace, started_ns: int, returns: bool) -> str:
    point = _point(place, started_ns, returns)
    inner = point.inlined[0] if point.inlined else point.function
    if not inner:
        return _bare(place)
    source = f"{Path(point.file).name}:{point.line}" if point.line else Path(place.object).name
    return f"{inner}(), {source}"


def _short_place(place: CodePlace | _Offset, started_ns: int, returns: bool) -> str:
    point = _point(place, started_ns, returns)
    if point.line:
        return f"{Path(point.file).name}:{point.line}"
    if point.function:
        return f"{point.function}+0x{point.offset:x}"
    return _bare(place) if place.object or place.offset else ""


def _bare(place: CodePlace | _Offset) -> str:
    return f"{Path(place.object).name}+0x{place.offset:x}" if place.object else f"0x{place.offset:x}"


# ---- all ranks -------------------------------------------------------------------------------------------


def find_deadlocks(states: Sequence[RankState]) -> tuple[tuple[int, ...], ...]:
    """Cycles among the ranks that only wait for each other or for ranks that are gone.

    Parameters
    ----------
    states : of all ranks.

    Returns
    -------
    tuple of tuple of int
        The ranks of each cycle, the least one first.
    """
    stuck = {state.rank: state for state in states if state.needs}
    free = {state.rank for state in states if state.state in ("outside", "missing")}
    free |= {state.rank for state in states if state.state == "in call" and not state.needs}
    changed = True
    while changed:
        going = {rank for rank, state in stuck.items() if all(need.ranks & free for need in state.needs)}
        changed = bool(going)
        free |= going
        stuck = {rank: state for rank, state in stuck.items() if rank not in going}
    cycles: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for rank in sorted(stuck):
        cycle = _cycle_from(rank, stuck, free)
        if cycle and not seen & set(cycle):
            cycles.append(cycle)
        seen |= set(cycle)
    return tuple(cycles)


def _cycle_from(rank: int, stuck: dict[int, RankState], free: set[int]) -> tuple[int, ...]:
    """The ranks of a cycle that a walk from `rank` runs into; empty where it ends at a rank that is gone."""
    path: list[int] = []
    while rank not in path:
        path.append(rank)
        unmet = [need for need in stuck[rank].needs if not need.ranks & free]
        ahead = sorted(each for need in unmet for each in need.ranks if each in stuck)
        if not ahead:
            return ()
        rank = next((each for each in ahead if each in path), ahead[0])
    cycle = path[path.index(rank) :]
    least = cycle.index(min(cycle))
    return (*cycle[least:], *cycle[:least])


def _statements(
    group: _Group, states: Sequence[RankState], deadlocks: Sequence[tuple[int, ...]]
) -> list[str]:
    truncated = _truncations(group, states)
    said = truncated + [f"rank {state.rank}: {state.crash}" for state in states if state.state == "crashed"]
    said += [f"rank {state.rank} {state.doing}" for state in states if _left_on_its_own(state)]
    said += _disagreements(group, states)
    if not truncated:  # its receive would have ended, and no cycle with it
        said += [f"deadlock: {_circle(states, cycle)}" for cycle in deadlocks]
    said += _mismatches(group, states)
    if not said:
        said = _waited_for(states)
    return said or _no_note(states)


def _left_on_its_own(state: RankState) -> bool:
    return state.state in ("aborted", "exited") or (state.state == "finished" and bool(state.crash))


def _no_note(states: Sequence[RankState]) -> list[str]:
    """What is known where no rank noted why it ended, and nobody is known to have been waited for."""
    silent = [state.rank for state in states if state.state in ("in call", "outside")]
    if not silent:
        return []
    who = f"rank{'s' if len(silent) > 1 else ''} {cpu_list(silent)}"
    noted = f"no end of {who} was noted, and no rank is known to have waited for another"
    return [f"{noted}: SIGKILL, SIGTERM, _exit() and exec leave no note"]


def _truncations(group: _Group, states: Sequence[RankState]) -> list[str]:
    """Receives with less room than the one message that was under way to them."""
    under_way = {
        (each.sender, each.receiver): each.sent_bytes - each.received_bytes
        for each in group.world.differences()
        if each.sent_messages - each.received_messages == 1
    }
    # A send that its peer's end cut short was not over.
    open_sends = {
        (state.rank, each.peer, each.tag): each.bytes
        for state in states
        for each in _operations(group, state.rank, "send")
    }
    said: list[str] = []
    for state in states:
        for each in _operations(group, state.rank, "receive"):
            size = under_way.get((each.peer, state.rank), 0)
            size = size or open_sends.get((each.peer, state.rank, each.tag), 0)
            if size > each.bytes:
                place = f"rank {state.rank} has for it in {each.procedure}, {state.where}"
                long = f"a message of {bytes_text(size)} from rank {each.peer} is longer than"
                said.append(f"{long} the {bytes_text(each.bytes)} that {place}")
    return said


def _circle(states: Sequence[RankState], cycle: Sequence[int]) -> str:
    if len(cycle) == 1:
        return f"rank {cycle[0]} waits for itself in {states[cycle[0]].procedure}"
    named = [f"rank {rank} in {states[rank].procedure}" for rank in cycle[: 2 * _MOST_NAMED]]
    more = f" ... ({len(cycle)} ranks)" if len(cycle) > len(named) else ""
    return " waits for ".join([*named, f"rank {cycle[0]}"]) + more


def _waited_for(states: Sequence[RankState]) -> list[str]:
    """Ranks that others wait for and that wait for nobody."""
    said = []
    for state in states:
        waiting = [other.rank for other in states if state.rank in other.waits_for]
        if waiting and not state.needs:
            who = "rank " + str(waiting[0]) if len(waiting) == 1 else f"{len(waiting)} ranks"
            verb = "waits" if len(waiting) == 1 else "wait"
            said.append(f"{who} {verb} for rank {state.rank}, which {_was(state)}")
    return said[:_MOST_NAMED]


def _was(state: RankState) -> str:
    return state.doing if state.state in ("finished", "missing") else f"was {state.doing}"


def _disagreements(group: _Group, states: Sequence[RankState]) -> list[str]:
    """Ranks that made different collectives as the same one of a communicator."""
    said: list[str] = []
    for state in states:
        call = next(iter(_operations(group, state.rank, "collective")), None)
        if call is None or call.comm < 0:
            continue
        ordinal = group.ordinal(state.rank, call.comm)
        other = _other_collective(group, state.rank, call, ordinal)
        if other:
            said.append(f"rank {state.rank} is in {_collective(call.procedure, call.peer)}, {other}")
    return said[:_MOST_NAMED]


def _collective(procedure: str, root: int) -> str:
    return procedure + (f" from root {root}" if root >= 0 else "")


def _other_collective(group: _Group, rank: int, call: OpenOperation, ordinal: int) -> str:
    for other in sorted(group.by_rank):
        if other == rank:
            continue
        inside = group.is_in(other, call.comm)
        if inside is not None and group.ordinal(other, call.comm) == ordinal and other > rank:
            procedure, root = inside.procedure, inside.peer
        else:
            made = _made(group.by_rank[other], call.comm, ordinal)
            if made is None:
                continue
            procedure, root = made
        if (procedure, root) != (call.procedure, call.peer):
            return f"where rank {other} called {_collective(procedure, root)}"
    return ""


def _made(rank: RankSummary, comm: int, ordinal: int) -> tuple[str, int] | None:
    rows = [made for made in rank.end.collectives if made.comm == comm]
    if len(rows) != 1:
        return None
    return next(((each.procedure, each.root) for each in rows[0].newest if each.ordinal == ordinal), None)


def _mismatches(group: _Group, states: Sequence[RankState]) -> list[str]:
    """A rank that waits for a message that its peer does not send, though it sends another."""
    said: list[str] = []
    for state in states:
        receives = _operations(group, state.rank, "receive")
        for want in receives:
            if not 0 <= want.peer < len(states):
                continue
            offers = [each for each in _operations(group, want.peer, "send") if each.peer == state.rank]
            if not offers or any(want.tag in (-1, each.tag) and want.comm == each.comm for each in offers):
                continue
            offer = offers[0]
            differ = f"tag {want.tag}" if want.tag not in (-1, offer.tag) else "another communicator"
            said.append(
                f"rank {state.rank} waits for {differ} from rank {want.peer}, which sends tag {offer.tag}"
                + ("" if want.tag not in (-1, offer.tag) else " elsewhere")
            )
    return said[:_MOST_NAMED]


def _operations(group: _Group, rank: int, kind: str) -> list[OpenOperation]:
    summary = group.by_rank.get(rank)
    opened = summary.end.open if summary is not None else []
    return [each for call in opened for each in (call.call, *call.pending) if each.kind == kind]
