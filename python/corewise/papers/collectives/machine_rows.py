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
    yield from _short_dmas(found)
    yield from _long_dmas(found)
    yield from _crowded_dmas(found)


def _dma_ns(found: Measurements, target: str, size: int, command: int = 16 * KB, spes: int = 1) -> float:
    return found.dma[DmaCase(target, size, command, spes)].mean_ns


def _short_dmas(found: Measurements) -> Iterator[Row]:
    short = _dma_ns(found, "local_store", 128)
    yield statement_row(
        "L1/put",
        "a short DMA between SPEs takes under 100 ns",
        "000 section 1",
        short < 100,
        short,
        "ns",
        "C",
    )
    factor = _dma_ns(found, "memory", 128) / short
    yield statement_row(
        "L2",
        "to main memory it takes about twice as long",
        "000 section 1",
        1.5 <= factor <= 3,
        factor,
        "times",
        "C",
    )
    across = _dma_ns(found, "other_local_store", 128) / short
    yield statement_row(
        "L6/iii",
        "latency between SPEs of two chips is significantly higher",
        "001 section 2",
        across > 1.5,
        across,
        "times",
        "C",
    )


def _long_dmas(found: Measurements) -> Iterator[Row]:
    for id, target in (("L4", "memory"), ("L5", "local_store")):
        (value,) = published_as(id)
        ours = 64 * KB / _dma_ns(found, target, 64 * KB)
        yield number_row(id, value.what, value.source, value.value, ours, value.unit, value.set)
    one = _dma_ns(found, "local_store", 16 * KB)
    slower = _dma_ns(found, "memory", 16 * KB) / one
    yield statement_row(
        "L6/i",
        "SPE-SPE DMAs are much faster than SPE-memory ones",
        "001 section 2",
        slower > 2,
        slower,
        "times",
        "C",
    )
    small = _dma_ns(found, "local_store", 16 * KB, command=128) / one
    yield statement_row(
        "L6/ii",
        "many small DMAs are slower than few long ones (16 KB in commands of 128 B)",
        "001 section 2",
        small > CLEARLY,
        small,
        "times",
        "H",
    )


def _crowded_dmas(found: Measurements) -> Iterator[Row]:
    together_ns = _dma_ns(found, "memory", 16 * KB, spes=8)
    each = 16 * KB / together_ns
    yield statement_row(
        "L3",
        "with eight SPEs on main memory at once each gets under 4 GB/s",
        "001 figure 2 left",
        each < 4,
        each,
        "GB/s",
        "C",
    )
    crowd = together_ns / _dma_ns(found, "memory", 16 * KB)
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
    yield from _one_to_all_barriers(found)
    yield from _barrier_kinds(found)
    yield from _barriers_by_steps(found)
    yield from _tree_barriers(found)
    yield from _uncompetitive_barriers(found)


_FIGURE_3 = "001 figure 3"


def _factors(
    found: Measurements, one: Configuration, other: Configuration, ranks: Iterable[int]
) -> list[float]:
    return [found.barrier_us(count, one) / found.barrier_us(count, other) for count in ranks]


def _one_to_all_barriers(found: Measurements) -> Iterator[Row]:
    every = found.barrier_ranks
    few = min(_factors(found, ONE_TO_ALL_LIST, ONE_TO_ALL, (p for p in every if p <= 4)))
    yield statement_row(
        "K4/few",
        "a DMA list does not improve the barrier on up to 4",
        _FIGURE_3,
        few >= 1 / EQUAL,
        few,
        "times, least",
        "H",
    )
    many = min(_factors(found, ONE_TO_ALL_LIST, ONE_TO_ALL, (p for p in every if p > 4)))
    yield statement_row(
        "K4/many",
        "and makes it worse on more than 4",
        _FIGURE_3,
        many > 1,
        many,
        "times, least",
        "H",
    )
    signal = min(_factors(found, SIGNAL_REGISTER, ONE_TO_ALL, every))
    yield statement_row(
        "K5",
        "the signal register gains nothing over plain DMAs",
        _FIGURE_3,
        signal >= 1 / EQUAL,
        signal,
        "times, least",
        "C",
    )


def _barriers_by_steps(found: Measurements) -> Iterator[Row]:
    one_chip = [p for p in found.barrier_ranks if p <= 8 and p & (p - 1) == 0]
    both_chips = [p for p in found.barrier_ranks if p > 8]
    factors = _factors(found, DISSEMINATION, PAIRWISE_EXCHANGE, one_chip)
    equal = max(factors)
    yield statement_row(
        "K7/equal",
        "PE and DIS are equal on up to 8 (2, 4, 8)",
        _FIGURE_3,
        max(equal, 1 / min(factors)) <= EQUAL,
        equal,
        "times, most",
        "H",
    )
    better = min(_factors(found, DISSEMINATION, PAIRWISE_EXCHANGE, both_chips))
    yield statement_row(
        "K7/better",
        "PE is clearly better than DIS on more than 8: only one of its phases crosses chips",
        _FIGURE_3,
        better > CLEARLY,
        better,
        "times, least",
        "H",
    )
    jump = found.barrier_us(10, PAIRWISE_EXCHANGE) / found.barrier_us(8, PAIRWISE_EXCHANGE)
    what = "latency of PE jumps from 8 to 10"
    yield statement_row("K7/jump", what, _FIGURE_3, jump > 1.3, jump, "times", "H")


def _tree_barriers(found: Measurements) -> Iterator[Row]:
    degrees = _factors(found, barrier_tree(8), barrier_tree(4), COMPARED_RANKS)
    for ranks, degree in zip(COMPARED_RANKS, degrees, strict=True):
        yield statement_row(
            f"K8/{ranks}",
            f"TREE of degree 8 is worse than of degree 4 on {ranks}",
            _FIGURE_3,
            degree > 1,
            degree,
            "times",
            "H",
        )


def _uncompetitive_barriers(found: Measurements) -> Iterator[Row]:
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
    atomic = found.barrier_us(8, ATOMIC_INCREMENT)
    others = max(found.barrier_us(8, each) for each in BARRIER_KINDS.values())
    yield statement_row(
        "K10/atomic",
        "the barrier by atomic increments is not competitive: the order of microseconds on 8",
        "001 section 5.3",
        atomic > 1 and atomic > 2 * others,
        atomic,
        "us",
        "H",
    )
    mailbox = found.barrier_us(8, PPE_MAILBOX)
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
