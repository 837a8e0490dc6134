"""What a pattern looks like in a few numbers and a name.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass

from corewise._core import CONVINCING_DEGREE, Match, Pattern, recognise


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
        Templates, best first.
    """

    ranks: int
    phases: int
    pairs: int
    messages: int
    bytes: int
    matches: tuple[Match, ...]

    @property
    def best(self) -> Match | None:
        """The convincing match, None where there is none."""
        if self.matches and self.matches[0].degree >= CONVINCING_DEGREE:
            return self.matches[0]
        return None

    @property
    def label(self) -> str:
        """The best match with its degree, in words."""
        if self.best is None:
            return "no known pattern"
        volumes = "" if self.best.volumes_fit else ", volumes do not fit"
        return f"{self.best.label} (degree of match {self.best.degree:.3f}{volumes})"


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
    )
