"""Tables and figures of paper 003's programs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from corewise.analysis.result import (
    Figure,
    Panel,
    Row,
    Series,
    Table,
    number_table,
    series,
    statement_table,
)
from corewise.papers.programs.calls import STEP, CallLine, within
from corewise.papers.programs.data import LEVELS, Placed, Sent, Study


def tables_of(study: Study, rows: Sequence[Row]) -> Iterator[Table]:
    """For people."""
    yield number_table("paper 003, table 2 and figure 9: published beside simulated", rows)
    yield _level_table(study)
    yield _message_table(study)
    yield _gain_table(study)
    yield _placement_table(study.placed)
    yield _call_table(study.calls)
    yield statement_table("paper 003, section 4.2, in words", rows)


def _level_table(study: Study) -> Table:
    cells = tuple(
        (level.name, f"{latency_us:.3f}", f"{mb_per_s:.1f}", level.published or "assumed")
        for level, (latency_us, mb_per_s) in zip(LEVELS, study.table2, strict=True)
    )
    columns = ("level", "latency us", "MB/s", "in table 2")
    return Table(
        "levels of the cluster, by ping-pong",
        columns,
        cells,
        "same blade: its other Cell; same node: its other blade, by way of the Opterons",
    )


def _message_table(study: Study) -> Table:
    cells = []
    for name, sent in study.programs().items():
        counts = sent.by_level(study.levels)
        shares = tuple(f"{100 * count / counts.sum():.1f}" for count in counts)
        cells.append((name, str(int(counts.sum())), *shares, f"{sent.time_us / 1e3:.2f}"))
    heavy = study.flow.by_level(study.levels, study.flow.heavy())
    shares = tuple(f"{100 * count / heavy.sum():.1f}" for count in heavy)
    cells.append(("lattice Boltzmann, heavy", str(int(heavy.sum())), *shares, ""))
    columns = ("messages, % by level", "number", *(level.name for level in LEVELS), "ms")
    note = f"{' '.join(study.effort.sweep)}; {' '.join(study.effort.dynamics)}; {' '.join(study.effort.flow)}"
    return Table("figures 6 to 9: who sends to whom, rank r on SPE r", columns, tuple(cells), note)


def _gain_table(study: Study) -> Table:
    cells = tuple(
        (
            f"{100 * share:.0f} %",
            f"{original / 1e3:.3f}",
            f"{modified / 1e3:.3f}",
            f"{original / modified:.3f}",
        )
        for share, original, modified in study.gains
    )
    columns = ("busy, of the latency between nodes", "Sweep3D ms", "modified ms", "gain")
    note = "how long a forwarder of a message serves nobody else is not published; latencies stay table 2's"
    return Table("figure 7: what one root per Cell gains", columns, cells, note)


def _placement_table(placed: Mapping[str, Placed]) -> Table:
    cells = tuple(
        (
            name,
            f"{each.predicted:.3f}",
            f"{each.before.time_us / 1e3:.3f}",
            f"{each.after.time_us / 1e3:.3f}",
            f"{each.gain:.3f}",
            *(f"{100 * share:.1f}" for share in each.level_shares),
        )
        for name, each in placed.items()
    )
    columns = (
        "placement",
        "objective",
        "rank order ms",
        "placed ms",
        "gain",
        *(each.name for each in LEVELS),
    )
    note = "objective: rank order over placed; levels: % of the messages when placed; nothing is proven best"
    return Table("what a placement gains", columns, cells, note)


def _call_table(calls: Sequence[CallLine]) -> Table:
    """Figure 10: an iteration's functions with the messages below them, and the way from main to them."""
    step = within(calls, STEP)
    if not step:
        return Table("figure 10: no call graph", ("function", "times"), ())
    first = calls.index(step[0])
    above: list[CallLine] = []
    for line in reversed(calls[:first]):
        if line.depth < (above[0] if above else step[0]).depth:
            above.insert(0, line)
    cells = tuple(
        ("  " * line.depth + line.name, line.source, str(line.count), f"{line.time_us:.2f}")
        for line in (*above, *step)
    )
    columns = ("called by SPE 0, below its caller", "source", "times", "us")
    note = "MPI_Isend(source,destination,bytes); what main calls beside the iterations is left out"
    return Table("figure 10: call graph of lattice Boltzmann, 10 iterations", columns, cells, note)


# ---- figures ---------------------------------------------------------------------------------------------


def figures_of(study: Study) -> Iterator[Figure]:
    """Figures 6 to 9, coloured by level; and our own, the modified sweep's gain."""
    flow = study.flow
    for number, title, sent, only in (
        (6, "Sweep3D", study.sweep, None),
        (7, "modified Sweep3D", study.modified, None),
        (8, "molecular dynamics", study.dynamics, None),
        (9, "lattice Boltzmann, heavy messages", flow, flow.heavy()),
    ):
        panel = _matrix_panel(title, sent, study.levels, only)
        yield Figure(f"003-figure-{number}", f"Paper 003, figure {number}: {title} on 256 SPEs", (panel,))
    yield _gain_figure(study)


def _matrix_panel(title: str, sent: Sent, levels: NDArray[np.int64], only: NDArray[np.bool_] | None) -> Panel:
    chosen = sent.messages > 0 if only is None else only
    drawn: list[Series] = []
    for number, level in enumerate(LEVELS):
        sender, receiver = np.nonzero(chosen & (levels == number))
        if sender.size:
            drawn.append(series(level.name, receiver, sender))
    return Panel(title, "receiver", "sender", "points", tuple(drawn))


def _gain_figure(study: Study) -> Figure:
    shares = [100 * share for share, _, _ in study.gains]
    gains = [original / modified for _, original, modified in study.gains]
    panel = Panel(
        "time of Sweep3D over that of the modified one",
        "% of the latency between nodes in which a forwarder is busy",
        "gain",
        "line",
        (series("gain", shares, gains),),
        lines=(("no gain", 1.0),),
    )
    return Figure("003-modified-sweep", "What one root per Cell gains on the cluster", (panel,))
