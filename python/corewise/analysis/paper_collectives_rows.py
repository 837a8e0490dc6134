"""Paper 001's claims, each as a row: the numbers of its tables, what its text says, and its future work.

Tolerances: "equal" and "no difference" are within 5 %, "near" the best within 15 %, "clearly" over 10 %.
Table 2 is held against the paper's good choice of section 6.2, tables 1 and 3 against the algorithm that the
paper names (PE) and the best one it has, as its captions say.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from corewise.analysis.collective_cases import Case
from corewise.analysis.paper import Row, number_row, statement_row
from corewise.analysis.paper_collectives_data import (
    ATOMIC_INCREMENT,
    BARRIER_DEGREES,
    BARRIER_KINDS,
    BARRIER_RELEASES,
    COMPARED,
    COMPARED_RANKS,
    CONTROLLER_GB_PER_S,
    DISSEMINATION,
    FIGURE_RANKS,
    GOOD_LARGE_BYTES,
    GOOD_MIN_PIECE,
    KB,
    LARGE_BYTES,
    MB,
    MEMORIES,
    MEMORY_NAMES,
    MIN_PIECES,
    ONE_TO_ALL,
    ONE_TO_ALL_LIST,
    PAIRWISE_EXCHANGE,
    PPE_MAILBOX,
    REDUCE_DEGREES,
    SHIFTS,
    SIGNAL_REGISTER,
    SMALL_BYTES,
    TABLE_SIZES,
    TREE_DEGREES,
    TREE_MAIN_MEMORY_DEGREES,
    DmaCase,
    Measurements,
    barrier_tree,
    good_choice,
    local_store_tree,
    pieces,
    reduce_tree,
    shifted,
    size_name,
    tree_main_memory,
)
from corewise.analysis.selection import Configuration
from corewise.data.published import Published, published_as

EQUAL = 1.05
NEAR = 1.15
CLEARLY = 1.10
GAIN = 1.5
"""What payloads in the metadata and no closing barrier must gain up to 128 B."""
STREAMING_SHARE = 0.95


def rows_of(found: Measurements) -> tuple[Row, ...]:
    """Every row, in the paper's order."""
    return (
        *_dma(found),
        *_copies(found),
        *table_rows(found),
        *_barriers(found),
        *_broadcast_parameters(found),
        *_broadcast_trees(found),
        *_good_choice(found),
        *_memory_bandwidth(found),
        *_reduce(found),
        *_future(found),
        *_elsewhere(found),
        *_throughput(found),
    )


# ---- section 2 -------------------------------------------------------------------------------------------


def _dma(found: Measurements) -> Iterator[Row]:
    def ns(target: str, size: int, command: int = 16 * KB, spes: int = 1) -> float:
        return found.dma[DmaCase(target, size, command, spes)].mean_ns

    short = ns("local_store", 128)
    yield statement_row(
        "L1/put",
        "a short DMA between SPEs takes under 100 ns",
        "000 section 1",
        short < 100,
        short,
        "ns",
        "C",
    )
    factor = ns("memory", 128) / short
    yield statement_row(
        "L2",
        "to main memory it takes about twice as long",
        "000 section 1",
        1.5 <= factor <= 3,
        factor,
        "times",
        "C",
    )
    for id, target in (("L4", "memory"), ("L5", "local_store")):
        (value,) = published_as(id)
        ours = 64 * KB / ns(target, 64 * KB)
        yield number_row(id, value.what, value.source, value.value, ours, value.unit, value.set)
    each = 16 * KB / ns("memory", 16 * KB, spes=8)
    yield statement_row(
        "L3",
        "with eight SPEs on main memory at once each gets under 4 GB/s",
        "001 figure 2 left",
        each < 4,
        each,
        "GB/s",
        "C",
    )
    slower = ns("memory", 16 * KB) / ns("local_store", 16 * KB)
    yield statement_row(
        "L6/i",
        "SPE-SPE DMAs are much faster than SPE-memory ones",
        "001 section 2",
        slower > 2,
        slower,
        "times",
        "C",
    )
    small = ns("local_store", 16 * KB, command=128) / ns("local_store", 16 * KB)
    yield statement_row(
        "L6/ii",
        "many small DMAs are slower than few long ones (16 KB in commands of 128 B)",
        "001 section 2",
        small > CLEARLY,
        small,
        "times",
        "H",
    )
    across = ns("other_local_store", 128) / short
    yield statement_row(
        "L6/iii",
        "latency between SPEs of two chips is significantly higher",
        "001 section 2",
        across > 1.5,
        across,
        "times",
        "C",
    )
    crowd = ns("memory", 16 * KB, spes=8) / ns("memory", 16 * KB)
    yield statement_row(
        "L6/v",
        "latency is higher with congestion (8 SPEs, 16 KB)",
        "001 section 2",
        crowd > 1,
        crowd,
        "times",
        "H",
    )
    alone, together = (found.dma[DmaCase("memory", 16 * KB, 16 * KB, spes)].deviation_ns for spes in (1, 8))
    yield statement_row(
        "L6/vi",
        "and so is its variance (deviation of one DMA)",
        "001 section 2",
        together > alone,
        together,
        "ns",
        "H",
    )


