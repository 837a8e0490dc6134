# Two ranks that move data of the types in a file in many ways, and write what every byte was then.
#
#     ways.py CASES OUT      CASES: JSON, a list (test_differential.py says what a case has)
#
# Rank r writes OUT.r: a list for each case, of what each way gave. Buffers lie against a page that nobody
# may touch, so that a look beyond the data ends the program too. The last entry is what the packing library's
# engine on Open MPI counted: whether it is on, pieces that it packed and unpacked.
# SPDX-License-Identifier: BSD-3-Clause
import ctypes
import hashlib
import json
import mmap
import sys
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
after, before = (rank + 1) % size, (rank - 1) % size
PAGE, SPAN, GUARD, TAG = mmap.PAGESIZE, 1 << 21, 64, 5
FAR, MOST = 1 << 20, 1 << 19  # of data of a type: where they may lie, and how many bytes
PACKED = "packed"
PAIRS = {"INT_INT", "DOUBLE_INT", "SHORT_INT", "LONG_INT", "FLOAT_INT"}

# ---- types


def build(of):
    """A type of its own: by a name, or by a constructor, its arguments and the type within, or types."""
    if isinstance(of, str):
        return getattr(MPI, of).Dup()
    name, *arguments, inner = of
    arguments = [constant(each) for each in arguments]
    if name == "Create_struct":
        parts = [build(each) for each in inner]
        made = MPI.Datatype.Create_struct(*arguments, parts)
    else:
        parts = [build(inner)]
        made = getattr(parts[0], name)(*arguments)
    for part in parts:
        part.Free()
    return made


def constant(given):
    if isinstance(given, list):
        return [constant(each) for each in given]
    return getattr(MPI, given) if isinstance(given, str) else given


def basics(of):
    """The predefined types in a description."""
    if isinstance(of, str):
        return {of}
    return set().union(*map(basics, of[-1])) if of[0] == "Create_struct" else basics(of[-1])


@cache
def layout_of(text, count):
    return Layout(json.loads(text), count)


def find(of, count):
    """Found once."""
    return layout_of(json.dumps(of), count)


