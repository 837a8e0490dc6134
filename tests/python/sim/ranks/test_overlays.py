"""Programs on simulated ranks that say which code they run, where the local store has an area for overlays.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import documents
import pytest

from corewise.cli.main import execute
from corewise.sim.ranks import RunOptions, compile_program, run_program

HERE = Path(__file__).resolve().parent
TURNS = 10


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("overlays") / "overlays.sim"
    assert compile_program(["-O1", str(HERE / "overlays.c"), "-o", str(made)]) == 0
    return made


def area(size: float) -> RunOptions:
    return RunOptions(settings={"overlay_bytes": size, "overlay_ns": 300.0, "overlay_gb_per_s": 10.0})


def test_code_that_does_not_fit_is_brought_each_time(program: Path) -> None:
    without, large, small = (
        run_program(program, [], 2, "flat:2", options=each) for each in (RunOptions(), area(80e3), area(50e3))
    )
    assert without.overlays is None
    assert large.overlays is not None
    assert small.overlays is not None
    once, third = 2 * 300 + 7000, 300 + 100
    assert large.overlays.tolist() == [(3, 71000, once + third), (2, 70000, once)]
    assert small.overlays.tolist() == [
        (2 * TURNS + 1, 70000 * TURNS + 1000, once * TURNS + third),
        (2 * TURNS, 70000 * TURNS, once * TURNS),
    ]
    # No message is sent, so a rank's end moves by what its loads take.
    for run in (large, small):
        ends = run.ranks["end_ns"] - without.ranks["end_ns"]
        assert run.overlays is not None
        assert ends.tolist() == pytest.approx(run.overlays["time_ns"].tolist())


def test_the_command_says_what_was_brought(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["simrun", "-n", "2", "-m", "flat:2", "--set", "overlay_bytes=50000"]
    assert execute([*command, str(program)]) == 0
    assert "code overlays: 41 loads" in capfd.readouterr().out
    assert execute([*command, "--json", str(program)]) == 0
    found = documents.read(capfd.readouterr().out)
    assert [row["overlays"]["loads"] for row in found["rows"]] == [21, 20]


def test_more_than_the_area_is_refused(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["simrun", "-n", "2", "-m", "flat:2", "--set", "overlay_bytes=50000", str(program), "60000"]
    assert execute(command) != 0
    said = " ".join(capfd.readouterr().err.split())
    assert "'bytes': found 60000, allowed: at most the 50000 of overlay_bytes" in said
    assert execute(["simrun", "-n", "2", "-m", "flat:2", "--set", "overlay_bytes=300000", str(program)]) == 2
    assert "'overlay_bytes': found 300000, allowed: 0 to 262144" in " ".join(capfd.readouterr().err.split())
