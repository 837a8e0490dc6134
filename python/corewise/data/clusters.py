"""Nodes under switches as one machine: Slurm's topology.conf, and what a machine file says of its nodes.

Owns the reader of topology.conf (tree) and the table ``[cluster]`` of a machine file, which names the nodes
and numbers the units of each; the machine room knows neither. Invariants: all nodes are alike; every node
hangs under as many switches as any other; all switches hang on one.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corewise._core import Machine
from corewise.base.documents import MOST_WHOLE, Fields, read_toml
from corewise.base.files import read_text
from corewise.base.nodelists import NODE, node_names
from corewise.data.machine_text import LevelText
from corewise.errors import InputError, bad_field, shown

_WORD = re.compile(r"(\w+)=(\S+)")
_MOST_LEVELS = 8
"""Of switches above a node."""


@dataclass(frozen=True)
class Cluster:
    """The nodes of a machine whose units are those of the first node, then those of the second, and so on.

    Attributes
    ----------
    nodes : names, in the order of the machine's units.
    os_indexes, logical_cores : the operating system's and hwloc's numbers of each node's units; -1 where
        nobody says.
    """

    nodes: tuple[str, ...]
    os_indexes: tuple[int, ...]
    logical_cores: tuple[int, ...]

    def seat(self, unit: int) -> tuple[str, int]:
        """The node of a unit, and which of the node's units it is."""
        node, local = divmod(unit, len(self.os_indexes))
        return self.nodes[node], local


@dataclass(frozen=True)
class SwitchTree:
    """Switches over nodes.

    Attributes
    ----------
    nodes : names, from the first switch to the last.
    counts : per level from the outermost: how many switches, or at last nodes, hang under each of the level
        above.
    """

    nodes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


def load_topology(path: Path, wanted: Sequence[str] | None = None) -> SwitchTree:
    """Reads a topology.conf of Slurm's plugin topology/tree.

    Parameters
    ----------
    path : the file.
    wanted : nodes that are kept; None: all.

    Raises
    ------
    InputError
        The file is none, its switches are no tree of one depth, or a wanted node is not in it.
    """
    below = _switches(path)
    tops = set(below) - {child for children in below.values() for child in children}
    if len(tops) != 1:
        found = f"{len(tops)} switches under no other ({', '.join(sorted(tops)[:8])})"
        raise InputError(f"{path}: found {found}, allowed: one switch above all")
    levels: list[list[list[str]]] = []  # per level, per parent: its children
    here = list(tops)
    while any(name in below for name in here):
        if not all(name in below for name in here) or len(levels) == _MOST_LEVELS:
            raise InputError(
                f"{path}: nodes hang under different numbers of switches, allowed: one number, at most 8"
            )
        levels.append([below[name] for name in here])
        here = [child for children in levels[-1] for child in children]
        if len(set(here)) < len(here):
            raise InputError(f"{path}: found a node or a switch under two switches, allowed: one")
    missing = set(wanted or ()) - set(here)
    if missing:
        raise InputError(f"{path}: found no node {shown(min(missing))}, allowed: {', '.join(here[:8])}")
    return _pruned(levels, here if wanted is None else [name for name in here if name in set(wanted)])


def _switches(path: Path) -> dict[str, list[str]]:
    """What hangs under each switch."""
    below: dict[str, list[str]] = {}
    text = read_text(path, 1 << 24).replace("\\\n", "")
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#")[0].strip()
        if not words:
            continue
        given = {key.lower(): value for key, value in _WORD.findall(words)}
        under = given.get("nodes", given.get("switches"))
        both = "nodes" in given and "switches" in given
        if under is None or both or "switchname" not in given or _WORD.sub("", words).strip():
            allowed = "SwitchName=NAME with Nodes=LIST or Switches=LIST"
            raise bad_field(str(path), f"line {number}", shown(line), allowed)
        if given["switchname"] in below:
            raise bad_field(
                str(path), f"line {number}", f"switch {given['switchname']} again", "each switch once"
            )
        below[given["switchname"]] = list(node_names(under, f"{path}: line {number}"))
    if not below:
        raise InputError(f"{path}: found no switch, allowed: lines SwitchName=NAME Nodes=LIST")
    return below


def _pruned(levels: list[list[list[str]]], nodes: Sequence[str]) -> SwitchTree:
    """Counts of what leads to the nodes that are kept, from the outermost level."""
    kept = set(nodes)
    counts: list[tuple[int, ...]] = []
    for level, groups in reversed(list(enumerate(levels))):
        parents = [""] if level == 0 else [name for group in levels[level - 1] for name in group]
        found = [sum(name in kept for name in group) for group in groups]
        counts.append(tuple(count for count in found if count))
        kept = {parent for parent, count in zip(parents, found, strict=True) if count}
    return SwitchTree(tuple(nodes), tuple(reversed(counts)))


