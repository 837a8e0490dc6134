"""What the page of a profile shows, read from its folder: for `corewise report` and `corewise advise`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from corewise.base import late
from corewise.cli import console, pages

with late.imports():
    from corewise._core import Machine
    from corewise.analysis.profile import collectives
    from corewise.analysis.profile.call_graph import call_tree
    from corewise.analysis.profile.findings import Run
    from corewise.analysis.profile.levels import rank_places
    from corewise.analysis.profile.rows import ProfileAnalysis
    from corewise.analysis.profile.timeline import read_timeline
    from corewise.data.events import Selection, load_events
    from corewise.data.machines import HOST, load_machine
    from corewise.data.tuned_hosts import HostCollectives, known_collectives, load_host_tuning
    from corewise.report.page.profile import ProfileView
    from corewise.report.page.shell import Section


@dataclass(frozen=True)
class PageOptions:
    """What was asked of the page.

    Attributes
    ----------
    file : Path
    selection : Selection
        Of the timeline.
    tuning : Path or None
        What is advised on collectives by.
    """

    file: Path
    selection: Selection = field(default_factory=lambda: Selection())
    tuning: Path | None = None


def profile_view(source: Path, run: Run, machine: Machine | None, asked: PageOptions) -> ProfileView:
    """Everything of a profile that only its page shows, beside what the run's analysis holds already."""
    analysis = run.analysis
    places = rank_places(analysis.world, machine, partial(load_machine, HOST))
    view = ProfileView(analysis, places, study=run.study, waits=run.waits, written=pages.written_now())
    if analysis.empty:
        return view
    with console.progress_bar("reading calls and messages") as advance:
        events = load_events(source, asked.selection, progress=lambda share: advance(share / 2))
        reader = collectives.CollectiveReader(events.names, events.communicators)
        timeline = read_timeline(events, [reader.add], lambda share: advance(0.5 + share / 2))
    taken = [row.procedure for row in analysis.accelerated if row.taken]
    tunings = _tunings(analysis, asked.tuning)
    found = reader.rows(taken, tunings)
    figure = collectives.figure(found)
    return replace(
        view,
        timeline=timeline,
        collectives=found,
        tuned_ranks=tuple(sorted({row.ranks for each in tunings for row in each.tuning.rows})),
        collective_chart=None if figure is None else pages.chart(figure),
        call_graph=_call_graph(analysis),
    )


def _tunings(analysis: ProfileAnalysis, tuning: Path | None) -> list[HostCollectives]:
    """By which tables collectives are advised: the given one, or the shipped ones of the run's MPI."""
    if tuning is not None:
        return [load_host_tuning(tuning)]
    return known_collectives(analysis.profile.meta.mpi_name)


def _call_graph(analysis: ProfileAnalysis) -> Section | None:
    """None where calls of MPI would stand alone, or the graph was not read: the tab Calls has those."""
    if analysis.profile.calls is None or not (analysis.functions or analysis.regions):
        return None
    return pages.call_graph_section(call_tree(analysis.profile), "time")
