"""A report as Rich renderables, in the order in which a user asks.

What ran and how it ended, the findings, who talked to whom, in which pattern, where the time went, and what a
better placement would give.

Pictures (the heat map, the machine) are handed in: drawing them belongs to `corewise.plots`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from corewise.analysis.placement.comparison import PlacementStudy
from corewise.analysis.profile.accelerated import AcceleratedRow
from corewise.analysis.profile.findings import Efficiency, Findings
from corewise.analysis.profile.hangs import RankState, RunEnd
from corewise.analysis.profile.rows import CallRow, ProfileAnalysis, RankRow, SectionRow
from corewise.data.quantities import (
    bytes_text,
    count_text,
    number_text,
    ratio_text,
    share_text,
    size_range_text,
    time_text,
)
from corewise.report.layout import Column, FittingTable, Hanging

FEW_RANKS = 16
"""Up to so many ranks each has its own line; of more, those that stand out."""
_BAR = 24
_FEW_UNITS = 4


def render(
    analysis: ProfileAnalysis,
    findings: Findings,
    top: int,
    heat_map: RenderableType,
    placement: Sequence[RenderableType] = (),
) -> list[RenderableType]:
    """The whole report.

    Parameters
    ----------
    analysis : ProfileAnalysis
        What to show.
    findings : Findings
        What it opens with.
    top : int
        Rows of the longer tables.
    heat_map : renderable
        The matrix as a picture.
    placement : sequence of renderables
        From `placement_parts`; empty where no machine was given.
    """
    parts: list[RenderableType] = [*_heading(analysis), *_end(analysis)]
    if analysis.empty:
        parts.append(Text("0 events seen: the ranks started, but no MPI call was recorded", style="bold red"))
        return parts
    parts += [
        "",
        *findings_parts(findings),
        "",
        heat_map,
        Hanging("", Text(analysis.consistency.statement, style="dim")),
        "",
        *_pattern(analysis),
    ]
    parts += ["", _calls(analysis, top), "", _sites(analysis, top), "", _ranks(analysis)]
    if analysis.phases:
        parts += ["", _sections(analysis.phases, "phases")]
    if analysis.regions:
        parts += ["", _sections(analysis.regions, "regions, inner ones included")]
    if analysis.sizes:
        parts += ["", _sizes(analysis)]
    if analysis.datatypes:
        parts += ["", _datatypes(analysis, top)]
    if analysis.accelerated:
        parts += ["", _accelerated(analysis)]
    if analysis.other.any:
        parts += ["", _other(analysis)]
    if placement:
        parts += ["", *placement]
    return parts


def findings_parts(found: Findings) -> list[RenderableType]:
    """The findings, numbered, each with its evidence and what to do next."""
    parts: list[RenderableType] = [Text("findings", style="bold")]
    if found.efficiency is not None:
        parts.append(Hanging("", Text(efficiency_text(found.efficiency), style="dim")))
    for number, row in enumerate(found.rows, 1):
        parts.append(
            Hanging(f"{number:>2}. ", Text(row.title, style="bold green" if number == 1 else "bold"))
        )
        parts += [Hanging("    ", Text(row.evidence))] if row.evidence else []
        parts += [Hanging("    next: ", Text(row.next, style="dim"))] if row.next else []
    return parts


def efficiency_text(found: Efficiency) -> str:
    """POP's metrics in one line."""
    text = (
        f"parallel efficiency {share_text(found.parallel)} = load balance {share_text(found.load_balance)} x "
        f"communication efficiency {share_text(found.communication)}"
    )
    if found.serialisation is None or found.transfer is None:
        return text
    return f"{text} (serialisation {share_text(found.serialisation)} x transfer {share_text(found.transfer)})"


