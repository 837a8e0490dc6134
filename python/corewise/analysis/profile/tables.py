"""A profile as tables: time per MPI call, call sites, ranks, sizes, communicators, and how the run ended.

Pure functions from a `Profile` to frozen rows; prints nothing. Starting and stopping MPI (``MPI_Init`` and
its kin) is kept apart from communication throughout: it dwarfs everything else in a short run and says
nothing about the program. Times are nanoseconds, volumes bytes.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, RankSummary, Section, World, procedure_facts
from corewise.analysis.pattern import summarise_pattern
from corewise.analysis.profile.cells import sum_in_blocks
from corewise.analysis.profile.completeness import consistency_of, ending_of, warnings_of
from corewise.analysis.profile.hangs import explain_end
from corewise.analysis.profile.rows import (
    CallRow,
    CommRow,
    DatatypeRow,
    OtherTraffic,
    ProfileAnalysis,
    RankRow,
    SectionRow,
    SiteRow,
    SizeRow,
)
from corewise.data.profile import Profile, datatype_text
from corewise.data.quantities import count_text, cpu_list
from corewise.data.symbols.addresses import call_site_text, object_state


def starts_or_stops(procedure: str) -> bool:
    """Whether an MPI procedure starts or stops MPI."""
    return procedure_facts(procedure).sort == "startup"


def analyse_profile(profile: Profile) -> ProfileAnalysis:
    """Builds all tables of the main world that come from its trace."""
    world = profile.world
    pattern = profile.pattern()
    ranks = _rank_rows(world)
    present = [row for row in ranks if row.ending != "missing"]
    return ProfileAnalysis(
        profile=profile,
        world=world,
        pattern=pattern,
        summary=summarise_pattern(pattern),
        ending=ending_of(world, ranks, profile.meta.exit_status is not None),
        records=sum(row.records for row in ranks),
        wall_ns=max((rank.wall_ns for rank in world.ranks), default=0.0),
        startup_ns=_mean([row.startup_ns for row in present]),
        calls=call_rows(world),
        sites=_site_rows(world),
        ranks=ranks,
        sizes=_size_rows(world),
        communicators=_comm_rows(world),
        phases=_phase_rows(world),
        regions=_section_rows(world.regions, world.region_totals),
        other=_other(world),
        functions=sum(rank.functions for rank in world.ranks),
        stopped=tuple((rank.rank, rank.stops, rank.stopped_ns) for rank in world.ranks if rank.stops),
        consistency=consistency_of(world),
        collective_bytes=collective_bytes(world),
        one_sided_bytes=int(world.coordinates("put")[2].sum() + world.coordinates("get")[2].sum()),
        imbalance=_ratio([row.mpi_ns for row in present]),
        warnings=warnings_of(profile, world),
        end=explain_end(world),
        datatypes=_datatype_rows(world),
    )


def collective_bytes(world: World) -> int:
    """Bytes of all collectives, as modelled."""
    return int(world.coordinates("collective")[2].sum())


def placement_scope(world: World, machine: Machine | None = None) -> tuple[bool, str]:
    """What a placement made from the world's point-to-point messages goes by.

    Returns
    -------
    possible : bool
        False where no message carries a byte (every placement is as good as any other), or where the machine
        has fewer units than the world has ranks.
    note : str
        One sentence on what is left out, or on why nothing can be placed; else empty.
    """
    if machine is not None and world.size > len(machine.units):
        few = f"{len(machine.units)} units, and every rank needs one of its own"
        return False, f"{world.size} ranks are not placed: '{machine.name}' has {few}"
    _, _, size_bytes, messages = world.coordinates("sent")
    collective = collective_bytes(world)
    if int(size_bytes.sum()) == 0:
        found = "all point-to-point messages are empty" if messages.size else "no point-to-point messages"
        left = f"; {count_text(collective)} bytes of collectives are not considered" if collective else ""
        return False, f"{found}: nothing to place{left}"
    return (
        True,
        f"{count_text(collective)} bytes of collectives are not in the placement" if collective else "",
    )


def matrix_blocks(world: World, kind: str, most_cells: int) -> tuple[NDArray[np.uint64], int]:
    """One kind of traffic as a square table that is small enough to draw.

    Parameters
    ----------
    world : World
        Whose traffic.
    kind : str
        ``sent``, ``received``, ``collective``, ``put`` or ``get``.
    most_cells : int
        Of a side. More ranks are summed into blocks.

    Returns
    -------
    cells : ndarray of uint64, shape (side, side)
        Bytes from row to column.
    block : int
        Ranks per cell side.
    """
    senders, receivers, size_bytes, _ = world.coordinates(kind)
    return sum_in_blocks(world.size, most_cells, senders, receivers, size_bytes)


# ---- calls and sites -------------------------------------------------------------------------------------


def call_rows(world: World) -> tuple[CallRow, ...]:
    """Time per MPI procedure, longest total first, start and stop last."""
    calls, misses, time_ns = world.calls, world.misses, world.time_ns
    polling_ns, longest_ns, size_bytes = world.polling_ns, world.longest_ns, world.bytes
    counted = [index for index, name in enumerate(world.procedures) if not starts_or_stops(name)]
    in_mpi = float(time_ns[:, counted].sum()) or 1.0
    in_run = sum(row.wall_ns for row in _rank_rows(world)) or 1.0
    rows = []
    for index, procedure in enumerate(world.procedures):
        total = float(time_ns[:, index].sum())
        timed = int(calls[:, index].sum() - misses[:, index].sum())
        rows.append(
            CallRow(
                procedure=procedure,
                calls=int(calls[:, index].sum()),
                misses=int(misses[:, index].sum()),
                ranks=int((calls[:, index] > 0).sum()),
                time_ns=total,
                mean_ns=total / timed if timed else 0.0,
                longest_ns=float(longest_ns[:, index].max()),
                polling_ns=float(polling_ns[:, index].sum()),
                mpi_share=None if starts_or_stops(procedure) else total / in_mpi,
                run_share=None if starts_or_stops(procedure) else total / in_run,
                imbalance=_ratio([float(value) for value in time_ns[:, index]]),
                slowest=_slowest(world, time_ns[:, index]),
                lost=_lost(time_ns[:, index]),
                bytes=int(size_bytes[:, index].sum()),
            )
        )
    rows.sort(key=lambda row: (row.mpi_share is None, -row.time_ns, row.procedure))
    return tuple(rows)


def _slowest(world: World, times: NDArray[np.float64]) -> int | None:
    """The rank with the largest time, where it is the only one."""
    most = times.max()
    return (
        int(world.ranks[int(times.argmax())].rank)
        if int((times == most).sum()) == 1 and times.size > 1
        else None
    )


def _lost(times: NDArray[np.float64]) -> float:
    most = float(times.max())
    return 1 - float(times.mean()) / most if most > 0 else 0.0


def _site_rows(world: World) -> tuple[SiteRow, ...]:
    started = min((rank.started_realtime_ns for rank in world.ranks), default=0)
    rows = []
    for site in world.sites:
        where, changed = call_site_name(site.object, site.file_offset, started)
        rows.append(
            SiteRow(
                where=where,
                object=site.object,
                file_offset=site.file_offset,
                changed=changed,
                procedure=world.procedures[site.procedure],
                ranks=site.ranks,
                calls=site.calls,
                time_ns=site.time_ns,
                polling_ns=site.polling_ns,
                bytes=site.bytes,
            )
        )
    rows.sort(key=lambda row: (starts_or_stops(row.procedure), -row.time_ns, row.where))
    return tuple(rows)


def call_site_name(path: str, file_offset: int, started_ns: int) -> tuple[str, bool]:
    """A call site for people, and whether its file was modified after the run: then it names no function.

    Parameters
    ----------
    path, file_offset : str, int
        The file and the return address in it.
    started_ns : int
        When the run began, in nanoseconds since 1970; 0 unknown.
    """
    if object_state(path, started_ns) == "changed":
        return f"{Path(path).name}+0x{file_offset:x}", True
    return call_site_text(path, file_offset), False


def _datatype_rows(world: World) -> tuple[DatatypeRow, ...]:
    """Those that carried something, most bytes first. Derived ones that look alike stand in one row."""
    rows = [
        DatatypeRow(
            name=datatype_text(each.name, each.size_bytes, each.derived),
            size_bytes=each.size_bytes,
            extent_bytes=each.extent_bytes,
            derived=each.derived,
            messages=each.messages,
            elements=each.bytes // each.size_bytes if each.size_bytes else 0,
            bytes=each.bytes,
            collective_calls=each.collective_calls,
            collective_bytes=each.collective_bytes,
        )
        for each in world.datatypes
        if each.messages or each.collective_calls
    ]
    return tuple(sorted(rows, key=lambda row: (-row.bytes - row.collective_bytes, row.name)))


# ---- phases and regions, one-sided, files ----------------------------------------------------------------


def _phase_rows(world: World) -> tuple[SectionRow, ...]:
    """Empty where the program named no phase."""
    return _section_rows(world.phases, world.phase_totals) if len(world.phases) > 1 else ()


def _section_rows(names: Sequence[str], totals: Sequence[Section]) -> tuple[SectionRow, ...]:
    of_name: dict[int, list[Section]] = {}
    for section in totals:
        of_name.setdefault(section.name, []).append(section)
    return tuple(
        _section_row(names[index], of_name[index]) for index in range(len(names)) if index in of_name
    )


def _section_row(name: str, sections: Sequence[Section]) -> SectionRow:
    wall_ns = _mean([each.wall_ns for each in sections])
    mpi_ns = _mean([each.mpi_ns for each in sections])
    longest = max(sections, key=lambda each: each.wall_ns)
    return SectionRow(
        name=name,
        ranks=len(sections),
        entered=sum(each.entered for each in sections),
        unclosed=sum(each.unclosed for each in sections),
        wall_ns=wall_ns,
        longest_ns=longest.wall_ns,
        slowest=longest.rank,
        mpi_ns=mpi_ns,
        share=mpi_ns / wall_ns if wall_ns > 0 else 0.0,
        calls=sum(each.calls for each in sections),
        sent_bytes=sum(each.sent_bytes for each in sections),
        received_bytes=sum(each.received_bytes for each in sections),
        collective_bytes=sum(each.collective_bytes for each in sections),
        one_sided_bytes=sum(each.one_sided_bytes for each in sections),
        file_bytes=sum(each.file_bytes for each in sections),
    )


def _other(world: World) -> OtherTraffic:
    put, got = world.coordinates("put"), world.coordinates("get")
    return OtherTraffic(
        put_bytes=int(put[2].sum()),
        put_count=int(put[3].sum()),
        get_bytes=int(got[2].sum()),
        get_count=int(got[3].sum()),
        read_bytes=sum(rank.file_read_bytes for rank in world.ranks),
        written_bytes=sum(rank.file_written_bytes for rank in world.ranks),
    )


# ---- ranks -----------------------------------------------------------------------------------------------


def _rank_rows(world: World) -> tuple[RankRow, ...]:
    sent, received = _per_rank_bytes(world)
    startup = [index for index, name in enumerate(world.procedures) if starts_or_stops(name)]
    startup_ns = world.time_ns[:, startup].sum(axis=1)
    found = {
        rank.rank: _rank_row(rank, float(startup_ns[index]), sent, received)
        for index, rank in enumerate(world.ranks)
    }
    return tuple(found.get(rank) or _missing(rank) for rank in range(world.size))


def _per_rank_bytes(world: World) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Point-to-point bytes as each rank itself saw them leave and arrive."""
    sent = np.zeros(world.size, dtype=np.uint64)
    received = np.zeros(world.size, dtype=np.uint64)
    senders, _, size_bytes, _ = world.coordinates("sent")
    np.add.at(sent, senders, size_bytes)
    _, receivers, size_bytes, _ = world.coordinates("received")
    np.add.at(received, receivers, size_bytes)
    return sent, received