def _copies(found: Measurements) -> Iterator[Row]:
    def us(buffer: int, buffers: int) -> float:
        return found.copies_ns[MB, buffer, buffers] / 1000

    for buffer in (4 * KB, 16 * KB):
        double = us(buffer, 1) / us(buffer, 2)
        yield statement_row(
            f"D9/double/{size_name(buffer)}",
            f"memory to memory: double buffering is clearly better than single (1 MB by {size_name(buffer)})",
            "001 figure 2 right",
            double > CLEARLY,
            double,
            "times",
            "C",
        )
    small = us(4 * KB, 2) / us(16 * KB, 2)
    yield statement_row(
        "D9/buffers",
        "buffers of 4 KB do about as well as 16 KB (1 MB, double buffered)",
        "001 section 4",
        small < NEAR,
        small,
        "times",
        "C",
    )
    ppe = found.ppe_copies_ns[MB] / 1000 / us(16 * KB, 2)
    yield statement_row(
        "D9/ppe", "memcpy on the PPE is much slower (1 MB)", "001 section 6.3", ppe > 2, ppe, "times", "C"
    )


# ---- tables 1 to 3 ---------------------------------------------------------------------------------------

_SIZE_OF = {"128 B": SMALL_BYTES, "1 KB": KB, "32 KB": 32 * KB, "1 MB": MB}


def size_of(value: Published) -> int:
    """The message size that ends a published value's name, e.g. ``broadcast P=8 128 B``."""
    return _SIZE_OF[" ".join(value.what.split()[-2:])]


def table_time(found: Measurements, id: str, size: int) -> float:
    """What stands beside a value of tables 1 to 3."""
    ranks = 8 if id.endswith("1") else 16
    if id.startswith("K"):
        return found.barrier_us(ranks, PAIRWISE_EXCHANGE)
    if id.startswith("D"):
        return found.us("broadcast", ranks, size, good_choice(ranks, size))
    return found.paper_best("reduce", ranks, size)


def table_rows(found: Measurements) -> Iterator[Row]:
    """Every number of the Cell in tables 1 to 3."""
    for id in ("K1", "K2"):
        (value,) = published_as(id)
        ours = table_time(found, id, 0)
        yield number_row(id, value.what, value.source, value.value, ours, value.unit, value.set)
    for id in ("D1", "D2", "E1", "E2"):
        for value in published_as(id):
            size = size_of(value)
            ours = table_time(found, id, size)
            name = f"{id}/{size_name(size)}"
            yield number_row(name, value.what, value.source, value.value, ours, value.unit, value.set)


# ---- barrier ---------------------------------------------------------------------------------------------


def _most(values: Iterable[float]) -> float:
    return max(values)


def _least(values: Iterable[float]) -> float:
    return min(values)


