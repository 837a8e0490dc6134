"""bench/pack/mapped and bench/pack/kernels: what they say of runs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PACK = Path(__file__).resolve().parents[3] / "bench" / "pack"
CASE = "64:512:128"


def module_of(name: str) -> ModuleType:
    """bench/pack/NAME/run.py as a module."""
    specification = importlib.util.spec_from_file_location(f"bench_pack_{name}_run", PACK / name / "run.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """bench/pack/mapped/run.py."""
    return module_of("mapped")


def run(bench: ModuleType, ours: float, before: float, after: float) -> object:
    times = {"datatype": 9.0, "hand": 6.0, "mpi-pack": 7.0, "ours": ours, "direct": ours, "staged": 2.0}
    return bench.Run({CASE: times}, {CASE: "direct"}, before, after, 0.01)


def test_a_row_is_of_the_runs_of_one_state(bench: ModuleType) -> None:
    near = [run(bench, ours, 50, 52) for ours in (3.0, 2.0, 3.0)]
    others = [run(bench, 9.0, 250, 260), run(bench, 9.0, 50, 250)]  # far; moved during the run
    row = bench.row(bench.SETTINGS[1], CASE, [*near, *others])
    assert (row["id"], row["rival"], row["theirs"], row["ours"]) == (
        "mapped-mpich-64-512-128",
        "hand",
        6.0,
        3.0,
    )
    assert (row["ratio"], row["n"], row["state"], row["chosen"]) == (2.0, 3, "near", "direct")
    assert row["floor"] == 2.0 and row["lost"] == 0.5 and row["spread"] > 0 and row["foreign"] == 0.01


def test_remarks_count_wrong_choices_and_long_blocks(bench: ModuleType) -> None:
    rows = [
        {"id": "mapped-mpich-64-512-128", "lost": 0.0, "ratio": 2.0},
        {"id": "mapped-mpich-256-128-512", "lost": 0.0, "ratio": 4.5},
        {"id": "mapped-mpich-8-4096-4160", "lost": 0.2, "ratio": 0.9},
    ]
    text = bench.remarks(rows)
    assert "quicker in 1 of 3 cases, by up to 20 %" in text
    assert "blocks of 64 bytes and more: ratio 2.0 and more, geometric mean 3.00" in text


def test_kernels_are_compared_with_the_quicker_of_the_two() -> None:
    times = {"hand": [150.0, 160.0, 170.0], "memcpy": [300.0] * 3, "avx512": [100.0] * 3}
    kernels = module_of("kernels")
    row = kernels.row("pack-8-4096", "blocks of 8", times)
    assert (row["id"], row["ours"], row["theirs"]) == ("pack-8-4096", 100.0, 160.0)
    assert row["rival"] == "loop by hand, -O3 -march=native"
    assert (row["ratio"], row["n"]) == (1.6, 3)
    assert row["what"] == "blocks of 8, avx512"