def placement_parts(study: PlacementStudy, drawing: RenderableType, note: str = "") -> list[RenderableType]:
    """The placement table and the machine with the best placement on it.

    Parameters
    ----------
    study : PlacementStudy
        What was found.
    drawing : renderable
        The machine with the best placement.
    note : str
        What the placements leave out.
    """
    title = Text("placement", style="bold")
    title.append(f" on {study.machine.name}, a prediction from link loads: {study.statement}", style="none")
    parts: list[RenderableType] = [Hanging("", title)]
    if note:
        parts.append(Hanging("! ", Text(note, style="yellow")))
    return [*parts, _placements(study), drawing]


def no_placement(machine: str, note: str) -> list[RenderableType]:
    """Instead of `placement_parts`, where there is nothing to place."""
    text = Text("placement", style="bold")
    text.append(f" on {machine}: {note}", style="yellow")
    return [Hanging("", text)]


def _placements(study: PlacementStudy) -> FittingTable:
    rows = study.rows
    units = [[study.machine.units[unit].name for unit in row.unit_of_rank] for row in rows]
    which = [row.which for row in rows]
    label = max(map(len, which), default=0) + 2
    return FittingTable(
        [
            Column("placement", which),
            Column("bottleneck ns", [number_text(row.bottleneck_ns, 6) for row in rows], right=True),
            Column("load", [bytes_text(row.bottleneck_bytes) for row in rows], right=True, importance=2),
            Column("busiest link", [row.bottleneck_link or "none" for row in rows], importance=3),
            Column("hop-bytes", [count_text(row.hop_bytes) for row in rows], right=True, importance=1),
            Column("ratio", [ratio_text(row.ratio) for row in rows], right=True),
            Column(
                "unit of rank 0, 1, ...", [" ".join(names) for names in units], narrow=[*map(_few, units)]
            ),
        ],
        below_when_narrow=[]
        if study.pattern.ranks <= _FEW_UNITS
        else [
            Text("units of rank 0, 1, ... in full:"),
            *(
                Hanging(name.ljust(label), Text(" ".join(full)))
                for name, full in zip(which, units, strict=True)
            ),
        ],
    )


def _few(names: Sequence[str]) -> str:
    return " ".join(names) if len(names) <= _FEW_UNITS else " ".join((*names[:_FEW_UNITS], "..."))


def _heading(analysis: ProfileAnalysis) -> list[RenderableType]:
    meta = analysis.profile.meta
    mpi = f"{meta.mpi_name} {meta.mpi_version}".strip() or library_text(analysis.world.library) or "MPI"
    ranks = "1 rank" if analysis.world.size == 1 else f"{analysis.world.size} ranks"
    facts = [ranks, mpi, _hosts(analysis), meta.started]
    style = "green" if analysis.ending.finished else "bold red"
    return [
        Text(" ".join(meta.program) or str(analysis.profile.path), style="bold", overflow="fold"),
        Hanging("", Text(", ".join(fact for fact in facts if fact))),
        Hanging("", Text(analysis.ending.statement, style=style)),
        Hanging(
            "",
            Text(
                f"wall {time_text(analysis.wall_ns)}{_startup(analysis)}; "
                f"{count_text(analysis.records)} records"
            ),
        ),
        *(Hanging("! ", Text(warning, style="yellow")) for warning in analysis.warnings),
    ]


def _end(analysis: ProfileAnalysis) -> list[RenderableType]:
    """What stopped a run that did not finish, and where its ranks were; a crash after MPI_Finalize."""
    end = analysis.end
    if not end.ranks:
        return []
    lines: list[RenderableType] = ["", Text("how it ended", style="bold")]
    lines += [Hanging("  ", Text(each, style="bold red")) for each in end.statements]
    shown = _worth_telling(end)
    width = max(len(str(state.rank)) for state in shown)
    lines += [Hanging(f"  rank {state.rank:>{width}}: ", Text(state.doing)) for state in shown]
    if len(shown) < len(end.ranks):
        lines.append(Hanging("  ", Text(f"{len(end.ranks) - len(shown)} more ranks: --json", style="dim")))
    return lines


