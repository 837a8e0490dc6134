"""Bundled programs are compiled file by file, beside each other, and linked; what fails says why.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from corewise.errors import RunError
from corewise.mpi import programs
from corewise.mpi.find import MpiLibrary


def sources(folder: Path, monkeypatch: pytest.MonkeyPatch, *texts: str) -> None:
    files = [folder / f"part{index}.cpp" for index in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    monkeypatch.setattr(programs, "sources_of", lambda name: files)


def build(folder: Path) -> Path:
    out = folder / "out"
    out.mkdir()
    mpi = MpiLibrary("mpich", "4.0", folder, folder, folder, (), ())
    return programs.build_program(mpi, "parts", out)


def test_the_files_of_a_program_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources(tmp_path, monkeypatch, "int seven() { return 7; }", "int seven(); int main() { return seven(); }")
    program = build(tmp_path)
    assert subprocess.run([program], check=False).returncode == 7
    assert list((tmp_path / "out").iterdir()) == [program]


@pytest.mark.parametrize(
    "second", ["int main() { return undeclared; }", "int undeclared(); int main() { return undeclared(); }"]
)
def test_what_fails_says_why(second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources(tmp_path, monkeypatch, "int seven() { return 7; }", second)
    with pytest.raises(RunError, match=r"building parts for mpich 4\.0 failed:\n(.|\n)*undeclared"):
        build(tmp_path)
    assert not list((tmp_path / "out").iterdir())
