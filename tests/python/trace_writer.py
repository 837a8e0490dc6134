"""Trace files written byte by byte from docs/formats/trace.md: made-up runs for tests of profile and report.

Independent of the C++ recorder on purpose: if both agree with the reader, the format page is right.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HALF_BYTES = 4096
COMMIT = 0x54494D4D4F435743
PLAIN, SEND, RECEIVE, POST_RECEIVE, ARRIVAL, COLLECTIVE, PART, MISS, CANCEL, PROBE, PUT, GET = range(12)
FUNCTION_ENTER, FUNCTION_EXIT, REGION_ENTER, REGION_EXIT, PHASE, RECORDING, FILE_READ, FILE_WRITE = range(
    12, 20
)
SHORT = frozenset({PLAIN, *range(FUNCTION_ENTER, RECORDING + 1)})
ALL_KINDS = 255
NO_PEER = -1
RUNNING, FINALIZED, ABORTED = range(3)
PROCEDURES = (
    "MPI_Init",
    "MPI_Finalize",
    "MPI_Send",
    "MPI_Recv",
    "MPI_Allreduce",
    "MPI_Barrier",
    "MPI_Iprobe",
    "MPI_Put",
    "MPI_Get",
    "MPI_Pcontrol",
    "MPI_File_read",
    "MPI_File_write",
    "MPI_Irecv",
    "MPI_Bcast",
    "MPI_Isend",
    "MPI_Wait",
    "MPI_Waitall",
    "MPI_Sendrecv",
    "MPI_Comm_split",
    "MPI_Test",
    "MPI_Ssend",
    "MPI_Probe",
    "MPI_Abort",
)
START_TICKS = 1_000


@dataclass
class RankTrace:
    """One rank's records, in order, and how it ended. Ticks are nanoseconds.

    Version 1, until something is recorded that only version 2 knows; version 3 is asked for. `cpus` is the
    affinity mask (None: one processing unit by rank); `comms` are further communicators, (name, world ranks)
    from index 1 on. `signal` and `instruction` are the crash, so many ticks `later` than the last call;
    `exit_ticks` is when it ran its exit handlers.
    """

    rank: int
    size: int
    state: int = FINALIZED
    abort_code: int = 0
    host: str = "testhost"
    lost_bytes: int = 0
    started_realtime_ns: int = 1_700_000_000_000_000_000
    end_ticks: int = START_TICKS + 10_000_000
    sites: dict[int, int] = field(default_factory=dict)
    maps: str = ""
    version: int = 1
    node: str = ""
    kinds: int = ALL_KINDS
    cpus: Sequence[int] | None = None
    comms: list[tuple[str, Sequence[int]]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    records: list[bytes] = field(default_factory=list)
    now: int = START_TICKS + 100
    signal: int = 0
    instruction: int = 0
    later: int = 0
    exit_ticks: int = 0
    open_call: bytes = b""

    def put(
        self,
        role: int,
        procedure: str,
        peer: int = NO_PEER,
        size: int = 0,
        ticks: int = 10,
        site: int = 0,
        tag: int = 0,
        comm: int = 0,
    ) -> None:
        """Appends a record; the next one starts where it ends."""
        self.records.append(self._record(role, procedure, peer, size, ticks, site, tag, comm))
        self.now += ticks

    def enter(self, role: int, procedure: str, peer: int = NO_PEER, size: int = 0, site: int = 0) -> None:
        """A call that is not over; version 3."""
        self.open_call = self._record(role, procedure, peer, size, 0, site, 0, 0)

    def _record(
        self, role: int, procedure: str, peer: int, size: int, ticks: int, site: int, tag: int, comm: int
    ) -> bytes:
        number = PROCEDURES.index(procedure)
        call = number | role << 10 | (0x8000 if role not in SHORT else 0)
        record = struct.pack("<QIHH", self.now, ticks, call, site)
        if role not in SHORT:
            record += struct.pack("<Q", size | comm << 48)
            record += struct.pack("<Ii", peer & (0xFFFFFF if self.version >= 3 else 0xFFFFFFFF), tag)
        if role >= FUNCTION_ENTER:
            self.version = max(self.version, 2)
        return record

    def mark(self, role: int, name: str) -> None:
        """A region entered or left, or a phase begun; takes no time."""
        if name not in self.names:
            self.names.append(name)
        self._short(role, self.names.index(name), 0)

    def function(self, role: int, address: int) -> None:
        """A function entered or left; takes no time."""
        self._short(role, address & 0xFFFFFFFF, address >> 32)

    def recording(self, level: int) -> None:
        """MPI_Pcontrol."""
        self._short(RECORDING, level, 0, PROCEDURES.index("MPI_Pcontrol"))
        self.now += 1

    def _short(self, role: int, low: int, high: int, procedure: int = 0) -> None:
        self.version = max(self.version, 2)
        self.records.append(struct.pack("<QIHH", self.now, low, procedure | role << 10, high))

    def write(self, path: Path) -> None:
        """The file as it lies on disk after the rank ended."""
        blocks = [self._names(), self._comm(), self._maps()]
        blocks += [self._further_comm(index) for index in range(1, 1 + len(self.comms))]
        blocks += [_text(0x4E474552, name.encode(), index) for index, name in enumerate(self.names)]
        position = 4096 + 8 * 4096
        body = bytearray()
        for block in blocks:
            body += block + bytes(-len(block) % 64)
        chunks, live, drained = self._halves()
        for first, payload in chunks:
            block = (
                struct.pack("<IIQQII32x", 0x4B4E4843, 0, 64 + len(payload), first, len(payload), 0) + payload
            )
            body += block + bytes(-len(block) % 64)
        body += bytes(-(position + len(body)) % 4096)
        opened = self.open_call.ljust(192, b"\0") if self.version >= 3 else b""
        room = 64 + len(opened) + 2 * HALF_BYTES
        thread = struct.pack("<IIQQQQ24x", 0x44524854, 0, room, drained, drained, 0) + opened
        body += thread + live.ljust(HALF_BYTES, b"\0") + bytes(HALF_BYTES)
        path.write_bytes(self._header(position + len(body)) + self._site_table() + bytes(body))

    def _halves(self) -> tuple[list[tuple[int, bytes]], bytes, int]:
        """Full halves as chunks, and what is still in the live one."""
        chunks: list[tuple[int, bytes]] = []
        live, drained = b"", 0
        for record in self.records:
            if len(live) + len(record) > HALF_BYTES:
                chunks.append((drained, live))
                drained += len(live)
                live = b""
            live += record
        return chunks, live, drained

    def _header(self, tail: int) -> bytes:
        start = struct.pack(
            "<8sIIiiIIIIII",
            b"CWTRACE\0",
            self.version,
            4096,
            self.rank,
            self.size,
            4711,
            0,
            1,
            0,
            HALF_BYTES,
            0,
        )
        times = struct.pack("<QqqQQq", START_TICKS, 0, self.started_realtime_ns, tail, self.end_ticks, 0)
        ending = struct.pack("<IiQQQQQ", self.state, self.abort_code, self.lost_bytes, 0, 0, 0, 0)
        names = self.host.encode().ljust(64, b"\0") + b"Test MPI 1.0".ljust(256, b"\0")
        mask = sum(1 << cpu for cpu in ([self.rank % 8] if self.cpus is None else self.cpus))
        cpus = mask.to_bytes(128, "little")
        later = struct.pack("<IIQQQ", self.kinds, 0, 0, 0, 0) + (self.node or self.host).encode().ljust(
            64, b"\0"
        )
        version_2 = later if self.version >= 2 else b""
        crash = struct.pack(
            "<IiQQQII", self.signal, 0, self.end_ticks + self.later, self.instruction, 0, 0, 0
        )
        version_3 = crash + struct.pack("<QQ", 0, self.exit_ticks) if self.version >= 3 else b""
        return (start + times + ending + names + cpus + cpus + version_2 + version_3).ljust(4096, b"\0")

    def _site_table(self) -> bytes:
        return b"".join(struct.pack("<Q", self.sites.get(site, 0)) for site in range(1, 4097))

    def _names(self) -> bytes:
        return _text(0x454D414E, b"".join(name.encode() + b"\0" for name in PROCEDURES))

    def _maps(self) -> bytes:
        return _text(0x5350414D, self.maps.encode())

    def _comm(self) -> bytes:
        name = b"MPI_COMM_WORLD\0\0"
        size = 64 + len(name) + 8
        head = struct.pack(
            "<IIQiiiIIHHQ16x", 0x4D4D4F43, 0, size, self.size, 0, self.rank, 1, 14, 0, 0xFFFF, 0
        )
        return head + name + struct.pack("<Q", COMMIT)

    def _further_comm(self, index: int) -> bytes:
        name, ranks = self.comms[index - 1]
        padded = name.encode() + bytes(-len(name.encode()) % 8)
        members = struct.pack(f"<{len(ranks)}i", *ranks)
        members += bytes(-len(members) % 8)
        size = 64 + len(padded) + len(members) + 8
        mine = list(ranks).index(self.rank) if self.rank in ranks else 0
        head = struct.pack(
            "<IIQiiiIIHHQ16x", 0x4D4D4F43, index, size, len(ranks), 0, mine, 0, len(name.encode()), 0, 0, 0
        )
        return head + padded + members + struct.pack("<Q", COMMIT)


def _text(kind: int, text: bytes, index: int = 0) -> bytes:
    padded = text + bytes(-len(text) % 8)
    return (
        struct.pack("<IIQQ40x", kind, index, 64 + len(padded) + 8, len(text))
        + padded
        + struct.pack("<Q", COMMIT)
    )


def write_meta(folder: Path, **changes: object) -> None:
    """A launcher's meta.json; `changes` replace its fields."""
    document: dict[str, object] = {
        "format": "corewise-profile",
        "version": 1,
        "corewise_version": "0",
        "command": ["mpiexec", "-n", "4", "./flow <x>"],
        "program": ["./flow <x>"],
        "mpi": {"name": "openmpi", "version": "5.0.0", "prefix": "/opt/mpi"},
        "ranks": 4,
        "host": "testhost",
        "started": "2026-01-02T03:04:05+00:00",
        "exit_status": 0,
        "wall_s": 1.5,
    }
    (folder / "meta.json").write_text(json.dumps({**document, **changes}))


def write_run(folder: Path, ranks: Sequence[RankTrace], meta: bool = True) -> Path:
    """A profile folder of these ranks."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in ranks:
        rank.write(folder / f"rank-{rank.rank:05d}.cwt")
    if meta:
        write_meta(folder, ranks=len(ranks))
    return folder


def ring_run(folder: Path, size: int = 4, rounds: int = 3, message: int = 1_000, meta: bool = True) -> Path:
    """Every rank sends `rounds` messages to its right neighbour, then all reduce 64 bytes."""
    ranks = []
    for rank in range(size):
        trace = RankTrace(rank, size)
        trace.put(PLAIN, "MPI_Init", ticks=1_000_000)
        for _ in range(rounds):
            trace.put(SEND, "MPI_Send", (rank + 1) % size, message, ticks=100)
            trace.put(RECEIVE, "MPI_Recv", (rank - 1) % size, message, ticks=300 * (1 + rank))
        trace.put(COLLECTIVE, "MPI_Allreduce", NO_PEER, 64, ticks=500)
        trace.put(PLAIN, "MPI_Finalize", ticks=2_000)
        ranks.append(trace)
    return write_run(folder, ranks, meta)