def _barriers(found: Measurements) -> Iterator[Row]:
    def us(ranks: int, chosen: Configuration) -> float:
        return found.barrier_us(ranks, chosen)

    def factors(one: Configuration, other: Configuration, ranks: Iterable[int]) -> list[float]:
        return [us(count, one) / us(count, other) for count in ranks]

    every = found.barrier_ranks
    few, many = [p for p in every if p <= 4], [p for p in every if p > 4]
    one_chip = [p for p in every if p <= 8 and p & (p - 1) == 0]
    both_chips = [p for p in every if p > 8]
    source = "001 figure 3"
    yield statement_row(
        "K4/few",
        "a DMA list does not improve the barrier on up to 4",
        source,
        _least(factors(ONE_TO_ALL_LIST, ONE_TO_ALL, few)) >= 1 / EQUAL,
        _least(factors(ONE_TO_ALL_LIST, ONE_TO_ALL, few)),
        "times, least",
        "H",
    )
    yield statement_row(
        "K4/many",
        "and makes it worse on more than 4",
        source,
        _least(factors(ONE_TO_ALL_LIST, ONE_TO_ALL, many)) > 1,
        _least(factors(ONE_TO_ALL_LIST, ONE_TO_ALL, many)),
        "times, least",
        "H",
    )
    signal = _least(factors(SIGNAL_REGISTER, ONE_TO_ALL, every))
    yield statement_row(
        "K5",
        "the signal register gains nothing over plain DMAs",
        source,
        signal >= 1 / EQUAL,
        signal,
        "times, least",
        "C",
    )
    yield from _barrier_kinds(found)
    equal = _most(factors(DISSEMINATION, PAIRWISE_EXCHANGE, one_chip))
    yield statement_row(
        "K7/equal",
        "PE and DIS are equal on up to 8 (2, 4, 8)",
        source,
        max(equal, 1 / _least(factors(DISSEMINATION, PAIRWISE_EXCHANGE, one_chip))) <= EQUAL,
        equal,
        "times, most",
        "H",
    )
    better = _least(factors(DISSEMINATION, PAIRWISE_EXCHANGE, both_chips))
    yield statement_row(
        "K7/better",
        "PE is clearly better than DIS on more than 8: only one of its phases crosses chips",
        source,
        better > CLEARLY,
        better,
        "times, least",
        "H",
    )
    jump = us(10, PAIRWISE_EXCHANGE) / us(8, PAIRWISE_EXCHANGE)
    yield statement_row("K7/jump", "latency of PE jumps from 8 to 10", source, jump > 1.3, jump, "times", "H")
    for ranks in COMPARED_RANKS:
        degree = us(ranks, barrier_tree(8)) / us(ranks, barrier_tree(4))
        yield statement_row(
            f"K8/{ranks}",
            f"TREE of degree 8 is worse than of degree 4 on {ranks}",
            source,
            degree > 1,
            degree,
            "times",
            "H",
        )
    exchange, shift = found.partners_ns
    yield statement_row(
        "K9",
        "exchanging with one partner is no faster than sending to one and receiving from another",
        "001 section 5.2",
        max(exchange / shift, shift / exchange) <= CLEARLY,
        shift / exchange,
        "times",
        "C",
    )
    atomic = us(8, ATOMIC_INCREMENT)
    yield statement_row(
        "K10/atomic",
        "the barrier by atomic increments is not competitive: the order of microseconds on 8",
        "001 section 5.3",
        atomic > 1 and atomic > 2 * _most(us(8, each) for each in BARRIER_KINDS.values()),
        atomic,
        "us",
        "H",
    )
    mailbox = us(8, PPE_MAILBOX)
    yield statement_row(
        "K10/mailbox",
        "nor is the one by the PPE's mailboxes: tens of microseconds on 8",
        "001 section 5.3",
        mailbox >= 10,
        mailbox,
        "us",
        "H",
    )


def _barrier_kinds(found: Measurements) -> Iterator[Row]:
    """PE and DIS against the barriers that gather and broadcast, each of these with its best degree."""
    gathering = [*BARRIER_RELEASES.values(), *map(barrier_tree, BARRIER_DEGREES)]
    for name, chosen in (("PE", PAIRWISE_EXCHANGE), ("DIS", DISSEMINATION)):
        factors = {
            ranks: min(found.barrier_us(ranks, each) for each in gathering) / found.barrier_us(ranks, chosen)
            for ranks in found.barrier_ranks
            if ranks >= 4
        }
        for when, counts in (
            ("4 and 8", [4, 8]),
            ("16", [16]),
            ("every other number from 5", [p for p in factors if p not in (4, 8, 16)]),
        ):
            least = _least(factors[p] for p in counts)
            yield statement_row(
                f"K6/{name} {when}",
                f"{name} is substantially better than all that gather and broadcast, on {when}",
                "001 section 5.2",
                least > CLEARLY,
                least,
                "times, least",
                "C",
            )


# ---- broadcast -------------------------------------------------------------------------------------------


