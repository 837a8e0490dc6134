"""Results of tests are counted once, skips are excused or not, and long tests run when asked for.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from this_repository import FAILURE, ROOT, SKIPPED, case, junit

import results
import skipped
import summarise

# --- the closing line -------------------------------------------------------------------------------------


def write_mixed_results(folder: Path) -> None:
    junit(folder, case() + case(FAILURE, "test_bad") + case(SKIPPED, "test_off"))
    junit(folder, '<testcase name="m"/><testcase name="crash"><failure/></testcase>', "ctest.xml")
    two = '<testcase name="A" classname="S"/><testcase name="B" classname="S"/>'
    junit(folder, two, "cpp/test_m.xml")


def test_closing_line_counts_every_case_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_mixed_results(tmp_path)
    assert summarise.main([str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    # pytest 1 + 1 + 1; program m counts by its two cases; program crash left no cases and counts itself.
    assert lines[-1] == "3 passed, 2 failed, 1 skipped"
    assert "skipped: tests/python/test_thing.py::test_off: capability: none here" in lines


def test_program_that_failed_with_passing_cases_stays_red(tmp_path: Path) -> None:
    junit(tmp_path, '<testcase name="m"><failure message="leak"/></testcase>', "ctest.xml")
    junit(tmp_path, '<testcase name="A" classname="S"/>', "cpp/test_m.xml")
    states = [outcome.state for outcome in results.counted(results.read_outcomes([tmp_path]))]
    assert sorted(states) == ["failed", "passed"]


@pytest.mark.parametrize(
    ("ci", "reason", "status"),
    [
        ("true", "capability: x", 0),
        ("true", "tests/cpp/m/test_a.cpp:59&#x0A;capability: x", 0),
        ("true", "tests/cpp/m/test_a.cpp:59&#x0A;tired", 1),
        ("true", "tired", 1),
        ("", "tired", 0),
    ],
)
def test_skip_needs_a_capability_in_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str, reason: str, status: int
) -> None:
    monkeypatch.setenv("CI", ci)
    junit(tmp_path, case() + case(f'<skipped message="{reason}"/>', "test_off"))
    assert summarise.main([str(tmp_path)]) == status


def test_no_results_are_no_success(tmp_path: Path) -> None:
    assert summarise.main([str(tmp_path)]) == 1


def test_results_of_the_real_runner_are_understood(tmp_path: Path) -> None:
    """The names and reasons that this very pytest writes are those that the readers expect."""
    folder = tmp_path / "tests" / "python"
    folder.mkdir(parents=True)
    text = (
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_off(): pytest.skip('capability: no browser')\n"
        "class TestGroup:\n"
        "    @pytest.mark.parametrize('x', ['a.b'])\n"
        "    def test_in(self, x): assert False\n"
    )
    (folder / "test_small.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", ".", "--junitxml", "out.xml", "tests"]
    subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    outcomes = {outcome.test: outcome for outcome in results.read_outcomes([tmp_path / "out.xml"])}
    assert outcomes["tests/python/test_small.py::test_good"].state == "passed"
    assert summarise.is_excused(outcomes["tests/python/test_small.py::test_off"])
    assert outcomes["tests/python/test_small.py::TestGroup::test_in[a.b]"].state == "failed"


def test_a_skip_is_answered_where_the_test_ran_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only what was skipped for good is named to run again, and counts."""
    junit(tmp_path, case(SKIPPED) + case(SKIPPED, "test_off"), "pytest-mpi.xml")
    assert skipped.main([str(tmp_path)]) == 0
    names = [f"tests/python/test_thing.py::{name}" for name in ("test_it", "test_off")]
    assert capsys.readouterr().out.split() == names
    junit(tmp_path, case() + case(SKIPPED, "test_off"), "pytest-skipped.xml")
    assert skipped.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == names[1:]
    assert summarise.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed, 1 skipped"


# --- long tests -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("which", "long_ones", "quiet_ones"), [("none", 0, 0), ("all", 64, 64), ("3aa53d2", 7, 0)]
)
def test_long_tests_run_when_they_are_asked_for(
    tmp_path: Path, which: str, long_ones: int, quiet_ones: int
) -> None:
    """The sample of a commit is always the same, and is named; what asks for a gain in time is in none."""
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    text = (
        "import pytest\n"
        "def test_short(): pass\n"
        "@pytest.mark.long_test\n"
        "@pytest.mark.parametrize('seed', range(64))\n"
        "def test_long(seed): pass\n"
        "@pytest.mark.long_test\n"
        "@pytest.mark.quiet_test\n"
        "@pytest.mark.parametrize('seed', range(64))\n"
        "def test_quiet(seed): pass\n"
    )
    (tmp_path / "test_small.py").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--rootdir",
        ".",
        "-p",
        "no:cacheprovider",
        "--long",
        which,
    ]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert f"{1 + long_ones + quiet_ones} passed" in done.stdout
    assert done.stdout.count("  test_small.py::test_long[") == long_ones


def test_what_runs_on_both_mpis_runs_on_one_every_time(tmp_path: Path) -> None:
    """By turn, and on the standard ABI where a test knows nothing else; not where the MPIs differ in it."""
    folder = tmp_path / "tests" / "mpi"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "conftest.py", folder.parent)
    shutil.copy(ROOT / "tests" / "mpi" / "conftest.py", folder)
    text = (
        "import pytest\n"
        "ALL = pytest.mark.parametrize('name', ['openmpi', 'mpich', 'mpich_abi'])\n"
        "@ALL\n"
        "@pytest.mark.parametrize('n', range(32))\n"
        "def test_by_turn(name, n): pass\n"
        "@ALL\n"
        "@pytest.mark.both_mpis\n"
        "def test_both(name): pass\n"
        "@pytest.mark.parametrize('name', ['mpich_abi'])\n"
        "def test_abi(name): pass\n"
    )
    (folder / "test_small.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "--rootdir", "."]
    done = subprocess.run([*command, "tests"], cwd=tmp_path, check=True, capture_output=True, text=True)
    words = [line.split("::")[1].rstrip("]").split("[") for line in done.stdout.splitlines() if "::" in line]
    ran = {test: [each for name, each in words if name == test] for test, _ in words}
    assert (ran["test_both"], ran["test_abi"]) == (["openmpi", "mpich"], ["mpich_abi"])
    turns = [word for each in ran["test_by_turn"] for word in each.split("-") if not word.isdigit()]
    assert len(turns) == 32 and set(turns) == {"openmpi", "mpich"}
