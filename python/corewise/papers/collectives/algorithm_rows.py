"""Paper 001, sections 6 and 7: what it says of broadcast and reduce in words, as rows.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from corewise.analysis.result import Row, number_row, statement_row
from corewise.analysis.selection import Configuration
from corewise.data.published import Published, published_as
from corewise.data.quantities import size_text
from corewise.papers.collectives.data import (
    COMPARED_RANKS,
    CONTROLLER_GB_PER_S,
    FIGURE_RANKS,
    GOOD_LARGE_BYTES,
    GOOD_MIN_PIECE,
    KB,
    LARGE_BYTES,
    MB,
    MIN_PIECES,
    REDUCE_DEGREES,
    SHIFTS,
    SMALL_BYTES,
    TREE_DEGREES,
    TREE_MAIN_MEMORY_DEGREES,
    Measurements,
    good_choice,
    local_store_tree,
    pieces,
    reduce_tree,
    shifted,
    tree_main_memory,
)
from corewise.papers.collectives.machine_rows import EQUAL, NEAR

_SIZE_OF = {"128 B": SMALL_BYTES, "1 KB": KB, "32 KB": 32 * KB, "1 MB": MB}


def size_of(value: Published) -> int:
    """The message size that ends a published value's name, e.g. ``broadcast P=8 128 B``."""
    return _SIZE_OF[" ".join(value.what.split()[-2:])]


def broadcast_rows(found: Measurements) -> Iterator[Row]:
    """Figures 4 to 6 and section 6.2."""
    yield from _broadcast_parameters(found)
    yield from _broadcast_trees_in_memory(found)
    yield from _broadcast_trees(found)
    yield from _good_choice(found)
    yield from _memory_bandwidth(found)


# ---- broadcast -------------------------------------------------------------------------------------------


def _intermediate(found: Measurements) -> list[int]:
    """Sizes for which one rank alone has not enough to do, and not every rank."""
    return [size for size in found.sizes if 8 * KB <= size <= 64 * KB]