def _intermediate(found: Measurements) -> list[int]:
    """Sizes for which one rank alone has not enough to do, and not every rank."""
    return [size for size in found.sizes if 8 * KB <= size <= 64 * KB]


def _broadcast_parameters(found: Measurements) -> Iterator[Row]:
    def us(ranks: int, size: int, chosen: Configuration) -> float:
        return found.us("broadcast", ranks, size, chosen)

    shifts = [shifted(shift) for shift in SHIFTS if shift > 0]
    large = [size for size in found.sizes if size >= 8 * KB]
    gain = _most(us(4, size, shifted(0)) / min(us(4, size, each) for each in shifts) for size in large)
    yield statement_row(
        "D5/4",
        "OTA on 4: some shift improves performance",
        "001 figure 4 left",
        gain > 1.02,
        gain,
        "times, most",
        "H",
    )
    for ranks in COMPARED_RANKS:
        apart = _most(
            max(us(ranks, size, each) for each in [shifted(0), *shifts])
            / min(us(ranks, size, each) for each in [shifted(0), *shifts])
            for size in large
        )
        yield statement_row(
            f"D5/{ranks}",
            f"OTA on {ranks}: all shifts and none do equally well",
            "001 section 6.2",
            apart <= NEAR,
            apart,
            "times, most",
            "H",
        )
    yield from _min_pieces(found)


def _min_pieces(found: Measurements) -> Iterator[Row]:
    def us(size: int, piece: int) -> float:
        return found.us("broadcast", 16, size, pieces(piece))

    between = _intermediate(found)
    source = "001 figure 4 right"
    totals = {
        piece: sum(us(size, piece) / us(size, GOOD_MIN_PIECE) for size in between) for piece in MIN_PIECES
    }
    order = sorted(totals, key=lambda piece: totals[piece])
    yield statement_row(
        "D6/best",
        "AG on 16: a minimum piece of 2 KB or 4 KB is best at intermediate sizes (8 to 64 KB)",
        source,
        order[0] in (2 * KB, 4 * KB),
        order[0] / KB,
        "KB is best",
        "H",
    )
    good = {size: min(us(size, 2 * KB), us(size, 4 * KB)) for size in between}
    for id, what, worse in (
        ("smaller", "128 B and 1 KB", (128, KB)),
        ("larger", "8 KB and 16 KB", (8 * KB, 16 * KB)),
    ):
        factor = _least(_most(us(size, piece) / good[size] for size in between) for piece in worse)
        yield statement_row(
            f"D6/{id}",
            f"{what} are worse at intermediate sizes",
            source,
            factor > 1,
            factor,
            "times, most",
            "H",
        )
    for id, what, sizes in (
        ("small", "small data (128 B)", [SMALL_BYTES]),
        ("large", "large data (1 MB)", [LARGE_BYTES]),
    ):
        apart = _most(
            max(us(size, piece) for piece in MIN_PIECES) / min(us(size, piece) for piece in MIN_PIECES)
            for size in sizes
        )
        yield statement_row(
            f"D6/{id}", f"no difference for {what}", source, apart <= EQUAL, apart, "times", "H"
        )


def _broadcast_trees(found: Measurements) -> Iterator[Row]:
    def main_memory(size: int, degree: int) -> float:
        return found.us("broadcast", 12, size, tree_main_memory(degree))

    def tree(size: int, degree: int) -> float:
        return found.us("broadcast", 16, size, local_store_tree(degree))

    source = "001 figure 5"
    of_best = {
        size: min(main_memory(size, degree) for degree in TREE_MAIN_MEMORY_DEGREES) for size in found.sizes
    }
    third = _most(main_memory(size, 3) / of_best[size] for size in found.sizes)
    yield statement_row(
        "D7/3",
        "TREEMM on 12: degree 3 is best or near it",
        source,
        third <= NEAR,
        third,
        "of the best, most",
        "H",
    )
    small = [size for size in found.sizes if size <= KB]
    second = _least(
        main_memory(size, 2) / max(main_memory(size, degree) for degree in TREE_MAIN_MEMORY_DEGREES)
        for size in small
    )
    yield statement_row(
        "D7/2",
        "degree 2 is worst or near it (up to 1 KB)",
        source,
        second >= 1 / NEAR,
        second,
        "of the worst, least",
        "H",
    )
    spread = {
        size: max(main_memory(size, degree) for degree in TREE_MAIN_MEMORY_DEGREES) / of_best[size]
        for size in found.sizes
    }
    yield statement_row(
        "D7/small",
        "differences show primarily for small messages",
        source,
        spread[SMALL_BYTES] > spread[LARGE_BYTES],
        spread[LARGE_BYTES],
        f"times at 1 MB ({spread[SMALL_BYTES]:.2f} at 128 B)",
        "H",
    )
    best_small = _most(tree(size, 3) / min(tree(size, degree) for degree in TREE_DEGREES) for size in small)
    yield statement_row(
        "D8/3",
        "TREE on 16: degree 3 is best or near it for small messages",
        source,
        best_small <= EQUAL,
        best_small,
        "of the best, most",
        "H",
    )
    pipelined = min(tree(MB, degree) for degree in TREE_DEGREES if degree > 1) / tree(MB, 1)
    yield statement_row(
        "D8/1", "pipelined is slightly best for 1 MB", source, pipelined > 1, pipelined, "times", "H"
    )


