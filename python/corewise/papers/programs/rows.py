"""Paper 003's table 2 and what section 4.2 says of its programs' messages, each as a row.

Table 2 calibrates the machine file. The matrices follow from the programs alone; what the paper says in words
about levels is counted on the simulated cluster.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from corewise.analysis.result import Row, number_row, statement_row
from corewise.papers.programs.calls import (
    COMMUNICATION,
    COMPUTATION,
    ITERATIONS,
    STEP,
    messages_of,
    within,
)
from corewise.papers.programs.data import (
    CELL,
    ELSEWHERE,
    LEVELS,
    NODE,
    SAME_BLADE,
    SAME_CELL,
    SAME_NODE,
    Study,
)

ROW = 16
"""SPEs of a row of Sweep3D's grid."""
PLANE = 64
"""SPEs of an x-y plane of the other programs' 8x8x4."""


def rows_of(study: Study) -> Iterator[Row]:
    """Table 2, then the figures in their order, then what the paper expects of optimisation."""
    yield from _table2(study)
    yield from _figure6(study)
    yield from _figure7(study)
    yield from _figure8(study)
    yield from _figure9(study)
    yield from _figure10(study)
    yield from _optimisation(study)


def _table2(study: Study) -> Iterator[Row]:
    for level, (latency_us, mb_per_s) in zip(LEVELS, study.table2, strict=True):
        if not level.published:
            continue
        key = level.published.lower().replace(" ", "-")
        what = f"{level.published}: half a round trip of an empty message"
        yield number_row(
            f"table2/{key}/latency", what, "003 table 2", level.latency_us, latency_us, "us", "C"
        )
        what = f"{level.published}: bandwidth of long messages"
        yield number_row(
            f"table2/{key}/bandwidth", what, "003 table 2", level.mb_per_s, mb_per_s, "MB/s", "C"
        )


def _distances(messages: NDArray[np.int64]) -> dict[int, int]:
    """Receiver minus sender -> messages."""
    sender, receiver = np.nonzero(messages)
    found: dict[int, int] = {}
    for distance, count in zip(
        (receiver - sender).tolist(), messages[sender, receiver].tolist(), strict=True
    ):
        found[distance] = found.get(distance, 0) + count
    return found


def _share(study: Study, distances: tuple[int, ...], levels: tuple[int, ...]) -> float:
    """Of Sweep3D's messages so far along the ranks, those between such levels."""
    sender, receiver = np.nonzero(study.sweep.messages)
    chosen = np.isin(receiver - sender, distances)
    counts = study.sweep.messages[sender, receiver] * chosen
    near = np.isin(study.levels[sender, receiver], levels)
    return float((counts * near).sum() / max(counts.sum(), 1))


def _figure6(study: Study) -> Iterator[Row]:
    distances = _distances(study.sweep.messages)
    yield statement_row(
        "fig6/neighbours",
        "Sweep3D on 16x16 SPEs sends to ranks 1 and 16 before and after, to nobody else",
        "003 figure 6",
        set(distances) == {-ROW, -1, 1, ROW},
        len(distances),
        "diagonals",
    )
    inside = _share(study, (-1, 1), (SAME_CELL,))
    yield statement_row(
        "fig6/x-on-chip",
        "messages to the x neighbours stay on the chip",
        "003 section 4.2.1",
        inside == 1.0,
        100 * inside,
        "%",
        refuted="a row of 16 SPEs lies on two Cells, so one of its 15 pairs is on both",
    )
    blades = _share(study, (-ROW, ROW), (SAME_NODE,))
    nodes = _share(study, (-ROW, ROW), (ELSEWHERE,))
    yield statement_row(
        "fig6/y-levels",
        "of a SPE's two y neighbours one is on the node's other blade and one on another node",
        "003 section 4.2.1",
        blades + nodes == 1.0 and _one_each(study),
        100 * nodes,
        "% between nodes",
    )


