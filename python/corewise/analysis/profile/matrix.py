"""Communication matrices of a profile: by bytes, count or time, per phase and communicator, heavy paths only.

Pure functions from a `World` to sparse matrices. Observed traffic (point-to-point, put, get) and the modelled
traffic of collectives are different matrices and never summed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from corewise._core import World
from corewise.data.monitoring import Monitoring, Pairs
from corewise.errors import InputError, bad_field

QUANTITIES = ("bytes", "count", "time")
TRAFFIC = {
    "sent": ("sent",),
    "received": ("received",),
    "collective": ("collective",),
    "put": ("put",),
    "get": ("get",),
    "observed": ("sent", "put", "get"),
}
"""Name of a matrix to the kinds of traffic that it sums."""
_WHAT = {
    "sent": "point-to-point, as sent",
    "received": "point-to-point, as received",
    "collective": "collectives, logical: a model of who needs whose bytes, not observed",
    "put": "one-sided put",
    "get": "one-sided get",
    "observed": "point-to-point as sent, put and get",
}
_QUANTITY = {"bytes": "bytes", "count": "messages", "time": "time"}


@dataclass(frozen=True)
class TrafficMatrix:
    """One matrix, sparse, sorted by sender and receiver.

    Attributes
    ----------
    ranks : int
        Its side.
    traffic, by : str
        Keys of `TRAFFIC` and of `QUANTITIES`.
    phase, comm : str or None
        What it is restricted to.
    senders, receivers : ndarray of int32, shape (n,)
    bytes, messages : ndarray of uint64, shape (n,)
    time_ns : ndarray of float64, shape (n,)
        Of the calls that sent, put or got; of blocking receives, and from post to completion of the others.
    """

    ranks: int
    traffic: str
    by: str
    phase: str | None
    comm: str | None
    senders: NDArray[np.int32]
    receivers: NDArray[np.int32]
    bytes: NDArray[np.uint64]
    messages: NDArray[np.uint64]
    time_ns: NDArray[np.float64]

    @property
    def values(self) -> NDArray[np.float64]:
        """What the matrix is drawn and weighed by."""
        column = {"bytes": self.bytes, "count": self.messages, "time": self.time_ns}[self.by]
        return column.astype(np.float64)

    @property
    def title(self) -> str:
        """What the numbers are, for people."""
        where = [f"phase {self.phase!r}" if self.phase else "before the first phase"] * (
            self.phase is not None
        )
        where += [f"communicator {self.comm}"] * (self.comm is not None)
        return ", ".join([f"{_QUANTITY[self.by]} ({_WHAT[self.traffic]})", *where])

    def only(self, kept: NDArray[np.bool_]) -> TrafficMatrix:
        """The pairs for which `kept` is true."""
        columns = ("senders", "receivers", "bytes", "messages", "time_ns")
        return replace(self, **{name: getattr(self, name)[kept] for name in columns})


def build_matrix(
    world: World, traffic: str = "sent", by: str = "bytes", phase: str | None = None, comm: str | None = None
) -> TrafficMatrix:
    """A matrix of one kind of traffic.

    Parameters
    ----------
    world : World
        Whose traffic.
    traffic, by : str
        Keys of `TRAFFIC` and of `QUANTITIES`.
    phase : str or None
        A phase's name; the empty name is what came before the first phase. None for all.
    comm : str or None
        A communicator's name, of several with the same name all; None for all.

    Raises
    ------
    InputError
        A name that does not exist, or the time of collectives, which no one sees per pair.
    """
    if traffic not in TRAFFIC:
        raise bad_field("", "traffic", f"'{traffic}'", ", ".join(TRAFFIC))
    if by not in QUANTITIES:
        raise bad_field("", "by", f"'{by}'", ", ".join(QUANTITIES))
    if traffic == "collective" and by == "time":
        raise InputError(
            "collectives by time: which peer a rank waited for inside a collective is not observed, "
            "allowed: bytes, count (corewise report has the time per call)"
        )
    phases = [-1] if phase is None else [_phase(world, phase)]
    comms = [-1] if comm is None else _communicators(world, comm)
    parts = [
        world.traffic(kind, index, number)
        for kind in TRAFFIC[traffic]
        for index in comms
        for number in phases
    ]
    return TrafficMatrix(world.size, traffic, by, phase, comm, *_summed(world.size, parts))


def communicator_name(world: World, index: int) -> str:
    """A communicator's name, or who made it."""
    comm = world.communicators[index]
    return comm.name or f"from {comm.created_by or 'MPI'}"


