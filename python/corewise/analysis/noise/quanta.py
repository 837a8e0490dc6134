"""What measured quanta say: interruptions of fixed work, their histogram, spectra of fixed time.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corewise.analysis.noise.sources import Events, Times

QUIET = 1.05
"""A quantum of fixed work that takes no more than this many times the usual one was not interrupted."""
_DECADES = (1e2, 1e9)
_BINS_PER_DECADE = 3


@dataclass(frozen=True)
class Line:
    """One line of a spectrum: how often something returns, and its share of all that varies."""

    frequency_hz: float
    share: float


@dataclass(frozen=True)
class Bin:
    """How many interruptions took from `low_ns` up to `high_ns`."""

    low_ns: float
    high_ns: float
    count: int


def usual_ns(quanta_ns: Times) -> float:
    """What a quantum of fixed work takes when nobody interrupts it: the lower quartile."""
    return float(np.quantile(quanta_ns, 0.25))


def interruptions(cores_ns: Sequence[Times]) -> Events:
    """The interruptions of several cores' quanta of fixed work.

    Parameters
    ----------
    cores_ns : sequence of array
        Nanoseconds of each quantum; an array per core, none of them empty.
    """
    lengths, seconds = [], 0.0
    for quanta in cores_ns:
        usual = usual_ns(quanta)
        hit = quanta > QUIET * usual
        lengths.append(quanta[hit] - usual)
        seconds += float(quanta.sum()) / 1e9
    every = np.concatenate(lengths) if lengths else np.zeros(0)
    return Events(len(every) / seconds if seconds else 0.0, every)


def lost_share(cores_ns: Sequence[Times]) -> float:
    """Of the time of fixed work, what was more than the usual quantum."""
    every = sum(float(quanta.sum()) for quanta in cores_ns)
    usual = sum(float(np.minimum(quanta, usual_ns(quanta)).sum()) for quanta in cores_ns)
    return 1 - usual / every if every else 0.0


def histogram(lengths_ns: Times) -> list[Bin]:
    """Interruptions by what they took, three bins a decade; bins at the ends that are empty are left out."""
    first, last = (round(np.log10(edge)) for edge in _DECADES)
    edges = 10.0 ** (np.arange((last - first) * _BINS_PER_DECADE + 1) / _BINS_PER_DECADE + first)
    counts = np.histogram(np.clip(lengths_ns, *_DECADES), edges)[0]
    used = np.flatnonzero(counts)
    if not len(used):
        return []
    span = range(int(used[0]), int(used[-1]) + 1)
    return [Bin(float(edges[i]), float(edges[i + 1]), int(counts[i])) for i in span]


def spectrum(steps: Times, quantum_ns: float, most: int = 5) -> list[Line]:
    """The strongest lines of the work done in quanta of fixed time, the strongest first.

    Parameters
    ----------
    steps : array
        Done in each quantum, one after the other.
    quantum_ns : float
    most : int
        Lines.
    """
    varying = np.asarray(steps, float) - float(np.mean(steps))
    power = np.abs(np.fft.rfft(varying)) ** 2
    power[0] = 0
    total = float(power.sum())
    if total <= 0:
        return []
    frequencies = np.fft.rfftfreq(len(varying), quantum_ns / 1e9)
    order = np.argsort(power)[::-1][:most]
    return [Line(float(frequencies[i]), float(power[i]) / total) for i in order if power[i] > 0]
