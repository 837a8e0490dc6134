"""A profile's records as an OTF2 archive, written by the OTF2 library itself (the package `otf2`).

Owns what becomes of a row: a call, function or region is ENTER and LEAVE; inside it stand MPI_SEND or
MPI_ISEND, MPI_RECV, MPI_IRECV_REQUEST and MPI_IRECV, MPI_COLLECTIVE_BEGIN and _END, RMA_PUT and RMA_GET,
one for every row of that kind; cancelled operations are MPI_REQUEST_CANCELLED; phases, and bytes of files,
are parameters. OTF2 wants an MPI_ISEND_COMPLETE and gets none, because nobody records when a send was
complete. Peers are ranks of the communicator, as OTF2 counts them; rows that cannot be said in it (a peer
in another world, an unknown communicator) are only ENTER and LEAVE, and counted. Locations are threads,
location groups ranks, system tree nodes hosts. Everything is defined before the first event, in an order that
does not depend on who writes which rank (`corewise.export.archives`). Memory: one thread's writer at a time,
and the requests under way.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import ctypes
import errno
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corewise._core import procedure_facts
from corewise.data.events import KINDS, CommunicatorRow, Events, Thread, optional
from corewise.export.nesting import BEGIN, END, POINT, Mark, Row, begins, nested
from corewise.export.procedures import collective_operation, receives_only, region_role

Progress = Callable[[float], None]

_NUMBER = {kind: number for number, kind in enumerate(KINDS)}
_MISS = _NUMBER["miss"]
_COLLECTIVE = _NUMBER["collective"]
_PHASE = _NUMBER["phase"]
_FILES = (_NUMBER["file_read"], _NUMBER["file_write"])
_ONE_SIDED = (_NUMBER["put"], _NUMBER["get"])
ARCHIVE = "traces"
"""What the archive is called in its folder, and the folder of its events there."""
_NO_RANK = 0xFFFF_FFFF
_CHUNK_BYTES = 256 * 1024  # the least that OTF2 takes: a thread's buffer while it is written


_ErrorCallback = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_uint64,
    ctypes.c_char_p,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_void_p,
)
"""OTF2's: own data, file, line, function, code, format of the message, its arguments."""
_ON_ERROR = _ErrorCallback(lambda _own, _file, _line, _function, code, _format, _arguments: code)


class Written(NamedTuple):
    """What an archive holds: events, and rows that OTF2 has no words for."""

    events: int
    unsaid: int


class Used(NamedTuple):
    """What rows need to be defined: numbers of names (found nothing: apart) and of communicators; kinds."""

    regions: list[int]
    found_nothing: list[int]
    phases: list[int]
    windows: list[int]
    kinds: list[int]


def used_by(events: Events) -> Used:
    """Reads the records through."""
    found: tuple[set[int], ...] = (set(), set(), set(), set(), set())
    for batch in events.batches():
        lasting, missed = begins(batch), batch.kind == _MISS
        found[0].update(np.unique(batch.name[lasting & ~missed]).tolist())
        found[1].update(np.unique(batch.name[lasting & missed]).tolist())
        found[2].update(np.unique(batch.name[batch.kind == _PHASE]).tolist())
        found[3].update(np.unique(batch.comm[np.isin(batch.kind, _ONE_SIDED)]).tolist())
        found[4].update(np.unique(batch.kind).tolist())
    found[3].discard(-1)
    return Used(*map(sorted, found))


def write_otf2(events: Events, folder: Path, progress: Progress) -> Written:
    """Makes the archive ``folder/traces.otf2``; raises an `OSError` where it cannot be written whole."""
    with open_archive(folder) as archive:
        writer = Writer(archive, events, used_by(events), events.origin_ns(), progress)
        for thread in events.threads:
            writer.write_thread(thread)
        return writer.finish()