def _phase(world: World, name: str) -> int:
    names = list(world.phases)
    if name not in names:
        allowed = ", ".join(repr(each) for each in names)
        raise bad_field("", "phase", repr(name), f"{allowed}" + (" (no phase was named)" * (len(names) == 1)))
    return names.index(name)


def _communicators(world: World, name: str) -> list[int]:
    names = [communicator_name(world, index) for index in range(len(world.communicators))]
    found = [index for index, each in enumerate(names) if each == name]
    if not found:
        raise bad_field("", "comm", repr(name), ", ".join(repr(each) for each in dict.fromkeys(names)))
    return found


_Columns = tuple[
    NDArray[np.int32], NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.float64]
]


def _summed(ranks: int, parts: Sequence[_Columns]) -> _Columns:
    """One entry per pair of all parts together."""
    columns = [np.concatenate([part[column] for part in parts]) for column in range(5)]
    keys = columns[0].astype(np.int64) * ranks + columns[1]
    pairs, where = np.unique(keys, return_inverse=True)
    size_bytes, messages = (np.zeros(pairs.size, dtype=np.uint64) for _ in range(2))
    time_ns = np.zeros(pairs.size, dtype=np.float64)
    np.add.at(size_bytes, where, columns[2])
    np.add.at(messages, where, columns[3])
    np.add.at(time_ns, where, columns[4])
    senders, receivers = (pairs // ranks).astype(np.int32), (pairs % ranks).astype(np.int32)
    return senders, receivers, size_bytes, messages, time_ns


# ---- heavy paths -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeavyPaths:
    """The heaviest pairs (paper 003, figure 9).

    Attributes
    ----------
    kept : ndarray of bool
        Which entries of the matrix.
    statement : str
        What was chosen, for people.
    """

    kept: NDArray[np.bool_]
    statement: str


def heavy_paths(matrix: TrafficMatrix, wanted: str) -> HeavyPaths:
    """The fewest pairs that carry a share of the volume, or the N heaviest.

    Every pair as heavy as the lightest chosen one is chosen too: which of equal pairs are shown must not
    depend on how ranks are numbered.

    Parameters
    ----------
    matrix : TrafficMatrix
        Weighed by its `values`.
    wanted : str
        ``0.8`` or ``80%``: a share; ``12``: a number of pairs.

    Raises
    ------
    InputError
        Neither.
    """
    share, number = _heavy_choice(wanted)
    values = matrix.values
    total = float(values.sum())
    if values.size == 0 or total == 0:
        return HeavyPaths(values > 0, f"heavy paths: none, there are no {_QUANTITY[matrix.by]}")
    ordered = np.sort(values)[::-1]
    if share is not None:
        # The smallest sum that reaches the share; a rounding of the last bit must not ask for one more.
        count = int(np.searchsorted(np.cumsum(ordered), share * total * (1 - 1e-12))) + 1
        meaning = f"the fewest that carry at least {100 * share:g} %"
    else:
        assert number is not None
        count, meaning = number, f"the {number} heaviest"
    lightest = float(ordered[min(count, ordered.size) - 1])
    kept = (values >= lightest) & (values > 0)
    carried = 100 * float(values[kept].sum()) / total
    tied = int(kept.sum()) > count
    return HeavyPaths(
        kept,
        f"heavy paths: {int(kept.sum())} of {int((values > 0).sum())} pairs carry {carried:.1f} % of the "
        f"{_QUANTITY[matrix.by]}: {meaning}" + (", and all as heavy as the lightest of them" * tied),
    )


def _heavy_choice(wanted: str) -> tuple[float | None, int | None]:
    text = wanted.strip()
    if text.isdigit() and int(text) > 0:
        return None, int(text)
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise bad_field(
            "", "heavy", repr(wanted), "a share above 0 and up to 1, a percentage, or a number of pairs"
        )
    return share, None


# ---- logical and physical --------------------------------------------------------------------------------


@dataclass(frozen=True)
class PhysicalPair:
    """One pair of ranks in a program's collectives, twice: modelled, and as the library sent it."""

    sender: int
    receiver: int
    logical_bytes: int
    logical_messages: int
    physical_bytes: int
    physical_messages: int


@dataclass(frozen=True)
class PhysicalComparison:
    """Logical and physical volumes of collectives, side by side and never added.

    Attributes
    ----------
    pairs : tuple of PhysicalPair
        Every pair that either knows, sorted by sender and receiver.
    logical, physical : TrafficMatrix
        The same as matrices.
    agreement : str
        Whether the point-to-point messages that corewise recorded are those that Open MPI counted.
    notes : tuple of str
        What the counters cannot say.
    """

    pairs: tuple[PhysicalPair, ...]
    logical: TrafficMatrix
    physical: TrafficMatrix
    agreement: str
    notes: tuple[str, ...]


def compare_physical(world: World, counted: Monitoring, by: str = "bytes") -> PhysicalComparison:
    """Puts the model of the collectives beside what Open MPI's monitoring component counted below PMPI."""
    logical = build_matrix(world, "collective", by)
    modelled = _as_pairs(logical)
    keys = sorted({*modelled, *counted.internal})
    pairs = tuple(
        PhysicalPair(*key, *modelled.get(key, (0, 0)), *counted.internal.get(key, (0, 0))) for key in keys
    )
    notes = ["physical volumes hold all of the library's own messages: those that make communicators too"]
    if not counted.internal:
        notes = [
            "Open MPI counted no message of its own: either pml_monitoring_enable was not 2, or its "
            "collectives went through shared memory past the component"
        ]
    physical = _from_pairs(world.size, counted.internal, by)
    return PhysicalComparison(pairs, logical, physical, _agreement(world, counted), tuple(notes))


def _as_pairs(matrix: TrafficMatrix) -> Pairs:
    columns = (matrix.senders, matrix.receivers, matrix.bytes, matrix.messages)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {(sender, receiver): (size_bytes, messages) for sender, receiver, size_bytes, messages in rows}


def _from_pairs(ranks: int, pairs: Pairs, by: str) -> TrafficMatrix:
    keys = sorted(pairs)
    return TrafficMatrix(
        ranks, "collective", by, None, None,
        np.array([key[0] for key in keys], dtype=np.int32),
        np.array([key[1] for key in keys], dtype=np.int32),
        np.array([pairs[key][0] for key in keys], dtype=np.uint64),
        np.array([pairs[key][1] for key in keys], dtype=np.uint64),
        np.zeros(len(keys)),
    )  # fmt: skip


def _agreement(world: World, counted: Monitoring) -> str:
    observed = _as_pairs(build_matrix(world, "sent"))
    keys = {*observed, *counted.external}
    differing = [key for key in sorted(keys) if observed.get(key) != counted.external.get(key)]
    if not keys:
        return "no point-to-point messages, neither recorded nor counted by Open MPI"
    if not differing:
        return f"point-to-point: Open MPI counted the same bytes and messages on all {len(keys)} pairs"
    sender, receiver = differing[0]
    return (
        f"point-to-point: {len(differing)} of {len(keys)} pairs differ from Open MPI's count, "
        f"the first is {sender}→{receiver}: recorded {observed.get((sender, receiver), (0, 0))[0]} B, "
        f"counted {counted.external.get((sender, receiver), (0, 0))[0]} B"
    )