def _worth_telling(end: RunEnd) -> list[RankState]:
    """All of a few ranks; of many those in a deadlock, those that ended on their own, and some others."""
    if len(end.ranks) <= FEW_RANKS:
        return list(end.ranks)
    told = {rank for cycle in end.deadlocks for rank in cycle}
    told |= {state.rank for state in end.ranks if state.state not in ("in call", "finished") or state.crash}
    others = [state.rank for state in end.ranks if state.rank not in told]
    chosen = {*sorted(told)[:FEW_RANKS], *others[: max(0, FEW_RANKS - len(told))]}
    return [state for state in end.ranks if state.rank in chosen]


def _startup(analysis: ProfileAnalysis) -> str:
    """Empty where calls were not recorded: then nobody knows."""
    if analysis.startup_ns <= 0:
        return ""
    return f", of it {time_text(analysis.startup_ns)} starting and stopping MPI"


def _hosts(analysis: ProfileAnalysis) -> str:
    hosts = sorted({row.host for row in analysis.ranks if row.host})
    return f"on {hosts[0]}" if len(hosts) == 1 else f"on {len(hosts)} hosts" if hosts else ""


def _pattern(analysis: ProfileAnalysis) -> list[RenderableType]:
    summary = analysis.summary
    lines = [
        Text(
            f"{count_text(summary.messages)} messages, {bytes_text(summary.bytes)} between "
            f"{summary.pairs} pairs"
        )
    ]
    if summary.messages and summary.telling:
        lines.append(Text(summary.label, style="bold green" if summary.best else "yellow"))
        others = [match for match in summary.matches if match is not summary.best][:2]
        if others:
            names = "; ".join(f"{match.label} ({match.degree:.3f})" for match in others)
            lines.append(Text(f"next: {names}", style="dim"))
    if analysis.collective_bytes:
        lines.append(Text(f"collectives, as modelled: {bytes_text(analysis.collective_bytes)}"))
    if analysis.one_sided_bytes:
        lines.append(Text(f"one-sided: {bytes_text(analysis.one_sided_bytes)}"))
    return [
        Hanging(Text("pattern  ", style="bold") if number == 0 else " " * 9, line)
        for number, line in enumerate(lines)
    ]


def _calls(analysis: ProfileAnalysis, top: int) -> FittingTable:
    rows = analysis.calls[:top]
    shares = ["start/stop" if row.mpi_share is None else f"{share_text(row.mpi_share):>7}" for row in rows]
    return FittingTable(
        [
            Column("call", [row.procedure for row in rows]),
            Column(
                "of MPI",
                [
                    share if row.mpi_share is None else f"{share} {_bar(row.mpi_share)}"
                    for row, share in zip(rows, shares, strict=True)
                ],
                narrow=shares,
            ),
            Column("of run", [share_text(row.run_share) for row in rows], right=True),
            Column("calls", [_called(row) for row in rows], right=True),
            Column("total", [_total(row) for row in rows], right=True),
            Column("mean", [time_text(row.mean_ns) for row in rows], right=True, importance=2),
            Column("longest", [time_text(row.longest_ns) for row in rows], right=True, importance=1),
            Column("slowest/\nmean rank", [f"{row.imbalance:.2f}" for row in rows], right=True, importance=3),
            Column("slowest rank,\nimbalance", [_slowest(row) for row in rows], right=True, importance=1),
            Column("bytes", [_bytes(row.bytes) for row in rows], right=True, importance=4),
        ],
        title="time per MPI call",
        remark=_rest(len(analysis.calls) - top),
    )


def _slowest(row: CallRow) -> str:
    """Who, and how much of its time is imbalance."""
    return f"{'all' if row.slowest is None else row.slowest}, {share_text(row.lost)}"


def _called(row: CallRow) -> str:
    return count_text(row.calls) + (f" ({count_text(row.misses)} misses)" if row.misses else "")


def _total(row: CallRow) -> str:
    return time_text(row.time_ns) + (f" + {time_text(row.polling_ns)} polling" if row.polling_ns else "")


