"""The page of a profile: a section per question.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from corewise.analysis.placement.comparison import PlacementStudy
from corewise.analysis.profile.collectives import CollectiveSize
from corewise.analysis.profile.findings import Findings
from corewise.analysis.profile.levels import RankPlaces
from corewise.analysis.profile.rows import ProfileAnalysis
from corewise.analysis.profile.timeline import Timeline
from corewise.analysis.profile.waits import WaitsSummary
from corewise.report.page import matrix as matrix_section
from corewise.report.page import placement as placement_section
from corewise.report.page import timeline as timeline_section
from corewise.report.page.shell import Badge, Page, Section, fill
from corewise.report.terminal import efficiency_text, library_text

MOST_ROWS = 400
"""Of the table of ranks: those beyond are left out and counted."""
_REMARK = (
    "Point-to-point and one-sided volumes are observed; collective volumes are a model of who needs whose "
    "bytes."
)
_TABS = {
    "late-rank": "waits", "imbalance": "waits", "late-sender": "waits", "late-receiver": "waits",
    "late-at-collectives": "waits", "small-messages": "calls", "collective-algorithm": "collectives",
    "placement": "machine", "placement-best": "machine", "more-ranks-than-cores": "ranks", "sharing": "ranks",
    "ignored-binding": "ranks", "unbound": "ranks", "communication": "calls",
}  # fmt: skip
"""Where a kind of finding is seen."""
_TUNE = (
    "corewise bench collectives --tune FOLDER measures one, and "
    "corewise report --accelerate-tuning FILE reads it."
)


@dataclass(frozen=True)
class ProfileView:
    """What a page of a profile shows. Parts that are None are left out.

    Attributes
    ----------
    analysis : ProfileAnalysis
    places : RankPlaces
    findings : Findings or None
        What the page opens with.
    timeline : Timeline or None
    waits : WaitsSummary or None
    collectives : tuple of CollectiveSize
    tuned_ranks : tuple of int
        For so many ranks collectives are tuned in the tables of the run's MPI; none where there is no table.
    collective_chart : Markup or None
        Drawn by `corewise.plots`.
    call_graph : Section or None
        Drawn by `corewise.plots`.
    study : PlacementStudy or None
        Placements on a machine, if one was given and there is anything to place.
    placement_note : str
        What the placements leave out, or why there are none.
    written : str
        When.
    """

    analysis: ProfileAnalysis
    places: RankPlaces
    findings: Findings | None = None
    timeline: Timeline | None = None
    waits: WaitsSummary | None = None
    collectives: tuple[CollectiveSize, ...] = ()
    tuned_ranks: tuple[int, ...] = ()
    collective_chart: Section | None = None
    call_graph: Section | None = None
    study: PlacementStudy | None = None
    placement_note: str = ""
    written: str = ""


def page(view: ProfileView) -> Page:
    """The page of a profile."""
    analysis = view.analysis
    meta = analysis.profile.meta
    size = analysis.world.size
    mpi = f"{meta.mpi_name} {meta.mpi_version}".strip() or library_text(analysis.world.library)
    badges = [Badge(analysis.ending.statement, analysis.ending.finished)]
    if analysis.empty:
        badges.append(Badge("0 events seen: the ranks started, but no MPI call was recorded", False))
    return Page(
        kind="report",
        title=" ".join(meta.program) or analysis.profile.name,
        facts=(f"{size} rank{'' if size == 1 else 's'}", mpi, meta.host, meta.started),
        sections=tuple(_sections(view)),
        badges=tuple(badges),
        warnings=analysis.warnings,
        written=view.written,
        remark=_REMARK,
    )


def _efficiency(findings: Findings | None) -> str:
    found = None if findings is None else findings.efficiency
    return "" if found is None else efficiency_text(found)


def _sections(view: ProfileView) -> Iterator[Section]:
    yield _plain(view, "overview", "Overview")
    if not view.analysis.empty:
        if view.timeline is not None:
            yield timeline_section.section(view.timeline)
        yield matrix_section.section(view.analysis.world, view.places)
        yield _plain(view, "calls", "Calls")
        if view.waits is not None:
            yield Section("waits", "Waits", fill("profile/waits.html.j2", w=view.waits))
        if view.call_graph is not None:
            yield view.call_graph
        if view.collectives or view.analysis.accelerated:
            yield _collectives(view)
    yield from _placement(view)
    if not view.analysis.empty:
        yield _plain(view, "ranks", "Ranks")


def _plain(view: ProfileView, name: str, title: str) -> Section:
    analysis = view.analysis
    body = fill(
        f"profile/{name}.html.j2",
        a=analysis,
        findings=None if analysis.empty else view.findings,
        efficiency=_efficiency(view.findings),
        tabs=_TABS,
        ranks=analysis.ranks[:MOST_ROWS],
        hidden_ranks=max(0, len(analysis.ranks) - MOST_ROWS),
        most_messages=max((row.messages for row in analysis.sizes), default=0) or 1,
        most_calls=max((row.collective_calls for row in analysis.sizes), default=0) or 1,
    )
    return Section(name, title, body)


def _collectives(view: ProfileView) -> Section:
    chart = view.collective_chart
    body = fill(
        "profile/collectives.html.j2",
        a=view.analysis,
        collectives=view.collectives,
        collective_chart=None if chart is None else chart.body,
        advice_note=_advice_note(view.collectives, view.tuned_ranks),
    )
    return Section(
        "collectives",
        "Collectives",
        body,
        () if chart is None else chart.scripts,
        {} if chart is None else chart.data,
    )


def _advice_note(rows: tuple[CollectiveSize, ...], tuned_ranks: tuple[int, ...]) -> str:
    hosts = sorted({row.measured_on for row in rows if row.measured_on})
    if not hosts and not tuned_ranks:
        return f"There is no tuning of this MPI here: {_TUNE}"
    if not hosts:
        known = ", ".join(map(str, tuned_ranks))
        ranks = ", ".join(map(str, sorted({row.ranks for row in rows})))
        return (
            f"The tuning of this MPI has none of these calls: it knows blocking collectives on {known} "
            f"ranks, and these are on {ranks}: {_TUNE}"
        )
    return (
        f"Advised is the winner of the table measured on {', '.join(hosts)} for so many ranks and bytes, and "
        "what the MPI took there over what the winner took: a prediction where the processor is another one. "
        "corewise run --accelerate takes these calls over."
    )


def _placement(view: ProfileView) -> Iterator[Section]:
    if view.study is not None:
        yield placement_section.section(view.study, view.placement_note)
    elif view.placement_note:
        text = Markup('<section class="card"><h2>Placement</h2><p class="soft">{}.</p></section>')
        yield Section("machine", "Machine", text.format(view.placement_note))
