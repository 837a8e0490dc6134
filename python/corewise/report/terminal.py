"""A report as Rich renderables, in the order in which a user asks.

What ran and how it ended, who talked to whom, in which pattern, where the time went, and what a better
placement would give.

Pictures (the heat map, the machine) are handed in: drawing them belongs to `corewise.plots`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from corewise.analysis.placement import PlacementStudy
from corewise.analysis.profile import ProfileAnalysis, RankRow
from corewise.report.text import bytes_text, count_text, share_text, size_range_text, time_text

FEW_RANKS = 16
"""Up to so many ranks each has its own line; of more, those that stand out."""
_BAR = 24


def render(
    analysis: ProfileAnalysis, top: int, heat_map: RenderableType, placement: Sequence[RenderableType] = ()
) -> list[RenderableType]:
    """The whole report.

    Parameters
    ----------
    analysis : ProfileAnalysis
        What to show.
    top : int
        Rows of the longer tables.
    heat_map : renderable
        The matrix as a picture.
    placement : sequence of renderables
        From `placement_parts`; empty where no machine was given.
    """
    parts: list[RenderableType] = [_heading(analysis)]
    if analysis.empty:
        parts.append(Text("0 events seen: the ranks started, but no MPI call was recorded", style="bold red"))
        return parts
    parts += ["", heat_map, Text(analysis.consistency.statement, style="dim"), "", _pattern(analysis)]
    parts += ["", _calls(analysis, top), "", _sites(analysis, top), "", _ranks(analysis)]
    if analysis.sizes:
        parts += ["", _sizes(analysis)]
    if placement:
        parts += ["", *placement]
    return parts


def placement_parts(study: PlacementStudy, drawing: RenderableType) -> list[RenderableType]:
    """The placement table and the machine with the best placement on it."""
    title = Text("placement", style="bold")
    title.append(f" on {study.machine.name}, a prediction from link loads: {study.statement}", style="none")
    table = Table(
        "placement", "busiest link ns", "load", "link", "hop-bytes", "ratio", "unit of rank 0, 1, ..."
    )
    for row in study.rows:
        table.add_row(
            row.which,
            f"{row.bottleneck_ns:.6g}",
            bytes_text(row.bottleneck_bytes),
            row.bottleneck_link or "none",
            count_text(row.hop_bytes),
            f"{row.ratio:.3f}",
            " ".join(study.machine.units[unit].name for unit in row.unit_of_rank),
        )
    return [title, table, drawing]


def _heading(analysis: ProfileAnalysis) -> Text:
    meta = analysis.profile.meta
    text = Text(" ".join(meta.program) or str(analysis.profile.path), style="bold")
    mpi = f"{meta.mpi_name} {meta.mpi_version}".strip() or analysis.world.library.split(",")[0] or "MPI"
    ranks = "1 rank" if analysis.world.size == 1 else f"{analysis.world.size} ranks"
    facts = [ranks, mpi, _hosts(analysis)]
    if meta.started:
        facts.append(meta.started)
    text.append(f"\n{', '.join(fact for fact in facts if fact)}", style="none")
    style = "green" if analysis.ending.finished else "bold red"
    text.append(f"\n{analysis.ending.statement}", style=style)
    text.append(
        f"\nwall {time_text(analysis.wall_ns)}, of it {time_text(analysis.startup_ns)} starting and stopping "
        f"MPI; {count_text(analysis.records)} records",
        style="none",
    )
    for warning in analysis.warnings:
        text.append(f"\n! {warning}", style="yellow")
    return text


def _hosts(analysis: ProfileAnalysis) -> str:
    hosts = sorted({row.host for row in analysis.ranks if row.host})
    return f"on {hosts[0]}" if len(hosts) == 1 else f"on {len(hosts)} hosts" if hosts else ""


def _pattern(analysis: ProfileAnalysis) -> Text:
    summary = analysis.summary
    text = Text("pattern", style="bold")
    text.append(
        f"  {count_text(summary.messages)} messages, {bytes_text(summary.bytes)} between "
        f"{summary.pairs} pairs",
        style="none",
    )
    if summary.messages:
        text.append("\n         ")
        text.append(summary.label, style="bold green" if summary.best else "yellow")
        others = [match for match in summary.matches if match is not summary.best][:2]
        if others:
            names = "; ".join(f"{match.label} ({match.degree:.3f})" for match in others)
            text.append(f"\n         next: {names}", style="dim")
    if analysis.collective_bytes:
        text.append(
            f"\n         collectives, as modelled: {bytes_text(analysis.collective_bytes)}", style="none"
        )
    if analysis.one_sided_bytes:
        text.append(f"\n         one-sided: {bytes_text(analysis.one_sided_bytes)}", style="none")
    return text


def _calls(analysis: ProfileAnalysis, top: int) -> Table:
    table = Table(title="time per MPI call", title_style="bold", title_justify="left")
    for name in ("call", "share"):
        table.add_column(name)
    for name in ("calls", "total", "mean", "longest", "slowest/mean rank", "bytes"):
        table.add_column(name, justify="right")
    for row in analysis.calls[:top]:
        misses = f" ({count_text(row.misses)} misses)" if row.misses else ""
        table.add_row(
            row.procedure,
            "start/stop" if row.share is None else f"{share_text(row.share):>7} {_bar(row.share)}",
            count_text(row.calls) + misses,
            time_text(row.time_ns) + (f" + {time_text(row.polling_ns)} polling" if row.polling_ns else ""),
            time_text(row.mean_ns),
            time_text(row.longest_ns),
            f"{row.imbalance:.2f}",
            bytes_text(row.bytes) if row.bytes else "",
        )
    _say_rest(table, len(analysis.calls) - top)
    return table


def _sites(analysis: ProfileAnalysis, top: int) -> Table:
    table = Table(title="where MPI is called from", title_style="bold", title_justify="left")
    table.add_column("function", overflow="fold")
    table.add_column("call")
    for name in ("calls", "total", "bytes", "ranks"):
        table.add_column(name, justify="right")
    for row in analysis.sites[:top]:
        table.add_row(
            row.where + (" (program changed since)" if row.changed else ""),
            row.procedure,
            count_text(row.calls),
            time_text(row.time_ns),
            bytes_text(row.bytes) if row.bytes else "",
            str(row.ranks),
        )
    _say_rest(table, len(analysis.sites) - top)
    return table


def _ranks(analysis: ProfileAnalysis) -> Table:
    shown = _worth_showing(analysis.ranks)
    title = f"ranks: slowest over mean time in MPI {analysis.imbalance:.2f}"
    if len(shown) < len(analysis.ranks):
        title += f" ({len(shown)} of {len(analysis.ranks)} shown: unfinished, least and most time in MPI)"
    table = Table(title=title, title_style="bold", title_justify="left")
    for name in ("rank", "in MPI", "ended", "host", "may run on"):
        table.add_column(name)
    for name in ("sent", "received", "records"):
        table.add_column(name, justify="right")
    for row in shown:
        table.add_row(
            str(row.rank),
            f"{share_text(row.share):>7} {_bar(row.share)} {time_text(row.mpi_ns)}",
            Text(_ended(row), style="" if row.ending == "finalized" else "bold red"),
            row.host,
            row.cpus + (" (moved)" if row.moved else ""),
            bytes_text(row.sent_bytes),
            bytes_text(row.received_bytes),
            count_text(row.records),
        )
    return table


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


def _sizes(analysis: ProfileAnalysis) -> Table:
    table = Table(title="message sizes", title_style="bold", title_justify="left")
    table.add_column("size")
    for name in ("messages", "bytes", "collective calls", "bytes"):
        table.add_column(name, justify="right")
    for row in analysis.sizes:
        table.add_row(
            size_range_text(row.low_bytes, row.high_bytes),
            count_text(row.messages) if row.messages else "",
            bytes_text(row.bytes) if row.messages else "",
            count_text(row.collective_calls) if row.collective_calls else "",
            bytes_text(row.collective_bytes) if row.collective_calls else "",
        )
    return table


def _bar(share: float) -> str:
    """A bar of eighths; a share over 1 (several threads) fills it."""
    eighths = round(min(max(share, 0.0), 1.0) * _BAR * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + " ▏▎▍▌▋▊▉"[rest]).strip().ljust(_BAR)


def _say_rest(table: Table, hidden: int) -> None:
    if hidden > 0:
        table.caption = f"{hidden} more rows: --top"
        table.caption_justify = "left"
