"""The patterns that `corewise place` and `corewise certify` are given.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from corewise.base import late
from corewise.errors import InputError, bad_field

with late.imports():
    from corewise._core import Pattern
    from corewise.data.patterns import load_pattern_and_collectives
    from corewise.data.profile import load_profile
    from corewise.data.quantities import count_text


def load_patterns(sources: Sequence[Path], summed: bool, together: bool = False) -> tuple[list[Pattern], int]:
    """The patterns, and the bytes of collectives that profiles have beside them.

    Parameters
    ----------
    sources : sequence of Path
        Of patterns that share a placement.
    summed : bool
        All phases of a pattern as one.
    together : bool
        They are programs of their own, which need not have equally many ranks.
    """
    patterns: list[Pattern] = []
    collectives = 0
    for source in sources:
        pattern, beside = load_pattern_and_collectives(source)
        _check_messages(pattern, beside, source)
        if patterns and not together and pattern.ranks != patterns[0].ranks:
            allowed = f"{patterns[0].ranks}, the ranks of {sources[0]}, with which it shares the placement"
            raise bad_field(str(source), "ranks", pattern.ranks, allowed)
        patterns.append(pattern.summed() if summed else pattern)
        collectives += beside or 0
    return patterns, collectives


def _check_messages(pattern: Pattern, collectives: int | None, source: Path) -> None:
    """Refuses a profile whose every placement costs nothing: a proof that the best is zero says nothing."""
    if collectives is None or pattern.coordinates()[2].any():
        return
    left_out = f"; {count_text(collectives)} bytes of collectives are not considered" if collectives else ""
    ranks = load_profile(source).world.ranks
    unfinished = sum(rank.ending != "finalized" for rank in ranks)
    ended = f"; the run did not finish: {unfinished} of {len(ranks)} ranks" if unfinished else ""
    raise InputError(f"{source}: no point-to-point messages: nothing to place{left_out}{ended}")