def _good_choice(found: Measurements) -> Iterator[Row]:
    """Section 6.2's good choice of algorithms, held against all that were run."""
    source = "001 section 6.2"
    for ranks in FIGURE_RANKS:
        shares = {
            size: found.us("broadcast", ranks, size, good_choice(ranks, size))
            / found.paper_best("broadcast", ranks, size)
            for size in found.sizes
        }
        for name, sizes in (
            ("small", [size for size in shares if size < GOOD_LARGE_BYTES]),
            ("large", [size for size in shares if size >= GOOD_LARGE_BYTES]),
        ):
            chosen = {"small": "G" if ranks <= 4 else "TREE degree 3", "large": "AG"}[name]
            words = {"small": "less than 8 KB", "large": "8 KB or more"}
            worst = _most(shares[size] for size in sizes)
            yield statement_row(
                f"D3/{ranks}/{name}",
                f"{chosen} is best or near it on {ranks} for {words[name]}",
                source,
                worst <= NEAR,
                worst,
                "of the best, most",
                "H",
            )
    for ranks in COMPARED_RANKS:
        factor = _most(
            found.us("broadcast", ranks, size, local_store_tree(3))
            / found.us("broadcast", ranks, size, pieces())
            for size in found.sizes
            if size >= GOOD_LARGE_BYTES
        )
        yield statement_row(
            f"D3/{ranks}/from 8 KB",
            f"AG beats TREE degree 3 from 8 KB on, on {ranks}",
            source,
            all(
                found.us("broadcast", ranks, size, pieces())
                < found.us("broadcast", ranks, size, local_store_tree(3))
                for size in found.sizes
                if size >= GOOD_LARGE_BYTES
            ),
            factor,
            "times, most",
            "H",
        )


def memory_gb_per_s(ranks: int, bytes: int, us: float) -> float:
    """Total bandwidth of a broadcast's main memory: ranks - 1 writes and a read."""
    return ranks * bytes / us / 1000


def good_bandwidth(found: Measurements, ranks: int, size: int) -> float:
    """The same with the paper's good choice."""
    return memory_gb_per_s(ranks, size, found.us("broadcast", ranks, size, good_choice(ranks, size)))


def _memory_bandwidth(found: Measurements) -> Iterator[Row]:
    source = "001 figure 6 bottom right"
    eight, sixteen = (good_bandwidth(found, ranks, MB) for ranks in COMPARED_RANKS)
    yield statement_row(
        "D4/8",
        "around 20 GB/s of useful memory bandwidth for 1 MB on 8",
        "001 section 6.4",
        18 <= eight <= CONTROLLER_GB_PER_S,
        eight,
        "GB/s",
        "C",
    )
    yield statement_row(
        "D4/16",
        "about the controller's limit of 25.6 GB/s for 1 MB on 16 (within 15 %)",
        "001 table 2",
        sixteen >= 0.85 * CONTROLLER_GB_PER_S,
        sixteen,
        "GB/s",
        "C",
    )
    for ranks in FIGURE_RANKS:
        large = [size for size in found.sizes if size >= 16 * KB]
        rising = [good_bandwidth(found, ranks, size) for size in large]
        yield statement_row(
            f"D4/rising/{ranks}",
            f"bandwidth rises with the size, from 16 KB to 1 MB on {ranks}",
            source,
            rising[-1] >= rising[0] and rising[-1] >= max(rising) / EQUAL,
            rising[-1],
            "GB/s at 1 MB",
            "C",
        )
    least = _least(
        good_bandwidth(found, ranks, size)
        for ranks in FIGURE_RANKS
        for size in found.sizes
        if size >= 16 * KB
    )
    yield statement_row(
        "D4/near",
        "close to the peak (within a quarter) on 4 or more for 16 KB or more (table 2: 15.6 for 32 KB on 16)",
        "001 section 6.2",
        least >= 0.75 * CONTROLLER_GB_PER_S,
        least,
        "GB/s, least",
        "C",
    )


