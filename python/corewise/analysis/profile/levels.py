"""How near two ranks are: same core complex, same socket, same node, or across the network.

Goes by what each rank recorded about itself (its node, its affinity mask at start and end) and by a machine
that says which processing units share a core complex and a socket. Invariant: nothing is guessed. A rank
whose mask does not fit inside one core complex may run in several, and a pair for which that matters is
*unbound*.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, World
from corewise.analysis.profile.matrix import TrafficMatrix
from corewise.errors import CorewiseError, bad_field

SELF, CORE_COMPLEX, SOCKET, NODE, NETWORK, UNBOUND = range(6)
LEVELS = ("same rank", "core complex", "socket", "node", "network", "unbound")
MEANINGS = (
    "a rank to itself",
    "same core complex",
    "same socket, another core complex",
    "same node, another socket",
    "another node",
    "same node; an unbound rank may run in several core complexes",
)
FINEST = ("core-complex", "socket", "node", "network")
"""What ``--level`` may ask for: the finest difference that is made."""
_UNKNOWN = -1


@dataclass(frozen=True)
class RankPlaces:
    """Where every rank ran, as numbers that are equal for equal places; -1 where that is unknown.

    Attributes
    ----------
    node, socket, core_complex : tuple of int
        By rank.
    nodes : tuple of str
        Names of the nodes.
    unbound : tuple of int
        Ranks that could run on every processing unit of their node.
    machine : str or None
        What told sockets and core complexes apart; None: nothing did, and only nodes are known.
    note : str
        What is not known, and what would help; else empty.
    """

    node: tuple[int, ...]
    socket: tuple[int, ...]
    core_complex: tuple[int, ...]
    nodes: tuple[str, ...]
    unbound: tuple[int, ...]
    machine: str | None
    note: str


def rank_places(
    world: World, machine: Machine | None, load_host: Callable[[], Machine] | None = None
) -> RankPlaces:
    """Finds out where the ranks ran.

    Parameters
    ----------
    world : World
        The ranks and what they recorded.
    machine : Machine or None
        What every node looks like. Units without an index of the operating system count as its processing
        units in their order.
    load_host : callable, optional
        Gives this host's machine. Called where no machine was given and all ranks ran on this host.
    """
    note = ""
    if machine is None:
        machine, note = _this_host(world, load_host)
    names = list(dict.fromkeys(rank.node for rank in world.ranks))
    shown = {rank.node: rank.host or rank.node for rank in world.ranks}
    node = [_UNKNOWN] * world.size
    sockets, complexes = list(node), list(node)
    unbound = []
    units = _Units(machine) if machine is not None else None
    for rank in world.ranks:
        at = names.index(rank.node)
        node[rank.rank] = at
        if units is None:
            continue
        cpus = sorted({*rank.cpus_start, *rank.cpus_end})
        sockets[rank.rank] = units.the_one(units.socket, cpus, at)
        complexes[rank.rank] = units.the_one(units.core_complex, cpus, at)
        if units.everywhere(cpus):
            unbound.append(rank.rank)
    return RankPlaces(
        tuple(node), tuple(sockets), tuple(complexes), tuple(shown[name] for name in names),
        tuple(unbound), machine.name if machine is not None else None, note,
    )  # fmt: skip


def _this_host(world: World, load_host: Callable[[], Machine] | None) -> tuple[Machine | None, str]:
    hosts = {rank.host for rank in world.ranks}
    here = socket.gethostname()
    if load_host is None or hosts != {here}:
        where = ", ".join(sorted(hosts)) if len(hosts) < 4 else f"{len(hosts)} hosts"
        return None, f"sockets and core complexes of {where or 'these ranks'} are not known here: --machine"
    try:
        return load_host(), ""
    except CorewiseError as error:
        return None, f"sockets and core complexes are not known: {error}"


class _Units:
    """Processing units to the numbers of their socket and core complex."""

    def __init__(self, machine: Machine) -> None:
        sockets: dict[str, int] = {}
        complexes: dict[tuple[str, ...], int] = {}
        self.socket: dict[int, int] = {}
        self.core_complex: dict[int, int] = {}
        for index, unit in enumerate(machine.units):
            cpu = unit.os_index if unit.os_index >= 0 else index
            package = _domain(unit.domains, ("package",)) or ("",)
            inner = _domain(unit.domains, ("l3", "ccx", "die", "numa")) or package
            self.socket[cpu] = sockets.setdefault(package[-1], len(sockets))
            self.core_complex[cpu] = complexes.setdefault(inner, len(complexes))
        self.count = max(len(sockets), len(complexes))

    def the_one(self, domain: dict[int, int], cpus: Sequence[int], node: int) -> int:
        """The one domain in which all of `cpus` lie, numbered over all nodes; -1 where there is none."""
        found = {domain[cpu] for cpu in cpus if cpu in domain}
        return node * self.count + found.pop() if len(found) == 1 else _UNKNOWN

    def everywhere(self, cpus: Sequence[int]) -> bool:
        """Whether `cpus` are no choice among the units."""
        return not cpus or (len(self.socket) > 1 and set(self.socket) <= set(cpus))


def _domain(domains: Sequence[str], kinds: Sequence[str]) -> tuple[str, ...] | None:
    """The path down to the first kind that there is."""
    for kind in kinds:
        for at, name in enumerate(domains):
            if name.startswith(kind):
                return tuple(domains[: at + 1])
    return None


def pair_levels(places: RankPlaces, matrix: TrafficMatrix, finest: str = "core-complex") -> NDArray[np.int8]:
    """The level of every entry of a matrix, an index into `LEVELS`.

    Parameters
    ----------
    places : RankPlaces
    matrix : TrafficMatrix
    finest : str
        Of `FINEST`: levels below are counted to it. With ``node`` what is left is paper 003's blue and red.
    """
    if finest not in FINEST:
        raise bad_field("", "level", f"'{finest}'", ", ".join(FINEST))
    node, package, inner = (np.array(ids) for ids in (places.node, places.socket, places.core_complex))
    a, b = matrix.senders, matrix.receivers
    levels = np.full(a.size, UNBOUND, dtype=np.int8)
    same_node = (node[a] == node[b]) & (node[a] != _UNKNOWN)
    known_package = same_node & (package[a] != _UNKNOWN) & (package[b] != _UNKNOWN)
    known_inner = known_package & (inner[a] != _UNKNOWN) & (inner[b] != _UNKNOWN)
    levels[known_package & (package[a] != package[b])] = NODE
    levels[known_inner & (package[a] == package[b]) & (inner[a] != inner[b])] = SOCKET
    levels[known_inner & (inner[a] == inner[b])] = CORE_COMPLEX
    if places.machine is None:
        levels[same_node] = NODE
    levels[(node[a] != node[b]) & (node[a] != _UNKNOWN) & (node[b] != _UNKNOWN)] = NETWORK
    levels[a == b] = SELF
    return _coarser(levels, finest, known_package & (package[a] == package[b]), same_node)


def _coarser(
    levels: NDArray[np.int8], finest: str, same_socket: NDArray[np.bool_], same_node: NDArray[np.bool_]
) -> NDArray[np.int8]:
    if finest == "socket":
        levels[same_socket & (levels != SELF)] = SOCKET
    if finest in ("node", "network"):
        levels[same_node & (levels != SELF)] = NODE
    return levels


@dataclass(frozen=True)
class LevelRow:
    """What goes over one level.

    Attributes
    ----------
    pairs : int
        With traffic.
    value : float
        Bytes, messages or nanoseconds.
    pair_share, share : float
        Of all pairs, and of all volume.
    """

    level: str
    meaning: str
    pairs: int
    pair_share: float
    value: float
    share: float


def level_rows(
    matrix: TrafficMatrix, levels: NDArray[np.int8], places: RankPlaces, finest: str = "core-complex"
) -> tuple[LevelRow, ...]:
    """How the traffic divides over the levels, nearest first; levels without a pair are left out."""
    values = matrix.values
    used = values > 0
    total, pairs = float(values.sum()), int(used.sum())
    rows = []
    for level, name in enumerate(LEVELS):
        of_level = used & (levels == level)
        if not of_level.any():
            continue
        count, value = int(of_level.sum()), float(values[of_level].sum())
        rows.append(
            LevelRow(name, _meaning(level, places, finest), count, count / pairs, value, value / total)
        )
    return tuple(rows)


def _meaning(level: int, places: RankPlaces, finest: str) -> str:
    """Coarser levels hold what finer ones no longer say."""
    if level == NODE and (places.machine is None or finest in ("node", "network")):
        return "same node"
    if level == SOCKET and finest == "socket":
        return "same socket"
    return MEANINGS[level]
