"""The main job from end to end, as a user does it: the demo under each MPI with an empty home, its profile.

The matrix is held against the count that the program keeps itself and against a count by hand; the placements
against every placement, evaluated in NumPy. Runs that are killed or aborted are reported as such.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, Mpi, find_mpi
from installed_tool import corewise, document
from place_reference import brute_force, cost_of

pytestmark = pytest.mark.first_test

MPI_NAMES = ("openmpi", "mpich")
RANKS, STEPS, EDGE = 8, 50, 16  # of the demo: each rank has a box of 16x16x16 cells
DEMO_TIMEOUT_S = 900
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# 400 sends of 100 bytes to the other rank, all of them received; then rank 1 ends as its argument says.
ENDS_C = r"""
#include <mpi.h>
#include <signal.h>
#include <string.h>

int main(int argc, char** argv) {
  char data[100] = {0};
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 400; ++i) {
    if (rank == i % 2) MPI_Send(data, 100, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD);
    else MPI_Recv(data, 100, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  PMPI_Barrier(MPI_COMM_WORLD);  // both have done all of it; not recorded
  if (rank == 1 && strcmp(argv[1], "kill") == 0) raise(SIGKILL);
  if (rank == 1 && strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""


@dataclass(frozen=True)
class Demo:
    """What ``make demo`` left under one MPI."""

    mpi: str
    folder: Path
    home: Path
    out: str

    @property
    def profile(self) -> Path:
        return self.folder / "build" / "demo" / "lbm.cw"

    @property
    def slabs(self) -> Path:
        """The profile of the flow that is cut into slabs."""
        return self.folder / "build" / "demo" / "slabs.cw"

    def counted(self, name: str = "counted") -> np.ndarray[Any, np.dtype[np.uint64]]:
        """The program's own count: (ranks, ranks, 2) of bytes and messages."""
        counts = np.zeros((RANKS, RANKS, 2), np.uint64)
        with (self.folder / "build" / "demo" / f"{name}.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                counts[int(row["from"]), int(row["to"])] = int(row["bytes"]), int(row["count"])
        return counts


def run_demo(name: str, folder: Path) -> Demo:
    """Runs the demo's script in a folder of its own, with an empty home and an empty environment."""
    home = folder / "home"
    home.mkdir()
    (folder / "build").mkdir()
    for part in (".venv", "tools", "build/mpi", "build/apps"):
        assert (ROOT / part).exists(), f"{part} is missing: make build apps"
        (folder / part).symlink_to(ROOT / part)
    kept = {key: os.environ[key] for key in ("PATH", "CXX", "TMPDIR") if key in os.environ}
    environment = {**kept, "HOME": str(home), "DEMO_MPI": name}
    done = subprocess.run(
        ["tools/demo.sh"], cwd=folder, env=environment, capture_output=True, text=True, check=False,
        timeout=DEMO_TIMEOUT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return Demo(name, folder, home, done.stdout)


@pytest.fixture(scope="session")
def demos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Demo]:
    """The demo under both MPIs, at once: most of its time is one compiler each."""
    with ThreadPoolExecutor() as pool:
        runs = {name: pool.submit(run_demo, name, tmp_path_factory.mktemp(name)) for name in MPI_NAMES}
        return {name: run.result() for name, run in runs.items()}


@pytest.fixture(params=MPI_NAMES)
def demo(request: pytest.FixtureRequest, demos: dict[str, Demo]) -> Demo:
    """The demo under one MPI."""
    return demos[request.param]


@cache
def report_of(profile: Path) -> dict[str, Any]:
    """``corewise report --json``."""
    return document("report", profile)


def sent_matrix(profile: Path) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The profile's messages: (ranks, ranks, 2) of bytes and messages."""
    matrix = np.zeros((RANKS, RANKS, 2), np.uint64)
    for entry in report_of(profile)["matrix"]["sent"]:
        matrix[entry["from"], entry["to"]] = entry["bytes"], entry["messages"]
    return matrix


def test_the_demo_tells_the_whole_story(demo: Demo) -> None:
    wanted = (
        "yes: 48 pairs of ranks",
        "finished: all 8 ranks",
        "3D halo 2x2x2",
        "best (proven)",
        "identity (rank order)",
        "worst (proven)",
        "prediction: this is not the machine at hand",
        "The page: report.html",
    )
    assert [text for text in wanted if text not in demo.out] == []
    page = (demo.folder / "report.html").read_text(encoding="utf-8")
    assert "3D halo 2x2x2" in page
    assert "cell-be" in page


def test_the_preload_was_built_on_first_use(demo: Demo) -> None:
    built = list((demo.home / ".cache" / "corewise" / "preload").glob("*/libcorewise-preload.so"))
    assert {path.parent.name.split("-")[0] for path in built} == {demo.mpi}


def test_the_matrix_is_what_the_program_counted(demo: Demo) -> None:
    assert np.array_equal(sent_matrix(demo.profile), demo.counted())
    assert report_of(demo.profile)["consistency"]["differing"] == []


def test_the_bytes_are_those_counted_by_hand(demo: Demo) -> None:
    """6 velocities leave through one face of a rank's box, 12 through a face or an edge; 8 bytes each."""
    straight = EDGE * EDGE
    diagonal = EDGE**3 - (EDGE - 1) ** 2 * EDGE
    expected = RANKS * STEPS * 8 * (6 * straight + 12 * diagonal)
    assert report_of(demo.profile)["bytes"] == expected
    assert int(sent_matrix(demo.profile)[:, :, 0].sum()) == expected
    # 6 faces and 12 edges per rank and step.
    assert report_of(demo.profile)["messages"] == RANKS * STEPS * 18


def test_both_mpis_give_the_same_matrix(demos: dict[str, Demo]) -> None:
    first, second = (demos[name].profile for name in MPI_NAMES)
    assert np.array_equal(sent_matrix(first), sent_matrix(second))
    assert report_of(first)["pattern"] == report_of(second)["pattern"]
    assert [report_of(profile)["mpi"]["name"] for profile in (first, second)] == list(MPI_NAMES)


def test_the_pattern_is_named(demo: Demo) -> None:
    pattern = report_of(demo.profile)["pattern"]
    assert pattern["name"].startswith("3D halo 2x2x2")
    assert pattern["degree"] == 1.0
    assert pattern["matches"][0]["dims"] == [2, 2, 2]


def test_the_placement_on_the_cell_is_the_best_of_all(demo: Demo) -> None:
    """And worth having: rank order loads the busiest link four times as much."""
    found = document("place", demo.slabs, "--machine", "cell-be")
    rows = {row["placement"]: row for row in found["rows"]}
    placements, bottlenecks, _ = brute_force(demo.counted("counted_slabs")[:, :, 0], RANKS)
    assert rows["best"]["bottleneck_bytes"] == bottlenecks.min()
    assert rows["worst"]["bottleneck_bytes"] == bottlenecks.max()
    assert rows["identity"]["unit_of_rank"] == list(range(RANKS))
    for which in ("best", "identity", "worst"):
        assert rows[which]["bottleneck_bytes"] == cost_of(rows[which], placements, bottlenecks)
    assert rows["identity"]["bottleneck_bytes"] == 4 * bottlenecks.min()
    assert rows["identity"]["bottleneck_bytes"] < bottlenecks.max()
    assert (found["prediction"], found["proven_optimal"], found["worst_proven"]) == (True, True, True)
    written = json.loads((demo.folder / "build" / "demo" / "placement.json").read_text())
    assert (written["machine"], written["unit_of_rank"]) == ("cell-be", rows["best"]["unit_of_rank"])


@pytest.mark.skipif(CHROMIUM is None, reason="capability: no chromium")
def test_the_demos_page_opens_in_chromium(demos: dict[str, Demo], tmp_path: Path) -> None:
    page = demos["openmpi"].folder / "report.html"
    command = [
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        "--no-first-run", "--disable-sync", "--disable-dev-shm-usage",
        f"--user-data-dir={tmp_path / 'browser'}", "--enable-logging=stderr", "--v=0", "--dump-dom",
        page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, timeout=600)
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    # The page's script ran: it takes the marks' titles and makes tips of them.
    assert done.stdout.count("data-tip=") >= RANKS


# --- runs that do not finish ------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def ends(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program whose rank 1 ends as it is told, built for one MPI."""
    folder = tmp_path_factory.mktemp(f"ends-{mpi.name}")
    (folder / "ends.c").write_text(ENDS_C)
    return mpi.build(folder / "ends", folder / "ends.c")


ENDINGS = [
    ("kill", 0, False, "did not finish"),
    ("abort", 3, False, "rank 1 called MPI_Abort (code 3)"),
    ("well", 0, True, "finished: all 2 ranks"),
]


@pytest.mark.parametrize(("how", "abort_code", "finished", "said"), ENDINGS)
def test_the_report_says_how_the_run_ended(
    mpi: Mpi, ends: Path, tmp_path: Path, how: str, abort_code: int, finished: bool, said: str
) -> None:
    profile = tmp_path / f"{how}.cw"
    ran = corewise("run", "-n", 2, "--mpi", mpi.prefix, "-o", profile, "--", ends, how)
    assert (ran.returncode == 0) == finished, ran.stderr
    found = document("report", profile)
    assert found["finished"] == finished
    assert found["exit_status"] == ran.returncode
    assert said in found["ending"]
    # Every completed call is there, whatever became of the ranks.
    assert found["matrix"]["sent"] == [
        {"from": 0, "to": 1, "bytes": 20000, "messages": 200},
        {"from": 1, "to": 0, "bytes": 20000, "messages": 200},
    ]
    calls = {row["procedure"]: row["calls"] for row in found["rows"]}
    assert (calls["MPI_Send"], calls["MPI_Recv"]) == (400, 400)
    assert found["rank_rows"][1]["abort_code"] == abort_code
    if not finished:
        shown = corewise("report", profile)
        assert shown.returncode == 0
        assert said in shown.stdout
        assert "did not finish" in shown.stdout


# --- Python programs --------------------------------------------------------------------------------------

MPI4PY = """
from mpi4py import MPI

world = MPI.COMM_WORLD
if world.Get_rank() == 0:
    world.Send(bytearray(300), dest=1)
else:
    world.Recv(bytearray(300), source=0)
"""


def test_a_python_program_is_recorded_and_exits_cleanly(mpi: Mpi, tmp_path: Path) -> None:
    script, profile = tmp_path / "program.py", tmp_path / "program.cw"
    script.write_text(MPI4PY)
    ran = corewise("run", "-n", 2, "--mpi", mpi.prefix, "-o", profile, "--", sys.executable, script)
    assert (ran.returncode, ran.stdout) == (0, "")
    expected = ("2 ranks recorded", "building the preload")
    assert [line for line in ran.stderr.splitlines() if not any(text in line for text in expected)] == []
    found = document("report", profile)
    assert found["finished"]
    assert found["mpi"]["name"] == mpi.name
    assert found["matrix"]["sent"] == [{"from": 0, "to": 1, "bytes": 300, "messages": 1}]


# --- what recording costs ---------------------------------------------------------------------------------


def test_the_profiler_benchmark_reports_every_contestant() -> None:
    """Rows and their arithmetic; how fast they are is for people to read: no test judges a time."""
    for name in MPI_NAMES:
        command = ["bench", "profiler", "--cases", "calls", "--rounds", 2, "--json"]
        done = corewise(*command, "--mpi", find_mpi(name).prefix)
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout)["rows"]
        assert len({row["id"] for row in rows}) == len(rows)
        asked = {f"{what} {mode}" for what in ("null", "bytes") for mode in ("corewise", "thread", "flight")}
        assert {" ".join(row["id"].split("-")[index] for index in (1, -1)) for row in rows} >= asked
        for row in rows:
            assert row["id"].startswith("profiler-")
            assert row["mpi"].startswith(name)
            assert row["processor"]
            assert row["n"] == 2
            assert row["floor"] is None or row["floor"] > 0
        assert all(row["ours"] > 0 and row["ratio"] > 0 for row in rows if "-bytes-" in row["id"])