def cluster_levels(
    tree: SwitchTree, node: Machine, bandwidth_gb_per_s: float, hop_ns: float
) -> tuple[list[LevelText], Cluster]:
    """The levels of a machine file, switches outermost, and its table ``[cluster]``.

    Parameters
    ----------
    tree : the switches.
    node : what each node is: a tree, such as a short text, this host or hwloc's file.
    bandwidth_gb_per_s, hop_ns : of a link of the network, in each direction.
    """
    network = [
        LevelText(
            "node" if level == len(tree.counts) - 1 else f"switch{level + 1}-", counts,
            [hop_ns] * sum(counts), bandwidth_gb_per_s, bandwidth_gb_per_s,
        )
        for level, counts in enumerate(tree.counts)
    ]  # fmt: skip
    inside = _levels_of(node)
    times = len(tree.nodes)
    repeated = [
        replace(each, counts=list(each.counts) * times, hop_ns=list(each.hop_ns) * times) for each in inside
    ]
    cluster = Cluster(
        tree.nodes,
        tuple(unit.os_index for unit in node.units),
        tuple(unit.logical_core for unit in node.units),
    )
    return [*network, *repeated], cluster


def cluster_text(cluster: Cluster) -> str:
    """The table of a machine file."""
    names = ", ".join(f'"{name}"' for name in cluster.nodes)
    lines = ["", "[cluster]", f"nodes = [{names}]"]
    lines.append(f"os_indexes = [{', '.join(map(str, cluster.os_indexes))}]")
    lines.append(f"logical_cores = [{', '.join(map(str, cluster.logical_cores))}]")
    return "\n".join(lines) + "\n"


def cluster_of(document: Fields, units: int | None = None) -> Cluster | None:
    """What a machine document says of its nodes; None where it says nothing.

    Parameters
    ----------
    document : the machine file.
    units : how many the machine has, where that is known.
    """
    table = document.table("cluster", {})
    if "cluster" not in document:
        return None
    table.only(("nodes", "os_indexes", "logical_cores"))
    nodes = table.texts("nodes")
    indexes = table.wholes("os_indexes", -1, MOST_WHOLE)
    cores = table.wholes("logical_cores", -1, MOST_WHOLE)
    if not nodes or len(set(nodes)) < len(nodes) or not all(NODE.fullmatch(name) for name in nodes):
        raise table.wrong("nodes", "names of nodes, each once")
    if len(cores) != len(indexes):
        raise table.wrong("logical_cores", f"{len(indexes)}, as os_indexes")
    if units is not None and units != len(nodes) * len(indexes):
        raise table.wrong("nodes", f"as many as {units} units have with {len(indexes)} units a node")
    return Cluster(nodes, indexes, cores)


def load_cluster(reference: str, units: int) -> Cluster | None:
    """The nodes of the machine that a reference names; None for one that says nothing of them.

    Parameters
    ----------
    reference : as `corewise.data.machines.load_machine` takes it.
    units : of that machine.
    """
    path = Path(reference)
    if path.suffix.lower() != ".toml" or not path.is_file():
        return None
    return cluster_of(read_toml(path), units)


def _levels_of(node: Machine) -> list[LevelText]:
    """The levels of a tree, read off its links."""
    if node.kind != "tree":
        raise InputError(f"machine '{node.name}': found kind '{node.kind}', allowed for a node: a tree")
    stops, parent = node.stops, {}
    speed: dict[str, tuple[float, float, float]] = {}
    down = {link.name: link for link in node.links}
    for link in node.links:
        name, _, way = link.name.rpartition(":")
        if way == "up":
            parent[name] = stops[link.target]
            other = down[f"{name}:down"]
            speed[name] = (link.bandwidth_gb_per_s, other.bandwidth_gb_per_s, link.latency_ns)
    levels: list[LevelText] = []
    here = [stops[0]]
    while below := _children(stops, parent, here):
        flat = [name for children in below for name in children]
        speeds = {speed[name][:2] for name in flat}
        if not all(below) or len(speeds) > 1:
            raise InputError(f"machine '{node.name}': found branches that differ, allowed for a node: levels")
        up_down = speeds.pop()
        hops = [speed[name][2] for name in flat]
        levels.append(LevelText(_stem(flat[0]), [len(each) for each in below], hops, *up_down))
        here = flat
    return levels


def _children(stops: Sequence[str], parent: Mapping[str, str], here: Sequence[str]) -> list[list[str]]:
    """What hangs under each stop of a level; empty below the last level."""
    under: dict[str, list[str]] = {name: [] for name in here}
    for name in stops:
        if parent.get(name) in under:
            under[parent[name]].append(name)
    return list(under.values()) if any(under.values()) else []


def _stem(name: str) -> str:
    """A level's name: what its nodes are called, without the number (``l3-0`` is of level l3)."""
    return re.sub(r"-?\d+$", "", name)