def _one_each(study: Study) -> bool:
    """Whether each SPE with two y neighbours has one of each kind."""
    levels = study.levels
    return all(
        {int(levels[rank, rank - ROW]), int(levels[rank, rank + ROW])} == {SAME_NODE, ELSEWHERE}
        for rank in range(ROW, len(levels) - ROW)
    )


def _figure7(study: Study) -> Iterator[Row]:
    sender, receiver = np.nonzero((study.modified.messages > 0) & (study.levels != SAME_CELL))
    roots = bool(np.all(sender % CELL == 0) and np.all(receiver % CELL == 0))
    yield statement_row(
        "fig7/roots",
        "in the modified Sweep3D only one SPE of each Cell sends to other Cells, and only to such SPEs",
        "003 figure 7",
        roots,
        len(sender),
        "pairs of SPEs",
    )
    before = int(study.sweep.by_level(study.levels)[SAME_BLADE:].sum())
    after = int(study.modified.by_level(study.levels)[SAME_BLADE:].sum())
    yield statement_row(
        "fig7/fewer",
        "that reduces the number of messages between Cells significantly (to less than half)",
        "003 section 4.2.1",
        2 * after < before,
        before / after,
        "times fewer",
    )
    inside = [sent.by_level(study.levels) for sent in (study.sweep, study.modified)]
    shares = [float(counts[SAME_CELL] / counts.sum()) for counts in inside]
    yield statement_row(
        "fig7/eib",
        "the modified Sweep3D passes more of its messages over the chip's own bus than the original",
        "003 section 4.2.1",
        shares[1] > shares[0],
        100 * shares[1],
        "%",
    )
    original, modified = study.sweep.time_us, study.modified.time_us
    yield statement_row(
        "fig7/faster",
        "the modified Sweep3D is faster (the paper: it promises to be), with table 2's latencies",
        "003 section 4.2.1",
        modified < original,
        original / modified,
        "times",
    )


def _figure8(study: Study) -> Iterator[Row]:
    sent, levels = study.dynamics.messages, study.levels
    ranks = np.arange(len(sent))
    x, y, z = ranks % CELL, ranks // CELL % CELL, ranks // PLANE
    planes = len(sent) // PLANE
    expected = np.zeros(sent.shape, bool)
    for way in (-1, 1):
        expected[ranks, (x + way) % CELL + CELL * y + PLANE * z] = True
        expected[ranks, x + CELL * ((y + way) % CELL) + PLANE * z] = True
        expected[ranks, x + CELL * y + PLANE * ((z + way) % planes)] = True
    yield statement_row(
        "fig8/neighbours",
        "molecular dynamics on 8x8x4 SPEs sends to six neighbours, x fastest",
        "003 figure 8",
        bool(np.array_equal(sent > 0, expected)),
        float((sent > 0).sum(axis=1).mean()),
        "peers",
    )
    along_x = levels[ranks, (x + 1) % CELL + CELL * y + PLANE * z]
    yield statement_row(
        "fig8/x", "its x neighbours are in the Cell", "003 section 4.2.1", bool(np.all(along_x == SAME_CELL))
    )
    outside = np.zeros(len(sent), int)
    for way in (-1, 1):
        outside += levels[ranks, x + CELL * ((y + way) % CELL) + PLANE * z] == ELSEWHERE
    ends = (ranks % NODE < CELL) | (ranks % NODE >= NODE - CELL)
    yield statement_row(
        "fig8/y",
        "SPEs 1 to 8 and 25 to 32 of a node have one y neighbour on another node, the others none",
        "003 section 4.2.1",
        bool(np.array_equal(outside, ends.astype(int))),
        100 * float(np.mean(outside > 0)),
        "% of the SPEs",
    )
    along_z = levels[ranks, x + CELL * y + PLANE * ((z + 1) % planes)]
    yield statement_row(
        "fig8/z",
        "its z neighbours are all on other nodes",
        "003 section 4.2.1",
        bool(np.all(along_z == ELSEWHERE)),
    )


