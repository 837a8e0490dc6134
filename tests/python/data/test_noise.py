"""Noise files: what is written is read, what is wrong is named; descriptions in a text.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corewise.data.noise import (
    MOST_LENGTHS,
    Interruptions,
    NoiseRecord,
    described_noise,
    load_noise,
    save_noise,
    thinned,
)
from corewise.errors import InputError

RECORD = NoiseRecord("P 1", 8, Interruptions(12.5, (1000, 2000)), Interruptions(0.0, ()))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    save_noise(RECORD, tmp_path / "noise.json")
    assert load_noise(tmp_path / "noise.json") == RECORD


def test_of_many_lengths_some_are_kept() -> None:
    kept = thinned(3.0, [float(i) for i in range(5000, 0, -1)])
    assert (len(kept.lengths_ns), kept.lengths_ns[0], kept.lengths_ns[-1]) == (MOST_LENGTHS, 1, 5000)
    assert list(kept.lengths_ns) == sorted(kept.lengths_ns)
    assert thinned(3.0, []) == Interruptions(0.0, ())


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"format": "corewise-machine"}, "format"),
        ({"version": 2}, "version"),
        ({"cores": 1}, "cores"),
        ({"processor": ""}, "processor"),
        ({"everywhere": {"rate_per_s": 1, "lengths_ns": []}}, r"everywhere\.lengths_ns"),
        ({"everywhere": {"rate_per_s": -1, "lengths_ns": [1]}}, r"everywhere\.rate_per_s"),
        ({"spared": {"rate_per_s": 1, "lengths_ns": [0]}}, r"spared\.lengths_ns"),
        ({"spared": {"rate_per_s": 0}}, r"spared\.lengths_ns"),
        ({"idle": 1}, "idle"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: dict[str, Any], field: str) -> None:
    file = tmp_path / "noise.json"
    save_noise(RECORD, file)
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(InputError, match=rf"noise\.json.*{field}"):
        load_noise(file)


def test_a_noise_is_described_in_a_text() -> None:
    found = described_noise("rate=10,length=50us", "--spare")
    assert (found.cores, found.everywhere, found.spared.rate_per_s) == (0, Interruptions(10.0, (50000,)), 0)


@pytest.mark.parametrize(
    "text", ["rate=10", "rate=x,length=1us", "rate=0,length=1us", "rate=nan,length=1us", "rate=1,length=5",
             "rate=1,length=1000s", "rate=1,length=1us,more=2", ""],
)  # fmt: skip
def test_a_text_that_describes_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--spare"):
        described_noise(text, "--spare")
