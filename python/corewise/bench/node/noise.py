"""`corewise bench node --cases noise`: what the system takes from cores that only compute.

Two ways of looking. *Fixed work*: quanta of one amount of work on every core; what a quantum takes more than
the usual one is an interruption. *Fixed time*: the work that is done in quanta of one length, whose spectrum
shows what comes back regularly. All cores and all but the last take turns, round by round.

Of nodes of fewer than eight cores the rows with a core idle are numbers, no claim.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from corewise.analysis.noise.quanta import histogram, interruptions, lost_share, spectrum
from corewise.analysis.noise.sources import Times
from corewise.analysis.noise.spare import FEWEST_CORES
from corewise.bench.mpis import output_of
from corewise.bench.programs import Program
from corewise.bench.rounds import alone, beside, rounded
from corewise.bench.rows import Listener, Row
from corewise.data.copy_hosts import host_name
from corewise.data.noise import NoiseRecord, thinned
from corewise.data.quantities import number_text
from corewise.errors import RunError

WORK_NS, TIME_NS = 20_000, 500_000
"""Quanta of fixed work and of fixed time."""
LIMIT_S = 600.0
_FULL_S, _QUICK_S = 1.0, 0.25
"""Of one launch."""


@dataclass(frozen=True)
class Measured:
    """What one set of cores did: for each round the quanta of each core."""

    cores: int
    work: tuple[tuple[Times, ...], ...]
    time: tuple[tuple[Times, ...], ...]

    @property
    def all_work(self) -> list[Times]:
        """Of each core, all rounds one after the other."""
        return [np.concatenate(each) for each in zip(*self.work, strict=True)]


@dataclass(frozen=True)
class NoiseStudy:
    """All cores, and all but one where there are several."""

    everywhere: Measured
    spared: Measured | None

    def record(self) -> NoiseRecord | None:
        """As a file keeps it; None where no core can be left idle."""
        if self.spared is None:
            return None
        both = [interruptions(each.all_work) for each in (self.everywhere, self.spared)]
        kept = [thinned(each.rate_per_s, each.lengths_ns.tolist()) for each in both]
        return NoiseRecord(host_name(), self.everywhere.cores, *kept)


def measure_noise(listener: Listener, rounds: int, *, quick: bool = False) -> NoiseStudy:
    """Both sets of cores in turns."""
    program = Program("node", "noise", ("noise.cpp",), (), (), ("-pthread",)).build(listener)
    usable = sorted(os.sched_getaffinity(0))
    sets = [usable, usable[:-1]] if len(usable) > 1 else [usable]
    seconds = _QUICK_S if quick else _FULL_S
    found: list[dict[str, list[tuple[Times, ...]]]] = [{"fixed-work": [], "fixed-time": []} for _ in sets]
    for turn in range(rounds):
        for index in sorted(range(len(sets)), reverse=turn % 2 == 1):
            for kind, quantum_ns in (("fixed-work", WORK_NS), ("fixed-time", TIME_NS)):
                quanta = round(seconds * 1e9 / quantum_ns)
                found[index][kind].append(_launch(program, kind, quantum_ns, quanta, sets[index]))
        listener.progress((turn + 1) / rounds)
    made = [
        Measured(len(cpus), tuple(each["fixed-work"]), tuple(each["fixed-time"]))
        for cpus, each in zip(sets, found, strict=True)
    ]
    return NoiseStudy(made[0], made[1] if len(made) > 1 else None)


def _launch(program: Path, kind: str, quantum_ns: int, quanta: int, cpus: Sequence[int]) -> tuple[Times, ...]:
    words = [kind, str(quantum_ns), str(quanta), ",".join(map(str, cpus))]
    return quanta_of(output_of([str(program), *words], os.environ, limit_s=LIMIT_S), len(cpus), quanta)


def quanta_of(text: str, cores: int, quanta: int) -> tuple[Times, ...]:
    """What the program printed: a line per core, of which the first number is the time of a step."""
    lines = [np.array(line.split(), float) for line in text.splitlines()]
    if len(lines) != cores or any(len(line) != quanta + 1 for line in lines):
        raise RunError(f"noise: found {len(lines)} lines, expected: {cores} of {quanta + 1} numbers")
    return tuple(line[1:] for line in lines)


# ---- rows --------------------------------------------------------------------------------------------------


def noise_rows(study: NoiseStudy) -> Iterator[Row]:
    """Shares that are lost, the longest interruptions, how many; all cores, and beside them one idle."""
    for name, measured in (("all", study.everywhere), ("spared", study.spared)):
        if measured is None:
            continue
        rival = study.everywhere if name == "spared" else None
        words = f"{measured.cores} cores compute" + (", one is idle" if rival else "")
        for key, what, unit, of in _VALUES:
            row = Row(f"node-noise-{name}-{key}", f"{what}: {words}", unit, None)
            ours = [of(each) for each in measured.work]
            if rival is None:
                yield replace(alone(row, ours), more=_more(key, measured))
            else:
                theirs = [of(each) for each in rival.work]
                yield replace(
                    beside(replace(row, rival="no core idle"), ours, theirs), more=_more(key, measured)
                )


def _share(cores: Sequence[Times]) -> float:
    return 100 * lost_share(cores)


def _longest(cores: Sequence[Times]) -> float:
    return float(max(interruptions([each]).lengths_ns.max(initial=0.0) for each in cores)) / 1e3


def _rate(cores: Sequence[Times]) -> float:
    return interruptions(cores).rate_per_s


_VALUES = (
    ("lost", "share of time lost", "%", _share),
    ("longest", "longest interruption", "us", _longest),
    ("rate", "interruptions of a core", "1/s", _rate),
)


def _more(key: str, measured: Measured) -> dict[str, object]:
    """The histogram and the spectrum, on one row each."""
    if key == "longest":
        bins = histogram(interruptions(measured.all_work).lengths_ns)
        return {"histogram": [[rounded(each.low_ns), rounded(each.high_ns), each.count] for each in bins]}
    if key == "rate":
        return {"spectrum": [[rounded(hz), rounded(share)] for hz, share in _lines(measured)]}
    return {}


def _lines(measured: Measured) -> list[tuple[float, float]]:
    """The strongest lines of any core in any round, the strongest first."""
    found = [line for round_ in measured.time for each in round_ for line in spectrum(each, TIME_NS, 3)]
    strongest = sorted(found, key=lambda line: -line.share)[:5]
    return [(line.frequency_hz, line.share) for line in strongest]


def noise_remarks(study: NoiseStudy) -> Iterator[str]:
    """In words: the most frequent lengths, and what returns."""
    bins = histogram(interruptions(study.everywhere.all_work).lengths_ns)
    if bins:
        most = max(bins, key=lambda each: each.count)
        yield (
            f"of {sum(each.count for each in bins)} interruptions most ({most.count}) took "
            f"{number_text(most.low_ns / 1e3)} to {number_text(most.high_ns / 1e3)} us"
        )
    lines = _lines(study.everywhere)
    if lines:
        hz, share = lines[0]
        yield (
            f"work in quanta of {TIME_NS / 1e3:g} us: the strongest line is at {number_text(hz, 4)} Hz, "
            f"{100 * share:.2g} % of all that varies"
        )
    cores = study.everywhere.cores
    if cores < FEWEST_CORES:
        yield f"{cores} cores: of fewer than {FEWEST_CORES} it is not said whether an idle core pays"
