"""A second reader of trace files, written from src/trace/format.hpp alone: the tests' independent opinion.

Owns its own idea of the layout; shares no code with the readers that it is held against. It is strict where
they are lenient: anything that the format forbids fails the test.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from elftools.elf.elffile import ELFFile

ROLES = [
    "plain",
    "send",
    "receive",
    "post_receive",
    "arrival",
    "collective",
    "collective_part",
    "miss",
    "cancel",
    "probe",
    "rma_put",
    "rma_get",
    "function_enter",
    "function_exit",
    "region_enter",
    "region_exit",
    "phase",
    "recording",
    "file_read",
    "file_write",
]
SHORT = ("plain", *ROLES[12:18])
FUNCTIONS, NAMED = ROLES[12:14], ROLES[14:18]
NO_PEER, PROC_NULL, ANY_SOURCE, OUTSIDE, ANY_TAG = -1, -2, -3, -4, -1
UNKNOWN_COMM = 0xFFFF
STATES = ("running", "finalized", "aborted")

HEADER = struct.Struct("<8sIIiiIIIIIIQqqQQqIiQQQQQ64s256s128s128sIIQQQ64sIiQQQIIQQ")
HEADER_FIELDS = [
    "magic",
    "version",
    "header_bytes",
    "rank",
    "world_size",
    "pid",
    "spawned",
    "clock",
    "mode",
    "half_bytes",
    "thread_level",
    "start_ticks",
    "start_ns",
    "start_realtime_ns",
    "tail",
    "latest_ticks",
    "latest_ns",
    "state",
    "abort_code",
    "lost_bytes",
    "lost_sites",
    "lost_requests",
    "lost_comms",
    "lost_nested",
    "host",
    "library",
    "cpus_start",
    "cpus_end",
    "kinds",
    "reserved",
    "lost_names",
    "lost_functions",
    "memory_bytes",
    "node",
    "crash_signal",
    "crash_code",
    "crash_ticks",
    "crash_instruction",
    "crash_address",
    "crash_slot",
    "crash_stack_bytes",
    "lost_types",
    "exit_ticks",
]
HEADER_BYTES, SITES, BLOCK_ALIGN = 4096, 4096, 64
FIRST_BLOCK = HEADER_BYTES + 8 * SITES
COMMIT = 0x54494D4D4F435743
THREAD_BYTES, LISTED = 256, 4
RAW, DELTA, CLOSED = 0, 1, 2**64 - 1
LONG, SHORT_UNTIMED = 0x8000, range(12, 32)  # in `call`; roles
Chunk = tuple[int, bytes, int, int]  # first, payload, encoding, bytes of records


@dataclass(frozen=True)
class Record:
    """One record; procedure by name, communicator by index."""

    start: int
    duration: int
    procedure: str
    role: str
    site: int
    bytes: int = 0
    comm: int = UNKNOWN_COMM
    peer: int = NO_PEER
    tag: int = 0
    address: int = 0  # of a function
    name: int = 0  # of a region or phase; the level of MPI_Pcontrol
    datatype: int = 0  # index of its TYPE block, 0 unknown

    @property
    def event(self) -> tuple[str, str, int, int, int]:
        """What happened: procedure, role, peer, tag, bytes."""
        return self.procedure, self.role, self.peer, self.tag, self.bytes


@dataclass
class Comm:
    """A communicator's description."""

    name: str
    ranks: list[int] | None  # None: rank r is world rank r
    remote: list[int]
    size: int
    my_rank: int
    created_by: int
    parent: int


@dataclass(frozen=True)
class Datatype:
    """A datatype's description."""

    name: str
    size: int
    extent: int
    derived: bool


