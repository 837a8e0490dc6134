"""What paper 001 tried without showing it, or left for later: buffers of a reduction, and strided data.

A reduction with four buffers of 16 KB beside the paper's four of 8 KB (section 7.1); the tree that fetches a
child's operand ahead; strided data beside packing first (section 8). Nothing of this is in
`Measurements.times`, so the paper's best stays the best of what the paper ran.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from corewise import _core, _lab
from corewise.analysis.result import Row, Table, statement_row
from corewise.data.quantities import number_text, size_text
from corewise.data.tuning import Value

KB = 1024
RANKS = (8, 16)
REDUCED_BYTES = (128, KB, 8 * KB, 32 * KB, 1024 * KB)
DEGREES = (1, 2, 3)
"""Of TREE; 1 is pipelined."""
AHEAD_BYTES = 1024 * KB
"""Where a reduction has many pieces."""
LARGE_BUFFERS: Mapping[str, Value] = MappingProxyType({"buffers": 4, "buffer": 16 * KB, "room": 72 * KB})
"""Four of 16 KB: more than the 36 KB that the paper's ranks have for buffers and metadata."""
CHILD_AHEAD: Mapping[str, Value] = MappingProxyType({"child_ahead": True})
STRIDED_BYTES = 8 * KB
STRIDES = ((128, 256), (16, 64))
"""(block, from block to block), bytes."""
STRIDED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "broadcast": ("local_store_tree", "pieces", "one_to_all"),
        "gather": ("linear", "tree", "direct", "root_copies"),
        "scatter": ("linear", "tree", "direct", "root_copies"),
        "reduce": ("tree", "pieces"),
    }
)
"""Algorithms of each collective with a root; those that refuse strided data run on packed data alone."""
_TAKE_STRIDES = ("local_store_tree", "linear", "tree")
NOT_MUCH = 1.10
"""The paper's "not much difference": within 10 %."""
NO_SLOWER = 0.99


@dataclass(frozen=True)
class Beyond:
    """Latencies in us.

    Attributes
    ----------
    small, large : (ranks, bytes, degree) -> float
        TREE's reduction with four buffers of 8 KB and of 16 KB.
    ahead : (ranks, degree) -> float
        TREE's reduction of 1 MB, four buffers of 8 KB, a child's operand fetched ahead.
    strided, packed : (collective, ranks, (block, stride)) -> float
        The best with strided data; packing, the best with contiguous data, and unpacking.
    """

    small: dict[tuple[int, int, int], float] = field(default_factory=dict)
    large: dict[tuple[int, int, int], float] = field(default_factory=dict)
    ahead: dict[tuple[int, int], float] = field(default_factory=dict)
    strided: dict[tuple[str, int, tuple[int, int]], float] = field(default_factory=dict)
    packed: dict[tuple[str, int, tuple[int, int]], float] = field(default_factory=dict)

    def best(self, ranks: int, bytes: int, large: bool) -> float:
        """Of TREE's degrees."""
        times = self.large if large else self.small
        return min(times[ranks, bytes, degree] for degree in DEGREES)


def measure(machine: _core.Machine) -> Beyond:
    """Runs everything; every run checks every rank's data."""
    found = Beyond()
    for ranks in RANKS:
        for degree in DEGREES:
            tree: dict[str, Value] = {"degree": degree, "far_first": True}
            for size in REDUCED_BYTES:
                found.small[ranks, size, degree] = _us(machine, "reduce", "tree", ranks, size, tree)
                large = {**tree, **LARGE_BUFFERS}
                found.large[ranks, size, degree] = _us(machine, "reduce", "tree", ranks, size, large)
            ahead = {**tree, **CHILD_AHEAD}
            found.ahead[ranks, degree] = _us(machine, "reduce", "tree", ranks, AHEAD_BYTES, ahead)
        for collective in STRIDED:
            for layout in STRIDES:
                key = (collective, ranks, layout)
                found.strided[key], found.packed[key] = _strided_us(machine, collective, ranks, layout)
    return found


def _us(
    machine: _core.Machine,
    collective: str,
    algorithm: str,
    ranks: int,
    bytes: int,
    settings: Mapping[str, Value],
    **layout: int,
) -> float:
    request = _lab.CollectiveRequest(
        collective, algorithm, ranks, bytes, settings=dict(settings), warm_up=0, calls=1, **layout
    )
    return _lab.run_collective(machine, request).mean_latency_ns / 1000