@contextmanager
def open_archive(folder: Path) -> Iterator[Any]:
    """The archive ``folder/traces.otf2``, open; the library's errors become an `OSError`."""
    library = optional("otf2", "otf2")
    core = optional("_otf2", "otf2")
    _silence(library)
    try:
        with library.writer.open(
            str(folder),
            archive_name=ARCHIVE,
            chunk_size_events=_CHUNK_BYTES,
            chunk_size_definitions=_CHUNK_BYTES,
            timer_resolution=1_000_000_000,
        ) as archive:
            yield archive
    except core.Error as error:
        raise OSError(errno.EIO, error.description) from None


def _silence(library: Any) -> None:
    """Errors are told by exceptions alone; the library would print them, and Python what `__del__` raises."""
    optional("_otf2.Config", "otf2").conf.lib.OTF2_Error_RegisterCallback(_ON_ERROR, None)
    library.writer.Writer.__del__ = lambda self: None


class _Ranks:
    """World ranks as ranks of a communicator, seen from one of its members."""

    def __init__(self, row: CommunicatorRow, rank: int) -> None:
        inter = row.remote_size > 0
        mine_is_local = rank in row.ranks
        peers = row.remote_ranks if inter and mine_is_local else row.ranks
        self._size = row.size
        self._self = None if inter or row.size != 1 else rank
        self._index = None if row.identity else {peer: index for index, peer in enumerate(peers)}

    def find(self, peer: int) -> int | None:
        """None for a world rank that is no member."""
        if self._self is not None:
            return 0 if peer == self._self else None
        if self._index is None:
            return peer if 0 <= peer < self._size else None
        return self._index.get(peer)


class _Requests:
    """Numbers for receives under way in one process: from the post to the arrival, in whichever thread."""

    def __init__(self) -> None:
        self._next = 0
        self._posted: dict[int, deque[int]] = defaultdict(deque)
        self._arrived: dict[int, deque[int]] = defaultdict(deque)

    def fresh(self) -> int:
        """A number nobody has."""
        self._next += 1
        return self._next

    def post(self, start_ns: int) -> int:
        """The number of a receive that was posted; its arrival may be known, from another thread."""
        return self._take(self._arrived, start_ns) or self._remember(self._posted, start_ns)

    def arrive(self, start_ns: int) -> int:
        """The number of the receive that was posted then."""
        return self._take(self._posted, start_ns) or self._remember(self._arrived, start_ns)

    def _remember(self, table: dict[int, deque[int]], start_ns: int) -> int:
        number = self.fresh()
        table[start_ns].append(number)
        return number

    @staticmethod
    def _take(table: dict[int, deque[int]], start_ns: int) -> int:
        waiting = table.get(start_ns)
        if not waiting:
            return 0
        number = waiting.popleft()
        if not waiting:
            del table[start_ns]
        return number


def event_file(location: Any) -> Path:
    """Below the archive's folder."""
    return Path(ARCHIVE, f"{location._ref}.evt")


class _Closed:
    """Stands for a thread's writer that has done its work."""

    def close(self) -> None:
        """Nothing is left to do."""