def _broadcast_parameters(found: Measurements) -> Iterator[Row]:
    def us(ranks: int, size: int, chosen: Configuration) -> float:
        return found.us("broadcast", ranks, size, chosen)

    shifts = [shifted(shift) for shift in SHIFTS if shift > 0]
    large = [size for size in found.sizes if size >= 8 * KB]
    gain = max(us(4, size, shifted(0)) / min(us(4, size, each) for each in shifts) for size in large)
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
        apart = max(
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
        factor = min(max(us(size, piece) / good[size] for size in between) for piece in worse)
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
        apart = max(
            max(us(size, piece) for piece in MIN_PIECES) / min(us(size, piece) for piece in MIN_PIECES)
            for size in sizes
        )
        yield statement_row(
            f"D6/{id}", f"no difference for {what}", source, apart <= EQUAL, apart, "times", "H"
        )


_FIGURE_5 = "001 figure 5"


def _broadcast_trees_in_memory(found: Measurements) -> Iterator[Row]:
    def main_memory(size: int, degree: int) -> float:
        return found.us("broadcast", 12, size, tree_main_memory(degree))

    of_best = {
        size: min(main_memory(size, degree) for degree in TREE_MAIN_MEMORY_DEGREES) for size in found.sizes
    }
    third = max(main_memory(size, 3) / of_best[size] for size in found.sizes)
    yield statement_row(
        "D7/3",
        "TREEMM on 12: degree 3 is best or near it",
        _FIGURE_5,
        third <= NEAR,
        third,
        "of the best, most",
        "H",
    )
    small = [size for size in found.sizes if size <= KB]
    second = min(
        main_memory(size, 2) / max(main_memory(size, degree) for degree in TREE_MAIN_MEMORY_DEGREES)
        for size in small
    )
    yield statement_row(
        "D7/2",
        "degree 2 is worst or near it (up to 1 KB)",
        _FIGURE_5,
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
        _FIGURE_5,
        spread[SMALL_BYTES] > spread[LARGE_BYTES],
        spread[LARGE_BYTES],
        f"times at 1 MB ({spread[SMALL_BYTES]:.2f} at 128 B)",
        "H",
    )


def _broadcast_trees(found: Measurements) -> Iterator[Row]:
    def tree(size: int, degree: int) -> float:
        return found.us("broadcast", 16, size, local_store_tree(degree))

    small = [size for size in found.sizes if size <= KB]
    best_small = max(tree(size, 3) / min(tree(size, degree) for degree in TREE_DEGREES) for size in small)
    yield statement_row(
        "D8/3",
        "TREE on 16: degree 3 is best or near it for small messages",
        _FIGURE_5,
        best_small <= EQUAL,
        best_small,
        "of the best, most",
        "H",
    )
    pipelined = min(tree(MB, degree) for degree in TREE_DEGREES if degree > 1) / tree(MB, 1)
    yield statement_row(
        "D8/1", "pipelined is slightly best for 1 MB", _FIGURE_5, pipelined > 1, pipelined, "times", "H"
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
            worst = max(shares[size] for size in sizes)
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
        factor = max(
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
    least = min(
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
        "the paper's own table 2 has 33.7 us for 32 KB on 16, which is 15.6 GB/s",
    )


# ---- reduce ----------------------------------------------------------------------------------------------


def reduce_rows(found: Measurements) -> Iterator[Row]:
    """Figure 7 and section 7.2."""
    yield from _small_reduces(found)
    yield from _large_reduces(found)
    yield from _reduces_elsewhere(found)


_FIGURE_7 = "001 figure 7"


def _of_best_reduce(found: Measurements, ranks: int, size: int, chosen: Configuration) -> float:
    return found.us("reduce", ranks, size, chosen) / found.paper_best("reduce", ranks, size)


def _small_reduces(found: Measurements) -> Iterator[Row]:
    small = [size for size in found.sizes if size <= KB]
    for ranks in FIGURE_RANKS[1:]:
        third = max(_of_best_reduce(found, ranks, size, reduce_tree(3)) for size in small)
        yield statement_row(
            f"E3/small/{ranks}",
            f"TREE degree 3 is best or near it for small data on {ranks}",
            _FIGURE_7,
            third <= NEAR,
            third,
            "of the best, most",
            "H",
        )
    fourth = max(_of_best_reduce(found, 4, size, reduce_tree(4)) for size in small)
    what = "on 4, TREE degree 4 is best"
    yield statement_row("E3/small/4", what, _FIGURE_7, fourth <= EQUAL, fourth, "of the best, most", "H")
    trees = [
        [found.us("reduce", 4, size, reduce_tree(degree)) for degree in REDUCE_DEGREES[1:]]
        for size in found.sizes
    ]
    apart = median(max(times) / min(times) for times in trees)
    yield statement_row(
        "E3/close/4",
        "on 4, degrees 2, 3 and 4 are very close in most cases",
        _FIGURE_7,
        apart <= NEAR,
        apart,
        "times, median of the sizes",
        "H",
    )


def _large_reduces(found: Measurements) -> Iterator[Row]:
    between = [size for size in found.sizes if 16 * KB <= size <= 64 * KB]
    for ranks in FIGURE_RANKS:
        share = min(_of_best_reduce(found, ranks, size, pieces()) for size in between)
        yield statement_row(
            f"E3/between/{ranks}",
            f"AG is best at intermediate sizes on {ranks} (some size of 16 to 64 KB)",
            _FIGURE_7,
            share <= 1,
            share,
            "of the best, least",
            "H",
        )
        large = pieces() if ranks == 4 else reduce_tree(1)
        share = _of_best_reduce(found, ranks, MB, large)
        yield statement_row(
            f"E3/large/{ranks}",
            f"{'AG' if ranks == 4 else 'TREE pipelined'} is best for 1 MB on {ranks}",
            _FIGURE_7,
            share <= 1.01,
            share,
            "of the best",
            "H",
        )


def send_receive_rows(found: Measurements) -> Iterator[Row]:
    """Section 7.2's two numbers of the reduction over send and receive."""
    for value in published_as("E4"):
        size = size_of(value)
        ours = found.us("reduce", 8, size, tree_main_memory(2))
        name = f"E4/{size_text(size)}"
        yield number_row(name, value.what, value.source, value.value, ours, value.unit, value.set)


def _reduces_elsewhere(found: Measurements) -> Iterator[Row]:
    """Over send and receive, and beside broadcasts."""
    yield from send_receive_rows(found)
    worse = min(
        _of_best_reduce(found, ranks, size, tree_main_memory(2))
        for ranks in FIGURE_RANKS
        for size in found.sizes
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
    slower = min(
        found.paper_best("reduce", ranks, size) / found.paper_best("broadcast", ranks, size)
        for ranks in FIGURE_RANKS
        for size in found.sizes
    )
    yield statement_row(
        "E5", "reduce takes longer than broadcast", "001 section 7.2", slower > 1, slower, "times, least", "H"
    )
