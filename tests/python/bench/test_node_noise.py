"""`corewise bench node --cases noise`: rows by hand, and the program itself.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from corewise.bench.node import noise as room
from corewise.bench.node import study
from corewise.bench.node.noise import Measured, NoiseStudy, noise_remarks, noise_rows, quanta_of
from corewise.bench.node.study import Request, run_bench
from corewise.bench.rows import Listener
from corewise.data.noise import load_noise
from corewise.errors import InputError, RunError

WORK = np.array([20000.0] * 98 + [30000.0, 520000.0])
CALM = np.array([20000.0] * 99 + [21500.0])
STEPS = np.where(np.arange(1000) % 10 == 0, 500.0, 1000.0)


def made_up(cores: int) -> NoiseStudy:
    """Two rounds in which all cores are interrupted twice, and all but one once."""
    everywhere = Measured(cores, ((WORK,) * cores,) * 2, ((STEPS,) * cores,) * 2)
    spared = Measured(cores - 1, ((CALM,) * (cores - 1),) * 2, ((STEPS,) * (cores - 1),) * 2)
    return NoiseStudy(everywhere, spared)


def test_rows_by_hand() -> None:
    rows = {row.id: row for row in noise_rows(made_up(8))}
    assert set(rows) == {
        f"node-noise-{which}-{key}" for which in ("all", "spared") for key in ("lost", "longest", "rate")
    }
    assert rows["node-noise-all-longest"].ours == 500
    assert rows["node-noise-all-lost"].ours == pytest.approx(100 * 510000 / 2510000, rel=1e-3)
    assert rows["node-noise-all-rate"].ours == pytest.approx(2 / 2.51e-3, rel=1e-3)
    assert rows["node-noise-all-longest"].more["histogram"][0][2] == 16  # type: ignore[index]
    assert rows["node-noise-all-rate"].more["spectrum"][0][0] in (200, 400, 600, 800, 1000)  # type: ignore[index]
    spared = rows["node-noise-spared-longest"]
    assert (spared.ours, spared.theirs, spared.rival) == (1.5, 500, "no core idle")


def test_of_few_cores_nothing_is_said() -> None:
    assert not any("fewer than 8" in line for line in noise_remarks(made_up(8)))
    assert "2 cores: of fewer than 8 it is not said whether an idle core pays" in list(
        noise_remarks(made_up(2))
    )


def test_the_record_has_both_kinds() -> None:
    record = made_up(8).record()
    assert record is not None and record.cores == 8
    assert record.everywhere.lengths_ns[0] == 10000 and record.spared.lengths_ns[0] == 1500
    assert NoiseStudy(made_up(8).everywhere, None).record() is None


def test_what_the_program_does_not_print_is_an_error() -> None:
    for text in ("", "0.5 1 2\n0.5 1\n", "0.5 1\n0.5 1\n"):
        with pytest.raises(RunError, match="noise: found"):
            quanta_of(text, 2, 2)


def test_a_file_is_for_noise(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--noise-file: found with --cases shares, allowed: with noise"):
        run_bench(Listener(), Request("shares", noise_file=tmp_path / "noise.json"))


def test_noise_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(study, "QUICK", study.Effort(2, (64,), 128))
    monkeypatch.setattr(room, "_QUICK_S", 0.02)
    several = len(os.sched_getaffinity(0)) > 1
    file = tmp_path / "noise.json" if several else None
    outcome = run_bench(Listener(), Request("noise", quick=True, noise_file=file))
    assert len(outcome.rows) == (6 if several else 3)
    assert all(row.n == 2 and row.ours is not None for row in outcome.rows)
    if file is not None:
        assert load_noise(file).cores == len(os.sched_getaffinity(0))
