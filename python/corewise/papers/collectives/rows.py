"""Paper 001's claims, each as a row: the numbers of its tables, what its text says, and its future work.

A number of tables 1 to 3 is held against the algorithm that it was measured with: PE; the good choice of
section 6.2; what section 7.2 finds best for that size and those ranks.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator

from corewise.analysis.result import Row, number_row, statement_row
from corewise.data.published import published_as
from corewise.data.quantities import number_text, size_text
from corewise.papers.collectives import beyond
from corewise.papers.collectives.algorithm_rows import (
    broadcast_rows,
    memory_gb_per_s,
    reduce_rows,
    size_of,
)
from corewise.papers.collectives.cases import Case
from corewise.papers.collectives.data import (
    COMPARED,
    COMPARED_RANKS,
    MB,
    MEMORIES,
    MEMORY_NAMES,
    PAIRWISE_EXCHANGE,
    SMALL_BYTES,
    TABLE_SIZES,
    Measurements,
    good_choice,
    good_reduce,
)
from corewise.papers.collectives.machine_rows import EQUAL, barrier_rows, copy_rows, dma_rows

GAIN = 1.5
"""What payloads in the metadata and no closing barrier must gain up to 128 B."""
STREAMING_SHARE = 0.95


def rows_of(found: Measurements) -> tuple[Row, ...]:
    """Every row, in the paper's order."""
    return (
        *papers_own_rows(found),
        *_future(found),
        *_elsewhere(found),
        *_throughput(found),
        *(beyond.rows_of(found.beyond) if found.beyond.small else ()),
    )


def papers_own_rows(found: Measurements) -> tuple[Row, ...]:
    """What the paper itself measured and says."""
    return (
        *dma_rows(found),
        *copy_rows(found),
        *table_rows(found),
        *barrier_rows(found),
        *broadcast_rows(found),
        *reduce_rows(found),
    )


# ---- tables 1 to 3 ---------------------------------------------------------------------------------------


def table_time(found: Measurements, id: str, size: int) -> float:
    """What stands beside a value of tables 1 to 3."""
    ranks = 8 if id.endswith("1") else 16
    if id.startswith("K"):
        return found.barrier_us(ranks, PAIRWISE_EXCHANGE)
    if id.startswith("D"):
        return found.us("broadcast", ranks, size, good_choice(ranks, size))
    return found.us("reduce", ranks, size, good_reduce(ranks, size))


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
            name = f"{id}/{size_text(size)}"
            yield number_row(name, value.what, value.source, value.value, ours, value.unit, value.set)


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
                        f"F/{collective}/{ranks}/{size_text(size)}",
                        f"{collective} of {size_text(size)} on {ranks}: payloads in the metadata and no "
                        f"closing barrier are at least {GAIN} times as fast as the paper's best",
                        source,
                        factor >= GAIN,
                        factor,
                        "times",
                    )
            least = min(gain(found, collective, ranks, size) for size in sizes)
            yield statement_row(
                f"F/{collective}/{ranks}/never slower",
                f"{collective} on {ranks}: the best of all is never slower than the paper's best",
                source,
                least >= 1,
                least,
                "times, least",
            )
    for ranks, limit in found.streaming_gb_per_s.items():
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
                        f"{id}/{size_text(size)}/{memory}",
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
                        f"F/local store/{collective}/{ranks}/{size_text(size)}",
                        f"{collective} of {size_text(size)} on {ranks} is faster from local store",
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
            of = f" of {size_text(size)}" if size else ""
            yield statement_row(
                f"T/{collective}/{ranks}" + (f"/{size_text(size)}" if size else ""),
                f"back to back, a {collective}{of} on {ranks} takes no longer than alone",
                "001 section 4",
                timing.period_us <= EQUAL * timing.latency_us,
                timing.period_us,
                f"us each ({number_text(timing.latency_us)} alone)",
            )