def _figure9(study: Study) -> Iterator[Row]:
    heavy = study.flow.heavy()
    mean = study.flow.volume / np.maximum(study.flow.messages, 1)
    light = mean[(study.flow.messages > 0) & ~heavy]
    yield statement_row(
        "fig9/unequal",
        "in lattice Boltzmann some messages are an order of magnitude smaller than others",
        "003 section 4.2.1",
        light.size > 0,
        float(mean.max() / light.max()) if light.size else 1.0,
        "times",
    )
    same = bool(np.array_equal(heavy, study.dynamics.messages > 0))
    yield statement_row(
        "fig9/pattern",
        "its heavier messages have the pattern of molecular dynamics",
        "003 section 4.2.1",
        same,
        float(heavy.sum(axis=1).mean()),
        "peers",
    )
    counts = study.flow.by_level(study.levels, heavy)
    source = "003 figure 9"
    between = float(counts[ELSEWHERE] / counts.sum())
    yield number_row("fig9/nodes", "heavy messages between nodes", source, 0.5, between, "of all", "H")
    other = float(counts[SAME_BLADE : SAME_NODE + 1].sum() / max(counts[:ELSEWHERE].sum(), 1))
    what = "heavy messages within a node that leave the Cell"
    yield number_row("fig9/cells", what, source, 1 / 3, other, "of those within", "H")
    yield statement_row(
        "fig9/bus",
        "only a third of the heavy messages use the chip's own bus",
        source,
        abs(counts[SAME_CELL] / counts.sum() - 1 / 3) < 0.005,
        100 * float(counts[SAME_CELL] / counts.sum()),
        "%",
    )
    peers = sorted(np.nonzero(heavy[0])[0].tolist())
    yield statement_row(
        "fig10/peer",
        "SPE 0 of lattice Boltzmann sends to SPE 56",
        "003 figure 10",
        56 in peers,
        len(peers),
        "heavy peers",
    )


def _figure10(study: Study) -> Iterator[Row]:
    step = within(study.calls, STEP)
    counts = {line.name: line.count for line in step}
    each = all(counts.get(name) == ITERATIONS for name in (STEP, *COMMUNICATION))
    yield statement_row(
        "fig10/once",
        "each of 10 iterations calls the functions of communication once, and computes; main is the root",
        "003 figure 10",
        each and counts.get(COMPUTATION, 0) >= ITERATIONS and study.calls[0].name == "main",
        counts.get(STEP, 0),
        "iterations",
    )
    yield statement_row(
        "fig10/source",
        "their nodes have the source file and line",
        "003 section 4.2.2",
        bool(step) and all(line.source for line in step if line.name in (STEP, *COMMUNICATION, COMPUTATION)),
    )
    messages = messages_of(step)
    yield statement_row(
        "fig10/messages",
        "below them stand the messages with source, destination and size, each seen 10 times",
        "003 figure 10",
        {peer for peer, _, _ in messages} == set(np.nonzero(study.flow.messages[0])[0].tolist())
        and all(count == ITERATIONS for _, _, count in messages),
        len(messages),
        "messages",
    )


def _optimisation(study: Study) -> Iterator[Row]:
    for key, title in (("fig8/room", "molecular dynamics"), ("fig9/room", "lattice Boltzmann")):
        gain = study.placed[title].gain
        what = f"{title} has room for optimisation by other neighbours in the Cell (more than 5 %)"
        yield statement_row(key, what, "003 section 4.2.1", gain > 1.05, gain, "times")
    for key, title in (("fig6/placed", "Sweep3D"), ("fig7/placed", "modified Sweep3D")):
        gain = study.placed[title].gain
        what = f"{title} is at least as fast on the placement found as in rank order"
        yield statement_row(key, what, "ours", gain >= 1.0, gain, "times")
    flow, dynamics = (study.placed[title].gain for title in ("lattice Boltzmann", "molecular dynamics"))
    what = "lattice Boltzmann has more room than molecular dynamics"
    yield statement_row(
        "fig9/more-room", what, "003 section 4.2.1", flow > dynamics, flow / dynamics, "times"
    )
