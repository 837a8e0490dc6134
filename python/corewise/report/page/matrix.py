"""The section with the communication matrices: pairs as packed columns, levels, the heaviest pairs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from corewise._core import World
from corewise.analysis.profile.levels import LEVELS, RankPlaces, level_rows, pair_levels
from corewise.analysis.profile.matrix import TrafficMatrix, build_matrix
from corewise.report.page.shell import Section, fill, least_kind, packed

MOST_PAIRS = 300_000
"""In the page one by one; of more the page has sums of blocks."""
MOST_BLOCKS = 512
"""Of a side, where there are more pairs."""
_HEAVIEST = 16
_KINDS = (
    ("sent", "point-to-point", "Bytes sent, as observed."),
    ("collective", "collectives", "Bytes of collectives, as modelled (not observed)."),
    ("put", "one-sided put", "Bytes put, as observed."),
    ("get", "one-sided get", "Bytes fetched, as observed."),
)


@dataclass(frozen=True)
class _Level:
    index: int
    level: str
    meaning: str
    share: float
    pairs: int


@dataclass(frozen=True)
class _Pair:
    sender: int
    receiver: int
    bytes: int
    messages: int


@dataclass(frozen=True)
class _Shown:
    kind: str
    tab: str
    caption: str
    levels: tuple[_Level, ...]
    unbound: str
    pairs: tuple[_Pair, ...]
    data: Markup


def section(world: World, places: RankPlaces) -> Section:
    """The matrices of the kinds of traffic that happened; point-to-point always.

    Parameters
    ----------
    world : World
    places : RankPlaces
        Where the ranks ran; colours pairs where it says so.
    """
    found = []
    for kind, tab, caption in _KINDS:
        matrix = build_matrix(world, kind)
        if kind == "sent" or matrix.bytes.any() or matrix.messages.any():
            found.append(_shown(matrix, places, kind, tab, caption))
    body = fill(
        "profile/matrix.html.j2",
        matrices=found,
        matrix_kinds=[each.kind for each in found],
        places_note=places.note,
    )
    data = {f"data-matrix-{each.kind}": each.data for each in found}
    return Section("matrix", "Matrix", body, ("matrix",), data)


def _shown(matrix: TrafficMatrix, places: RankPlaces, kind: str, tab: str, caption: str) -> _Shown:
    known = places.machine is not None or len(places.nodes) > 1
    levels = pair_levels(places, matrix) if known else None
    rows = () if levels is None else level_rows(matrix, levels, places)
    order = np.lexsort((matrix.receivers, matrix.senders, -matrix.values))[:_HEAVIEST].tolist()
    return _Shown(
        kind,
        tab,
        caption,
        tuple(
            _Level(LEVELS.index(row.level), row.level, row.meaning, row.share, row.pairs) for row in rows
        ),
        _unbound(places, rows),
        tuple(
            _Pair(*(int(column[at]) for column in (
                matrix.senders, matrix.receivers, matrix.bytes, matrix.messages)))
            for at in order
        ),
        _data(matrix, levels, places),
    )  # fmt: skip


def _unbound(places: RankPlaces, rows: object) -> str:
    if not places.unbound or not rows:
        return ""
    return f"{len(places.unbound)} of {len(places.node)} ranks were not bound: they could run on every core."


def _data(matrix: TrafficMatrix, levels: NDArray[np.int8] | None, places: RankPlaces) -> Markup:
    unit = 1
    if len(matrix.senders) > MOST_PAIRS:
        unit = 1 << (-(-matrix.ranks // MOST_BLOCKS) - 1).bit_length()
    columns = _in_blocks(matrix, levels, unit)
    meta = {
        "ranks": matrix.ranks,
        "unit": unit,
        "levels": None if levels is None else list(LEVELS),
        "nodes": _cuts(places.node),
        "inner": _cuts(places.core_complex if places.machine is not None else places.node),
    }
    kinds = {"bytes": "f8", "messages": "f8", "time": "f8", "level": "u1"}
    return packed(meta, {name: (kinds.get(name) or least_kind(each), each) for name, each in columns.items()})


def _in_blocks(matrix: TrafficMatrix, levels: NDArray[np.int8] | None, unit: int) -> dict[str, NDArray[Any]]:
    """Sums over blocks of ranks, by the first sender and receiver in each."""
    side = -(-matrix.ranks // unit)
    keys = matrix.senders.astype(np.int64) // unit * side + matrix.receivers // unit
    cells, where = np.unique(keys, return_inverse=True)
    columns: dict[str, NDArray[Any]] = {"sender": cells // side * unit, "receiver": cells % side * unit}
    for name, values in (("bytes", matrix.bytes), ("messages", matrix.messages), ("time", matrix.time_ns)):
        columns[name] = np.bincount(where.reshape(-1), values.astype(float), len(cells))
    if levels is not None:
        heaviest = np.lexsort((matrix.values, where.reshape(-1)))
        last = np.append(np.diff(where.reshape(-1)[heaviest]) > 0, True)[: len(heaviest)]
        columns["level"] = levels[heaviest[last]].astype(np.uint8)
    return columns


def _cuts(ids: tuple[int, ...]) -> list[int]:
    """Before which ranks a line separates two places; none where ranks alternate between them."""
    cuts = [at for at in range(1, len(ids)) if ids[at] != ids[at - 1]]
    return cuts if len(cuts) <= len(ids) // 2 else []
