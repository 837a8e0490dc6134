"""The section with a placement: its table, the machine with the loads of its links before and after.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from corewise.analysis.placement.comparison import PlacementStudy
from corewise.analysis.placement.links import LinkLoads, link_loads
from corewise.report import svg
from corewise.report.page.shell import Page, Section, fill

MOST_DRAWN_UNITS = 256
_MOST_LINKS = 20
_COST_NAMES = {"flow": "flow, ns", "simulated": "simulated, ns", "distance": "distance"}


@dataclass(frozen=True)
class _Link:
    name: str
    before_ns: float
    after_ns: float


def section(study: PlacementStudy, note: str = "", source: str = "A prediction from link loads.") -> Section:
    """A study of placements.

    Parameters
    ----------
    study : PlacementStudy
        The best placement first, then those that it is compared with.
    note : str
        What the placements leave out, without a full stop.
    source : str
        A sentence on where the numbers come from.
    """
    loads = link_loads(study)
    busiest_ns = max((busy for load in loads for busy in load.busy_ns), default=0.0)
    body = fill(
        "placement.html.j2",
        study=study,
        placement_note=note,
        placement_source=source,
        cost_name=_COST_NAMES.get(study.objective, ""),
        machines=_drawn(study, loads, busiest_ns),
        others=study.rows[1:] or study.rows,
        links=_links(study, loads),
        busiest_ns=busiest_ns or 1.0,
        levels=range(1, svg.LEVELS + 1),
    )
    return Section("machine", "Machine", body)


def page(study: PlacementStudy, title: str, note: str, source: str, written: str) -> Page:
    """A page of a placement alone."""
    units = f"{study.pattern.ranks} ranks on {len(study.machine.units)} units"
    return Page(
        kind="place",
        title=title,
        facts=(units, study.machine.name, study.method),
        sections=(section(study, note, source),),
        written=written,
        remark="Loads are those of the messages between ranks along the machine's routes.",
    )


def _drawn(study: PlacementStudy, loads: tuple[LinkLoads, ...], busiest_ns: float) -> tuple[Markup, ...]:
    """The machine with the best placement, and with the others, on one colour scale; none of a large one."""
    if len(study.machine.units) > MOST_DRAWN_UNITS:
        return ()
    others = loads[1:] or loads
    return tuple(Markup(svg.machine(study.machine, part, busiest_ns)) for part in (loads[:1], others))


def _links(study: PlacementStudy, loads: tuple[LinkLoads, ...]) -> list[_Link]:
    """The links that are busiest under the best placement or the first other one."""
    after, before = loads[0].busy_ns, (loads[1:] or loads)[0].busy_ns
    rows = [_Link(link.name, before[index], after[index]) for index, link in enumerate(study.machine.links)]
    rows.sort(key=lambda row: (-max(row.before_ns, row.after_ns), row.name))
    return [row for row in rows[:_MOST_LINKS] if row.before_ns or row.after_ns]