def _rank_row(
    rank: RankSummary, startup_ns: float, sent: NDArray[np.uint64], received: NDArray[np.uint64]
) -> RankRow:
    wall_ns = max(0.0, rank.wall_ns - startup_ns)
    mpi_ns = max(0.0, rank.mpi_ns - startup_ns)
    return RankRow(
        rank=rank.rank,
        ending=rank.ending,
        abort_code=rank.abort_code,
        host=rank.host,
        threads=rank.threads,
        wall_ns=wall_ns,
        mpi_ns=mpi_ns,
        share=mpi_ns / wall_ns if wall_ns > 0 else 0.0,
        startup_ns=startup_ns,
        polling_ns=rank.polling_ns,
        sent_bytes=int(sent[rank.rank]),
        received_bytes=int(received[rank.rank]),
        records=rank.records,
        cpus=cpu_list(rank.cpus_start),
        moved=bool(rank.cpus_end) and list(rank.cpus_end) != list(rank.cpus_start),
    )


def _missing(rank: int) -> RankRow:
    return RankRow(rank, "missing", 0, "", 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0, "", False)


# ---- sizes and communicators -----------------------------------------------------------------------------


def _size_rows(world: World) -> tuple[SizeRow, ...]:
    counts, size_bytes = world.histogram("sent")
    calls, call_bytes = world.histogram("collective")
    used = np.flatnonzero((counts > 0) | (calls > 0))
    return tuple(
        SizeRow(
            low_bytes=0 if bin_ == 0 else 1 << (int(bin_) - 1),
            high_bytes=0 if bin_ == 0 else (1 << int(bin_)) - 1,
            messages=int(counts[bin_]),
            bytes=int(size_bytes[bin_]),
            collective_calls=int(calls[bin_]),
            collective_bytes=int(call_bytes[bin_]),
        )
        for bin_ in used
    )


def _comm_rows(world: World) -> tuple[CommRow, ...]:
    rows = []
    for index, comm in enumerate(world.communicators):
        _, _, size_bytes, messages = world.coordinates("sent", index)
        collective = int(world.coordinates("collective", index)[2].sum())
        name = comm.name or f"from {comm.created_by or 'MPI'}"
        rows.append(
            CommRow(name, comm.size, comm.remote_size, int(messages.sum()), int(size_bytes.sum()), collective)
        )
    rows.sort(key=lambda row: -(row.bytes + row.collective_bytes))
    return tuple(rows)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _ratio(values: Sequence[float]) -> float:
    """The largest value over the mean; 1 where nothing is there to balance."""
    mean = _mean(values)
    return max(values) / mean if mean > 0 else 1.0
