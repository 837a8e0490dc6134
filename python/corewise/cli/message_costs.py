"""Tables of what messages of an MPI cost on this host: `probe --messages`, `run --messages`, and for replays.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corewise.base import late
from corewise.base.files import check_target
from corewise.cli import console
from corewise.errors import InputError, RunError, bad_field

with late.imports():
    from corewise._core import Machine
    from corewise.bench.rows import Listener
    from corewise.bench.simmpi.messages import Extent, measure
    from corewise.data.clusters import load_cluster
    from corewise.data.machines import node_count
    from corewise.data.message_costs import (
        AFTER,
        BEFORE,
        MessageCosts,
        load_message_costs,
        median_costs,
        profile_tables,
        save_message_costs,
    )
    from corewise.data.quantities import bytes_text, time_text
    from corewise.mpi.allocation import read_allocation
    from corewise.mpi.find import MpiLibrary, find
    from corewise.report.layout import Column, by_rows

NONE = "none"
"""In place of a file: what messages cost is not taken from a table."""


def measure_messages(mpi: str, output: Path | None, *, alone: bool) -> None:
    """Measures, shows the table and writes it; refuses options that ask for anything else."""
    if not alone:
        raise InputError("--messages: found with --json or --plan, allowed: without; its file is JSON")
    if output is not None:
        check_target(output)
    costs = _measured(find(mpi, "--messages"))
    show_costs(costs)
    if output is not None:
        save_message_costs(costs, output)
        console.note(f"corewise: written to {output}")


def _measured(library: MpiLibrary, when: str = "") -> MessageCosts:
    with console.progress(f"measuring messages of {library.name} {library.version}{when}"):
        return measure(library, Extent(), Listener(note=console.note))


# ---- around a run ----------------------------------------------------------------------------------------


def before_a_run(library: MpiLibrary) -> MessageCosts:
    """The table from before a run; refuses what is not one node, since a table is of one."""
    allocation = read_allocation(os.environ, library.family)
    if allocation is not None and len(allocation.nodes) > 1:
        raise InputError(f"--messages: measures inside a node, found {allocation.text()}, allowed: one node")
    return _measured(library, " before the run")


def keep_tables(before: MessageCosts, library: MpiLibrary, profile: Path, *, ended: bool) -> None:
    """Writes the table from before the run into its profile, and measures that of after it where it ended.

    Where that fails the run's own result stands, and the table from before it.
    """
    save_message_costs(before, profile / BEFORE)
    if not ended:
        return
    try:
        save_message_costs(_measured(library, " after the run"), profile / AFTER)
    except RunError as error:
        console.warn(f"corewise: {profile}: has no {AFTER}: {error}")


# ---- for replays -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tables:
    """What a replay's messages cost.

    Attributes
    ----------
    files : tuple of Path
        Empty: by the settings, not by a table.
    each : tuple of MessageCosts
        What the files hold.
    median : MessageCosts or None
        Of all of them.
    """

    files: tuple[Path, ...] = ()
    each: tuple[MessageCosts, ...] = ()
    median: MessageCosts | None = None


def tables_for(
    profile: Path, wanted: Sequence[str], machine: Machine, reference: str, *, own: bool
) -> Tables:
    """The tables of a replay.

    Parameters
    ----------
    profile : Path
    wanted : sequence of str
        Of ``--messages``: files, profiles that hold tables, or `NONE`.
    machine : Machine
    reference : str
        What names the machine.
    own : bool
        Without `wanted`, the profile's own tables are taken where it has some.

    Raises
    ------
    InputError
        There is no such table, the tables do not belong together, or the machine has several nodes.
    """
    if NONE in wanted:
        if len(wanted) > 1:
            raise bad_field("", "--messages", ", ".join(wanted), f"{NONE} alone, or files")
        return Tables()
    files = [file for text in wanted for file in _files(Path(text))]
    if not wanted and own:
        files = profile_tables(profile)
    if not files:
        return Tables()
    _check_one_node(machine, reference)
    each = tuple(map(load_message_costs, files))
    return Tables(tuple(files), each, median_costs(files, each))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = profile_tables(path)
    if not found:
        allowed = f"a profile of `corewise run --messages`, which holds {BEFORE}"
        raise bad_field("", "--messages", path, allowed)
    return found


def _check_one_node(machine: Machine, reference: str) -> None:
    cluster = load_cluster(reference, len(machine.units))
    nodes = node_count(machine) if cluster is None else len(cluster.nodes)
    if nodes > 1:
        allowed = f"a machine of one node, since a table is of messages inside a node; or --messages {NONE}"
        raise bad_field("", "--messages", f"machine '{machine.name}' with {nodes} nodes", allowed)


def show_costs(costs: MessageCosts) -> None:
    """A row for each size, two columns for each number of bytes between two uses of a buffer."""
    moved = [bytes_text(each) for each in costs.moved_bytes]
    names = ("bytes", "send", *(f"{way}, {each}" for each in moved for way in ("one way", "both")))
    rows = [
        (
            str(row.bytes),
            time_text(row.send_ns, 3),
            *(time_text(ns, 3) for pair in zip(row.one_way_ns, row.both_ns, strict=True) for ns in pair),
        )
        for row in costs.rows
    ]
    title = (
        f"messages of {costs.mpi}, eager up to {costs.eager_bytes} bytes, by what a rank moves between uses"
    )
    console.show(by_rows([Column(name, right=True) for name in names], rows, title))
