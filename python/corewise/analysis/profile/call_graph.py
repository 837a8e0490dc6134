"""The call graph of a profile with names: calling contexts as a tree, or one node per function as a graph.

The streaming and summing is done in C++ (``src/profile/call_graph``); here addresses become functions
with file and line, small parts are cut away, and contexts are merged. Pure functions to frozen rows; prints
nothing. Times are nanoseconds.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from corewise._core import CallGraph, CallNode, World
from corewise.data.profile import Profile
from corewise.data.symbols.addresses import CodePoint, find_points, object_state
from corewise.errors import bad_field

Weight = Literal["count", "time"]
WEIGHTS: tuple[Weight, ...] = ("count", "time")
MOST_BOXES = 300
"""Of a picture that can be read."""
MOST_LINES = 2000
"""Of a tree that is shown."""
OUTSIDE = -4
"""A rank of a process that the profile's world does not hold."""


@dataclass(frozen=True)
class TreeNode:
    """One calling context.

    Attributes
    ----------
    parent : int
        Its caller's index in the tree, -1 for the root.
    kind : str
        ``root``, ``function``, ``region``, ``procedure`` (an MPI call), ``message``, ``other`` (what found no
        room while reading) or ``rest`` (what was cut away).
    label : str
        Function, region or MPI procedure; a message as ``MPI_Send(source,destination,bytes)``.
    file, line : str, int
        Where a function is defined; empty and 0 where nothing says.
    object : str
        The program or library that a function lies in.
    count : int
        Calls; of a message how often it was observed.
    recursive : int
        Calls of these that came from below the node itself.
    bytes : int
        Of one message, or of all that this MPI procedure moved here.
    inclusive_ns, exclusive_ns : float
        With and without what it called.
    """

    parent: int
    kind: str
    label: str
    file: str
    line: int
    object: str
    count: int
    recursive: int
    bytes: int
    inclusive_ns: float
    exclusive_ns: float

    @property
    def source(self) -> str:
        """``halo.cpp:42``, empty where unknown."""
        return f"{Path(self.file).name}:{self.line}" if self.file and self.line else ""


@dataclass(frozen=True)
class CallTree:
    """Calling contexts, parents first; node 0 is the root."""

    title: str
    ranks: tuple[int, ...]
    nodes: tuple[TreeNode, ...]
    warnings: tuple[str, ...]

    def children(self) -> list[list[int]]:
        """The children of every node, in order."""
        below: list[list[int]] = [[] for _ in self.nodes]
        for index, node in enumerate(self.nodes):
            if node.parent >= 0:
                below[node.parent].append(index)
        return below


@dataclass(frozen=True)
class GraphEdge:
    """Calls from one node of a graph to another."""

    caller: int
    callee: int
    count: int
    time_ns: float


@dataclass(frozen=True)
class MergedGraph:
    """One node per function, as in paper 003, figure 10. `TreeNode.parent` is -1 throughout."""

    title: str
    ranks: tuple[int, ...]
    nodes: tuple[TreeNode, ...]
    edges: tuple[GraphEdge, ...]
    warnings: tuple[str, ...]


# ---- reading ---------------------------------------------------------------------------------------------


def call_tree(profile: Profile, rank: int | None = None) -> CallTree:
    """The calling contexts of one rank of the main world, or of all ranks summed.

    Parameters
    ----------
    profile : Profile
        Loaded with the call graph of that rank, or of `EVERY_RANK`.
    rank : int or None
        None for all.

    Raises
    ------
    InputError
        There is no such rank.
    """
    world, graph = profile.world, profile.calls
    chosen = [each for each in world.ranks if rank is None or each.rank == rank]
    if graph is None:
        raise ValueError("the profile was loaded without its call graph")
    if not chosen:
        left = ", ".join(str(each.rank) for each in world.ranks[:8]) + (
            ", ..." if len(world.ranks) > 8 else ""
        )
        raise bad_field(str(profile.path), "rank", str(rank), f"all, or one that left a trace: {left}")
    started_ns = min(each.started_realtime_ns for each in chosen)
    points, states = _points(graph, started_ns)
    nodes = [_node(graph, node, points) for node in graph.nodes]
    title = _title(profile, rank, len(chosen))
    nodes[0] = replace(nodes[0], label=title, count=len(chosen))
    return CallTree(
        title, tuple(graph.ranks), _in_order(nodes), tuple(_warnings(profile, world, graph, states, nodes))
    )


def _title(profile: Profile, rank: int | None, ranks: int) -> str:
    program = " ".join(
        Path(word).name if index == 0 else word for index, word in enumerate(profile.meta.program)
    )
    which = f"rank {rank}" if rank is not None else f"{ranks} rank{'' if ranks == 1 else 's'}"
    return f"{program or profile.name}, {which}"