def _strided_us(
    machine: _core.Machine, collective: str, ranks: int, layout: tuple[int, int]
) -> tuple[float, float]:
    """By the best algorithm; and packed by each sender, moved by the best, unpacked by each receiver."""
    block, stride = layout
    as_it_is = {"block_bytes": block, "stride_bytes": stride}
    both = [name for name in STRIDED[collective] if name in _TAKE_STRIDES or collective == "reduce"]
    strided = min(_us(machine, collective, name, ranks, STRIDED_BYTES, {}, **as_it_is) for name in both)
    moved = min(_us(machine, collective, name, ranks, STRIDED_BYTES, {}) for name in STRIDED[collective])
    sends = ranks if collective == "scatter" else 1
    receives = ranks if collective == "gather" else 1
    packing = _copy_us(machine, STRIDED_BYTES * sends, layout, (block, block))
    unpacking = _copy_us(machine, STRIDED_BYTES * receives, (block, block), layout)
    return strided, packing + moved + unpacking


def _copy_us(machine: _core.Machine, bytes: int, sent: tuple[int, int], received: tuple[int, int]) -> float:
    """A rank by itself lays its data out anew: a gather to itself."""
    layouts = {
        "block_bytes": sent[0],
        "stride_bytes": sent[1],
        "receive_block_bytes": received[0],
        "receive_stride_bytes": received[1],
    }
    return _us(machine, "gather", "linear", 1, bytes, {}, **layouts)


# ---- rows and tables -------------------------------------------------------------------------------------


def rows_of(found: Beyond) -> Iterator[Row]:
    """Buffers, operands ahead, strides."""
    yield from _buffer_rows(found)
    yield from _ahead_rows(found)
    yield from _strided_rows(found)


def _buffer_rows(found: Beyond) -> Iterator[Row]:
    for ranks in RANKS:
        for size in REDUCED_BYTES:
            factor = found.best(ranks, size, large=False) / found.best(ranks, size, large=True)
            yield statement_row(
                f"E6/{ranks}/{size_text(size)}",
                f"reduce by TREE of {size_text(size)} on {ranks}: four buffers of 16 KB differ by no more "
                "than 10 % from four of 8 KB",
                "001 section 7.1",
                1 / NOT_MUCH <= factor <= NOT_MUCH,
                factor,
                "times as fast",
                "H",
            )


def _ahead_rows(found: Beyond) -> Iterator[Row]:
    for (ranks, degree), ours in found.ahead.items():
        factor = found.small[ranks, AHEAD_BYTES, degree] / ours
        name = f"TREE degree {degree}" if degree > 1 else "TREE pipelined"
        yield statement_row(
            f"F/ahead/{ranks}/{degree}",
            f"reduce by {name} of 1 MB on {ranks} is no slower when a child's operand is fetched ahead",
            "issue 20, cause 3",
            factor >= NO_SLOWER,
            factor,
            "times as fast",
        )


def _strided_rows(found: Beyond) -> Iterator[Row]:
    for (collective, ranks, (block, stride)), ours in found.strided.items():
        factor = found.packed[collective, ranks, (block, stride)] / ours
        yield statement_row(
            f"F/strided/{collective}/{ranks}/{block}",
            f"{collective} of 8 KB on {ranks}, {block} of every {stride} bytes: faster strided than packed",
            "001 section 8",
            factor > 1,
            factor,
            "times as fast",
        )


def tables_of(found: Beyond) -> Iterator[Table]:
    """The times behind the rows, us."""
    cells = [
        (
            f"{ranks}",
            size_text(size),
            number_text(found.best(ranks, size, large=False), 4),
            number_text(found.best(ranks, size, large=True), 4),
        )
        for ranks in RANKS
        for size in REDUCED_BYTES
    ]
    columns = ("ranks", "size", "four of 8 KB", "four of 16 KB")
    yield Table("Reduce by TREE of the best degree, us, by buffers", columns, tuple(cells))
    cells = [
        (
            f"{ranks}",
            f"{degree}",
            number_text(found.small[ranks, AHEAD_BYTES, degree], 4),
            number_text(ours, 4),
        )
        for (ranks, degree), ours in found.ahead.items()
    ]
    columns = ("ranks", "degree", "as it is", "child's operand ahead")
    yield Table("Reduce by TREE of 1 MB, us", columns, tuple(cells))
    strided = [
        (
            collective,
            f"{ranks}",
            f"{block} of {stride}",
            number_text(ours, 4),
            number_text(found.packed[key], 4),
        )
        for key, ours in found.strided.items()
        for collective, ranks, (block, stride) in (key,)
    ]
    yield Table(
        "Strided data of 8 KB, us",
        ("collective", "ranks", "bytes", "strided", "packed first"),
        tuple(strided),
    )
