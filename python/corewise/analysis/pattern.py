"""What a pattern looks like in a few numbers and a name.

`summarise_pattern` serves the report and `corewise patterns show`, `name_templates` the command
`corewise patterns name`: both say what the recogniser in the C++ room `pattern` found, in the same words.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from corewise._core import (
    CONVINCING_DEGREE,
    Component,
    Match,
    Naming,
    Pattern,
    Step,
    name_pattern,
    name_phases,
    recognise,
    sequence_text,
)
from corewise.analysis.hierarchy import Hierarchy, find_hierarchy
from corewise.data.quantities import share_text

TWO_RANKS = "none is named between two ranks, where all are the same"
MOST_GROUPED = 2048
"""Ranks up to which groups with roots are looked for: that needs the dense matrix."""
MOST_DECOMPOSED_PAIRS = 4096
"""Pairs up to which a summary decomposes what no single template names; beyond, it would take seconds."""


@dataclass(frozen=True)
class PatternSummary:
    """Totals of a pattern and the templates it resembles.

    Attributes
    ----------
    ranks, phases, pairs : int
        Ranks, ordered phases, ordered pairs of ranks that exchange messages.
    messages, bytes : int
        Totals over all phases.
    matches : tuple of Match
        Templates on the ranks as they are numbered, best first.
    naming : Naming
        What the pattern is: the best single template, relabelled ranks allowed, where one convinces.
    talking : int
        Ranks that exchange messages with another.
    """

    ranks: int
    phases: int
    pairs: int
    messages: int
    bytes: int
    matches: tuple[Match, ...]
    naming: Naming
    talking: int

    @property
    def telling(self) -> bool:
        """Whether a name says anything: between two ranks a ring, a line and a tree are the same."""
        return self.talking > 2

    @property
    def best(self) -> Match | None:
        """The convincing match (of the largest component), None where there is none."""
        if not self.naming.components or self.talking == 2:
            return None
        found = self.naming.components[0].match
        first = self.matches[0] if self.matches else None
        # The list's own object where it is the same template: callers leave it out of the runners-up.
        return first if first is not None and first.label == found.label else found

    @property
    def label(self) -> str:
        """What the pattern is, in words: the match with its degree, or the components with their shares."""
        return TWO_RANKS if self.talking == 2 else naming_text(self.naming)


def naming_text(naming: Naming) -> str:
    """What a pattern is made of, in one line."""
    if not naming.components:
        return naming.label if naming.random_sparse else "no known pattern"
    if len(naming.components) == 1 and not naming.random_sparse:
        match = naming.components[0].match
        volumes = "" if match.volumes_fit else ", volumes do not fit"
        return f"{match.label} (degree of match {match.degree:.3f}{volumes})"
    parts = [f"{one.match.label} ({share_text(one.share)})" for one in naming.components]
    if naming.random_sparse:
        parts.append(
            f"random sparse, mean degree {naming.mean_degree:.1f} ({share_text(rest_share(naming))})"
        )
    return " + ".join(parts)


def rest_share(naming: Naming) -> float:
    """The unexplained share of the bytes; 0 for a pattern that moves none."""
    return naming.rest_bytes / naming.total_bytes if naming.total_bytes else 0.0


def summarise_pattern(pattern: Pattern) -> PatternSummary:
    """Counts a pattern and names it."""
    _, _, size_bytes, messages = pattern.coordinates()
    return PatternSummary(
        ranks=pattern.ranks,
        phases=len(pattern.phases),
        pairs=len(size_bytes),
        messages=int(messages.sum()),
        bytes=int(size_bytes.sum()),
        matches=tuple(recognise(pattern)),
        naming=_quick_naming(pattern, len(size_bytes)),
        talking=_talking(pattern),
    )


def _talking(pattern: Pattern) -> int:
    """Ranks that exchange messages with another."""
    senders, receivers, _, _ = pattern.coordinates()
    apart = senders != receivers
    return len({*senders[apart].tolist(), *receivers[apart].tolist()})


def _quick_naming(pattern: Pattern, pairs: int) -> Naming:
    """One template, and a decomposition only where none convinces; `name_templates` always decomposes."""
    single = name_pattern(pattern, 1)
    if single.components or single.random_sparse or pairs > MOST_DECOMPOSED_PAIRS:
        return single
    return name_pattern(pattern)


@dataclass(frozen=True)
class NamedTemplates:
    """What `corewise patterns name` says.

    Attributes
    ----------
    naming : Naming
        The summed matrix as superposed templates.
    equals : tuple of Match
        Where one template explains everything: the others that match it exactly as well.
    steps : tuple of Step
        The phases in their order, repeats folded; empty unless asked for.
    hierarchy : Hierarchy or None
        Groups with roots, where no template was named.
    telling : bool
        Whether a name says anything: not between two ranks.
    """

    naming: Naming
    equals: tuple[Match, ...]
    steps: tuple[Step, ...]
    hierarchy: Hierarchy | None = None
    telling: bool = True

    @property
    def text(self) -> str:
        """What the pattern is, in one line."""
        if not self.telling:
            return TWO_RANKS
        if self.hierarchy is None:
            return naming_text(self.naming)
        return f"{self.hierarchy.label} (degree of match {self.hierarchy.degree:.3f})"

    @property
    def sequence(self) -> str:
        """The phases in one line."""
        return sequence_text(list(self.steps))


def name_templates(pattern: Pattern, most_components: int = 4, phases: bool = False) -> NamedTemplates:
    """Names a pattern: at most so many superposed templates, and its phases where asked for."""
    naming = name_pattern(pattern, most_components)
    steps = tuple(name_phases(pattern)) if phases else ()
    if _talking(pattern) == 2:
        return NamedTemplates(naming, (), steps, telling=False)
    exact = len(naming.components) == 1 and naming.components[0].match.degree >= 1
    label = naming.components[0].match.label if exact else ""
    equals = [one for one in recognise(pattern, 1.0) if one.label != label] if exact else []
    hierarchy = None if naming.components or pattern.ranks > MOST_GROUPED else find_hierarchy(pattern)
    return NamedTemplates(naming, tuple(equals), steps, hierarchy)


def component_row(component: Component) -> dict[str, object]:
    """A component as a row of the command's JSON."""
    match = component.match
    return {
        "label": match.label,
        "family": match.family,
        "degree": match.degree,
        "share": component.share,
        "bytes": component.bytes,
        "dims": list(match.dims),
        "periodic": list(match.periodic),
        "stencil": match.stencil,
        "volumes_fit": match.volumes_fit,
        "parameters": dict(match.parameters),
        "relabelled": bool(component.positions),
        "convincing": match.degree >= CONVINCING_DEGREE,
    }


def step_row(step: Step) -> dict[str, object]:
    """A step of the phases as a nested row."""
    return {
        "times": step.times,
        "label": step.label,
        "degree": step.degree,
        "first": step.first,
        "phases": step.phases,
        "parts": [step_row(part) for part in step.parts],
    }


def relabelling_text(pattern: Pattern, naming: Naming) -> str:
    """The positions of every component's ranks as a JSON document.

    ``positions[r]`` is the number that rank r has in the component's template; where ranks were not
    relabelled it is r itself.
    """
    components = [
        {
            "label": one.match.label,
            "family": one.match.family,
            "dims": list(one.match.dims),
            "positions": list(one.positions) or list(range(pattern.ranks)),
        }
        for one in naming.components
    ]
    document = {
        "format": "corewise-relabelling",
        "version": 1,
        "ranks": pattern.ranks,
        "components": components,
    }
    return json.dumps(document) + "\n"