def _points(graph: CallGraph, started_ns: int) -> tuple[list[CodePoint], dict[str, str]]:
    """What is known of every place, and of the files among them that are gone or not what they were."""
    by_object: dict[str, list[int]] = defaultdict(list)
    for index, place in enumerate(graph.places):
        by_object[place.object].append(index)
    points = [CodePoint()] * len(graph.places)
    states = {}
    for path, indexes in by_object.items():
        state = object_state(path, started_ns)
        if state:
            states[path] = state
        elif path:
            offsets = [graph.places[index].offset for index in indexes]
            for index, point in zip(indexes, find_points(path, offsets, returns=False), strict=True):
                points[index] = point
    return points, states


def _node(graph: CallGraph, node: CallNode, points: Sequence[CodePoint]) -> TreeNode:
    label, file, line, path = "", "", 0, ""
    if node.kind == "function":
        place, point = graph.places[node.what], points[node.what]
        path = place.object
        label = point.function or f"{Path(path).name}{'+' if path else ''}0x{place.offset:x}"
        file, line = (
            (point.defined_file, point.defined_line) if point.defined_line else (point.file, point.line)
        )
    elif node.kind == "message":
        ends = ",".join("outside" if end == OUTSIDE else str(end) for end in (node.source, node.destination))
        label = f"{graph.names[node.what]}({ends},{node.bytes})"
    elif node.kind in ("region", "procedure"):
        label = graph.names[node.what]
    elif node.kind == "other":
        label = "further messages" if graph.nodes[node.parent].kind == "procedure" else "further calls"
    return TreeNode(
        node.parent, node.kind, label, file, line, path, node.count, node.recursive, node.bytes,
        node.inclusive_ns, node.exclusive_ns,
    )  # fmt: skip


def _in_order(nodes: Sequence[TreeNode]) -> tuple[TreeNode, ...]:
    """Children in the order of their first call, as they were read; messages by their ends and size."""
    below: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        if node.parent >= 0:
            below[node.parent].append(index)
    for children in below:
        if children and all(nodes[child].kind in ("message", "other") for child in children):
            children.sort(key=lambda child: (nodes[child].kind == "other", _natural(nodes[child].label)))
    return _rebuilt(nodes, below)


def _natural(label: str) -> list[tuple[int, str]]:
    words = label.replace("(", ",").replace(")", "").split(",")
    return [(int(word), "") if word.isdigit() else (-1, word) for word in words]


def _rebuilt(nodes: Sequence[TreeNode], below: Sequence[Sequence[int]]) -> tuple[TreeNode, ...]:
    """The nodes that are still somebody's child, parents first."""
    kept: list[TreeNode] = []
    waiting = [(0, -1)]
    while waiting:
        index, parent = waiting.pop()
        waiting += [(child, len(kept)) for child in reversed(below[index])]
        kept.append(replace(nodes[index], parent=parent))
    return tuple(kept)


def _warnings(
    profile: Profile, world: World, graph: CallGraph, states: dict[str, str], nodes: Sequence[TreeNode]
) -> Iterator[str]:
    yield from profile.problems
    for path, state in sorted(states.items()):
        happened = "is gone" if state == "missing" else "was changed since the run"
        yield f"{path} {happened}: its functions are shown as addresses"
    unnamed = sorted({node.object for node in nodes if node.kind == "function" and "+0x" in node.label})
    for path in unnamed:
        if path not in states:
            yield f"{path} has no symbols for some functions: compile with -g, do not strip"
    if any(node.kind == "function" and not node.object for node in nodes):
        yield "functions shown as bare addresses lie in libraries that were unloaded before MPI_Finalize"
    if graph.functions == 0:
        yield (
            "no function was recorded, only MPI calls: compile the program with "
            "`-finstrument-functions -g` and record functions (docs/recording/call-graph.md)"
        )
    if graph.unmatched_exits:
        yield f"{graph.unmatched_exits} exits of functions whose entry was not recorded are left out"
    if graph.without_room:
        yield f"{graph.without_room} calls found no node of their own: summed as further calls or messages"
    lost = [rank.rank for rank in world.ranks if rank.rank in graph.ranks and rank.losses.record_bytes > 0]
    if lost:
        yield f"records were lost on rank {', '.join(map(str, lost[:8]))}: counts and times are too low there"


# ---- cutting ---------------------------------------------------------------------------------------------


def pruned(tree: CallTree, weight: Weight, depth: int | None = None, min_share: float = 0.0) -> CallTree:
    """The tree without what is deep or small.

    Parameters
    ----------
    weight : str
        ``time``: a node's share is its inclusive time over the root's; ``count``: calls of it and below it
        over all calls.
    depth : int or None
        Levels to keep below the root.
    min_share : float
        Nodes with less are summed into one ``rest`` node per parent.
    """
    children = tree.children()
    sizes = _sizes(tree, weight)
    least = min_share * sizes[0]
    nodes = list(tree.nodes)
    below: list[list[int]] = [[] for _ in nodes]
    waiting = [(0, 0)]
    while waiting:
        index, level = waiting.pop()
        if depth is not None and level >= depth:
            continue
        small = [child for child in children[index] if sizes[child] < least]
        kept = children[index]
        if len(small) > 1 or (small and kept == small):
            kept = [child for child in kept if sizes[child] >= least]
            nodes.append(_rest(tree, small))
            below.append([])
            below[index] = [*kept, len(nodes) - 1]
        else:
            below[index] = list(kept)
        waiting += [(child, level + 1) for child in kept]
    return replace(tree, nodes=_rebuilt(nodes, below))


