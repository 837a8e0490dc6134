"""The nodes that a batch system or a host file gave to this process, read from the launcher's environment.

Owns what Slurm, PRRTE and Hydra say: Slurm's variables and its lists of nodes and counts, and the two kinds
of host files. Invariants: nothing is asked of a daemon; what says something wrong is refused with its name;
where Slurm and a host file both speak, the file picks among Slurm's nodes.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from corewise.base.files import read_text
from corewise.base.nodelists import MOST_NODES, NODE, counts, node_names, wrong
from corewise.errors import InputError, bad_field, shown

FAMILIES = {"openmpi": "PRRTE", "mpich": "Hydra"}
"""Whose host file counts, by the kind of launcher."""
_DEFAULTS = ("PRTE_MCA_prte_default_hostfile", "PRTE_MCA_default_hostfile", "OMPI_MCA_orte_default_hostfile")
_FILES = {"openmpi": _DEFAULTS, "mpich": ("HYDRA_HOST_FILE",)}
"""Variables that name a host file, the first that is set counts."""


@dataclass(frozen=True)
class Node:
    """One node of an allocation.

    Attributes
    ----------
    name : as the launcher calls it.
    slots : how many ranks it is meant to take.
    cpus : how many CPUs of it are allowed; None where nobody says.
    """

    name: str
    slots: int
    cpus: int | None = None


@dataclass(frozen=True)
class Allocation:
    """What a launch may use.

    Attributes
    ----------
    giver : "Slurm", "PRRTE" or "Hydra".
    nodes : in the order in which launchers fill them.
    source : the variable, or the file, that says so.
    """

    giver: str
    nodes: tuple[Node, ...]
    source: str

    @property
    def slots(self) -> int:
        """Of all nodes."""
        return sum(node.slots for node in self.nodes)

    def hosts(self) -> str:
        """As launchers take it: ``a:2,b:2``."""
        return ",".join(f"{node.name}:{node.slots}" for node in self.nodes)

    def words(self, family: str) -> list[str]:
        """The launcher's words for it; none where it is one node, which a launcher finds by itself.

        Parameters
        ----------
        family : "openmpi" or "mpich".
        """
        if len(self.nodes) < 2:
            return []
        return ["-hosts" if family == "mpich" else "--host", self.hosts()]

    def text(self) -> str:
        """In a few words, for people."""
        shown_nodes = [_node_text(node) for node in self.nodes[:8]]
        more = f" and {len(self.nodes) - 8} more" if len(self.nodes) > 8 else ""
        nodes = f"{len(self.nodes)} node{'' if len(self.nodes) == 1 else 's'}"
        return f"{nodes} of {self.giver}, {self.slots} slots: {', '.join(shown_nodes)}{more} ({self.source})"


def read_allocation(variables: Mapping[str, str], family: str | None = None) -> Allocation | None:
    """The allocation that this process is in, None outside of one.

    Parameters
    ----------
    variables : the environment.
    family : whose host file counts, "openmpi" or "mpich"; None: that of either.

    Raises
    ------
    InputError
        A variable or a file says something that is no allocation.
    """
    slurm = _of_slurm(variables)
    for kind in FAMILIES if family is None else (family,):
        for name in _FILES[kind]:
            if text := variables.get(name):
                named = Allocation(FAMILIES[kind], host_file(Path(text), kind), f"{name}={text}")
                return named if slurm is None else _picked(slurm, named)
    return slurm


def host_file(path: Path, family: str) -> tuple[Node, ...]:
    """The nodes of a host file: a line per node, ``a slots=2`` for PRRTE and ``a:2`` for Hydra.

    A node that stands there several times has the sum of its slots, as with both launchers.

    Parameters
    ----------
    path : the file.
    family : "openmpi" or "mpich".
    """
    slots: dict[str, int] = {}
    for number, line in enumerate(read_text(path, 1 << 22).splitlines(), start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        name, count = _host_line(words, family)
        if count is None or not NODE.fullmatch(name):
            allowed = "a name, or a name with slots=N" if family == "openmpi" else "NAME or NAME:SLOTS"
            raise bad_field(str(path), f"line {number}", shown(line), allowed)
        slots[name] = slots.get(name, 0) + count
        if len(slots) > MOST_NODES:
            raise InputError(f"{path}: found more than {MOST_NODES} nodes, allowed: at most that")
    if not slots:
        raise InputError(f"{path}: found no node, allowed: a line per node")
    return tuple(Node(name, count) for name, count in slots.items())


def _host_line(words: list[str], family: str) -> tuple[str, int | None]:
    """A line's node and slots; None for slots that are no count."""
    if family == "mpich":
        if any("=" not in word.strip("=") for word in words[1:]):
            return words[0], None
        name, colon, text = words[0].partition(":")
        return name, _whole(text) if colon else 1
    given = {word.partition("=")[0]: word.partition("=")[2] for word in words[1:]}
    if any(not value for value in given.values()) or not given.keys() <= {"slots", "max_slots", "max-slots"}:
        return words[0], None
    return words[0].rpartition("@")[2], _whole(given["slots"]) if "slots" in given else 1


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[1-9]\d{0,6}", text) else None


def _of_slurm(variables: Mapping[str, str]) -> Allocation | None:
    if "SLURM_JOB_ID" not in variables and "SLURM_JOBID" not in variables:
        return None
    field = next((name for name in ("SLURM_JOB_NODELIST", "SLURM_NODELIST") if variables.get(name)), None)
    if field is None:
        return None  # of a job without nodes
    names = node_names(variables[field], field)
    cpus = _counted(variables, "SLURM_JOB_CPUS_PER_NODE", len(names))
    tasks = _counted(variables, "SLURM_TASKS_PER_NODE", len(names))
    if tasks is None:
        per_task = _whole(variables.get("SLURM_CPUS_PER_TASK", "1")) or 1
        tasks = tuple(max(1, count // per_task) for count in cpus or (1,) * len(names))
    nodes = (Node(name, tasks[at], None if cpus is None else cpus[at]) for at, name in enumerate(names))
    return Allocation("Slurm", tuple(nodes), f"{field}={variables[field]}")


def _counted(variables: Mapping[str, str], field: str, nodes: int) -> tuple[int, ...] | None:
    text = variables.get(field)
    if not text:
        return None
    found = counts(text, field)
    if len(found) != nodes:
        raise wrong(field, text, f"counts for {nodes} nodes, as the list of nodes has")
    return found


def _picked(slurm: Allocation, named: Allocation) -> Allocation:
    """The nodes of a host file inside a job of Slurm's."""
    given = {node.name: node for node in slurm.nodes}
    for node in named.nodes:
        if node.name not in given:
            names = ", ".join(list(given)[:8])
            raise InputError(
                f"{named.source}: found node {shown(node.name)}, allowed: those of the job: {names}"
            )
    nodes = (Node(node.name, node.slots, given[node.name].cpus) for node in named.nodes)
    return Allocation(named.giver, tuple(nodes), named.source)


def _node_text(node: Node) -> str:
    cpus = "" if node.cpus is None else f", {node.cpus} CPUs"
    return f"{node.name} ({node.slots} slots{cpus})"
