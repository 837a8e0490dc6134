"""Findings about where the time of a run goes: computing or MPI, and who waits for whom, and where.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from corewise.analysis.profile.findings.finding import Finding
from corewise.analysis.profile.findings.run import LEAST_SHARE, Run
from corewise.analysis.profile.rows import MOSTLY_MPI
from corewise.analysis.profile.waits import WaitRow
from corewise.data.quantities import bytes_text, count_text, share_text, time_text

_STANDS_OUT = 2.0
"""So many times as much waiting for a rank as for any other one, and more than for all others together."""
_UNEVEN = 1.1
"""Largest over mean time outside MPI, from which on work is called uneven."""
_LONG_STARTUP = 0.2
"""Of a launch."""
_SMALL_BYTES = 4096
_MOSTLY_SMALL = 0.8
_MANY_PER_RANK = 1000
_LATE = {
    "late sender": ("late-sender", "receives wait for messages that are sent late"),
    "late receiver": ("late-receiver", "sends wait for receives that are posted late"),
}
_AT_COLLECTIVES = ("late-at-collectives", "ranks come to collectives at different times")


def division(run: Run) -> list[Finding]:
    """Computing against MPI; nothing where no call was timed."""
    share = run.analysis.mpi_share
    if share <= 0:
        return []
    waiting = run.share(run.waits.total_ns)
    numbers = {"mpi_share": share, "waiting_share": waiting}
    if share < MOSTLY_MPI:
        return [
            Finding(
                "computing",
                f"{share_text(1 - share)} of the run is computing; MPI takes {share_text(share)}",
                f"whatever is done about messages can save at most {share_text(share)}",
                "a CPU profiler (perf record) says where the computing goes",
                run_share=1 - share,
                numbers=numbers,
            )
        ]
    return [
        Finding(
            "communication",
            f"{share_text(share)} of the run is in MPI{_threads(run)}: {share_text(waiting)} waiting for "
            f"another rank, {share_text(max(0.0, share - waiting))} the rest",
            _busiest_site(run),
            f"corewise waits {run.path}",
            run_share=share,
            mpi_share=1.0,
            numbers=numbers,
        )
    ]


def _threads(run: Run) -> str:
    """That times of a rank's threads are added up, where it has several: they may be more than the run."""
    return ", its threads added up" if any(row.threads > 1 for row in run.analysis.ranks) else ""


def _busiest_site(run: Run) -> str:
    rows = [row for row in run.analysis.calls if row.mpi_share is not None]
    sites = [site for site in run.analysis.sites if rows and site.procedure == rows[0].procedure]
    where = f" in {sites[0].where}" if sites else ""
    return f"most in {rows[0].procedure}{where}: {share_text(rows[0].run_share)} of the run" if rows else ""


# ---- waiting ---------------------------------------------------------------------------------------------


def waiting(run: Run) -> list[Finding]:
    """The rank that keeps the others waiting, then the kinds of waits for all other ranks."""
    late = _late_rank(run)
    rest = [row for row in run.waits.causes if row.cause != late]
    found = [] if late is None else [_about_late_rank(run, late)]
    return found + _kinds(run, rest) + _uneven(run, late)


def _late_rank(run: Run) -> int | None:
    """The rank for which most of the waiting is, where it stands out."""
    order = sorted(run.waits.ranks, key=lambda row: (-row.caused_ns, row.rank))
    if len(order) < 2 or run.share(order[0].caused_ns) < LEAST_SHARE:
        return None
    first, second = order[0].caused_ns, order[1].caused_ns
    return order[0].rank if first > run.waits.total_ns / 2 and first >= _STANDS_OUT * second else None


def _about_late_rank(run: Run, rank: int) -> Finding:
    rows = [row for row in run.waits.causes if row.cause == rank]
    total = sum(row.wait_ns for row in rows)
    most = rows[0]
    efficiency = run.efficiency
    work = ""
    if efficiency is not None and efficiency.slowest == rank and efficiency.load_balance < 1 / _UNEVEN:
        work = f"; its time outside MPI is {1 / efficiency.load_balance:.2f} times the mean"
    others = "the other rank waits" if run.analysis.world.size == 2 else "the others wait"
    return Finding(
        "late-rank",
        f"{others} for rank {rank}: {share_text(run.share(total))} of the run",
        f"most of it in {most.name} ({most.kind}, {share_text(most.run_share)} of the run){work}",
        f"corewise waits {run.path}",
        run_share=run.share(total),
        mpi_share=run.mpi_share(total),
        rank=rank,
        procedure=most.procedure,
        where=_where(most),
        numbers={"wait_ns": total, "longest_ns": max(row.longest_ns for row in rows)},
    )


