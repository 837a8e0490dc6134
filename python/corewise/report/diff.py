"""A comparison of profiles for people, and as plain rows.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from rich.console import RenderableType
from rich.text import Text

from corewise.analysis.profile.diff import Change, DiffRow, ProfileDiff
from corewise.data.quantities import bytes_text, count_text, share_text, time_text
from corewise.report.layout import Column, FittingTable, Hanging


def parts(diff: ProfileDiff, top: int) -> list[RenderableType]:
    """For the terminal: what was compared, the whole run, procedures, places, pairs."""
    shown: list[RenderableType] = [
        Hanging(Text("before  ", style="bold"), Text(", ".join(diff.names[0]))),
        Hanging(Text("after   ", style="bold"), Text(", ".join(diff.names[1]))),
        *(Hanging("! ", Text(note, style="yellow")) for note in diff.notes),
        "",
        _whole(diff),
        *_patterns(diff),
        "",
        _table(diff.calls, top, "per MPI procedure, largest change of time first"),
    ]
    if diff.sites:
        shown += ["", _table(diff.sites, top, "per place that calls MPI", places=True)]
    if diff.pairs:
        shown += ["", _pairs(diff, top)]
    elif diff.matrix is not None:
        shown += ["", Text("matrix: no pair of ranks changed")]
    return shown


def _whole(diff: ProfileDiff) -> FittingTable:
    rows: list[tuple[str, Change, Callable[[float], str]]] = [
        ("wall time", diff.wall_ns, time_text),
        ("time in MPI, mean of ranks", diff.mpi_ns, time_text),
        ("share of the run in MPI", diff.mpi_share, share_text),
        ("messages", diff.messages, count_text),
        ("bytes sent", diff.bytes, bytes_text),
        ("bytes of collectives (model)", diff.collective_bytes, bytes_text),
    ]
    ranks = (
        f"{diff.ranks[0]} ranks"
        if diff.ranks[0] == diff.ranks[1]
        else f"{diff.ranks[0]} → {diff.ranks[1]} ranks"
    )
    return FittingTable(
        [
            Column("whole run", [name for name, _, _ in rows]),
            Column("before", [_value(each, text, 0) for _, each, text in rows], right=True),
            Column("after", [_value(each, text, 1) for _, each, text in rows], right=True),
            Column("change", [_change(each, text) for _, each, text in rows], right=True),
        ],
        title=ranks,
    )


def _patterns(diff: ProfileDiff) -> list[RenderableType]:
    before, after = (" or ".join(names) for names in diff.patterns)
    if diff.patterns[0] == diff.patterns[1]:
        return [Hanging(Text("pattern  ", style="bold"), Text(f"the same: {before}"))]
    return [
        Hanging(Text("pattern  ", style="bold"), Text(f"before: {before}")),
        Hanging(" " * 9, Text(f"after:  {after}")),
    ]


def _table(rows: Sequence[DiffRow], top: int, title: str, places: bool = False) -> FittingTable:
    shown = rows[:top]
    columns = [Column("function", [row.where for row in shown], wrap=True)] if places else []
    columns += [
        Column("call", [row.procedure for row in shown]),
        Column("time before", [_value(row.time_ns, time_text, 0) for row in shown], right=True, importance=4),
        Column("after", [_value(row.time_ns, time_text, 1) for row in shown], right=True, importance=4),
        Column("change", [_change(row.time_ns, time_text) for row in shown], right=True),
        Column("calls before", [_value(row.calls, count_text, 0) for row in shown], right=True, importance=1),
        Column("change", [_change(row.calls, count_text) for row in shown], right=True, importance=3),
        Column("bytes before", [_value(row.bytes, bytes_text, 0) for row in shown], right=True, importance=1),
        Column("change", [_change(row.bytes, bytes_text) for row in shown], right=True, importance=2),
    ]
    return FittingTable(columns, title=title, remark=_rest(len(rows) - top))


def _pairs(diff: ProfileDiff, top: int) -> FittingTable:
    shown = diff.pairs[:top]
    return FittingTable(
        [
            Column("pair", [f"{row.sender} → {row.receiver}" for row in shown]),
            Column("bytes before", [_value(row.bytes, bytes_text, 0) for row in shown], right=True),
            Column("after", [_value(row.bytes, bytes_text, 1) for row in shown], right=True),
            Column("change", [_change(row.bytes, bytes_text) for row in shown], right=True),
            Column(
                "messages", [_change(row.messages, count_text) for row in shown], right=True, importance=1
            ),
        ],
        title=f"pairs of ranks: {count_text(len(diff.pairs))} changed",
        remark=_rest(len(diff.pairs) - top),
    )


def _value(each: Change, text: Callable[[float], str], side: int) -> str:
    """The mean, and how far the profiles of the side lie apart where there are several."""
    found = (each.before, each.after)[side]
    if found.least == found.most:
        return text(found.mean)
    return f"{text(found.mean)} ({text(found.least)} .. {text(found.most)})"


def _change(each: Change, text: Callable[[float], str]) -> Text:
    """``+3.1 ms (+12.0 %)``; bold where it stands out of the spread."""
    difference = each.difference
    if difference == 0:
        return Text("=", style="dim")
    part = f" ({100 * (each.ratio - 1):+.1f} %)" if each.ratio is not None else " (new)"
    line = Text(f"{'+' if difference > 0 else '-'}{text(abs(difference))}{part}")
    if each.stands_out is not None:
        line.append(" *" if each.stands_out else " ~")
        line.stylize("bold" if each.stands_out else "dim")
    return line


def legend(diff: ProfileDiff) -> Text | None:
    """What the marks mean, where there are any."""
    if diff.wall_ns.stands_out is None:
        return None
    return Text("* no value of one side lies within the other's; ~ the sides overlap", style="dim")


def _rest(hidden: int) -> str:
    return f"{count_text(hidden)} more rows: --top" if hidden > 0 else ""


def rows(diff: ProfileDiff, top: int) -> list[dict[str, object]]:
    """One row per MPI procedure."""
    return [asdict(row) for row in diff.calls[:top]]


def fields(diff: ProfileDiff, top: int) -> dict[str, object]:
    """Everything beside the rows."""
    whole = ("wall_ns", "mpi_ns", "mpi_share", "bytes", "messages", "collective_bytes")
    return {
        "before": list(diff.names[0]),
        "after": list(diff.names[1]),
        "ranks": list(diff.ranks),
        "patterns": [list(names) for names in diff.patterns],
        **{name: asdict(getattr(diff, name)) for name in whole},
        "sites": [asdict(row) for row in diff.sites[:top]],
        "pairs": [asdict(row) for row in diff.pairs[:top]],
        "pairs_changed": len(diff.pairs),
        "notes": list(diff.notes),
    }
