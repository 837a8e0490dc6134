"""The profiler's benchmarks: what they compute from rounds that are made up here; their programs compile.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "bench" / "profiler"
MPI = SimpleNamespace(name="somempi", version="1.0")


def module_of(name: str) -> ModuleType:
    """bench/profiler/NAME.py as a module."""
    specification = importlib.util.spec_from_file_location(f"bench_profiler_{name}", FOLDER / f"{name}.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def test_the_floor_is_what_added_cost_is_held_against() -> None:
    rounds = [{"floor": 20.0, "none": 5.0 + noise, "drain": 35.0 + noise} for noise in (0.0, 3.0, 50.0)]
    row = module_of("run").row(MPI, "drain", rounds)
    assert (row["ours"], row["floor"], row["spread"], row["n"]) == (30, 20, 0, 3)
    assert row["ratio"] == pytest.approx(20 / 30, abs=1e-3)


def rival_rounds() -> list[dict[str, float]]:
    """Three rounds in which everything a tool adds is known; noise hits a round's contestants alike."""
    added = {"none": 0.0, "corewise": 30.0, "flight": 25.0, "eztrace": 240.0}
    rounds = []
    for noise in (0.0, 4.0, 100.0):
        each = {"floor": 22.0}
        for name, cost in added.items():
            each |= {f"{name} null": 8 + cost + noise, f"{name} pp": 300 + 2 * cost + noise}
            each |= {f"{name} bytes": cost / 6, f"{name} resident": 10000 + 10 * cost}
        rounds.append(each)
    return rounds


def test_rivals_are_compared_in_their_own_round() -> None:
    rows = {row["id"]: row for row in module_of("rivals").rows_of(rival_rounds())}
    null, pp = rows["rivals-null-corewise"], rows["rivals-pp-corewise"]
    assert (null["ours"], null["theirs"], null["floor"], null["ratio"]) == (30, 240, 22, 8)
    assert (pp["ours"], pp["theirs"], pp["floor"], pp["ratio"]) == (60, 480, None, 8)
    assert (rows["rivals-bytes-corewise"]["ours"], rows["rivals-resident-flight"]["ours"]) == (5, 250)


def test_a_recorder_that_costs_nothing_does_not_divide_by_it() -> None:
    rounds = [each | {"flight null": each["none null"]} for each in rival_rounds()]
    rows = {row["id"]: row for row in module_of("rivals").rows_of(rounds)}
    assert rows["rivals-null-flight"]["ratio"] == float("inf")


def test_the_floor_compiles_and_says_a_number(tmp_path: Path) -> None:
    program = tmp_path / "floor"
    subprocess.run(["gcc", "-O2", str(FOLDER / "floor.c"), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    assert 0 < float(done.stdout) < 1e5
