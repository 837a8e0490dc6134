"""Noise as a model draws it: what the system takes from a rank while it computes for a time.

Ranks are hit independently of each other. A noise that all cores of a node suffer in step is not described
here. Invariant: what is drawn depends on nothing but the generator that is handed in.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from corewise.data.quantities import number_text

Times = npt.NDArray[np.float64]
"""Nanoseconds, one per rank."""


class Noise(Protocol):
    """Something that delays ranks."""

    def delays(self, random: np.random.Generator, ranks: int, window_ns: float) -> Times:
        """Nanoseconds that each rank loses while it works for a time."""
        ...

    @property
    def text(self) -> str:
        """In a few words."""
        ...


@dataclass(frozen=True)
class Silence:
    """Nobody loses anything."""

    @property
    def text(self) -> str:
        """In a few words."""
        return "no noise"

    def delays(self, random: np.random.Generator, ranks: int, window_ns: float) -> Times:
        """Zeros."""
        return np.zeros(ranks)


@dataclass(frozen=True)
class Exponential:
    """A delay in every window, whatever its length, drawn from an exponential distribution.

    Attributes
    ----------
    mean_ns : float
        Not negative.
    """

    mean_ns: float

    @property
    def text(self) -> str:
        """In a few words."""
        return f"a delay of {number_text(self.mean_ns / 1e3)} us on average in every step"

    def delays(self, random: np.random.Generator, ranks: int, window_ns: float) -> Times:
        """One each."""
        return random.exponential(self.mean_ns, ranks)


@dataclass(frozen=True)
class Events:
    """Interruptions that come independently of each other, each as long as one of those that were seen.

    Attributes
    ----------
    rate_per_s : float
        Of one core.
    lengths_ns : array
        Those seen, at least one where the rate is not 0; one of them is drawn for each interruption.
    """

    rate_per_s: float
    lengths_ns: Times

    @property
    def text(self) -> str:
        """In a few words."""
        if not self.rate_per_s:
            return "no interruptions"
        return (
            f"{number_text(self.rate_per_s)} interruptions per second and core, "
            f"{number_text(self.mean_ns / 1e3)} us on average, "
            f"{number_text(float(self.lengths_ns.max()) / 1e3)} us at most"
        )

    @property
    def mean_ns(self) -> float:
        """Of an interruption."""
        return float(np.mean(self.lengths_ns)) if len(self.lengths_ns) else 0.0

    @property
    def lost_share(self) -> float:
        """Of a core's time."""
        return self.rate_per_s * self.mean_ns / 1e9

    def delays(self, random: np.random.Generator, ranks: int, window_ns: float) -> Times:
        """Few ranks are hit in a step, so all ranks' interruptions are drawn together and dealt out."""
        count = int(random.poisson(self.rate_per_s * window_ns / 1e9 * ranks))
        if count == 0:
            return np.zeros(ranks)
        lengths = random.choice(self.lengths_ns, count)
        return np.bincount(random.integers(0, ranks, count), lengths, ranks).astype(np.float64)


@dataclass(frozen=True)
class NodeNoise:
    """Noise of a core where all cores of a node compute, and where one of them is left idle.

    Attributes
    ----------
    everywhere, spared : Noise
    source : str
        Where it comes from.
    """

    everywhere: Noise
    spared: Noise
    source: str
