"""Which launch is faster than the plain one: chosen on some rounds, confirmed on fresh ones.

Several levers are tried, and the luckiest of them looks fast even where none is. So the rounds that choose a
winner say nothing about it. It meets the plain launch again in fresh rounds, and only those make the ratio
and its interval (Hodges-Lehmann and the exact signed-rank interval of `corewise.analysis.placement.paired`).
Only one interval is looked at, so a program that nothing can help is called faster in at most one of forty
tries, however many levers there are. How many rounds are run depends on how long runs take, never on how they
turn out.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corewise.analysis.placement.paired import CONFIDENCE, least_rounds, signed_rank_interval

PLAIN = "plain"
"""The launch as it was written."""
LEAST_CONFIRMING = least_rounds(1)
"""Rounds that confirm a winner, at the least: with fewer no interval has an end."""
MOST_CONFIRMING = 25
LEAST_CHOOSING, MOST_CHOOSING = 3, 7
_SHARE_FOR_CHOOSING = 0.4
"""Of the time, at most."""
_NEARLY = 0.97
"""Of the largest gain; a launch with fewer levers and so much of it is chosen."""


@dataclass(frozen=True)
class Rounds:
    """How often launches run.

    Attributes
    ----------
    choosing : int
        Rounds of all launches; 0 where there is nothing to choose from.
    confirming : int
        Rounds of the plain launch and the winner.
    """

    choosing: int
    confirming: int


@dataclass(frozen=True)
class Confirmed:
    """The winner against the plain launch, by fresh rounds.

    Attributes
    ----------
    gain, low, high : float
        How many times faster, and its interval; infinite ends are open.
    rounds : int
    """

    gain: float
    low: float
    high: float
    rounds: int

    @property
    def faster(self) -> bool:
        """Whether the whole interval is over 1."""
        return self.low > 1

    @property
    def slower(self) -> bool:
        """Whether the whole interval is under 1."""
        return self.high < 1


def plan_rounds(left_s: float, times_s: Mapping[str, float]) -> Rounds | None:
    """How many rounds fit a time.

    Parameters
    ----------
    left_s : float
        The time that is left.
    times_s : mapping of str to float
        What a run of each launch takes, `PLAIN` among them.

    Returns
    -------
    Rounds or None
        None where not even the least fits.
    """
    plain = times_s[PLAIN]
    others = [time for name, time in times_s.items() if name != PLAIN]
    pair = plain + max(others)
    choosing = 0
    if len(others) > 1:
        fits = math.floor(_SHARE_FOR_CHOOSING * left_s / sum(times_s.values()))
        choosing = min(MOST_CHOOSING, max(LEAST_CHOOSING, fits))
    confirming = min(MOST_CONFIRMING, math.floor((left_s - choosing * sum(times_s.values())) / pair))
    return Rounds(choosing, confirming) if confirming >= LEAST_CONFIRMING else None


def least_time_s(times_s: Mapping[str, float]) -> float:
    """The least time that `plan_rounds` can use."""
    others = [time for name, time in times_s.items() if name != PLAIN]
    choosing = LEAST_CHOOSING * sum(times_s.values()) if len(others) > 1 else 0.0
    return choosing + LEAST_CONFIRMING * (times_s[PLAIN] + max(others))


def winner(times: Mapping[str, Sequence[float]], parts: Mapping[str, int]) -> str:
    """The launch with the largest gain in its rounds, or a simpler one that is nearly as good.

    Parameters
    ----------
    times : mapping of str to sequence of float
        By launch and round, `PLAIN` among them.
    parts : mapping of str to int
        How many levers each has.
    """
    gains = {name: gain(times[PLAIN], own) for name, own in times.items() if name != PLAIN}
    good = [name for name in gains if gains[name] >= _NEARLY * max(gains.values())]
    return min(good, key=lambda name: (parts[name], -gains[name]))


def gain(plain: Sequence[float], own: Sequence[float]) -> float:
    """How many times faster, in the middle of paired rounds."""
    return math.exp(signed_rank_interval(_log_ratios(plain, own), CONFIDENCE)[0])


def confirm(plain: Sequence[float], own: Sequence[float]) -> Confirmed:
    """The ratio of fresh rounds and its interval.

    Parameters
    ----------
    plain, own : sequence of float
        Times of the plain launch and the winner, by round.
    """
    middle, low, high = map(math.exp, signed_rank_interval(_log_ratios(plain, own), CONFIDENCE))
    return Confirmed(middle, low, high, len(own))


def _log_ratios(plain: Sequence[float], own: Sequence[float]) -> list[float]:
    ratios: list[float] = np.log(np.asarray(plain, float) / np.asarray(own, float)).tolist()
    return ratios