@dataclass
class Trace:
    """A decoded rank file."""

    path: Path
    header: dict[str, int | bytes]
    names: list[str] = field(default_factory=list)
    comms: dict[int, Comm] = field(default_factory=dict)
    maps: list[str] = field(default_factory=list)
    regions: dict[int, str] = field(default_factory=dict)
    datatypes: dict[int, Datatype] = field(default_factory=dict)
    open: dict[int, list[Record]] = field(default_factory=dict)  # by slot: the call, what it waited for
    clocks: list[tuple[int, ...]] = field(
        default_factory=list
    )  # ticks, local, offset, uncertainty, reference, moment
    slots: list[list[Record]] = field(default_factory=list)
    addresses: tuple[int, ...] = ()
    functions: dict[int, str] = field(default_factory=dict)  # by site, as far as asked for

    @property
    def records(self) -> Iterator[Record]:
        """All threads' records, one slot after the other."""
        for slot in self.slots:
            yield from slot

    @property
    def state(self) -> str:
        """How the run ended, as far as the rank knew."""
        return STATES[self.number("state")]

    def number(self, name: str) -> int:
        """An integer field of the header."""
        value = self.header[name]
        assert isinstance(value, int)
        return value

    def count(self, procedure: str, role: str) -> int:
        """How many records of a procedure have a role."""
        return sum(1 for r in self.records if (r.procedure, r.role) == (procedure, role))

    def losses(self) -> dict[str, int]:
        """The loss counters that are not zero."""
        return {key: self.number(key) for key in self.header if key.startswith("lost_") and self.number(key)}

    def function(self, record: Record) -> str:
        """The function that holds a record's call site, "" where nothing is known."""
        if record.site not in self.functions:
            self.functions[record.site] = self._function(record.site)
        return self.functions[record.site]

    def _function(self, site: int) -> str:
        if site == 0:
            return ""
        call = self.addresses[site - 1] - 1  # the return address may be the next function's first
        for line in self.maps:
            extent, _, offset, _, _, *path = line.split(maxsplit=5)
            low, high = (int(end, 16) for end in extent.split("-"))
            if low <= call < high and path:
                return function_at(path[0], call - low + int(offset, 16))
        return ""

    def by_function(self) -> dict[str, list[Record]]:
        """Records in order, grouped by the function that made the call."""
        groups: dict[str, list[Record]] = {}
        for record in self.records:
            groups.setdefault(self.function(record), []).append(record)
        return groups


@cache
def symbols(path: str) -> tuple[list[int], list[tuple[int, str]], list[tuple[int, int, int]]]:
    """Starts and (end, name) of a file's functions, and its segments (offset, bytes, address)."""
    with Path(path).open("rb") as file:
        elf = ELFFile(file)
        segments = [
            (s["p_offset"], s["p_filesz"], s["p_vaddr"])
            for s in elf.iter_segments()
            if s["p_type"] == "PT_LOAD"
        ]
        table = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
        found = sorted(
            (s["st_value"], s["st_value"] + s["st_size"], s.name)
            for s in table.iter_symbols()
            if s["st_info"]["type"] == "STT_FUNC" and s["st_size"]
        )
    return [start for start, _, _ in found], [(end, name) for _, end, name in found], segments


def function_at(path: str, offset: int) -> str:
    """The function at an offset of an ELF file."""
    starts, ends, segments = symbols(path)
    for begin, size, address in segments:
        if begin <= offset < begin + size:
            place = offset - begin + address
            at = bisect.bisect_right(starts, place) - 1
            return ends[at][1] if at >= 0 and place < ends[at][0] else ""
    return ""


