"""`corewise probe --messages`: what messages of an MPI cost on this host, as a table for replays.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

from corewise.base import late
from corewise.base.files import check_target
from corewise.cli import console
from corewise.errors import InputError

with late.imports():
    from corewise.bench.rows import Listener
    from corewise.bench.simmpi.messages import Extent, measure
    from corewise.data.message_costs import MessageCosts, save_message_costs
    from corewise.data.quantities import bytes_text, time_text
    from corewise.mpi.find import find
    from corewise.report.layout import Column, by_rows


def measure_messages(mpi: str, output: Path | None, *, alone: bool) -> None:
    """Measures, shows the table and writes it; refuses options that ask for anything else."""
    if not alone:
        raise InputError("--messages: found with --json or --plan, allowed: without; its file is JSON")
    if output is not None:
        check_target(output)
    library = find(mpi, "--messages")
    with console.progress(f"measuring messages of {library.name} {library.version}"):
        costs = measure(library, Extent(), Listener(note=console.note))
    show_costs(costs)
    if output is not None:
        save_message_costs(costs, output)
        console.note(f"corewise: written to {output}")


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
