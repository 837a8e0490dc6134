"""Whether buffers of sent messages should take turns, and in how many bytes: measured for a tuning.

What a receiver has read from a sender's buffer stays in its cache, and a sender that packs there again must
first take every line back (``preload/packing_buffers.hpp``). Here everything is packed, with turns beside
without.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corewise.bench.pack.runs import Effort, Setting, Study, study

TURNS = (1 << 21, 1 << 20, 1 << 22)
"""Bytes that buffers may take turns in: what a receiver's own cache holds, or more.

Each must be quicker than those before it by more than the noise.
"""
SIZES = (2048, 8192, 32768, 131072, 524288)
"""Bytes of the messages, of which every other `RUN` bytes are data."""
RUN = 256
_GAIN = 1.02
"""From the smallest size on at which, and above which, turns make messages so many times as quick."""
_WORTH = 1.1
"""What turns must gain in the mean over those sizes, because the program loses cache to them."""
_BETTER = 1.05
_EFFORT = Effort(2, 3.0, 1, True)
_AGAIN = 3  # rounds


@dataclass(frozen=True)
class Turn:
    """Bytes in which buffers of sent messages take turns, and the smallest such message; 0: none do."""

    rotate: int
    least: int


def turn_launches() -> int:
    """Launches of `turn_studies`, of which `advance` is told."""
    return 2 * len(TURNS) * _EFFORT.rounds


def turn_studies(
    setting: Setting,
    program: Path,
    *,
    turns: Sequence[int] = TURNS,
    rounds: int = _EFFORT.rounds,
    limit_s: float = _EFFORT.limit_s,
    advance: Callable[[], None] = lambda: None,
) -> dict[int, Study]:
    """Messages with turns beside those without, by bytes of the turn.

    Parameters
    ----------
    setting, program : as `corewise.bench.pack.runs.study` takes them.
    turns : bytes that buffers take turns in.
    rounds, limit_s : see `Effort`.
    advance : told after every launch.
    """
    effort = replace(_EFFORT, rounds=rounds, limit_s=limit_s)
    cases = [f"grid/{size}/{RUN}" for size in SIZES]

    def measured(rotate: int) -> Study:
        knob = f"always;rotate={rotate}:0"
        return study(
            setting, "turns", effort, program, knob=knob, beside="always", cases=cases, advance=advance
        )

    return {rotate: measured(rotate).steady() for rotate in turns}


def turn_gains(measured: Study) -> dict[int, float]:
    """How many times as quick messages are with turns, by their bytes; the mean over directions."""
    by_size: dict[int, list[float]] = {}
    for case, direction in measured.cases():
        ratio = measured.ratio(case, direction, "datatype").median
        by_size.setdefault(int(case.split("/")[1]), []).append(ratio)
    return {size: statistics.geometric_mean(ratios) for size, ratios in sorted(by_size.items())}


def best_turn(studies: Mapping[int, Study]) -> Turn:
    """The turn that is quickest, where only messages take it for which, and above which, it pays.

    Parameters
    ----------
    studies : from `turn_studies`; the first of equals is taken.
    """
    best, gained = Turn(0, 0), 1.0
    for rotate, measured in studies.items():
        gains = turn_gains(measured)
        # Fewer than two of the largest may fit: those take none.
        lost = [size for size, gain in gains.items() if gain < _GAIN and 2 * size <= rotate]
        taken = {size: gain for size, gain in gains.items() if size > max(lost, default=0)}
        if not taken or statistics.geometric_mean(taken.values()) < _WORTH:
            continue
        mean = statistics.geometric_mean(taken.get(size, 1.0) for size in gains)
        if mean > gained * (1.0 if best.rotate == 0 else _BETTER):
            best, gained = Turn(rotate, min(taken)), mean
    return best


def found_turn(
    setting: Setting, program: Path, *, limit_s: float = _EFFORT.limit_s, advance: Callable[[], None]
) -> Turn:
    """The best turn, where it is as good when it is measured again.

    The best of several that were measured for a few seconds may have been lucky; one that gains nothing costs
    the program its cache.

    Parameters
    ----------
    setting, program, limit_s, advance : as `turn_studies` takes them; the second time nobody is told.
    """
    first = best_turn(turn_studies(setting, program, limit_s=limit_s, advance=advance))
    if first.rotate == 0:
        return first
    again = turn_studies(setting, program, turns=(first.rotate,), rounds=_AGAIN, limit_s=limit_s)
    return confirmed(first, best_turn(again))


def confirmed(first: Turn, again: Turn) -> Turn:
    """What two measurements of a turn agree on; `Turn(0, 0)` where the second found it not worth while."""
    if again.rotate != first.rotate:
        return Turn(0, 0)
    return Turn(first.rotate, max(first.least, again.least))
