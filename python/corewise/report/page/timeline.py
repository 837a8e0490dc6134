"""The section with the timeline: calls, cells and messages as packed columns.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from markupsafe import Markup

from corewise.analysis.profile.timeline import CATEGORIES, Timeline
from corewise.data.quantities import count_text, time_text
from corewise.report.page.shell import Section, fill, least_kind, packed

_REST = "corewise report --html with --ranks, --from and --until shows more of a part"


def section(timeline: Timeline) -> Section:
    """The timeline of a selection."""
    data = {
        "data-calls": _calls(timeline),
        "data-cells": _cells(timeline),
        "data-messages": _messages(timeline),
    }
    body = fill("profile/timeline.html.j2", categories=CATEGORIES, timeline_note=note(timeline))
    return Section("timeline", "Timeline", body, ("timeline",), data)


def note(timeline: Timeline) -> str:
    """What of the run is here, and how to see the rest."""
    parts = []
    if len(timeline.shown) < timeline.ranks:
        parts.append(f"{count_text(len(timeline.shown))} of {count_text(timeline.ranks)} ranks")
    kept = len(timeline.rank)
    if timeline.complete:
        parts.append(f"all {count_text(kept)} calls")
    else:
        shortest = time_text(float(timeline.duration_ns.min())) if kept else "0 ns"
        parts.append(
            f"the {count_text(kept)} longest of {count_text(timeline.calls)} calls (from {shortest}); "
            "the others are in the shares of time behind them"
        )
    messages = timeline.messages
    if messages.too_many:
        parts.append("messages are too many to be drawn")
    elif messages.found:
        here = len(messages.sender)
        which = "all" if here == messages.found else f"the {count_text(here)} slowest of"
        parts.append(f"{which} {count_text(messages.found)} messages")
    whole = timeline.complete and not messages.too_many and len(messages.sender) == messages.found
    return f"Here: {'; '.join(parts)}." + ("" if whole else f" {_REST}.")


def _calls(timeline: Timeline) -> Markup:
    meta = {
        "ranks": timeline.ranks,
        "from": timeline.from_ns,
        "until": timeline.until_ns,
        "block": timeline.block,
        "names": list(timeline.names),
        "sites": list(timeline.sites),
        "category": list(timeline.category),
        "categories": list(CATEGORIES),
        "complete": timeline.complete,
        "phases": [list(phase) for phase in timeline.phases],
    }
    return packed(
        meta,
        {
            "rank": (least_kind(timeline.rank), timeline.rank),
            "start": ("f8", timeline.start_ns),
            "duration": ("f8", timeline.duration_ns),
            "name": (least_kind(timeline.name), timeline.name),
            "bytes": ("f8", timeline.bytes),
            "peer": ("i4", timeline.peer),
            "site": ("i4", timeline.site),
        },
    )


def _cells(timeline: Timeline) -> Markup:
    _, rows, bins = timeline.shares.shape
    return packed({"rows": rows, "bins": bins}, {"share": ("u1", timeline.shares)})


def _messages(timeline: Timeline) -> Markup:
    found = timeline.messages
    return packed(
        {"found": found.found},
        {
            "sender": (least_kind(found.sender), found.sender),
            "receiver": (least_kind(found.receiver), found.receiver),
            "sent": ("f8", found.sent_ns),
            "arrived": ("f8", found.arrived_ns),
            "bytes": ("f8", found.bytes),
        },
    )
