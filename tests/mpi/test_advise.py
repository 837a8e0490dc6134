"""`corewise advise` on real MPIs: programs that each gain from one lever, and one that nothing can help.

What is measured here is judged as it comes: a test asks that the verdict follows from the interval, and that
what is advised runs. That each program's lever is named every time, and that nothing is advised where nothing
helps, are long tests.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Mpi, find_mpi
from installed_tool import assert_one_line_error, corewise

SOURCES = Path(__file__).resolve().parent / "advising"
TRIES = 20


@pytest.fixture(autouse=True)
def two_cores() -> None:
    """Two ranks need two cores."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("capability: two cores")


def built(mpi: Mpi, folder: Path, name: str) -> Path:
    return mpi.build(folder / name, SOURCES / f"{name}.c")


def advised(mpi: Mpi, folder: Path, *arguments: object) -> dict[str, Any]:
    """The JSON object of an advice; its profile is new."""
    output = folder / f"profile-{len(list(folder.glob('*.cw')))}.cw"
    # With more ranks than cores allowed, Open MPI leaves ranks unbound: a user's launch is not like that.
    allowed = {name: value for name, value in mpi.env.items() if "mapping_policy" not in name}
    environment = {**os.environ, **allowed}
    done = corewise("advise", "--json", "-o", output, *arguments, env=environment, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def confirmed(mpi: Mpi, folder: Path, *arguments: object) -> dict[str, Any]:
    """Advice that was tried: a host that is busy needs a longer budget for the fewest runs."""
    for budget_s in (90, 240):
        found = advised(mpi, folder, "--budget", f"{budget_s} s", *arguments)
        if not found["statement"].startswith("predicted only"):
            break
    check(found)
    return found


def check(found: dict[str, Any]) -> None:
    """The verdict follows from the interval of fresh rounds, and only a faster launch is advised."""
    low, confirmed = found["low"], found["confirming_rounds"]
    assert found["difference"] == (confirmed >= 6 and low is not None and low > 1)
    assert (found["launch"] is not None) == found["difference"]
    assert found["difference"] == ("times faster than the plain launch" in found["statement"])
    if found["difference"]:
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        environment = {**os.environ, **as_root}
        done = subprocess.run(found["launch"], check=False, capture_output=True, timeout=120, env=environment)
        assert done.returncode == 0, shlex.join(found["launch"])


def promising(found: dict[str, Any]) -> set[str]:
    return {row["id"] for row in found["rows"] if row["prediction"]["promising"]}


def on_one_cpu(mpi: Mpi, program: Path, *arguments: object) -> list[object]:
    """Somebody's launcher line that puts both ranks on the first CPU."""
    cpu = min(os.sched_getaffinity(0))
    words = ["-bind-to", f"user:{cpu},{cpu}"]
    if mpi.name == "openmpi":
        words = ["--map-by", f"pe-list={cpu}:ordered:oversubscribe", "--bind-to", "core:overload-allowed"]
    return ["--", mpi.mpiexec, "-n", 2, *words, program, *arguments]


@pytest.mark.both_mpis
def test_levers_are_predicted_from_one_run(mpi: Mpi, tmp_path: Path) -> None:
    """Nothing is timed: a budget of nothing."""
    plain = ["--budget", "0 s", "-n", 2, "--mpi", mpi.prefix, "--"]
    reduce = advised(mpi, tmp_path, *plain, built(mpi, tmp_path, "reduce"), 20_000)
    assert "acceleration" in promising(reduce) and "packing" not in promising(reduce)
    strided = advised(mpi, tmp_path, *plain, built(mpi, tmp_path, "strided"), 200)
    assert "packing" in promising(strided) and "acceleration" not in promising(strided)
    assert (
        "MPI_Type_vector"
        in next(row for row in strided["rows"] if row["id"] == "packing")["prediction"]["reason"]
    )
    for found in (reduce, strided):
        assert found["statement"].startswith("predicted only, --budget is 0")
        # MPICH leaves ranks unbound, Open MPI does not: read back from the ranks.
        assert ("binding" in promising(found)) == (mpi.name == "mpich")


def test_two_ranks_on_one_core_are_bound_apart(mpi: Mpi, tmp_path: Path) -> None:
    program = built(mpi, tmp_path, "compute")
    found = advised(mpi, tmp_path, "--budget", "12 s", *on_one_cpu(mpi, program, 20))
    assert "more-ranks-than-cores" in [row["id"] for row in found["findings"]]
    binding = next(row for row in found["rows"] if row["id"] == "binding")
    assert binding["prediction"]["gain"] == pytest.approx(2)
    assert binding["tried"] and binding["outcome"] == ""
    assert found["chosen"] is None or "binding" in found["chosen"]
    check(found)


def test_a_profile_is_advised_too(tmp_path: Path) -> None:
    """The program is launched again as it was recorded; a program that is gone is only predicted."""
    mpi = find_mpi("mpich")
    program = built(mpi, tmp_path, "reduce")
    profile = tmp_path / "reduce.cw"
    assert corewise("run", "-n", 2, "--mpi", mpi.prefix, "-o", profile, "--", program, 20_000).returncode == 0
    done = corewise("advise", profile, "--budget", "10 s", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    check(found)
    assert found["plain"][1:] == ["-n", "2", str(program), "20000"]
    assert any(row["tried"] for row in found["rows"])
    program.unlink()
    gone = json.loads(corewise("advise", profile, "--json").stdout)
    assert gone["statement"].startswith("predicted only, ") and "no such program" in gone["statement"]


def test_a_program_that_fails_is_not_advised(tmp_path: Path) -> None:
    mpi = find_mpi("mpich")
    failed = corewise(
        "advise", "-n", 2, "--mpi", mpi.prefix, "--", built(mpi, tmp_path, "compute"), -1, cwd=tmp_path
    )
    assert failed.returncode == 1
    assert "ended with exit status" in failed.stderr and failed.stdout == ""
    silent = corewise("advise", "-n", 2, "--mpi", mpi.prefix, "-o", "silent.cw", "--", "true", cwd=tmp_path)
    assert silent.returncode == 1 and "no rank called mpich's MPI_Init" in silent.stderr
    assert not (tmp_path / "silent.cw").exists()
    line = ["--", mpi.mpiexec, "-n", 1, "true", ":", "-n", 1, "true"]
    assert_one_line_error(corewise("advise", *line, cwd=tmp_path), "several programs")


def test_a_program_that_is_not_ours_is_looked_at(tmp_path: Path) -> None:
    """LAMMPS under Debian's Open MPI 4, by somebody's launcher line."""
    for name in ("mpiexec.openmpi", "lmp"):
        if shutil.which(name) is None:
            pytest.skip(f"capability: {name} is not installed")
    melt = SOURCES.parent / "programs" / "melt.lammps"
    line = ["mpiexec.openmpi", "--allow-run-as-root", "-n", 2, "--bind-to", "none", "lmp", "-in", melt]
    more = ["-log", "none", "-var", "dump", "atoms.txt"]
    found = advised(find_mpi("openmpi"), tmp_path, "--budget", "0 s", "--", *line, *more)
    assert found["ranks"] == 2
    assert found["findings"][0]["id"] in ("computing", "communication")
    assert {"binding", "acceleration"} >= promising(found) >= {"binding"}
    assert [row["id"] for row in found["findings"] if row["id"] == "unbound"] == ["unbound"]
    assert found["plain"][1:] == [
        "--allow-run-as-root",
        *map(str, line[2:4]),
        "--bind-to",
        "none",
        *map(str, [*line[6:], *more]),
    ]


@pytest.mark.long_test
@pytest.mark.quiet_test
@pytest.mark.parametrize(
    ("name", "size", "lever"), [("reduce", 1_000_000, "acceleration"), ("strided", 10_000, "packing")]
)
def test_the_lever_that_helps_is_named(mpi: Mpi, tmp_path: Path, name: str, size: int, lever: str) -> None:
    program = built(mpi, tmp_path, name)
    found = confirmed(mpi, tmp_path, "-n", 2, "--mpi", mpi.prefix, "--", program, size)
    assert found["difference"] and lever in found["chosen"], found["statement"]


@pytest.mark.long_test
@pytest.mark.quiet_test
def test_unbound_ranks_are_bound(mpi: Mpi, tmp_path: Path) -> None:
    program = built(mpi, tmp_path, "compute")
    found = confirmed(mpi, tmp_path, *on_one_cpu(mpi, program, 100))
    assert found["difference"] and "binding" in found["chosen"], found["statement"]


@pytest.mark.long_test
@pytest.mark.quiet_test
def test_nothing_is_advised_in_19_of_20_tries(tmp_path: Path) -> None:
    """MPICH leaves two ranks on two cores unbound: binding is tried, and makes no difference to computing."""
    mpi = find_mpi("mpich")
    program = built(mpi, tmp_path, "compute")
    found = [
        advised(mpi, tmp_path, "--budget", "20 s", "-n", 2, "--mpi", mpi.prefix, "--", program, 60)
        for _ in range(TRIES)
    ]
    for each in found:
        check(each)
    faster = [each["statement"] for each in found if each["difference"]]
    assert len(faster) <= 1, faster
