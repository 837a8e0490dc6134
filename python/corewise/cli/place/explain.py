"""How `corewise place --explain` reads: links and messages, rules of thumb, the best single step.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence

from corewise.base import late

with late.imports():
    from rich.console import RenderableType
    from rich.text import Text

    from corewise._core import Machine
    from corewise.analysis.placement.comparison import names_of
    from corewise.analysis.placement.explanation import BusyLink, Explanation
    from corewise.analysis.placement.rules import LARGE_BYTES, MOST_HALF_WAY, Break, PhaseRules
    from corewise.data.quantities import bytes_text, number_text
    from corewise.report.layout import Column, FittingTable, Hanging

SHOWN_LINKS = 6
SHOWN_MESSAGES = 8
SHOWN_BREAKS = 3
_RULES = {
    1: "no more than {limit} overlapping messages in one direction",
    2: "as many messages one way as the other",
    3: "no assumption on messages that go half-way round",
}


def views(explanation: Explanation, which: str, machine: Machine, unit: str) -> list[RenderableType]:
    """Everything, one part below the other."""
    units = " ".join(names_of(machine, explanation.unit_of_rank))
    found: list[RenderableType] = [
        Text(f"why the {which} placement costs what it costs", style="bold"),
        Hanging("units of rank 0, 1, ...: ", Text(units)),
        *_links(explanation),
        *_step(explanation, unit),
    ]
    if explanation.rules:
        found += ["", *_rules(explanation)]
    return found


def _links(explanation: Explanation) -> list[RenderableType]:
    links = explanation.links
    if not links:
        return ["no link carries anything"]
    shown = links[:SHOWN_LINKS]
    phases = [Column("phase", [link.phase for link in shown], importance=1, wrap=True)]
    columns = [
        *(phases if len({link.phase for link in links}) > 1 else []),
        Column("busiest link", [link.link for link in shown]),
        Column("ns", [number_text(link.time_ns, 6) for link in shown], right=True),
        Column("load", [bytes_text(link.bytes) for link in shown], right=True, importance=2),
        Column("messages across it (sender->receiver)", [_crossings(link) for link in shown], wrap=True),
    ]
    more = f"{len(links) - len(shown)} more links as busy" if len(links) > len(shown) else ""
    return [FittingTable(columns, remark=more)]


def _crossings(link: BusyLink) -> str:
    shown = [f"{each.sender}->{each.receiver} {bytes_text(each.bytes)}" for each in link.crossings]
    rest = len(shown) - SHOWN_MESSAGES
    return ", ".join(shown[:SHOWN_MESSAGES]) + (f" and {rest} more" if rest > 0 else "")


def _step(explanation: Explanation, unit: str) -> list[RenderableType]:
    change = explanation.change
    if change is None:
        return [f"no single step is better: {explanation.looked_at} swaps and moves looked at"]
    return [
        f"best single step of {explanation.looked_at}: {change.text}: "
        f"{number_text(change.before, 6)} -> {number_text(change.after, 6)} {unit}"
    ]


def _rules(explanation: Explanation) -> list[RenderableType]:
    found: list[RenderableType] = [Text("rules of thumb (paper 000, section 4)", style="bold")]
    broken = 0
    for pattern, phase in explanation.rules:
        found += _phase(f"{pattern} " if pattern else "", phase, len(explanation.rules) > 1)
        broken += len(phase.breaks)
    if not broken:
        found.append("no rule is broken")
    return found


def _phase(pattern: str, phase: PhaseRules, named: bool) -> list[RenderableType]:
    label = f"{pattern}{phase.phase}: " if named or pattern else ""
    if not phase.messages:
        text = f"all {phase.short} messages are under {bytes_text(LARGE_BYTES)}: the rules do not matter"
        return [f"{label}{text if phase.short else 'no messages'}"]
    counts = [f"{phase.clockwise} clockwise", f"{phase.counter_clockwise} counter-clockwise"]
    if phase.half_way:
        counts.append(f"{phase.half_way} half-way round")
    most = f"at most {phase.overlap} meet on a link"
    if phase.overlap_at_worst > phase.overlap:
        most += f" ({phase.overlap_at_worst} if half-way messages go the wrong way)"
    if phase.half_way > MOST_HALF_WAY:
        most += (
            f"; of the half-way messages' directions {phase.choices} choices were drawn, not all looked at"
        )
    lines: list[RenderableType] = [Hanging(f"{label}", Text(f"{', '.join(counts)}; {most}"))]
    for rule, text in _RULES.items():
        broken = [each for each in phase.breaks if each.rule == rule]
        lines += _broken(rule, text.format(limit=phase.limit), broken)
    return lines


def _broken(rule: int, text: str, broken: Sequence[Break]) -> list[RenderableType]:
    """One rule and the sets of messages that break it."""
    if not broken:
        return []
    words = Text(f"{text}: {broken[0].text}")
    for each in broken[:SHOWN_BREAKS]:
        words.append(f"\n{_who(each)}")
    if len(broken) > SHOWN_BREAKS:
        words.append(f"\nand by {len(broken) - SHOWN_BREAKS} more sets of messages")
    return [Hanging(Text(f"  rule {rule}: ", style="bold red"), words)]


def _who(broken: Break) -> str:
    shown = [f"{each} ({each.source} to {each.target})" for each in broken.messages[:SHOWN_MESSAGES]]
    rest = len(broken.messages) - len(shown)
    more = f" and {rest} more" if rest > 0 else ""
    return f"by {', '.join(shown)}{more}{_where(broken.links)}"


def _where(links: Sequence[str]) -> str:
    if not links:
        return ""
    return f"; on {', '.join(links[:3])}" + (f" and {len(links) - 3} more" if len(links) > 3 else "")