def _kinds(run: Run, rows: Sequence[WaitRow]) -> list[Finding]:
    """A finding per kind of wait; all kinds at collectives together."""
    by_kind: defaultdict[tuple[str, str], list[WaitRow]] = defaultdict(list)
    for row in rows:
        by_kind[_LATE.get(row.kind, _AT_COLLECTIVES)].append(row)
    found = []
    for (kind, sentence), some in by_kind.items():
        total = sum(row.wait_ns for row in some)
        if run.share(total) < LEAST_SHARE:
            continue
        most = _largest_site(some)
        found.append(
            Finding(
                kind,
                f"{sentence}: {share_text(run.share(total))} of the run",
                f"{count_text(sum(row.count for row in some))} waits, most of the time in {most.name}",
                f"corewise waits {run.path}",
                run_share=run.share(total),
                mpi_share=run.mpi_share(total),
                procedure=most.procedure,
                where=_where(most),
                numbers={"waits": float(sum(row.count for row in some)), "wait_ns": total},
            )
        )
    return found


def _largest_site(rows: Sequence[WaitRow]) -> WaitRow:
    """A row of the call site with most time, whoever was late."""
    sums: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        sums[row.name] += row.wait_ns
    most = max(sums, key=lambda name: (sums[name], name))
    return next(row for row in rows if row.name == most)


def _where(row: WaitRow) -> str:
    return row.name.removeprefix(f"{row.procedure} in ")


def _uneven(run: Run, late: int | None) -> list[Finding]:
    """Work that is uneven, unless the rank with most of it has been named."""
    efficiency = run.efficiency
    if efficiency is None or efficiency.slowest == late:
        return []
    lost = (efficiency.most_useful_ns - efficiency.mean_useful_ns) / efficiency.run_ns
    over = 1 / efficiency.load_balance if efficiency.load_balance > 0 else 1.0
    if lost < LEAST_SHARE or over < _UNEVEN:
        return []
    return [
        Finding(
            "imbalance",
            f"work is uneven: rank {efficiency.slowest} computes {over:.2f} times as long as the mean",
            f"evenly divided, the run would save at most {share_text(lost)}",
            f"corewise waits {run.path}",
            run_share=lost,
            rank=efficiency.slowest,
            numbers={"load_balance": efficiency.load_balance},
        )
    ]


# ---- small messages, start and stop ----------------------------------------------------------------------


def small_messages(run: Run) -> list[Finding]:
    """Many messages that carry little, where they take time beside waiting."""
    sizes = run.analysis.sizes
    messages = sum(row.messages for row in sizes)
    small = [row for row in sizes if row.high_bytes < _SMALL_BYTES]
    few = sum(row.messages for row in small)
    if messages < _MANY_PER_RANK * run.analysis.world.size or few < _MOSTLY_SMALL * messages:
        return []
    moving = run.moving_ns("message")
    if run.share(moving) < LEAST_SHARE:
        return []
    mean = sum(row.bytes for row in small) / few
    return [
        Finding(
            "small-messages",
            f"{count_text(few)} of {count_text(messages)} messages carry less than "
            f"{bytes_text(_SMALL_BYTES)}, {bytes_text(mean)} in the mean",
            f"point-to-point calls take {share_text(run.share(moving))} of the run beside waiting, "
            f"{time_text(moving / messages)} a message: fewer, larger messages save most of it",
            f"corewise call-graph {run.path}",
            run_share=run.share(moving),
            mpi_share=run.mpi_share(moving),
            numbers={"messages": float(messages), "small_messages": float(few), "mean_bytes": mean},
        )
    ]


def startup(run: Run) -> list[Finding]:
    """Starting and stopping MPI, where it takes much of the launch."""
    wall, start = run.analysis.wall_ns, run.analysis.startup_ns
    share = start / wall if wall > 0 else 0.0
    if share < _LONG_STARTUP:
        return []
    return [
        Finding(
            "startup",
            f"starting and stopping MPI takes {share_text(share)} of the launch",
            f"{time_text(start)} of {time_text(wall)}; all other shares are of the time between the two",
            "a larger problem, or more steps, before the rest is judged by wall time",
            run_share=share,
            numbers={"startup_ns": start, "wall_ns": wall},
        )
    ]
