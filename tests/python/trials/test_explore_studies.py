"""What docs/placing/explore.md says of paper 002's open questions, on small samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corewise.cli.main import execute
from corewise.data.machines import machine_directory

RING = ("ring", "ranks=8", "bytes=16KiB")


def explored(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The JSON object of a run."""
    assert execute(["explore", *arguments, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_a_slower_command_bus_makes_runs_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for interval in (1, 2, 8):
        file = tmp_path / f"bus-{interval}.toml"
        text = (machine_directory() / "cell-be.toml").read_text()
        file.write_text(f"{text}command_interval_cycles = {interval}\n")
        common = ("-m", str(file), "--samples", "12", "--repeat", "2")
        found[interval] = explored(capsys, *RING, *common)
    fastest = {interval: each["rows"][0]["time_ns"] for interval, each in found.items()}
    # As it is, the bus of commands does not limit; four times slower it does, and then nothing else matters.
    assert fastest[2] == pytest.approx(fastest[1], rel=0.05)
    assert fastest[8] > 1.5 * fastest[2]
    assert found[8]["run_spread"] < 0.2 * found[2]["run_spread"]
    assert found[8]["ratio"] < 1.02 < found[2]["ratio"]


def test_a_larger_application_depends_less_on_its_placement(capsys: pytest.CaptureFixture[str]) -> None:
    common = ("-m", "cell-be", "--samples", "24", "--runs", "1")
    ring = explored(capsys, *RING, *common)
    more = ("--also", "halo_2d dims=4x2 face_bytes=16KiB", "--also", "recursive_doubling ranks=8 bytes=16KiB")
    application = explored(capsys, "wavefront", "dims=4x2", "bytes=16KiB", *common, *more)
    assert 1 < application["ratio"] < ring["ratio"]


def test_the_mesh_of_two_core_tiles(capsys: pytest.CaptureFixture[str]) -> None:
    found = explored(
        capsys, "ring", "ranks=48", "bytes=16KiB", "-m", "mesh-6x4", "--samples", "8", "--runs", "2"
    )
    named = {each["name"]: each for each in found["standings"]}
    # The ring closes on the mesh, which rank order does not use; random placements are far from both.
    assert named["best by flow"]["rank"] == 1 and named["best by flow"]["factor"] < 1.1
    assert 1.8 < named["identity"]["factor"] < 2.2
    assert named["median placement"]["factor"] > 8
    assert found["correlation"][0]["spearman"] > 0.9