def _bytes(size_bytes: int) -> str:
    return bytes_text(size_bytes) if size_bytes else ""


def _sites(analysis: ProfileAnalysis, top: int) -> FittingTable:
    rows = analysis.sites[:top]
    return FittingTable(
        [
            Column(
                "function",
                [row.where + (" (program changed since)" if row.changed else "") for row in rows],
                wrap=True,
            ),
            Column("call", [row.procedure for row in rows]),
            Column("calls", [count_text(row.calls) for row in rows], right=True, importance=3),
            Column("total", [time_text(row.time_ns) for row in rows], right=True),
            Column("bytes", [_bytes(row.bytes) for row in rows], right=True, importance=2),
            Column("ranks", [str(row.ranks) for row in rows], right=True, importance=1),
        ],
        title="where MPI is called from",
        remark=_rest(len(analysis.sites) - top),
    )


def _ranks(analysis: ProfileAnalysis) -> FittingTable:
    rows = _worth_showing(analysis.ranks)
    title = f"ranks: slowest over mean time in MPI {analysis.imbalance:.2f}"
    if len(rows) < len(analysis.ranks):
        title += f" ({len(rows)} of {len(analysis.ranks)} shown: unfinished, least and most time in MPI)"
    ended = [Text(_ended(row), style="" if row.ending == "finalized" else "bold red") for row in rows]
    return FittingTable(
        [
            Column("rank", [str(row.rank) for row in rows]),
            Column(
                "in MPI",
                [f"{share_text(row.share):>7} {_bar(row.share)} {time_text(row.mpi_ns)}" for row in rows],
                narrow=[f"{share_text(row.share):>7} {time_text(row.mpi_ns)}" for row in rows],
            ),
            Column("ended", ended),
            Column("host", [row.host for row in rows], importance=1),
            Column(
                "may run on", [row.cpus + (" (moved)" if row.moved else "") for row in rows], importance=2
            ),
            Column("sent", [bytes_text(row.sent_bytes) for row in rows], right=True, importance=4),
            Column("received", [bytes_text(row.received_bytes) for row in rows], right=True, importance=4),
            Column("records", [count_text(row.records) for row in rows], right=True, importance=3),
        ],
        title=title,
    )