def decode(path: Path) -> Trace:
    """Read a rank file to its end."""
    data = path.read_bytes()
    header = dict(zip(HEADER_FIELDS, HEADER.unpack_from(data), strict=True))
    assert header["magic"] == b"CWTRACE\0", path
    assert (header["version"], header["header_bytes"]) == (3, HEADER_BYTES)
    trace = Trace(path, header, addresses=struct.unpack_from(f"<{SITES}Q", data, HEADER_BYTES))
    threads: dict[int, tuple[int, int]] = {}
    chunks: dict[int, list[Chunk]] = {}
    for kind, index, at, size in blocks(data):
        if kind == b"THRD":
            threads[index] = (at, size)
        elif kind == b"CHNK":
            first, payload, encoding, length = struct.unpack_from("<QIIQ", data, at + 16)
            assert encoding in (RAW, DELTA) and payload + 64 <= size
            body = data[at + 64 : at + 64 + payload]
            chunks.setdefault(index, []).append((first, body, encoding, length or payload))
        elif kind == b"CLOK":
            trace.clocks.append(struct.unpack_from("<QqqQiI", data, at + 16))
        elif struct.unpack_from("<Q", data, at + size - 8) == (COMMIT,):
            take_text(trace, data, kind, index, at)
    assert sorted(threads) == list(range(len(threads)))
    for index, (at, _) in sorted(threads.items()):
        trace.open[index] = list(open_records(trace, data, at + 64))
        trace.slots.append(list(thread_records(trace, data, at, chunks.get(index, []))))
    return trace


def blocks(data: bytes) -> Iterator[tuple[bytes, int, int, int]]:
    """Kind, index, offset and size of every block."""
    at = FIRST_BLOCK
    while at + 16 <= len(data):
        kind, index, size = struct.unpack_from("<4sIQ", data, at)
        if kind == bytes(4):
            at += BLOCK_ALIGN
            continue
        assert kind in (b"THRD", b"CHNK", b"NAME", b"COMM", b"MAPS", b"REGN", b"CLOK", b"TYPE"), (kind, at)
        assert size % BLOCK_ALIGN == 0 and size > 0, (kind, at, size)
        # A full disk cuts the last chunk short; only `drained` can make it valid.
        assert at + size <= len(data) or (kind == b"CHNK" and at + 64 <= len(data)), (kind, at, size)
        yield kind, index, at, size
        at += size


def take_text(trace: Trace, data: bytes, kind: bytes, index: int, at: int) -> None:
    """Names, mappings and communicators."""
    if kind == b"COMM":
        size, remote, me, identity, length, created_by, parent, ticks = struct.unpack_from(
            "<iiiIIHHQ", data, at + 16
        )
        assert ticks > 0
        name = data[at + 64 : at + 64 + length].decode()
        ranks_at = at + 64 + (length + 7) // 8 * 8
        local = 0 if identity else size
        ranks = list(struct.unpack_from(f"<{local + remote}i", data, ranks_at))
        trace.comms[index] = Comm(
            name, None if identity else ranks[:local], ranks[local:], size, me, created_by, parent
        )
        return
    if kind == b"TYPE":
        size, extent, derived, length = struct.unpack_from("<QqII", data, at + 16)
        name = data[at + 64 : at + 64 + length].decode()
        assert index not in trace.datatypes and 0 < index < 255
        trace.datatypes[index] = Datatype(name, size, extent, bool(derived))
        return
    (payload,) = struct.unpack_from("<Q", data, at + 16)
    text = data[at + 64 : at + 64 + payload]
    if kind == b"NAME":
        trace.names = [name.decode() for name in text.split(b"\0")[:-1]]
    elif kind == b"REGN":
        trace.regions[index] = text.decode()
    else:
        trace.maps += text.decode().splitlines()


def thread_records(trace: Trace, data: bytes, at: int, chunks: list[Chunk]) -> Iterator[Record]:
    """One slot's records: its valid chunks, then what its halves hold beyond them."""
    drained, *half_first = struct.unpack_from("<QQQ", data, at + 16)
    position = 0
    for first, payload, encoding, length in sorted(chunks):
        if first + length > drained:
            continue
        records = delta_records(payload) if encoding == DELTA else payload
        assert first == position and len(records) == length, (trace.path, first, position)
        yield from span_records(trace, records, 0, length, first, 0)
        position += length
    if trace.number("mode") != 1:
        assert position == drained, (trace.path, position, drained)
    half_bytes = trace.number("half_bytes")
    for first, number in sorted((first, number) for number, first in enumerate(half_first)):
        if first == CLOSED:
            continue
        yield from span_records(
            trace, data, at + THREAD_BYTES + number * half_bytes, half_bytes, first, drained
        )


