"""The Cell Messaging Layer's ways on clusters of Cells: PPEs that forward.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import documents
import pytest

from corewise.cli.main import execute
from corewise.errors import InputError
from corewise.sim.ranks import RankRun, RunOptions, compile_program, run_program

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def cell_to_cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All SPEs of a Cell that send at once."""
    program = tmp_path_factory.mktemp("cells") / "cell_to_cell.sim"
    assert compile_program(["-O1", str(ROOT / "bench/simmpi/cell_to_cell.c"), "-o", str(program)]) == 0
    return program


def launched(
    program: Path,
    words: tuple[str, ...],
    units: list[int],
    machine: str,
    settings: Mapping[str, float],
    granularity: str = "flow",
) -> RankRun:
    """A run that ends well."""
    options = RunOptions(settings=settings, granularity=granularity)
    run = run_program(program, words, len(units), machine, units, options)
    assert (run.exit_status, run.message) == (0, "")
    return run


# ---- forwarding ------------------------------------------------------------------------------------------


def test_spes_of_a_cell_wait_for_their_ppe(cell_to_cell: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Eight messages of no byte, 32 with their header; the PPE takes each 1000 ns and 32 bytes at 1 GB/s."""
    came = {}
    for distance in (8, 16, 32):
        for level in (0, 2):
            capfd.readouterr()
            settings = {"forward_level": level}
            run = launched(cell_to_cell, ("0", str(distance)), [*range(40)], "roadrunner", settings)
            first, last = re.findall(r"_us=(\S+)", capfd.readouterr().out)
            came[distance, level] = (float(first), float(last))
        assert run.ppes is not None
        assert run.ppes["cell"][0] == "node0/blade0/cell0"
    assert came[8, 2] == came[8, 0]  # one blade: SPEs reach each other's local stores
    for distance in (16, 32):
        first, last = came[distance, 2]
        assert last - first == pytest.approx(7 * 1.032, abs=0.002)
        assert came[distance, 0][0] == came[distance, 0][1]
        assert last > came[distance, 0][1]


def test_the_command_line_shows_the_ppes(cell_to_cell: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["simrun", "-n", "40", "-m", "roadrunner", "--set", "forward_level=2"]
    assert execute([*words, str(cell_to_cell), "0", "32"]) == 0
    assert re.search(r"PPEs forwarded \d+ messages.*busiest: node0/blade0/cell0", capfd.readouterr().out)
    assert execute([*words, "--json", str(cell_to_cell), "0", "32"]) == 0
    found = documents.read(capfd.readouterr().out)
    assert found["settings"]["forward_level"] == 2
    assert len(found["ppes"]) == 32
    assert sum(row["left"] for row in found["ppes"]) == sum(row["came"] for row in found["ppes"]) > 8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"forward_level": 4}, "'forward_level': found 4, allowed: 0 to 3, the levels of 'roadrunner'"),
        ({"forward_level": 1.5}, "'forward_level': found 1.5, allowed: 0 to 3, the levels of 'roadrunner'"),
        ({"forward_level": 3}, "'forward_ns': found 1000, allowed: 0 to 308.8, what a message of"),
        ({"forward_level": 2, "forward_gb_per_s": 0.8}, "'forward_gb_per_s': found 0.8, allowed: 0.8307 or"),
    ],
)
def test_forwarding_that_does_not_fit(
    settings: dict[str, float], message: str, cell_to_cell: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=message):
        run_program(cell_to_cell, ("0", "8"), 16, "roadrunner", options=RunOptions(settings=settings))
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value:g}")]
    assert execute(["simrun", "-n", "16", "-m", "roadrunner", *words, str(cell_to_cell), "0", "8"]) == 2
    assert message in capfd.readouterr().err