class Writer:
    """Writes definitions, then thread after thread."""

    def __init__(self, archive: Any, events: Events, used: Used, origin_ns: int, progress: Progress) -> None:
        self._otf2 = optional("otf2", "otf2")
        self._archive = archive
        self._definitions = archive.definitions
        self._events = events
        self._progress = progress
        self._locations: dict[tuple[int, int, int], Any] = {}
        self._comms: list[Any] = []
        self._windows: dict[int, Any] = {}
        self._ranks: dict[tuple[int, int], _Ranks] = {}
        self._regions: dict[tuple[int, bool], Any] = {}
        self._facts = [procedure_facts(name) for name in events.names]
        self._requests: dict[tuple[int, int], _Requests] = defaultdict(_Requests)
        self._origin_ns = origin_ns
        self._parameters: dict[str, Any] = {}
        self._written = 0
        self._unsaid = 0
        self._done = 0
        self._handlers: dict[int, Callable[[Any, int, Row, int, int], None]] = {
            _NUMBER["send"]: self._send,
            _NUMBER["receive"]: self._receive,
            _NUMBER["post_receive"]: self._post,
            _NUMBER["arrival"]: self._arrival,
            _NUMBER["cancel"]: self._cancel,
            _NUMBER["put"]: self._one_sided,
            _NUMBER["get"]: self._one_sided,
            _NUMBER["phase"]: self._phase,
            _NUMBER["recording"]: self._recording,
        }

        self._define_locations()
        self._define_communicators()
        self._define_used(used)

    def finish(self) -> Written:
        """After the last thread."""
        self._set_time_of_day()
        return Written(self._written, self._unsaid)

    def location_of(self, thread: Thread) -> Any:
        """Where a thread's events are."""
        return self._locations[thread.process.world, thread.process.rank, thread.slot]

    # ---- definitions ----

    def _define_locations(self) -> None:
        """A rank that left no file, or is not wanted, still is a member of communicators."""
        otf2 = self._otf2
        root = self._definitions.system_tree_node("run", class_name="machine")
        hosts = {p.host: None for p in self._events.processes}
        nodes = {
            host: self._definitions.system_tree_node(host or "host", class_name="node", parent=root)
            for host in hosts
        }
        known = {(p.world, p.rank): p for p in self._events.processes}
        for world, size in sorted({(p.world, p.world_size) for p in self._events.processes}):
            for rank in range(size):
                process = known.get((world, rank))
                of_world = f" of {process.world_name}" if process is not None and world else ""
                group = self._definitions.location_group(
                    f"rank {rank}{of_world}"
                    if process is not None
                    else f"rank {rank} (world {world}, absent)",
                    location_group_type=otf2.LocationGroupType.PROCESS,
                    system_tree_parent=nodes[process.host] if process is not None else root,
                )
                slots = [t.slot for t in self._events.threads if t.process is process] if process else []
                for slot in slots or [0]:
                    self._locations[world, rank, slot] = self._definitions.location(
                        f"thread {slot}", type=otf2.LocationType.CPU_THREAD, group=group
                    )

    def _define_communicators(self) -> None:
        otf2, definitions = self._otf2, self._definitions
        first: dict[tuple[int, int], Any] = {}
        for (world, rank, _), location in self._locations.items():
            first.setdefault((world, rank), location)
        definitions.group(
            "",
            group_type=otf2.GroupType.COMM_LOCATIONS,
            paradigm=otf2.Paradigm.MPI,
            members=[*first.values()],
        )
        for index, row in enumerate(self._events.communicators):
            name = row.name or f"communicator {index}"
            groups = [
                self._group(row, members, first)
                for members in ((row.ranks, row.remote_ranks) if row.remote_size else (row.ranks,))
            ]
            if len(groups) == 2:
                self._comms.append(definitions.inter_comm(name, groupA=groups[0], groupB=groups[1]))
            else:
                self._comms.append(definitions.comm(name, group=groups[0]))

    def _group(self, row: CommunicatorRow, ranks: tuple[int, ...], first: dict[tuple[int, int], Any]) -> Any:
        otf2 = self._otf2
        if row.size == 1 and not row.remote_size:
            return self._definitions.group(
                "", group_type=otf2.GroupType.COMM_SELF, paradigm=otf2.Paradigm.MPI, members=[]
            )
        members = tuple(range(row.size)) if row.identity else ranks
        return self._definitions.group(
            "",
            group_type=otf2.GroupType.COMM_GROUP,
            paradigm=otf2.Paradigm.MPI,
            members=[first[row.world, rank] for rank in members if (row.world, rank) in first],
        )

    def _define_used(self, used: Used) -> None:
        for found_nothing, names in ((False, used.regions), (True, used.found_nothing)):
            for name in names:
                self._regions[name, found_nothing] = self._define_region(name, found_nothing)
        for name in used.phases:
            self._definitions.strings.get(self._events.names[name])
        for comm in used.windows:
            name_of = self._events.communicators[comm].name or f"communicator {comm}"
            # Windows are recorded by their communicator.
            self._windows[comm] = self._definitions.rma_win(f"windows on {name_of}", comm=self._comms[comm])
        for kinds, parameter, type_ in (
            ((_MISS,), "calls", "UINT64"),
            (_FILES, "bytes", "UINT64"),
            ((_PHASE,), "phase", "STRING"),
        ):
            if not set(kinds).isdisjoint(used.kinds):
                self._parameters[parameter] = self._definitions.parameter(
                    parameter, parameter_type=getattr(self._otf2.ParameterType, type_)
                )

    def _region(self, row: Row) -> Any:
        return self._regions[row.name, row.kind == _MISS]

    def _define_region(self, name: int, found_nothing: bool) -> Any:
        roles, paradigms = self._otf2.RegionRole, self._otf2.Paradigm
        text = self._events.names[name] + (" (nothing found)" if found_nothing else "")
        sort = self._events.sorts[name]
        if sort == "procedure":
            role, paradigm = getattr(roles, region_role(self._facts[name])), paradigms.MPI
        else:
            role, paradigm = (
                (roles.FUNCTION, paradigms.COMPILER) if sort == "function" else (roles.CODE, paradigms.USER)
            )
        return self._definitions.region(text, region_role=role, paradigm=paradigm)

    def _set_time_of_day(self) -> None:
        """When the run began; the library would say when the archive was written."""
        began = [process.started_realtime_ns - process.start_ns for process in self._events.processes]
        first = self._archive._first_timestamp
        if began and first is not None:
            self._archive._realtime_timestamp = (min(began) + first + self._origin_ns) / 1e9

    # ---- one thread ----

    def write_thread(self, thread: Thread) -> None:
        """All events of a thread."""
        process = thread.process
        location = self.location_of(thread)
        writer = self._archive.event_writer_from_location(location)
        for marks, mark in enumerate(nested(lambda: self._events.thread_batches(thread)), 1):
            self._write_mark(writer, mark, process.world, process.rank)
            if marks % 8192 == 0:
                self._tell(self._done + min(marks / 2, thread.records))
        self._done += thread.records
        self._tell(self._done)
        self._close(location)

    def count_thread(self, thread: Thread, events: int, unsaid: int) -> Path:
        """Events of a thread that another process has written; returns the file where they belong."""
        location = self.location_of(thread)
        self._archive.event_writer_from_location(location)
        location._number_of_events_written = events
        self._unsaid += unsaid
        self._close(location)
        return event_file(location)

    def _close(self, location: Any) -> None:
        """One thread's buffer and file at a time: there may be more ranks than files can be open.

        The library closes all writers at its end, and opens those anew that it does not find.
        """
        self._archive.event_writer_from_location(location).close()
        self._archive._event_writers[location._ref] = _Closed()
        self._written += location._number_of_events_written

    def _tell(self, done: float) -> None:
        self._progress(done / max(self._events.records, 1))

    def _write_mark(self, writer: Any, mark: Mark, world: int, rank: int) -> None:
        time, row = max(mark.time_ns - self._origin_ns, 0), mark.row
        if mark.what == POINT:
            self._say(writer, time, row, world, rank, BEGIN)
            self._say(writer, time, row, world, rank, END)
        elif mark.what == BEGIN:
            writer.enter(time, self._region(row))
            self._say(writer, time, row, world, rank, BEGIN)
        else:
            self._say(writer, time, row, world, rank, END)
            writer.leave(time, self._region(row))

    def _say(self, writer: Any, time: int, row: Row, world: int, rank: int, what: int) -> None:
        """What a row says beyond its time: receives at their end, everything else at its begin."""
        if row.kind == _COLLECTIVE:
            self._collective(writer, time, row, rank, what)
            return
        if what != (END if row.kind == _NUMBER["receive"] else BEGIN):
            return
        handler = self._handlers.get(row.kind)
        if handler is not None:
            handler(writer, time, row, world, rank)
        elif row.kind == _MISS:
            writer.parameter_unsigned_int(time, self._parameters["calls"], row.calls)
        elif row.kind in _FILES:
            writer.parameter_unsigned_int(time, self._parameters["bytes"], row.bytes)

    # ---- messages ----

    def _peer(self, row: Row, rank: int) -> int | None:
        """The peer as OTF2 counts it; None for no message, or one that cannot be said."""
        if row.peer < 0 and row.peer != -4:
            return None
        found = None
        if row.comm >= 0 and row.peer >= 0:
            key = (row.comm, rank)
            if key not in self._ranks:
                self._ranks[key] = _Ranks(self._events.communicators[row.comm], rank)
            found = self._ranks[key].find(row.peer)
        self._unsaid += found is None
        return found

    def _send(self, writer: Any, time: int, row: Row, world: int, rank: int) -> None:
        peer = self._peer(row, rank)
        if peer is None:
            return
        where = (peer, self._comms[row.comm], row.tag & _NO_RANK, row.bytes)
        if self._facts[row.name].sends_without_request:
            writer.mpi_send(time, *where)
        else:
            writer.mpi_isend(time, *where, self._requests[world, rank].fresh())

    def _receive(self, writer: Any, time: int, row: Row, world: int, rank: int) -> None:
        peer = self._peer(row, rank)
        if peer is not None:
            writer.mpi_recv(time, peer, self._comms[row.comm], row.tag & _NO_RANK, row.bytes)

    def _post(self, writer: Any, time: int, row: Row, world: int, rank: int) -> None:
        writer.mpi_irecv_request(time, self._requests[world, rank].post(row.start_ns))

    def _arrival(self, writer: Any, time: int, row: Row, world: int, rank: int) -> None:
        if self._facts[row.name].sends_without_request:  # the receiving half of MPI_Sendrecv
            self._receive(writer, time, row, world, rank)
            return
        request = self._requests[world, rank].arrive(row.start_ns)
        peer = self._peer(row, rank)
        if peer is not None:
            writer.mpi_irecv(time, peer, self._comms[row.comm], row.tag & _NO_RANK, row.bytes, request)

    def _cancel(self, writer: Any, time: int, row: Row, world: int, rank: int) -> None:
        writer.mpi_request_cancelled(time, self._requests[world, rank].arrive(row.start_ns))

    def _collective(self, writer: Any, time: int, row: Row, rank: int, what: int) -> None:
        operation = collective_operation(self._facts[row.name])
        if operation is None or row.comm < 0:
            self._unsaid += what == BEGIN
            return
        if what == BEGIN:
            writer.mpi_collective_begin(time)
            return
        root = self._peer(row, rank) if row.peer >= 0 else None
        received = receives_only(self._facts[row.name], row.peer == rank)
        writer.mpi_collective_end(
            time,
            getattr(self._otf2.CollectiveOp, operation),
            self._comms[row.comm],
            _NO_RANK if root is None else root,
            0 if received else row.bytes,
            row.bytes if received else 0,
        )

    def _one_sided(self, writer: Any, time: int, row: Row, world: int, rank: int) -> None:
        peer = self._peer(row, rank)
        if peer is None:
            return
        write = writer.rma_put if row.kind == _NUMBER["put"] else writer.rma_get
        write(time, self._windows[row.comm], peer, row.bytes, self._requests[world, rank].fresh())

    def _phase(self, writer: Any, time: int, row: Row, world: int, rank: int) -> None:
        writer.parameter_string(time, self._parameters["phase"], self._events.names[row.name])

    def _recording(self, writer: Any, time: int, row: Row, world: int, rank: int) -> None:
        modes = self._otf2.MeasurementMode
        writer.measurement_on_off(time, modes.OFF if row.tag == 0 else modes.ON)