def _sizes(tree: CallTree, weight: Weight) -> list[float]:
    if weight == "time":
        return [node.inclusive_ns for node in tree.nodes]
    sizes = [0.0 if node.kind == "root" else float(node.count) for node in tree.nodes]
    for index in range(len(sizes) - 1, 0, -1):
        # Messages are the calls of the procedure above them once more.
        if tree.nodes[index].kind != "message":
            sizes[tree.nodes[index].parent] += sizes[index]
    return sizes


def _rest(tree: CallTree, small: Sequence[int]) -> TreeNode:
    nodes = [tree.nodes[index] for index in small]
    what = "messages" if all(node.kind in ("message", "other") for node in nodes) else "callees"
    label = f"{len(nodes)} small {what if len(nodes) > 1 else what[:-1]}"
    inclusive = sum(node.inclusive_ns for node in nodes)
    return TreeNode(
        0, "rest", label, "", 0, "", sum(node.count for node in nodes), 0, 0, inclusive, inclusive
    )


def fitted(tree: CallTree, weight: Weight, most: int) -> CallTree:
    """The tree with its smallest parts summed until at most `most` nodes are left, as far as that goes."""
    if len(tree.nodes) <= most:
        return tree
    sizes = sorted(_sizes(tree, weight), reverse=True)
    total = sizes[0] or 1.0
    for kept in (most, most * 2 // 3, most // 2, most // 3, most // 4, most // 8, 1):
        cut = pruned(tree, weight, None, sizes[max(1, kept) - 1] / total)
        if len(cut.nodes) <= most:
            break
    return replace(
        cut, warnings=(*tree.warnings, f"the picture leaves out the smallest of {len(tree.nodes)} nodes")
    )


# ---- merging ---------------------------------------------------------------------------------------------

_Key = tuple[str, str, str, int, str]


def merged(tree: CallTree) -> MergedGraph:
    """One node per function, region, MPI procedure and message; edges from callers to callees.

    A function's time counts once where it is open several times. Calls that were folded as recursion while
    reading lead from the node to itself.
    """
    keys = [_key(tree, index) for index in range(len(tree.nodes))]
    index_of: dict[_Key, int] = {}
    nodes: list[TreeNode] = []
    edges: dict[tuple[int, int], list[float]] = {}
    path: list[set[_Key]] = []
    for index, node in enumerate(tree.nodes):
        key = keys[index]
        above = path[node.parent] if node.parent >= 0 else set()
        path.append(above | {key} if key not in above else above)
        at = index_of.setdefault(key, len(nodes))
        outermost = key not in above
        if at == len(nodes):
            nodes.append(
                replace(node, parent=-1, count=0, recursive=0, bytes=0, inclusive_ns=0.0, exclusive_ns=0.0)
            )
        nodes[at] = _added(nodes[at], node, outermost)
        if node.parent >= 0:
            _add_edge(edges, index_of[keys[node.parent]], at, node.count - node.recursive, node.inclusive_ns)
        if node.recursive:
            _add_edge(edges, at, at, node.recursive, 0.0)
    rows = [GraphEdge(*ends, int(count), time_ns) for ends, (count, time_ns) in edges.items()]
    return MergedGraph(tree.title, tree.ranks, tuple(nodes), tuple(rows), tree.warnings)


def _key(tree: CallTree, index: int) -> _Key:
    node = tree.nodes[index]
    # What was summed belongs to its caller alone.
    owner = str(node.parent) if node.kind in ("rest", "other") else node.object
    return node.kind, node.label, node.file, node.line, owner


def _added(total: TreeNode, node: TreeNode, outermost: bool) -> TreeNode:
    return replace(
        total,
        count=total.count + node.count,
        recursive=total.recursive + node.recursive,
        bytes=node.bytes if node.kind == "message" else total.bytes + node.bytes,
        inclusive_ns=total.inclusive_ns + (node.inclusive_ns if outermost else 0.0),
        exclusive_ns=total.exclusive_ns + node.exclusive_ns,
    )


def _add_edge(
    edges: dict[tuple[int, int], list[float]], caller: int, callee: int, count: int, time_ns: float
) -> None:
    sums = edges.setdefault((caller, callee), [0, 0.0])
    sums[0] += count
    sums[1] += time_ns


def as_graph(tree: CallTree) -> MergedGraph:
    """The tree as a graph of as many nodes: for drawing contexts and functions alike."""
    edges = tuple(
        GraphEdge(node.parent, index, node.count, node.inclusive_ns)
        for index, node in enumerate(tree.nodes)
        if node.parent >= 0
    )
    return MergedGraph(tree.title, tree.ranks, tree.nodes, edges, tree.warnings)
