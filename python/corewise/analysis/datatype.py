"""What a datatype is: as constructed, through every pass of the simplifier, as a plan, and in numbers.

Computes what `corewise explain datatype` shows; prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from corewise._core import Datatype, packing_decision
from corewise.data.packing_tuning import USES, PackingTuning


@dataclass(frozen=True)
class DatatypeStage:
    """A layout after a pass that changed it; the first is the layout as constructed.

    Attributes
    ----------
    name : str
        ``constructed``, or the pass (src/kernels/packing/simplification/passes.hpp).
    layout : str
        A line per node, indented by its level. Offsets and strides in bytes.
    """

    name: str
    layout: str


@dataclass(frozen=True)
class DatatypeFacts:
    """Numbers of a datatype, as MPI and the packing plan see it.

    Attributes
    ----------
    size : int
        Data bytes of one item (MPI_Type_size).
    lb, ub, extent : int
        Bytes (MPI_Type_get_extent).
    true_lb, true_extent : int
        Bytes (MPI_Type_get_true_extent).
    count : int
        Items that the next three are about.
    bytes : int
        Data bytes of all items.
    runs : int
        Contiguous runs of all items.
    density : float
        Data bytes per byte of the memory from the first to the last of them; 1 without a gap, above 1 where
        items overlap, 0 without data.
    mean_run : float
        Bytes of data per run of one item.
    line_density : float
        Data bytes per byte of the 64-byte lines that one item touches.
    pages_per_line : float
        Pages of 4096 bytes that one item touches, per 64 bytes of data.
    contiguous : bool
        Whether any number of items is one run.
    """

    size: int
    lb: int
    ub: int
    extent: int
    true_lb: int
    true_extent: int
    count: int
    bytes: int
    runs: int
    density: float
    mean_run: float
    line_density: float
    pages_per_line: float
    contiguous: bool

    def document(self) -> Mapping[str, object]:
        """The same as plain values for JSON."""
        return asdict(self)


def datatype_stages(datatype: Datatype, count: int = 1) -> list[DatatypeStage]:
    """The layout of `count` items as constructed, then after every pass that changed something."""
    return [DatatypeStage(name, layout.rstrip("\n")) for name, layout in datatype.simplified(count)]


def datatype_facts(datatype: Datatype, count: int = 1) -> DatatypeFacts:
    """The numbers of a type and of `count` of its items."""
    data = datatype.size * count
    span = datatype.true_extent + abs(datatype.extent) * max(count - 1, 0)
    return DatatypeFacts(
        size=datatype.size,
        lb=datatype.lb,
        ub=datatype.ub,
        extent=datatype.extent,
        true_lb=datatype.true_lb,
        true_extent=datatype.true_extent,
        count=count,
        bytes=data,
        runs=datatype.run_count(count),
        density=data / span if data else 0.0,
        mean_run=datatype.mean_run,
        line_density=datatype.line_density,
        pages_per_line=datatype.pages_per_line,
        contiguous=datatype.is_contiguous,
    )


@dataclass(frozen=True)
class PackingChoice:
    """What the packing library does with such a message, and the row of the tuning that says so.

    Attributes
    ----------
    use : str
        ``send``, ``receive``, ``pack``, ``unpack``.
    packed : bool
        Whether corewise packs it; otherwise it is left to the MPI.
    reason : str
        The row that decides.
    """

    use: str
    packed: bool
    reason: str


def packing_choices(facts: DatatypeFacts, tuning: PackingTuning) -> list[PackingChoice]:
    """What is done with a message of these items, for every use; contiguous ones go to the MPI."""
    if facts.contiguous or facts.bytes == 0:
        return [PackingChoice(use, False, f"{use}: contiguous, nothing to pack") for use in USES]
    knob = tuning.knob()
    if knob == "off":
        return [PackingChoice(use, False, f"{use}: the tuning takes nothing over") for use in USES]
    densities = [tuning.line_density(use, facts.line_density) for use in USES]
    return [
        PackingChoice(
            use, *packing_decision(knob, use, facts.bytes, facts.mean_run, thin, facts.pages_per_line)
        )
        for use, thin in zip(USES, densities, strict=True)
    ]
