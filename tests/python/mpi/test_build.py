"""A library that two need at the same time is built by one of them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from corewise.mpi import build
from corewise.mpi.find import MpiLibrary


@pytest.mark.parametrize(("force", "builds"), [(False, 1), (True, 2)])
def test_who_comes_second_waits(
    force: bool, builds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, both, at_once = tmp_path / "cache" / "lib.so", Barrier(2), []

    def compiled(mpi: MpiLibrary, work: Path, *rest: object) -> Path:
        at_once.append("begins")
        time.sleep(0.5)
        (work / "built.so").write_text("library", encoding="utf-8")
        at_once.append("ends")
        return work / "built.so"

    def wanted(number: int) -> str:
        both.wait()
        return build.build_reorder(mpi, force=force).read_text(encoding="utf-8")

    mpi = MpiLibrary("mpich", "4.0", tmp_path, tmp_path, tmp_path, (), ())
    monkeypatch.setattr(build, "_prebuilt", lambda *rest: None)
    monkeypatch.setattr(build, "_target", lambda *rest: target)
    monkeypatch.setattr(build, "_compile", compiled)
    monkeypatch.setattr(build, "_REORDERING", replace(build._REORDERING, generate=lambda *rest: []))
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(wanted, range(2))) == ["library"] * 2
    assert at_once == ["begins", "ends"] * builds
