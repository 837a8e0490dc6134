"""What `corewise paper collectives` measures: the curves of paper 001's figures as data, and the results.

Curves are configurations under the paper's names; a point of one is a `Case`, and equal cases are run once.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from corewise.analysis.selection import Configuration, configuration
from corewise.data.quantities import size_text
from corewise.papers.collectives.beyond import Beyond
from corewise.papers.collectives.cases import Case, Memory, Timing

KB = 1024
MB = 1024 * KB
SIZES = tuple(128 << step for step in range(14))
"""Message sizes of the figures: 128 B to 1 MB. The papers' KB is 1024 bytes."""
QUICK_SIZES = (128, KB, 8 * KB, 32 * KB, MB)
SMALL_BYTES = 128
LARGE_BYTES = MB
SMALLEST_SIZES = (4, 12, 64)
"""What the comparison with the paper's future work adds below the figures' sizes."""
FIGURE_RANKS = (4, 8, 12, 16)
BARRIER_RANKS = tuple(range(2, 17))
QUICK_BARRIER_RANKS = (2, 4, 6, 8, 10, 12, 16)
COMPARED = ("broadcast", "reduce", "allreduce")
COMPARED_RANKS = (8, 16)
COPY_BUFFERS = ((4 * KB, 1), (4 * KB, 2), (16 * KB, 1), (16 * KB, 2))
"""(bytes of a buffer, buffers) of the copies from memory to memory."""
STRIDED_BYTES = 16 * KB
STRIDED_BLOCKS = (16, 64, 128, 512, 2048)
CONTROLLER_GB_PER_S = 25.6

MEMORIES: tuple[Memory, ...] = ("first", "second", "own", "interleaved", "first_touch", "local_store")
MEMORY_NAMES: Mapping[Memory, str] = {
    "first": "memory 0",
    "second": "memory 1",
    "own": "own chip's memory",
    "interleaved": "both, page by page",
    "first_touch": "both, rank by rank",
    "local_store": "local store",
}


@dataclass(frozen=True)
class DmaTiming:
    """A transfer of one study: mean and sample deviation over its repetitions, of all SPEs."""

    mean_ns: float
    deviation_ns: float


@dataclass(frozen=True)
class DmaCase:
    """A transfer by DMA: `target` as the core names it, in commands of `command_bytes`, by `spes` at once."""

    target: str
    bytes: int
    command_bytes: int = 16 * KB
    spes: int = 1
    way: str = "put"


@dataclass
class Measurements:
    """Everything that rows, tables and figures are made of.

    Attributes
    ----------
    times : case -> Timing
    dma : case -> DmaTiming
    copies_ns : (bytes, buffer_bytes, buffers) -> float
        Memory to memory through an SPE.
    ppe_copies_ns : bytes -> float
        The same by memcpy on the PPE.
    partners_ns : (exchange, shift)
        A pair of SPEs exchanging 16 bytes; every SPE sending 16 bytes to the next.
    strided_ns : block bytes -> (strided by list, strided by commands, contiguous)
        16 KB.
    streaming_gb_per_s : ranks -> float
        What a controller moves at best for that many SPEs, with a read for every ``ranks - 1`` writes as in a
        broadcast.
    sizes : tuple of int
        Of the curves.
    barrier_ranks : tuple of int
    beyond : Beyond
        What the paper tried without showing it or left for later; of nothing without it.
    """

    times: dict[Case, Timing] = field(default_factory=dict)
    dma: dict[DmaCase, DmaTiming] = field(default_factory=dict)
    copies_ns: dict[tuple[int, int, int], float] = field(default_factory=dict)
    ppe_copies_ns: dict[int, float] = field(default_factory=dict)
    partners_ns: tuple[float, float] = (0.0, 0.0)
    strided_ns: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    streaming_gb_per_s: dict[int, float] = field(default_factory=dict)
    sizes: tuple[int, ...] = SIZES
    barrier_ranks: tuple[int, ...] = BARRIER_RANKS
    beyond: Beyond = field(default_factory=Beyond)

    def us(
        self,
        collective: str,
        ranks: int,
        bytes: int,
        chosen: Configuration,
        memory: Memory = "first",
        eager: bool = False,
    ) -> float:
        """Latency of a case that was run."""
        return self.times[Case(collective, ranks, bytes, chosen, memory, eager)].latency_us

    def barrier_us(self, ranks: int, chosen: Configuration) -> float:
        """Latency of a barrier."""
        return self.us("barrier", ranks, 0, chosen)

    def curve(self, collective: str, ranks: int, chosen: Configuration) -> tuple[float, ...]:
        """Latencies over `sizes`."""
        return tuple(self.us(collective, ranks, size, chosen) for size in self.sizes)

    def tried(
        self, collective: str, ranks: int, bytes: int, eager: bool = False
    ) -> dict[Configuration, float]:
        """Latency of every configuration that was run there, with slots in the metadata or without."""
        return {
            case.configuration: timing.latency_us
            for case, timing in self.times.items()
            if (case.collective, case.ranks, case.bytes, case.memory, case.eager)
            == (collective, ranks, bytes, "first", eager)
        }

    def paper_best(self, collective: str, ranks: int, bytes: int) -> float:
        """Latency of the quickest of the paper's configurations."""
        return min(self.tried(collective, ranks, bytes).values())

    def all_best(self, collective: str, ranks: int, bytes: int) -> tuple[Configuration, float]:
        """The quickest of all, which run with slots in the metadata."""
        tried = self.tried(collective, ranks, bytes, eager=True)
        best = min(tried, key=lambda each: tried[each])
        return best, tried[best]