class Layout:
    """Where the packed bytes of `count` items come from, by MPI_Pack of bytes that say where they are."""

    def __init__(self, of, count):
        self.of, self.count = of, count
        if of == PACKED:
            self.sources = np.arange(count)
            return
        each = build(of)
        _, extent = each.Get_extent()
        lower, true = each.Get_true_extent()
        reach = max(abs(lower), abs(lower + true)) + abs(max(count - 1, 0) * extent)
        if reach >= FAR // 2 or each.Get_size() * count > MOST:
            raise ValueError("too large")
        items = as_one(each, count)
        self.sources = np.zeros(each.Get_size() * count, np.int64)
        for shift in (0, 8, 16):
            memory = (np.arange(FAR) >> shift).astype(np.uint8)
            packed = np.zeros(self.sources.size, np.uint8)
            items.Pack(at(memory.ctypes.data + FAR // 2), packed, 0, MPI.COMM_SELF)
            self.sources += packed.astype(np.int64) << shift
        self.sources -= FAR // 2
        free(items, each)

    @cached_property
    def low(self):
        return int(self.sources.min(initial=0))

    @cached_property
    def high(self):
        return int(self.sources.max(initial=-1)) + 1

    @cached_property
    def may_receive(self):
        return np.unique(self.sources).size == self.sources.size


def as_one(each, count):
    """`count` items as a committed type of extent 1, of which mpi4py packs as many as a buffer has bytes."""
    items = each.Create_contiguous(count)
    made = items.Create_resized(0, 1).Commit()
    items.Free()
    return made


def free(*types):
    for each in types:
        if each is not MPI.PACKED:
            each.Free()


def at(address):
    return MPI.buffer.fromaddress(address, 1)


# ---- buffers


def region():
    """Memory between two pages that nobody may touch."""
    memory = np.frombuffer(mmap.mmap(-1, SPAN + 2 * PAGE), np.uint8)
    for fence in (0, PAGE + SPAN):
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(memory.ctypes.data + fence), PAGE, 0) == 0
    return memory[PAGE:-PAGE]


REGIONS = region(), region()


class Room:
    """A buffer of a pattern for offsets [low, high): at a region's end (fence 0), its beginning or amid."""

    def __init__(self, low, high, fence, seed, which=0):
        memory = REGIONS[which]
        self.zero = (SPAN - high, -low, SPAN // 2 - low)[fence]
        self.begin, self.end = max(self.zero + low - GUARD, 0), min(self.zero + high + GUARD, SPAN)
        self.seen = memory[self.begin : self.end]
        offset = np.arange(self.seen.size)
        self.seen[:] = offset * 131 + (offset >> 8) * 17 + seed * 29
        self.address = memory.ctypes.data + self.zero

    def digest(self, but=None):
        """Of all bytes, but those at some offsets."""
        kept = np.ones(self.seen.size, bool)
        if but is not None:
            kept[but + self.zero - self.begin] = False
        return hashlib.sha256(self.seen[kept].tobytes()).hexdigest()


class Items(Room):
    """A buffer for a layout and how MPI is told of it: by an address, or with `bottom` by absolute ones."""

    def __init__(self, layout, fence, bottom, seed, which=0):
        super().__init__(layout.low, layout.high, fence, seed, which)
        if layout.of == PACKED:
            self.type, self.told = MPI.PACKED, [at(self.address), layout.count, MPI.PACKED]
            return
        self.type, count = build(layout.of), layout.count
        if bottom:
            many = self.type.Create_contiguous(count)
            free(self.type)
            self.type, count = many.Create_hindexed_block(1, [self.address]), 1
            many.Free()
        self.type.Commit()
        self.told = [MPI.BOTTOM if bottom else at(self.address), count, self.type]

    def forget(self):
        if self.type != MPI.DATATYPE_NULL:
            free(self.type)


# ---- ways of a message


def ended(request, items):
    """Waits for a request after its type was freed."""
    items.forget()
    request.Wait()


def started(request, items, status=None):
    items.forget()
    request.Start()
    request.Wait(status)
    request.Free()


def tested(request, status=None):
    while not request.Test(status):
        pass


SENDS = (
    lambda its: world.Send(its.told, 1, TAG),
    lambda its: world.Ssend(its.told, 1, TAG),
    lambda its: ended(world.Isend(its.told, 1, TAG), its),
    lambda its: world.Bsend(its.told, 1, TAG),
    lambda its: started(world.Send_init(its.told, 1, TAG), its),
    lambda its: tested(world.Issend(its.told, 1, TAG)),
    lambda its: world.Sendrecv(its.told, 1, TAG, None, MPI.PROC_NULL),
    lambda its: ended(world.Ibsend(its.told, 1, TAG), its),
)


def receive_freed(its, status):
    request = world.Irecv(its.told, 0, TAG)
    its.forget()
    request.Wait(status)


def receive_among(its, status):
    MPI.Request.Waitall([world.Irecv(its.told, 0, TAG)], [status])


def receive_some(its, status):
    message = None
    while message is None:
        message = world.Improbe(0, TAG)
    request = message.Irecv(its.told)
    its.forget()
    MPI.Request.Waitsome([request], [status])


def receive_probed(its, status):
    world.Probe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
    world.Recv(its.told, status.source, status.tag, status)


RECEIVES = (
    lambda its, status: world.Recv(its.told, 0, TAG, status),
    receive_freed,
    lambda its, status: tested(world.Irecv(its.told, MPI.ANY_SOURCE, TAG), status),
    lambda its, status: world.Mprobe(0, MPI.ANY_TAG).Recv(its.told, status),
    lambda its, status: started(world.Recv_init(its.told, 0, MPI.ANY_TAG), its, status),
    receive_among,
    receive_some,
    lambda its, status: world.Sendrecv(None, MPI.PROC_NULL, 0, its.told, 0, TAG, status),
    receive_probed,
)


def numbers(status, of):
    """What a status says of items; MPICH 5.0.2 divides by zero in MPI_Get_elements of a type of pairs."""
    said = [status.source, status.tag, status.Get_count(MPI.BYTE)]
    if of != PACKED:
        each = build(of).Commit()
        said += [status.Get_count(each), 0 if basics(of) & PAIRS else status.Get_elements(each)]
        each.Free()
    return said


def sides(case):
    """What rank 0 sends and rank 1 receives into."""
    here, there = (find(case["type"], count) for count in case["counts"])
    found = basics(case["type"])
    if case["other"] == "packed there":
        there = find(PACKED, here.sources.size + case["counts"][1])
    elif case["other"] == "packed here":
        here = find(PACKED, here.sources.size)
    elif case["other"] == "flat" and len(found) == 1:
        # As many basic elements as fit, and not always whole items.
        (basic,) = found
        here = find(basic, there.sources.size // getattr(MPI, basic).Get_size() * 2 // 3)
    return here, there


def message(case):
    here, there = sides(case)
    if rank > 1 or not there.may_receive:
        return "no message"
    layout, fence, bottom = (here, there)[rank], case["fences"][rank], case["bottoms"][rank]
    items = Items(layout, fence, bottom, 4 + rank)
    said, kept, receiving = [], None, case["receiving"]
    if here.sources.size > there.sources.size and RECEIVES[receiving] is receive_among:
        receiving = 0  # MPI_Waitall of Open MPI 4.1.4 does not end now and then after an error
    if rank == 0:
        SENDS[case["sending"]](items)
    else:
        status = MPI.Status()
        try:
            RECEIVES[receiving](items, status)
            said = numbers(status, layout.of)
        except MPI.Exception as error:
            # What the receiver's data are then is open; nothing else may change.
            found = error.Get_error_class()
            said = [status.error if found == MPI.ERR_IN_STATUS else found]
            kept = layout.sources
    said.append(items.digest(kept))
    items.forget()
    return said


# ---- other ways


def pack(case):
    """At a position of a buffer, and back from other bytes."""
    layout, prefix = find(case["type"], case["counts"][0]), case["position"]
    end = prefix + layout.sources.size
    items = Items(layout, case["fences"][0], False, 1)
    stream = Room(0, end + case["position"] // 2, case["fences"][1], 2, 1)
    where = MPI.buffer.fromaddress(stream.address, end + case["position"] // 2)
    each = as_one(items.type, layout.count)
    said = [each.Pack(at(items.address), where, prefix, MPI.COMM_SELF), stream.digest(), items.digest()]
    if layout.may_receive:
        stream.seen[:] = stream.seen[::-1].copy()
        said.append(each.Unpack(where, prefix, at(items.address), MPI.COMM_SELF))
        said += [items.digest(), stream.digest()]
    free(each, items.type)
    return said


def in_place(case):
    layout = find(case["type"], case["counts"][0])
    if not layout.may_receive:
        return "cannot receive"
    items, status = Items(layout, case["fences"][rank % 2], case["bottoms"][0], 6 + rank), MPI.Status()
    world.Sendrecv_replace(items.told, after, TAG, before, TAG, status)
    items.forget()
    return [*numbers(status, layout.of), items.digest()]


# The window is made once: Open MPI 5.0.11 crashes now and then after many.


def both(layout, seed):
    """What is sent and what receives it, for every rank."""
    return Items(layout, 2, False, 10 + seed + rank), Items(layout, 2, False, 20, 1)


def collectives(case):
    layout, said = find(case["type"], case["counts"][0]), []
    for blocking in (False, True):
        out, into = both(layout, 0)
        counts = [[layout.count * (peer == to) for peer in range(size)] for to in (after, before)]
        sent, received = (
            [its.told[0], (each, [0] * size), [its.type] * size]
            for its, each in zip((out, into), counts, strict=True)
        )
        if blocking:
            world.Alltoallw(sent, received)
        else:
            world.Ialltoallw(sent, received).Wait()
        said.append(into.digest())
        world.Bcast(out.told, size - 1)
        said.append(out.digest())
        free(out.type, into.type)
    return said


def one_sided(case):
    layout, said = find(case["type"], case["counts"][0]), []
    for call in (WINDOW.Put, WINDOW.Get):
        out, into = both(layout, 3)
        WINDOW.Fence()
        call(out.told, after, (into.zero, layout.count, out.type))
        WINDOW.Fence()
        said += [out.digest(), into.digest()]
        free(out.type, into.type)
    return said


def accumulate(case):
    """Sums of ints at every other place."""
    every, said = MPI.INT.Create_vector(300, 1, 2).Commit(), []
    values = REGIONS[1][: 2 * 300 * 4].view(np.int32)
    for _ in range(3):
        values[:] = 7
        mine = np.arange(values.size, dtype=np.int32) * (rank + 1)
        WINDOW.Fence()
        WINDOW.Accumulate([mine, 1, every], after, (0, 1, every), MPI.SUM)
        WINDOW.Fence()
        said.append(hashlib.sha256(values.tobytes()).hexdigest())
    every.Free()
    return said


def files(case):
    """A view of the file and memory that both have gaps; then the file's bytes as they are."""
    layout, view = find(case["type"], case["counts"][0]), MPI.BYTE.Create_vector(1 << 16, 16, 32).Commit()
    out, into = both(layout, 5)
    plain = np.zeros(layout.sources.size, np.uint8)
    file = MPI.File.Open(MPI.COMM_SELF, f"{sys.argv[2]}.file.{rank}", MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Set_view(0, MPI.BYTE, view)
    file.Write_at(0, out.told)
    file.Read_at(0, into.told)
    file.Read_at(0, plain)
    file.Close()
    free(view, out.type, into.type)
    return [into.digest(), hashlib.sha256(plain.tobytes()).hexdigest()]


WAYS = {each.__name__: each for each in (pack, message, in_place, collectives, one_sided, accumulate, files)}
cases = json.loads(Path(sys.argv[1]).read_text())
attached = MPI.Alloc_mem(SPAN)
MPI.Attach_buffer(attached)
WINDOW = MPI.Win.Create(REGIONS[1], 1, comm=world)
results = []
for case in cases:
    try:
        find(case["type"], max(case["counts"]))
    except (ValueError, MPI.Exception) as error:
        results.append(["left out", type(error).__name__])
        continue
    results.append([WAYS[way](case) for way in case["ways"]])
WINDOW.Free()
MPI.Detach_buffer()
count = getattr(ctypes.CDLL(None), "corewise_packing_engine", lambda _: 0)
results.append([count(what) for what in range(3)])
Path(f"{sys.argv[2]}.{rank}").write_text(json.dumps(results))
