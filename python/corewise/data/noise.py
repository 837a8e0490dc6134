"""Noise files: what the system took from the cores of a node, as JSON (docs/formats/noise.md).

Owns the format, and the short text that describes a noise instead. Lengths are whole nanoseconds, and of many
that were seen a file keeps `MOST_LENGTHS`, evenly over their ranks, the shortest and the longest among them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corewise._core import parse_time_ns
from corewise.base.documents import Fields, read_json
from corewise.base.files import write_text
from corewise.errors import InputError

_FORMAT, _VERSION = "corewise-noise", 1
_FIELDS = ("format", "version", "processor", "cores", "everywhere", "spared")
_KIND = ("rate_per_s", "lengths_ns")
_LONGEST_NS, _MOST_RATE = 10**11, 1e6
MOST_LENGTHS = 1000
TEXT = "rate=10,length=50us"
"""A text that describes a noise."""


@dataclass(frozen=True)
class Interruptions:
    """Of one core.

    Attributes
    ----------
    rate_per_s : float
    lengths_ns : tuple of int
        Of those that were seen, rising; at least one where the rate is not 0.
    """

    rate_per_s: float
    lengths_ns: tuple[int, ...]


@dataclass(frozen=True)
class NoiseRecord:
    """What was measured on one node.

    Attributes
    ----------
    processor : str
    cores : int
        That the measurement used when it used all; 0 for a description.
    everywhere, spared : Interruptions
        With all cores computing, and with one of them left idle.
    """

    processor: str
    cores: int
    everywhere: Interruptions
    spared: Interruptions


def thinned(rate_per_s: float, lengths_ns: Sequence[float]) -> Interruptions:
    """Interruptions as a file keeps them."""
    rising = sorted(max(1, round(each)) for each in lengths_ns)
    if len(rising) > MOST_LENGTHS:
        rising = [rising[round(i * (len(rising) - 1) / (MOST_LENGTHS - 1))] for i in range(MOST_LENGTHS)]
    return Interruptions(rate_per_s if rising else 0.0, tuple(rising))


def save_noise(record: NoiseRecord, path: Path) -> None:
    """Writes the JSON file."""
    document = {
        "format": _FORMAT,
        "version": _VERSION,
        "processor": record.processor,
        "cores": record.cores,
        "everywhere": _kind_to_json(record.everywhere),
        "spared": _kind_to_json(record.spared),
    }
    write_text(path, json.dumps(document) + "\n")


def _kind_to_json(kind: Interruptions) -> dict[str, object]:
    return {"rate_per_s": kind.rate_per_s, "lengths_ns": list(kind.lengths_ns)}


def load_noise(path: Path) -> NoiseRecord:
    """Reads the JSON file."""
    fields = read_json(path)
    fields.header(_FORMAT, _VERSION)
    fields.only(_FIELDS)
    cores = fields.whole("cores", 2, 65536)
    everywhere, spared = (_kind_of(fields.table(name)) for name in ("everywhere", "spared"))
    return NoiseRecord(fields.text("processor"), cores, everywhere, spared)


def _kind_of(fields: Fields) -> Interruptions:
    fields.only(_KIND)
    rate = fields.number("rate_per_s", 0, _MOST_RATE)
    lengths = fields.wholes("lengths_ns", 1, _LONGEST_NS, may_be_empty=True)
    if rate and not lengths:
        raise fields.wrong("lengths_ns", "one or more, as the rate is not 0")
    return Interruptions(rate, tuple(sorted(lengths)))


def described_noise(text: str, field: str) -> NoiseRecord:
    """A text such as `TEXT`: interruptions of a core a second, and their length; an idle core takes all."""
    values = dict(word.partition("=")[::2] for word in text.split(","))
    if set(values) != {"rate", "length"}:
        raise InputError(f"{field}: found '{text}', allowed: {TEXT}, or a file of corewise bench node")
    try:
        rate = float(values["rate"])
    except ValueError:
        rate = math.nan
    if not 0 < rate <= _MOST_RATE:
        raise InputError(
            f"{field}, rate: found '{values['rate']}', allowed: over 0 to {_MOST_RATE:g} a second"
        )
    length_ns = parse_time_ns(values["length"], "", f"{field}, length")
    if not 1 <= length_ns <= _LONGEST_NS:
        raise InputError(f"{field}, length: found '{values['length']}', allowed: 1 ns to 100 s")
    return NoiseRecord("described", 0, Interruptions(rate, (round(length_ns),)), Interruptions(0.0, ()))