# ---- the curves of the figures ---------------------------------------------------------------------------

Curves = Mapping[str, Configuration]
"""Label -> what is drawn."""

ONE_TO_ALL = configuration("one_to_all")
ONE_TO_ALL_LIST = configuration("one_to_all", list=True)
SIGNAL_REGISTER = configuration("signal_register")
PAIRWISE_EXCHANGE = configuration("pairwise_exchange")
DISSEMINATION = configuration("dissemination")
ATOMIC_INCREMENT = configuration("atomic_increment")
PPE_MAILBOX = configuration("ppe_mailbox")
BARRIER_DEGREES = (2, 3, 4, 5, 8)


def barrier_tree(degree: int) -> Configuration:
    """TREE of section 5."""
    return configuration("tree", degree=degree)


BARRIER_RELEASES: Curves = {"OTA": ONE_TO_ALL, "OTA, DMA list": ONE_TO_ALL_LIST, "SIG": SIGNAL_REGISTER}
BARRIER_TREES: Curves = {f"TREE degree {degree}": barrier_tree(degree) for degree in BARRIER_DEGREES}
BARRIER_KINDS: Curves = {
    "OTA": ONE_TO_ALL,
    "TREE degree 4": barrier_tree(4),
    "PE": PAIRWISE_EXCHANGE,
    "DIS": DISSEMINATION,
}
BARRIER_ALTERNATIVES: Curves = {"atomic increments": ATOMIC_INCREMENT, "PPE mailbox": PPE_MAILBOX}

SHIFTS = (0, KB, 2 * KB, 4 * KB, 8 * KB, 16 * KB)
MIN_PIECES = (128, KB, 2 * KB, 4 * KB, 8 * KB, 16 * KB)
GOOD_MIN_PIECE = 2 * KB
GOOD_SHIFT = 4 * KB
TREE_MAIN_MEMORY_DEGREES = (2, 3, 4, 8)
TREE_DEGREES = (1, 2, 3, 4, 8)
REDUCE_DEGREES = (1, 2, 3, 4)
ROOT_COPIES = configuration("root_copies")


def shifted(shift: int) -> Configuration:
    """OTA of section 6."""
    return configuration("one_to_all", shift=shift)


def pieces(min_piece: int = GOOD_MIN_PIECE) -> Configuration:
    """AG of sections 6 and 7."""
    return configuration("pieces", min_piece=min_piece)


def tree_main_memory(degree: int = 3) -> Configuration:
    """TREEMM of sections 6 and 7."""
    return configuration("tree_main_memory", degree=degree)


def local_store_tree(degree: int = 3) -> Configuration:
    """TREE of section 6; degree 1 is pipelined."""
    return configuration("local_store_tree", degree=degree)


def reduce_tree(degree: int = 3) -> Configuration:
    """TREE of section 7, whose ranks take children in the broadcast's order; degree 1 is pipelined."""
    return configuration("tree", degree=degree, far_first=True)


BROADCAST_SHIFTS: Curves = {
    f"OTA, shift {size_text(shift)}" if shift else "OTA, no shift": shifted(shift) for shift in SHIFTS
}
BROADCAST_PIECES: Curves = {f"AG, {size_text(piece)}": pieces(piece) for piece in MIN_PIECES}
BROADCAST_TREES_MM: Curves = {
    f"TREEMM degree {degree}": tree_main_memory(degree) for degree in TREE_MAIN_MEMORY_DEGREES
}
BROADCAST_TREES: Curves = {
    f"TREE degree {degree}" if degree > 1 else "TREE pipelined": local_store_tree(degree)
    for degree in TREE_DEGREES
}
BROADCAST_KINDS: Curves = {
    "TREEMM degree 3": tree_main_memory(3),
    "OTA": shifted(GOOD_SHIFT),
    "G": ROOT_COPIES,
    "AG": pieces(),
    "TREE degree 3": local_store_tree(3),
    "TREE pipelined": local_store_tree(1),
}
REDUCE_KINDS: Curves = {
    "TREE pipelined": reduce_tree(1),
    "TREE degree 2": reduce_tree(2),
    "TREE degree 3": reduce_tree(3),
    "TREE degree 4": reduce_tree(4),
    "AG": pieces(),
    "TREEMM": tree_main_memory(2),
}
GOOD_LARGE_BYTES = 8192
"""From here on the paper takes AG."""
VERY_LARGE_BYTES = MB
"""From here on it finds the pipelined reduction best."""


