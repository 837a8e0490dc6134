"""Paper 001, sections 2 to 5: what it says of DMA transfers, of copies and of barriers, as rows.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from corewise.analysis.result import Row, number_row, statement_row
from corewise.analysis.selection import Configuration
from corewise.data.published import published_as
from corewise.data.quantities import size_text
from corewise.papers.collectives.data import (
    ATOMIC_INCREMENT,
    BARRIER_DEGREES,
    BARRIER_KINDS,
    COMPARED_RANKS,
    DISSEMINATION,
    KB,
    MB,
    ONE_TO_ALL,
    ONE_TO_ALL_LIST,
    PAIRWISE_EXCHANGE,
    PPE_MAILBOX,
    SIGNAL_REGISTER,
    DmaCase,
    Measurements,
    barrier_tree,
)

EQUAL = 1.05
NEAR = 1.15
CLEARLY = 1.10
"""Factors: "equal" and "no difference" are within 5 %, "near" the best within 15 %, "clearly" over 10 %."""


def dma_rows(found: Measurements) -> Iterator[Row]:
    """Section 2 and figure 2, left."""

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


def copy_rows(found: Measurements) -> Iterator[Row]:
    """Figure 2, right."""

    def us(buffer: int, buffers: int) -> float:
        return found.copies_ns[MB, buffer, buffers] / 1000

    for buffer in (4 * KB, 16 * KB):
        double = us(buffer, 1) / us(buffer, 2)
        yield statement_row(
            f"D9/double/{size_text(buffer)}",
            f"memory to memory: double buffering is clearly better than single (1 MB by {size_text(buffer)})",
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


# ---- barrier ---------------------------------------------------------------------------------------------


def barrier_rows(found: Measurements) -> Iterator[Row]:
    """Figure 3 and section 5."""

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
        min(factors(ONE_TO_ALL_LIST, ONE_TO_ALL, few)) >= 1 / EQUAL,
        min(factors(ONE_TO_ALL_LIST, ONE_TO_ALL, few)),
        "times, least",
        "H",
    )
    yield statement_row(
        "K4/many",
        "and makes it worse on more than 4",
        source,
        min(factors(ONE_TO_ALL_LIST, ONE_TO_ALL, many)) > 1,
        min(factors(ONE_TO_ALL_LIST, ONE_TO_ALL, many)),
        "times, least",
        "H",
    )
    signal = min(factors(SIGNAL_REGISTER, ONE_TO_ALL, every))
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
    equal = max(factors(DISSEMINATION, PAIRWISE_EXCHANGE, one_chip))
    yield statement_row(
        "K7/equal",
        "PE and DIS are equal on up to 8 (2, 4, 8)",
        source,
        max(equal, 1 / min(factors(DISSEMINATION, PAIRWISE_EXCHANGE, one_chip))) <= EQUAL,
        equal,
        "times, most",
        "H",
    )
    better = min(factors(DISSEMINATION, PAIRWISE_EXCHANGE, both_chips))
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
        atomic > 1 and atomic > 2 * max(us(8, each) for each in BARRIER_KINDS.values()),
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
    """PE and DIS against OTA and TREE of the best degree, as in figure 3 on the right."""
    gathering = [ONE_TO_ALL, *map(barrier_tree, BARRIER_DEGREES)]
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
            least = min(factors[p] for p in counts)
            yield statement_row(
                f"K6/{name} {when}",
                f"{name} is substantially better than OTA and TREE, on {when}",
                "001 section 5.2",
                least > CLEARLY,
                least,
                "times, least",
                "C",
            )