# ---- reduce ----------------------------------------------------------------------------------------------


def _reduce(found: Measurements) -> Iterator[Row]:
    def us(ranks: int, size: int, chosen: Configuration) -> float:
        return found.us("reduce", ranks, size, chosen)

    def of_best(ranks: int, size: int, chosen: Configuration) -> float:
        return us(ranks, size, chosen) / found.paper_best("reduce", ranks, size)

    source = "001 figure 7"
    small = [size for size in found.sizes if size <= KB]
    for ranks in FIGURE_RANKS[1:]:
        third = _most(of_best(ranks, size, reduce_tree(3)) for size in small)
        yield statement_row(
            f"E3/small/{ranks}",
            f"TREE degree 3 is best or near it for small data on {ranks}",
            source,
            third <= NEAR,
            third,
            "of the best, most",
            "H",
        )
    fourth = _most(of_best(4, size, reduce_tree(4)) for size in small)
    yield statement_row(
        "E3/small/4", "on 4, TREE degree 4 is best", source, fourth <= EQUAL, fourth, "of the best, most", "H"
    )
    apart = _most(
        max(us(4, size, reduce_tree(degree)) for degree in REDUCE_DEGREES[1:])
        / min(us(4, size, reduce_tree(degree)) for degree in REDUCE_DEGREES[1:])
        for size in found.sizes
    )
    yield statement_row(
        "E3/close/4",
        "on 4, degrees 2, 3 and 4 are very close",
        source,
        apart <= NEAR,
        apart,
        "times, most",
        "H",
    )
    between = [size for size in found.sizes if 16 * KB <= size <= 64 * KB]
    for ranks in FIGURE_RANKS:
        share = _least(of_best(ranks, size, pieces()) for size in between)
        yield statement_row(
            f"E3/between/{ranks}",
            f"AG is best at intermediate sizes on {ranks} (some size of 16 to 64 KB)",
            source,
            share <= 1,
            share,
            "of the best, least",
            "H",
        )
        large = pieces() if ranks == 4 else reduce_tree(1)
        share = of_best(ranks, MB, large)
        yield statement_row(
            f"E3/large/{ranks}",
            f"{'AG' if ranks == 4 else 'TREE pipelined'} is best for 1 MB on {ranks}",
            source,
            share <= 1.01,
            share,
            "of the best",
            "H",
        )
    for value in published_as("E4"):
        size = size_of(value)
        ours = us(8, size, tree_main_memory(2))
        name = f"E4/{size_name(size)}"
        yield number_row(name, value.what, value.source, value.value, ours, value.unit, value.set)
    worse = _least(
        of_best(ranks, size, tree_main_memory(2)) for ranks in FIGURE_RANKS for size in found.sizes
    )
    yield statement_row(
        "E4/worse",
        "the reduce over send and receive is worse than the best everywhere",
        "001 section 7.2",
        worse > 1,
        worse,
        "of the best, least",
        "H",
    )
    slower = _least(
        found.paper_best("reduce", ranks, size) / found.paper_best("broadcast", ranks, size)
        for ranks in FIGURE_RANKS
        for size in found.sizes
    )
    yield statement_row(
        "E5", "reduce takes longer than broadcast", "001 section 7.2", slower > 1, slower, "times, least", "H"
    )


# ---- section 8 -------------------------------------------------------------------------------------------


def gain(found: Measurements, collective: str, ranks: int, size: int) -> float:
    """How many times as fast as the paper's best the best of all is."""
    return found.paper_best(collective, ranks, size) / found.all_best(collective, ranks, size)[1]