def good_choice(ranks: int, bytes: int) -> Configuration:
    """Section 6.2: the paper's good choice of broadcast algorithms."""
    if bytes >= GOOD_LARGE_BYTES:
        return pieces()
    return local_store_tree(3) if ranks > 4 else ROOT_COPIES


def good_reduce(ranks: int, bytes: int) -> Configuration:
    """Section 7.2: what the paper found best, and so what its table 3 was measured with."""
    if bytes < GOOD_LARGE_BYTES:
        return reduce_tree(3 if ranks > 4 else 4)
    return reduce_tree(1) if bytes >= VERY_LARGE_BYTES and ranks > 4 else pieces()


def other_machines() -> Iterator[tuple[str, str, Mapping[int, float]]]:
    """Tables 1 to 3's other machines, as printed (about): (table and size, machine, ranks -> us)."""
    yield "barrier", "Myrinet", {8: 10, 16: 14}
    yield "barrier", "NEC SX-8", {8: 13, 16: 5}
    yield "barrier", "SGI Altix BX2", {8: 3, 16: 5}
    yield "broadcast 128 B", "Infiniband", {8: 18, 16: 10}
    yield "broadcast 1 KB", "Infiniband", {8: 25, 16: 20}
    yield "broadcast 32 KB", "Infiniband", {8: 220}
    yield "broadcast 1 MB", "NEC SX-8", {8: 100, 16: 215}
    yield "broadcast 1 MB", "SGI Altix BX2", {8: 2600, 16: 3100}
    yield "reduce 128 B", "IBM SP", {16: 40}
    yield "reduce 1 KB", "IBM SP", {16: 60}
    yield "reduce 1 MB", "IBM SP", {16: 13000}
    yield "reduce 1 MB", "NEC SX-8", {8: 230, 16: 350}
    yield "reduce 1 MB", "SGI Altix BX2", {8: 10000, 16: 12000}


# ---- the cases -------------------------------------------------------------------------------------------


def points(collective: str, ranks: Iterable[int], sizes: Iterable[int], curves: Curves) -> Iterator[Case]:
    """Every point of the curves."""
    for count in ranks:
        for size in sizes:
            for chosen in curves.values():
                yield Case(collective, count, size, chosen)


TABLE_SIZES: Mapping[str, tuple[int, ...]] = {
    "broadcast": (SMALL_BYTES, KB, 32 * KB, MB),
    "reduce": (SMALL_BYTES, KB, MB),
}
"""Sizes of tables 2 and 3."""


def figure_cases(sizes: tuple[int, ...], barrier_ranks: tuple[int, ...]) -> Iterator[Case]:
    """Figures 3 to 7 and tables 1 to 3, data in the first chip's memory, as often as they are drawn."""
    barriers = {**BARRIER_RELEASES, **BARRIER_TREES, **BARRIER_KINDS, **BARRIER_ALTERNATIVES}
    yield from points("barrier", barrier_ranks, (0,), barriers)
    for ranks in (4, 8, 16):
        yield from points("broadcast", (ranks,), sizes, BROADCAST_SHIFTS)
    yield from points("broadcast", (16,), sizes, BROADCAST_PIECES)
    yield from points("broadcast", (12,), sizes, BROADCAST_TREES_MM)
    yield from points("broadcast", (16,), sizes, BROADCAST_TREES)
    yield from points("broadcast", FIGURE_RANKS, sizes, BROADCAST_KINDS)
    yield from points("reduce", FIGURE_RANKS, sizes, REDUCE_KINDS)


def memory_cases() -> Iterator[Case]:
    """Tables 2 and 3 with the data elsewhere."""
    for ranks in COMPARED_RANKS:
        for memory in MEMORIES:
            for size in TABLE_SIZES["broadcast"]:
                if memory != "local_store" or size <= 32 * KB:
                    yield Case("broadcast", ranks, size, good_choice(ranks, size), memory)
            for size in TABLE_SIZES["reduce"]:
                if memory != "local_store" or size <= 32 * KB:
                    yield Case("reduce", ranks, size, good_reduce(ranks, size), memory)