def open_records(trace: Trace, data: bytes, at: int) -> Iterator[Record]:
    """The call that a thread was in, then what it waited for; nothing outside of calls."""
    if struct.unpack_from("<Q", data, at) == (0,):
        return
    _, listed = struct.unpack_from("<II", data, at + 32)
    assert listed <= LISTED
    for place in (at, *(at + 64 + 32 * number for number in range(listed))):
        # A record of a plain call ends after 16 bytes.
        length = 32 if struct.unpack_from("<H", data, place + 12)[0] & LONG else 16
        yield from span_records(trace, data, place, length, 0, 0)


def delta_records(payload: bytes) -> bytes:
    """The records of a chunk of encoding 1."""
    at, last, records = 0, 0, bytearray()
    templates, recent = [(0, 0, 0, 0)] * 64, [(0, 0, 0, 0)] * 16

    def take(size: int) -> int:
        nonlocal at
        at += size
        assert at <= len(payload)
        return int.from_bytes(payload[at - size : at], "little")

    while at < len(payload):
        token = take(2)
        distance = take((1, 2, 3, 8)[token >> 8 & 3]) << 4 | token >> 12
        start = last + (-distance if token & 0x80 else distance)
        if token & 0x40:
            word = take(2)
            head, volume, peer, tag = recent[word & 15]
            head ^= take(4) if word & 0x10 else 0
            volume ^= take(word >> 6 & 15)
            peer ^= take(word >> 10 & 7)
            tag ^= take(word >> 13 & 7)
            recent[word & 15] = templates[token & 63] = head, volume, peer, tag
        head, volume, peer, tag = templates[token & 63]
        role = head >> 10 & 31
        timed = head & LONG or role not in SHORT_UNTIMED
        low = take((token >> 10 & 3) + 1) if timed else volume
        records += struct.pack("<QII", start & 2**64 - 1, low, head)
        if head & LONG:
            records += struct.pack("<QII", volume, peer, tag)
        if not head & LONG or ROLES[role] not in ("arrival", "cancel"):
            last = start
    return bytes(records)


def span_records(trace: Trace, data: bytes, at: int, size: int, first: int, floor: int) -> Iterator[Record]:
    """Records from one piece of a stream, up to the first that was not committed."""
    done = 0
    while done + 16 <= size:
        start, duration, call, site = struct.unpack_from("<QIHH", data, at + done)
        if start == 0:
            return
        long = call & 0x8000 != 0
        role = ROLES[(call >> 10) & 0x1F]
        assert long == (role not in SHORT), (trace.path, at + done)
        ticks = (duration & ((1 << 27) - 1)) << (duration >> 27)
        record = Record(start, ticks, trace.names[call & 0x3FF], role, site)
        if role in FUNCTIONS:
            record = Record(start, 0, "", role, 0, address=duration | site << 32)
        elif role in NAMED:
            record = Record(start, 0, "", role, site, name=duration)
        elif long:
            volume, target, tag = struct.unpack_from("<QIi", data, at + done + 16)
            peer = (target & 0xFFFFFF) - (0x1000000 if target & 0x800000 else 0)
            record = Record(
                start,
                ticks,
                record.procedure,
                role,
                site,
                volume & ((1 << 48) - 1),
                volume >> 48,
                peer,
                tag,
                datatype=target >> 24,
            )
        if first + done >= floor:
            yield record
        done += 32 if long else 16


def decode_folder(folder: Path) -> dict[int, Trace]:
    """Every ``rank-NNNNN.cwt`` of a folder, by rank."""
    found = {trace.number("rank"): trace for trace in map(decode, sorted(folder.glob("rank-?????.cwt")))}
    assert len(found) == len(list(folder.glob("rank-?????.cwt")))
    return found
