"""NEON's kernels (copy, pack, reduction): the room's C++ tests, built for 64-bit Arm and run in an emulator.

The same tests that every host runs for its own instruction sets: each kernel by its name against memcpy and
against runs listed one by one, at every alignment and boundary, with guard bytes around. The paper's kernels
and the plain loops of packing run there, too.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.first_test

ROOT = Path(__file__).parents[2]
COMPILER = "aarch64-linux-gnu-g++"
EMULATOR = "qemu-aarch64"
FLAGS = (
    "-std=c++20",
    "-O1",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-pthread",
    f"-I{ROOT / 'src'}",
    f"-I{ROOT / 'tests' / 'cpp'}",
)
PARTS = ("copy", "packing", "reduce")
"""Folders of the room that are needed."""
VECTORISED = ("-O3", "-ffp-contract=off")
"""As the build compiles the loops of reductions, which the compiler puts into vectors."""
TESTS = (
    *("copy/test_copy.cpp", "copy/test_tuning.cpp", "packing/test_pack.cpp"),
    *("reduce/test_reduce.cpp", "reduce/test_into.cpp"),
)
COPY_KERNELS = (
    *("naive", "read_allocate", "four_stream", "neon", "neon_prefetch", "neon_backward"),
    *("neon_nt", "neon_nt_prefetch", "neon_nt_pages4", "neon_nt_pages16"),
)


def _googletest() -> Path | None:
    """Its sources: those that the build fetched, or the system's."""
    location = ROOT / "build" / "gtest" / "location"
    fetched = location.read_text(encoding="utf-8").strip() if location.exists() else ""
    places = [Path(fetched)] if fetched else []
    places.append(Path("/usr/src/googletest/googletest"))
    return next((place for place in places if (place / "src" / "gtest-all.cc").exists()), None)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The room and its tests, for 64-bit Arm."""
    googletest = _googletest()
    for lacking, name in (
        (shutil.which(COMPILER) is None, COMPILER),
        (shutil.which(EMULATOR) is None, EMULATOR),
        (googletest is None, "sources of GoogleTest"),
    ):
        if lacking:
            pytest.skip(f"capability: {name}")
    folder = tmp_path_factory.mktemp("arm")
    headers = (f"-isystem{googletest}/include", f"-I{googletest}")
    theirs = [googletest / "src" / name for name in ("gtest-all.cc", "gtest_main.cc")] if googletest else []
    ours = [ROOT / "tests" / "cpp" / "kernels" / name for name in TESTS]
    # What takes longest first.
    room = [path for part in PARTS for path in sorted((ROOT / "src" / "kernels" / part).rglob("*.cpp"))]
    sources = [*theirs, *ours, *room]

    def compiled(source: Path) -> Path:
        made = folder / f"{sources.index(source)}.o"
        strict = FLAGS if source not in theirs else (FLAGS[0], "-O0", "-w")
        if source.parent == ROOT / "src" / "kernels" / "reduce":
            strict = (*strict, *VECTORISED)
        _run(COMPILER, *strict, *headers, "-c", str(source), "-o", str(made))
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sources))
    _run(COMPILER, "-static", *map(str, objects), "-lpthread", "-o", str(folder / "tests"))
    return folder / "tests"


def _run(*command: str) -> str:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{' '.join(command)}\n{(ended.stdout + ended.stderr)[-4000:]}"
    return ended.stdout


def _passed(program: Path, tests: str) -> set[str]:
    """Names of the tests that passed; every one of them has to."""
    said = _run(EMULATOR, str(program), f"--gtest_filter={tests}")
    return set(re.findall(r"^\[ +OK \] (\S+)", said, re.MULTILINE))


def test_copy_kernels_of_neon_and_of_the_paper_copy_exactly_on_arm(program: Path) -> None:
    passed = _passed(program, "Copy/EveryKernel.*:Copy.*:CopyTable.*:CopyTuning*:CopyCalibration.*")
    for kernel in COPY_KERNELS:
        for test in ("ShortLengthsAtEveryAlignment", "LengthsAroundEveryBoundary"):
            assert f"Copy/EveryKernel.{test}/{kernel}" in passed
        assert f"Copy/EveryKernel.ReadsAndWritesNothingBesideTheBlocks/{kernel}" in passed
    assert "CopyTable.EveryArchitectureHasItsOwn" in passed
    assert "CopyCalibration.ReturnsATuningThatThisProcessorCanRun" in passed


def test_pack_plans_pack_and_unpack_exactly_on_arm(program: Path) -> None:
    passed = _passed(program, "Sets/PackPlans.*:PackPlan.*")
    for test in ("EveryBlockLengthAndDistance", "TablesOfRuns", "EveryPartOfAMessage"):
        assert f"Sets/PackPlans.{test}/generic" in passed
    # The plain loops are what Arm takes: compilers make registers of NEON of them.
    assert "PackPlan.TheFirstInstructionSetIsTheOneItPrefers" in passed


def test_reductions_in_place_and_into_other_places_are_exact_on_arm(program: Path) -> None:
    passed = _passed(program, "Reduce/Every*:ReductionSets.*")
    for test in (
        "EverySet.EveryOperatorOnEveryElement",
        "EverySetInto.TheResultGoesToOneOrTwoOtherPlacesAndNowhereElse",
        "EverySetInto.EveryKernelLeavesTheBytesOfTheBaseInPlace",
        "EverySetInto.ReadsAndWritesNothingBesideTheBlocks",
    ):
        assert f"Reduce/{test}/base" in passed
