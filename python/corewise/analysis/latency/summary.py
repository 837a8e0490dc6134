"""What was recovered from latencies, level by level, in words and numbers.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corewise.analysis.latency.groups import MOST_THREADS, SMT_BELOW_NS, Group
from corewise.analysis.latency.links import LatencyTree, TreeLevel
from corewise.errors import bad_field

FOUND = {
    "near": "nearer to each other than to the rest",
    "rows": "equally far from everybody else",
    "completed": "by symmetry: a group of the usual size was left over",
}
_SMALL = 4
_CACHE_BELOW_NS = 32.0
_SOCKET_FROM_NS = 100.0
_INNER_NAMES = ("cluster", "group", "supergroup")


@dataclass(frozen=True)
class LevelRow:
    """One level of groups.

    Attributes
    ----------
    name : as in the machine file.
    groups : the CPUs of each.
    latency_ns : median of the groups' medians inside.
    least_ns, most_ns : their range.
    found : how, keys of `FOUND`, the most frequent first.
    looks_like : what such a level is on known processors; a guess.
    """

    name: str
    groups: tuple[tuple[int, ...], ...]
    latency_ns: float
    least_ns: float
    most_ns: float
    found: tuple[str, ...]
    looks_like: str


def level_names(tree: LatencyTree, given: Sequence[str], field: str) -> list[str]:
    """A name for each level of the tree, outermost first; `given` are those of the levels of groups.

    Latencies do not tell a die from a socket, so names that nobody gave say nothing of either.
    """
    threads = len(tree.levels) > 1 and tree.levels[-2].is_core
    last = ["core", "pu"] if threads else ["core"]
    groups = len(tree.levels) - len(last)
    if given and len(given) != groups:
        what = "no level" if not groups else f"{groups} level{'s' * (groups > 1)}"
        raise bad_field(
            "", field, ",".join(given), f"as many names as there are levels above the cores: {what}"
        )
    inner = [*_INNER_NAMES, *(f"level{number}" for number in range(4, groups + 1))][:groups]
    names = [*(given or inner[::-1]), *last]
    for name in names:
        if not name.strip() or names.count(name) > 1:
            raise bad_field(
                "", field, f"'{name}'", "names that are not empty, differ, and are neither core nor pu"
            )
    return names


def level_rows(tree: LatencyTree, names: Sequence[str], root: Group) -> list[LevelRow]:
    """The levels of groups, outermost first."""
    rows = []
    outside = root.latency_ns
    below = [*tree.levels[1:], None]
    for name, level, next_level in zip(names, tree.levels, below, strict=True):
        passing = {id(part) for part in next_level.parts} if next_level else set()
        real = [part for part in level.parts if len(part.cpus) > 1 and id(part) not in passing]
        if not real:
            continue
        inside = [part.latency_ns for part in real]
        middle = float(np.median(inside))
        how = [part.how for part in real]
        found = tuple(sorted(set(how), key=lambda each: (-how.count(each), each)))
        looks = _looks_like(level, real, middle, outside)
        rows.append(
            LevelRow(name, tuple(part.cpus for part in real), middle, min(inside), max(inside), found, looks)
        )
        outside = middle
    return rows


def _looks_like(level: TreeLevel, groups: Sequence[Group], inside_ns: float, outside_ns: float) -> str:
    cpus = max(len(part.cpus) for part in groups)
    if level.is_core or (inside_ns < SMT_BELOW_NS and cpus <= MOST_THREADS):
        return "hardware threads of a core"
    if outside_ns >= _SOCKET_FROM_NS and inside_ns >= _CACHE_BELOW_NS and cpus > _SMALL:
        return "sockets or dies"
    largest = max(len(part.parts) for part in groups)
    if largest <= _SMALL:
        return "cores of one L2 or L3 cache"
    return "cores of one L3 cache" if inside_ns < _CACHE_BELOW_NS else "dies or clusters"


def shape(tree: LatencyTree, names: Sequence[str]) -> str:
    """The tree in a few words: ``2 package, 12 l3, 96 core, 192 pu``."""
    return ", ".join(f"{len(level.parts)} {name}" for name, level in zip(names, tree.levels, strict=True))
