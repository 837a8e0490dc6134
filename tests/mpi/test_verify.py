"""`corewise place --verify` on real MPIs: two ranks, launches interleaved, the verdict of two equal cores.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Mpi, find_mpi
from installed_tool import assert_one_line_error, corewise, document

from corewise.data.tuned_hosts import processor_text

pytestmark = pytest.mark.first_test

RANKS = 2
ROUNDS = 7
NOTHING = "no significant difference between the placements"
NAMES = ("default", "best", "next 1", "random")


@pytest.fixture(autouse=True)
def two_cores() -> None:
    """Two ranks on two cores have two placements."""
    if len(os.sched_getaffinity(0)) < RANKS:
        pytest.skip("capability: two cores")


def ring(mpi: Mpi) -> Path:
    return ROOT / "build" / "apps" / mpi.name / "ring"


def check(verified: dict[str, Any], rounds: int) -> None:
    rows = {name: row for row in verified["rows"] for name in row["which"].split(" = ")}
    assert set(NAMES) <= set(rows)
    for row in rows.values():
        assert row["rounds"] == rounds
        assert row["median"] > 0
        assert (row["low"] or 0) <= row["gain"]
        assert row["high"] is None or row["gain"] <= row["high"]
    assert verified["unit"] == "s"
    assert "interleaved" in verified["how"]
    assert rows["best"]["predicted_ratio"] == 1
    # Two cores that are equal: the model predicts no difference, and its error is what the noise is.
    assert rows["next 1"]["predicted_ratio"] == pytest.approx(1)
    assert rows["next 1"]["model_error"] == pytest.approx(1 / rows["next 1"]["measured_ratio"] - 1)
    assert rows["default"]["predicted_ns"] is None
    assert rows["random"]["unit_of_rank"] is None


def recorded(mpi: Mpi, folder: Path) -> Path:
    profile = folder / "ring.cw"
    options = ["-n", RANKS, "--mpi", mpi.prefix, "-o", profile, "--", ring(mpi), "--rounds", 5]
    assert corewise("run", *options).returncode == 0
    return profile


def test_every_row_of_the_table_is_verified(tmp_path: Path) -> None:
    profile = recorded(find_mpi("openmpi"), tmp_path)
    few = corewise("place", profile, "--machine", "host", "--verify", "--rounds", 3)
    assert_one_line_error(few, "--rounds 3", "3 rounds cannot tell 4 placements apart", "7 or more")
    found = document("place", profile, "--machine", "host", "--verify", "--named", "--rounds", ROUNDS)
    check(found["verified"], ROUNDS)
    named = {name for row in found["verified"]["rows"] for name in row["which"].split(" = ")}
    assert named > {"best", "identity (rank order)", "random (median)", "worst"}
    assert found["prediction"] is False


def test_two_equal_cores_make_no_difference(tmp_path: Path) -> None:
    """The verdict errs in at most one study of twenty: six in a row would be a fault."""
    profile = recorded(find_mpi("mpich"), tmp_path)
    place = ["place", profile, "--machine", "host", "--verify", "--rounds", ROUNDS]
    for _ in range(6):
        verified = document(*place)["verified"]
        check(verified, ROUNDS)
        assert all(row["low"] and row["high"] for row in verified["rows"])
        told_apart = [row["which"] for row in verified["rows"] if row["faster"] is not None]
        assert (verified["statement"] == NOTHING) == (not told_apart)
        if not told_apart:
            return
    pytest.fail(f"six studies in a row tell {told_apart} from the default")


def test_a_program_on_the_command_line_is_verified(tmp_path: Path) -> None:
    mpi = find_mpi("mpich")
    pattern = tmp_path / "two.json"
    assert corewise("patterns", "make", "ring", "ranks=2", "-o", pattern).returncode == 0
    place = ["place", pattern, "--machine", "host", "--verify", "--rounds", ROUNDS, "--mpi", mpi.prefix]
    done = corewise(*place, "--json", "--", ring(mpi), "--rounds", 5)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    check(found["verified"], ROUNDS)


PROBED = """
format = "corewise-machine"
version = 1
name = "probed"
[origin]
source = "a probe"
processor = "{processor}"
measured = ["latency"]
nominal = ["bandwidth"]
[interconnect]
kind = "tree"
os_indexes = {cpus}
[[interconnect.level]]
name = "core"
count = {count}
up_bandwidth = "10 GB/s"
down_bandwidth = "10 GB/s"
hop_latency = "20 ns"
"""


def test_a_probed_file_of_this_host_is_verified(tmp_path: Path) -> None:
    """It is this host where processor and CPUs are those measured; of another one nothing is run here."""
    mpi = find_mpi("mpich")
    pattern, file = tmp_path / "two.json", tmp_path / "host.toml"
    assert corewise("patterns", "make", "ring", "ranks=2", "-o", pattern).returncode == 0
    cpus = sorted(os.sched_getaffinity(0))
    said = {"processor": processor_text(), "cpus": cpus, "count": len(cpus)}
    file.write_text(PROBED.format(**said))
    place = ["place", pattern, "-m", file, "--verify", "--rounds", ROUNDS, "--mpi", mpi.prefix]
    done = corewise(*place, "--json", "--", ring(mpi), "--rounds", 5)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    check(found["verified"], ROUNDS)
    assert found["prediction"] is False
    explore = ["explore", "-m", file, "-n", 2, "--mpi", mpi.prefix, "--runs", 5, "--json"]
    done = corewise(*explore, "--", ring(mpi), "--rounds", 5)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["rows"]) >= 2
    file.write_text(PROBED.format(**{**said, "processor": "another one"}))
    assert_one_line_error(corewise(*place, "--", ring(mpi)), "host.toml", "this host's")


def test_a_run_that_fails_ends_the_verification(tmp_path: Path) -> None:
    mpi = find_mpi("mpich")
    pattern = tmp_path / "two.json"
    assert corewise("patterns", "make", "ring", "ranks=2", "-o", pattern).returncode == 0
    place = ["place", pattern, "--machine", "host", "--verify", "--rounds", ROUNDS, "--mpi", mpi.prefix]
    failed = corewise(*place, "--", ring(mpi), "--no-such-option")
    assert failed.returncode == 1
    assert "exit status" in failed.stderr
    missing = corewise(*place, "--", tmp_path / "nothing")
    assert_one_line_error(missing, "nothing")