def _worth_showing(ranks: Sequence[RankRow]) -> list[RankRow]:
    if len(ranks) <= FEW_RANKS:
        return list(ranks)
    unfinished = [row for row in ranks if row.ending != "finalized"][: FEW_RANKS // 2]
    by_time = sorted(ranks, key=lambda row: (row.mpi_ns, row.rank))
    few = FEW_RANKS // 4
    chosen = {row.rank for row in (*unfinished, *by_time[:few], *by_time[-few:])}
    return [row for row in ranks if row.rank in chosen]


def _ended(row: RankRow) -> str:
    words = {"finalized": "finished", "running": "did not finish", "missing": "no trace"}
    return words.get(row.ending) or f"aborted ({row.abort_code})"


def _sections(rows: Sequence[SectionRow], title: str) -> FittingTable:
    names = [row.name or "(before the first)" for row in rows]
    moved = [
        ("sent", [row.sent_bytes for row in rows]),
        ("collectives", [row.collective_bytes for row in rows]),
        ("one-sided", [row.one_sided_bytes for row in rows]),
        ("files", [row.file_bytes for row in rows]),
    ]
    return FittingTable(
        [
            Column("name", names, wrap=True),
            Column("entered", [_entered(row) for row in rows], right=True, importance=2),
            Column("time, mean", [time_text(row.wall_ns) for row in rows], right=True),
            Column(
                "longest (rank)",
                [f"{time_text(row.longest_ns)} ({row.slowest})" for row in rows],
                right=True,
                importance=3,
            ),
            Column("in MPI", [f"{share_text(row.share)}" for row in rows], right=True),
            Column("calls", [count_text(row.calls) for row in rows], right=True, importance=1),
            *(
                Column(name, [_bytes(value) for value in values], right=True, importance=1)
                for name, values in moved
                if any(values)
            ),
        ],
        title=title,
    )


def _entered(row: SectionRow) -> str:
    return count_text(row.entered) + (f" ({row.unclosed} not left)" if row.unclosed else "")


def _other(analysis: ProfileAnalysis) -> FittingTable:
    other = analysis.other
    rows = [
        ("put", count_text(other.put_count), other.put_bytes),
        ("get", count_text(other.get_count), other.get_bytes),
        ("read from files", "", other.read_bytes),
        ("written to files", "", other.written_bytes),
    ]
    rows = [row for row in rows if row[1] not in ("", "0") or row[2]]
    return FittingTable(
        [
            Column("what", [row[0] for row in rows]),
            Column("operations", [row[1] for row in rows], right=True),
            Column("bytes", [bytes_text(row[2]) for row in rows], right=True),
        ],
        title="one-sided and files",
    )


def _sizes(analysis: ProfileAnalysis) -> FittingTable:
    rows = analysis.sizes
    calls = [count_text(row.collective_calls) if row.collective_calls else "" for row in rows]
    collective = [bytes_text(row.collective_bytes) if row.collective_calls else "" for row in rows]
    return FittingTable(
        [
            Column("size", [size_range_text(row.low_bytes, row.high_bytes) for row in rows]),
            Column(
                "messages", [count_text(row.messages) if row.messages else "" for row in rows], right=True
            ),
            Column("bytes", [bytes_text(row.bytes) if row.messages else "" for row in rows], right=True),
            Column("collective calls", calls, right=True, importance=2),
            Column("bytes", collective, right=True, importance=1),
        ],
        title="message sizes",
    )


def _datatypes(analysis: ProfileAnalysis, top: int) -> FittingTable:
    rows = analysis.datatypes[:top]
    return FittingTable(
        [
            Column("datatype", [row.name for row in rows]),
            Column(
                "messages", [count_text(row.messages) if row.messages else "" for row in rows], right=True
            ),
            Column(
                "elements",
                [count_text(row.elements) if row.messages else "" for row in rows],
                right=True,
                importance=1,
            ),
            Column("bytes", [_bytes(row.bytes) for row in rows], right=True),
            Column(
                "collective calls",
                [count_text(row.collective_calls) if row.collective_calls else "" for row in rows],
                right=True,
                importance=2,
            ),
            Column("bytes", [_bytes(row.collective_bytes) for row in rows], right=True, importance=1),
        ],
        title="datatypes",
        remark=_rest(len(analysis.datatypes) - top),
    )


def _accelerated(analysis: ProfileAnalysis) -> FittingTable:
    rows = analysis.accelerated
    return FittingTable(
        [
            Column("call", [row.procedure for row in rows]),
            Column("taken", [count_text(row.taken) for row in rows], right=True),
            Column("passed on", [count_text(row.passed_on) for row in rows], right=True),
            Column("why", [reasons_text(row) for row in rows], wrap=True),
        ],
        title="collectives by corewise",
    )


def reasons_text(row: AcceleratedRow) -> str:
    """Why calls were passed on; of several reasons how many for each."""
    if len(row.reasons) == 1:
        return row.reasons[0].why
    return "; ".join(f"{reason.why} ({count_text(reason.calls)})" for reason in row.reasons)


def _bar(share: float) -> str:
    """A bar of eighths; a share over 1 (several threads) fills it."""
    eighths = round(min(max(share, 0.0), 1.0) * _BAR * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + " ▏▎▍▌▋▊▉"[rest]).strip().ljust(_BAR)


def library_text(library: str) -> str:
    """What MPI_Get_library_version says, as far as it names the library: MPICH goes on for five lines."""
    first = next(iter(library.splitlines()), "")
    return " ".join(first.split(",")[0].split())


def _rest(hidden: int) -> str:
    return f"{hidden} more rows: --top" if hidden > 0 else ""
