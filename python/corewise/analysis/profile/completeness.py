"""How complete a profile is: how the run ended, what is missing, and whether what was sent arrived.

Pure functions from a world to sentences for people and the numbers behind them; prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence

from corewise._core import PairDifference, RankSummary, World
from corewise.analysis.profile.rows import Consistency, Ending, RankRow
from corewise.data.profile import Profile
from corewise.data.quantities import count_text, cpu_list, share_text

_NAMED_PAIRS = 4

# ---- how it ended ----------------------------------------------------------------------------------------


def ending_of(world: World, ranks: Sequence[RankRow], over: bool) -> Ending:
    """How the run ended; `over`: its launcher has ended."""
    unfinished = [row.rank for row in ranks if row.ending == "running"]
    aborted = [row for row in ranks if row.ending == "aborted"]
    missing = [row.rank for row in ranks if row.ending == "missing"]
    if not unfinished and not aborted and not missing:
        return Ending(True, f"finished: {_all(world.size)} reached the end of MPI_Finalize")
    parts = []
    if aborted:
        codes = ", ".join(sorted({str(row.abort_code) for row in aborted}))
        parts.append(f"{_ranks([row.rank for row in aborted])} called MPI_Abort (code {codes})")
    if unfinished:
        parts.append(_unfinished(unfinished, explained=bool(aborted), over=over))
    if missing:
        parts.append(f"{_ranks(missing)} left no readable trace")
    kept = f"all {count_text(sum(row.records for row in ranks))} records up to then are here"
    if missing or any(_lost_bytes(rank) for rank in world.ranks):
        kept = f"{count_text(sum(row.records for row in ranks))} records are here"
    return Ending(False, f"did not finish: {'; '.join(parts)}; {kept}")


def _unfinished(unfinished: Sequence[int], explained: bool, over: bool) -> str:
    """Which of them died first cannot be told: the one that waited longest has the oldest last record."""
    if explained:
        return f"{_ranks(unfinished)} ended with it"
    running = "" if over else " or is still running" if len(unfinished) == 1 else " or are still running"
    return f"{_ranks(unfinished)} ended without MPI_Finalize{running}"


def _ranks(ranks: Sequence[int]) -> str:
    text = cpu_list(sorted(ranks))
    return f"rank {text}" if len(ranks) == 1 else f"ranks {text}"


def _all(size: int) -> str:
    return "the one rank" if size == 1 else f"all {size} ranks"


def _lost_bytes(rank: RankSummary) -> int:
    losses = rank.losses
    return int(losses.record_bytes + losses.missing_bytes + losses.overwritten_bytes + losses.damaged_blocks)


# ---- warnings --------------------------------------------------------------------------------------------


_LOSSES = (
    ("record_bytes", "bytes of records lost: the file system was full"),
    (
        "missing_bytes",
        "bytes missing at the trace file's end: cut short, or the file system was full",
    ),
    ("damaged_blocks", "damaged blocks in the trace file"),
    ("overwritten_bytes", "bytes of older records given up (flight recorder)"),
    ("requests", "requests did not fit in the table: their arrival is unknown"),
    ("sites", "calls whose call site did not fit in the table"),
    ("communicators", "communicators beyond the trace's index"),
    ("nested", "events dropped because a signal handler interrupted the recorder"),
    ("bad_peers", "records name a rank that does not exist"),
    ("names", "records of regions and phases whose name did not fit in the table"),
    ("functions", "records of functions that could not be kept before MPI_Init"),
)


def warnings_of(profile: Profile, world: World) -> tuple[str, ...]:
    """What is not in the tables, or rough in them, a sentence each."""
    warnings = list(profile.problems)
    for name, what in _LOSSES:
        lost = {rank.rank: int(getattr(rank.losses, name)) for rank in world.ranks}
        losers = [rank for rank, value in lost.items() if value]
        if losers:
            warnings.append(f"{_ranks(losers)}: {count_text(sum(lost.values()))} {what}")
    warnings.extend(_clock_warnings(world))
    warnings.extend(_choice_warnings(world))
    outside = sum(rank.outside_sent_bytes + rank.outside_received_bytes for rank in world.ranks)
    if outside:
        warnings.append(
            f"{count_text(outside)} bytes to or from processes of other worlds are not in the matrix"
        )
    unmodelled = sum(rank.unmodelled_bytes for rank in world.ranks)
    if unmodelled:
        warnings.append(f"{count_text(unmodelled)} bytes of collectives are not in the collective matrix")
    if len(profile.worlds) > 1:
        others = ", ".join(f"{other.name} ({other.size} ranks)" for other in profile.worlds[1:])
        warnings.append(f"shown is the main world; this profile also holds {others}")
    status = profile.meta.exit_status
    if status:
        warnings.append(f"the launcher ended with exit status {status}")
    return tuple(warnings)


_KINDS = (
    (1, "calls that move nothing"),
    (2, "point-to-point messages"),
    (4, "collectives"),
    (8, "one-sided data"),
    (16, "files"),
    (64, "regions and phases"),
    (128, "call sites"),
)


def _choice_warnings(world: World) -> list[str]:
    """What is not in the tables because nobody asked for it."""
    left_out = [
        what for bit, what in _KINDS if world.ranks and not any(rank.kinds & bit for rank in world.ranks)
    ]
    found = [f"not recorded, as asked: {', '.join(left_out)}"] if left_out else []
    stopped = [rank for rank in world.ranks if rank.stops]
    if stopped:
        longest = max(stopped, key=lambda rank: rank.stopped_ns)
        part = share_text(longest.stopped_ns / longest.wall_ns) if longest.wall_ns > 0 else "all"
        found.append(
            f"{_ranks([rank.rank for rank in stopped])}: the program stopped recording; at most {part} of a "
            f"rank's time is not in the tables (rank {longest.rank})"
        )
    return found


def _clock_warnings(world: World) -> list[str]:
    unknown = [rank.rank for rank in world.ranks if not rank.clock_known]
    rough = [rank.rank for rank in world.ranks if rank.clock_known and not rank.clock_precise]
    found = []
    if unknown:
        found.append(f"{_ranks(unknown)}: the clock was never calibrated: times are clock ticks")
    if rough:
        found.append(f"{_ranks(rough)}: the clock was calibrated over less than 10 ms: times are rough")
    return found


# ---- sent and received -----------------------------------------------------------------------------------


def consistency_of(world: World) -> Consistency:
    """Whether what was sent is what arrived."""
    pairs = len(world.coordinates("sent")[0])
    differing = tuple(world.differences())
    if not differing:
        statement = (
            f"what was sent arrived: {pairs} pairs agree in bytes and messages" if pairs else "no messages"
        )
        return Consistency(pairs, differing, statement)
    statement = f"{len(differing)} of {max(pairs, len(differing))} pairs differ: {_difference(differing)}"
    return Consistency(pairs, differing, statement)


def _difference(differing: Sequence[PairDifference]) -> str:
    lost = [(pair, pair.sent_bytes - pair.received_bytes) for pair in differing]
    parts = (
        ("sent but not received", [(pair, size_bytes) for pair, size_bytes in lost if size_bytes > 0]),
        ("received but not sent", [(pair, -size_bytes) for pair, size_bytes in lost if size_bytes < 0]),
        (
            "as many bytes, but not as many messages",
            [(pair, 0) for pair, size_bytes in lost if size_bytes == 0],
        ),
    )
    return "; ".join(f"{what}: {_pairs(pairs)}" for what, pairs in parts if pairs)


def _pairs(pairs: Sequence[tuple[PairDifference, int]]) -> str:
    """The largest differences by name, the others counted."""
    ordered = sorted(pairs, key=lambda entry: (-entry[1], entry[0].sender, entry[0].receiver))
    names = [f"{pair.sender}→{pair.receiver}" for pair, _ in ordered[:_NAMED_PAIRS]]
    if len(ordered) > _NAMED_PAIRS:
        names.append("...")
    total = sum(size_bytes for _, size_bytes in ordered)
    return f"{count_text(total)} B ({', '.join(names)})" if total else ", ".join(names)