def compared_sizes(found: Measurements, collective: str, ranks: int) -> list[int]:
    """Sizes at which both were run."""
    return sorted(
        {
            case.bytes
            for case in found.times
            if (case.collective, case.ranks, case.eager, case.memory) == (collective, ranks, True, "first")
        }
    )


def _future(found: Measurements) -> Iterator[Row]:
    source = "001 section 8, i and ii"
    for collective in COMPARED:
        for ranks in COMPARED_RANKS:
            sizes = compared_sizes(found, collective, ranks)
            for size in sizes:
                factor = gain(found, collective, ranks, size)
                if size <= SMALL_BYTES:
                    yield statement_row(
                        f"F/{collective}/{ranks}/{size_name(size)}",
                        f"{collective} of {size_name(size)} on {ranks}: payloads in the metadata and no "
                        f"closing barrier are at least {GAIN} times as fast as the paper's best",
                        source,
                        factor >= GAIN,
                        factor,
                        "times",
                    )
            least = _least(gain(found, collective, ranks, size) for size in sizes)
            yield statement_row(
                f"F/{collective}/{ranks}/never slower",
                f"{collective} on {ranks}: the best of all is never slower than the paper's best",
                source,
                least >= 1,
                least,
                "times, least",
            )
    limit = found.streaming_gb_per_s
    for ranks in COMPARED_RANKS:
        ours = memory_gb_per_s(ranks, MB, found.all_best("broadcast", ranks, MB)[1])
        yield statement_row(
            f"F/streaming/{ranks}",
            f"a broadcast of 1 MB on {ranks} reaches 95 % of what the simulated controller streams",
            "001 section 6.2",
            ours >= STREAMING_SHARE * limit,
            100 * ours / limit,
            "% of the limit",
        )


# ---- data elsewhere, throughput --------------------------------------------------------------------------


def _elsewhere(found: Measurements) -> Iterator[Row]:
    """Tables 2 and 3 with the data in another memory: in no set, the paper does not say where they were."""
    for id, collective in (("D1", "broadcast"), ("D2", "broadcast"), ("E1", "reduce"), ("E2", "reduce")):
        ranks = 8 if id.endswith("1") else 16
        for value in published_as(id):
            size = size_of(value)
            for memory in MEMORIES[1:]:
                ours = [
                    timing.latency_us
                    for case, timing in found.times.items()
                    if (case.collective, case.ranks, case.bytes, case.memory)
                    == (collective, ranks, size, memory)
                ]
                if ours and memory != "local_store":
                    yield number_row(
                        f"{id}/{size_name(size)}/{memory}",
                        f"{value.what}, data in {MEMORY_NAMES[memory]}",
                        value.source,
                        value.value,
                        min(ours),
                        value.unit,
                        None,
                    )
    for ranks in COMPARED_RANKS:
        for collective in ("broadcast", "reduce"):
            for size in TABLE_SIZES[collective]:
                cases = [
                    (case, timing)
                    for case, timing in found.times.items()
                    if (case.collective, case.ranks, case.bytes, case.memory)
                    == (collective, ranks, size, "local_store")
                ]
                for case, timing in cases:
                    beside = found.times[Case(collective, ranks, size, case.configuration)]
                    factor = beside.latency_us / timing.latency_us
                    yield statement_row(
                        f"F/local store/{collective}/{ranks}/{size_name(size)}",
                        f"{collective} of {size_name(size)} on {ranks} is faster from local store",
                        "001 section 8, iv",
                        factor > 1,
                        factor,
                        "times",
                    )


def _throughput(found: Measurements) -> Iterator[Row]:
    """Latency and throughput apart: back to back, a call takes no longer than from a synchronised start."""
    for ranks in COMPARED_RANKS:
        cases = [("barrier", 0, PAIRWISE_EXCHANGE)]
        cases += [("broadcast", size, good_choice(ranks, size)) for size in TABLE_SIZES["broadcast"]]
        for collective, size, chosen in cases:
            timing = found.times[Case(collective, ranks, size, chosen)]
            of = f" of {size_name(size)}" if size else ""
            yield statement_row(
                f"T/{collective}/{ranks}" + (f"/{size_name(size)}" if size else ""),
                f"back to back, a {collective}{of} on {ranks} takes no longer than alone",
                "001 section 4",
                timing.period_us <= EQUAL * timing.latency_us,
                timing.period_us,
                f"us each ({timing.latency_us:.3g} alone)",
            )
