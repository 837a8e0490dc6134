"""`corewise machines from-topology`: a machine of several nodes from Slurm's description of its network.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import typer

from corewise._core import parse_time_ns
from corewise.base import late
from corewise.base.files import check_ending, check_target, write_text
from corewise.cli import console
from corewise.errors import InputError

with late.imports():
    from corewise._core import Machine
    from corewise.base.nodelists import node_names
    from corewise.data.clusters import Cluster, SwitchTree, cluster_levels, cluster_text, load_topology
    from corewise.data.machine_text import OriginText, machine_text
    from corewise.data.machines import load_machine, parse_machine
    from corewise.mpi.allocation import read_allocation

_HELP = """Make a machine of several nodes: the network above, the cores of each node below.

The network is that of Slurm's topology.conf (plugin topology/tree). Each node is the machine that --node
names. Nodes are those of --nodes, else those of the job that this runs in, else all of the file. `place`
then puts ranks over nodes and inside them at once, and its export names the nodes.

Speeds of the network are nominal unless they are given. Without -o the file goes to standard output.

\b
Example:
  corewise machines from-topology topology.conf --node "pack:2 l3:4 core:8" -o c.toml
  corewise machines from-topology topology.conf --nodes "a[1-4]" --link-bandwidth "25 GB/s"
  corewise place lbm.cw -m c.toml --export openmpi-rankfile
"""
_FILE = typer.Argument(..., metavar="FILE", help="Slurm's topology.conf.")
_NODE = typer.Option("host", "--node", metavar="MACHINE", help="What each node is; a tree.")
_NODES = typer.Option("", "--nodes", metavar="LIST", help="The nodes, as a[1-3],b7.")
_BANDWIDTH = typer.Option(
    "12.5 GB/s", "--link-bandwidth", metavar="N GB/s", help="Of a link of the network, in each direction."
)
_LATENCY = typer.Option("500 ns", "--hop-latency", metavar="TIME", help="Of a link of the network.")
_OUTPUT = typer.Option(None, "-o", "--output", metavar="FILE.toml", help="The machine file to write.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object, with the file's text without -o.")
_GB_PER_S = re.compile(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*GB/s\s*")


def register(group: typer.Typer) -> None:
    """Adds `from-topology` to `machines`."""
    group.command("from-topology", help=_HELP)(_from_topology)


def _from_topology(
    file: Path = _FILE,
    node: str = _NODE,
    nodes: str = _NODES,
    bandwidth: str = _BANDWIDTH,
    latency: str = _LATENCY,
    output: Path | None = _OUTPUT,
    as_json: bool = _AS_JSON,
) -> None:
    check_ending(output, ".toml")
    if output is not None:
        check_target(output, [file, node])
    hop_ns = parse_time_ns(latency, "command line", "--hop-latency")
    tree = load_topology(file, _wanted(nodes))
    inside = load_machine(node)
    levels, cluster = cluster_levels(tree, inside, _gb_per_s(bandwidth), hop_ns)
    source = f"the network of {file.name}; each node is {inside.name}"
    origin = OriginText(source, inside.origin.processor, [], ["latency", "bandwidth"])
    comment = (
        "Made by `corewise machines from-topology`. Switches stand over nodes, and nodes over their cores. "
        f"Speeds of the network: {bandwidth} and {latency} a link, as given or nominal. Node k of level "
        "`node` is name k of the table [cluster]."
    )
    name = (output or file).stem
    text = machine_text(name, f"{len(tree.nodes)} nodes of {inside.name}", origin, levels, (), comment)
    text += cluster_text(cluster)
    made = parse_machine(text, str(output or file))  # what is written is what every command reads
    if output is not None:
        write_text(output, text)
    elif not as_json:
        console.show_text(text)
    _say(made, tree, cluster, output, text, as_json)


def _wanted(text: str) -> tuple[str, ...] | None:
    """The nodes that are asked for: by name, or by the job that this runs in; None: all."""
    if text:
        return node_names(text, "--nodes")
    allocation = read_allocation(os.environ)
    return None if allocation is None else tuple(node.name for node in allocation.nodes)


def _gb_per_s(text: str) -> float:
    found = _GB_PER_S.fullmatch(text)
    if found is None or float(found[1]) == 0:
        raise InputError(f"--link-bandwidth: found '{text}', allowed: a bandwidth such as '12.5 GB/s'")
    return float(found[1])


def _say(
    made: Machine, tree: SwitchTree, cluster: Cluster, output: Path | None, text: str, as_json: bool
) -> None:
    switches = [len(counts) for counts in tree.counts]
    if as_json:
        rows = [
            {"id": name, "units": len(cluster.os_indexes), "first_unit": at * len(cluster.os_indexes)}
            for at, name in enumerate(cluster.nodes)
        ]
        more = {"machine_file": str(output)} if output else {"text": text}
        console.show_json("machines from-topology", made.name, rows, switches=switches, **more)
        return
    say = console.show if output else console.show_aside
    over = " over ".join(map(str, switches))
    each = len(cluster.os_indexes)
    say(f"{len(cluster.nodes)} nodes of {each} units each under {over} switches: {len(made.units)} units")
    if output:
        say(f"{output}: written")
