"""Which library transforms rows for `corewise bench fft`: FFTW, DUCC, or a clear error.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

from corewise.bench.fft import engines
from corewise.bench.rows import Listener
from corewise.errors import InputError, RunError
from corewise.mpi.build import compiler
from corewise.mpi.programs import sources_of

DRIVER = """
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
#include "engine.hpp"
int main(int, char** words) {
  const std::size_t length = std::strtoul(words[1], nullptr, 10), rows = 4, stride = length + 3;
  std::vector<fft2d::Complex> values(rows * stride);
  if (std::fread(values.data(), sizeof values[0], values.size(), stdin) != values.size()) return 1;
  const fft2d::Engine engine(length, words[2][0] == 'i');
  std::thread other([&] { engine.run(values.data(), 2, stride); });
  engine.run(values.data() + 2 * stride, 2, stride);
  other.join();
  std::fwrite(values.data(), sizeof values[0], values.size(), stdout);
}
"""
"""Transforms four rows, two by each of two threads that share a plan; three elements lie between rows."""


def archive(path: Path, names: list[str]) -> Path:
    with tarfile.open(path, "w:gz") as file:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = len(name)
            file.addfile(entry, io.BytesIO(name.encode()))
    return path


def files_under(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def fake_pip(monkeypatch: pytest.MonkeyPatch, names: list[str], status: int = 0) -> list[list[str]]:
    """pip as a program that leaves an archive in ``--dest``; the list takes its command lines."""
    calls: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        if status == 0:
            archive(Path(command[command.index("--dest") + 1]) / "ducc0-1.tar.gz", names)
        return subprocess.CompletedProcess(command, status, "", "a\nERROR: no index\n")

    monkeypatch.setattr(engines.subprocess, "run", run)
    return calls


NEEDED = "ducc0-1/src/ducc0/fft/fft1d_impl.h"


def test_sources_are_fetched_once_by_their_hash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engines, "cache_root", lambda: tmp_path)
    calls = fake_pip(monkeypatch, [NEEDED, "ducc0-1/src/ducc0/sht/sht.h", "ducc0-1/src/ducc0/../../up.h"])
    found = engines.ducc_sources(Listener())
    assert engines.ducc_sources(Listener()) == found
    assert files_under(tmp_path) == {f"sources/{found.name}/ducc0/fft/fft1d_impl.h"}
    (command,) = calls
    requirements = Path(command[command.index("-r") + 1])
    assert "--hash=sha256:" in requirements.read_text() and "download" in command
    assert found.name.removeprefix("ducc0-") in requirements.read_text()


def test_an_archive_without_the_transforms_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(engines, "cache_root", lambda: tmp_path)
    fake_pip(monkeypatch, ["ducc0-1/src/ducc0/fft/fft.h"])
    with pytest.raises(RunError, match=r"found no src/ducc0/fft/fft1d_impl\.h in it"):
        engines.ducc_sources(Listener())
    assert files_under(tmp_path) == set()


def test_without_either_the_error_names_both(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engines, "cache_root", lambda: tmp_path)
    monkeypatch.setattr(engines, "has_fftw", lambda: False)
    fake_pip(monkeypatch, [], status=1)
    with pytest.raises(InputError, match=r"found no fftw3\.h and no sources of DUCC \(.*ERROR: no index\)"):
        engines.engine_here(Listener())
    assert "neither FFTW" in (engines.lacks_engine(Listener()) or "")
    assert files_under(tmp_path) == set()


def test_fftw_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "has_fftw", lambda: True)
    assert engines.engine_here(Listener()) == engines.FFTW_ENGINE
    assert engines.lacks_engine(Listener()) is None
    ducc = engines.ducc_engine(Path("/kept"))
    assert ducc.sources == ("/kept/ducc0/infra/threading.cc",) and "-DFFT2D_DUCC" in ducc.flags


def engine_of(name: str) -> engines.Engine:
    if name == "fftw":
        if not engines.has_fftw():
            pytest.skip("capability: no FFTW (libfftw3-dev)")
        return engines.FFTW_ENGINE
    try:
        return engines.ducc_engine(engines.ducc_sources(Listener()))
    except RunError as error:
        pytest.skip(f"capability: no sources of DUCC: {error}")


@pytest.mark.parametrize("name", ["fftw", "ducc"])
def test_rows_of_any_length_are_numpys(tmp_path: Path, name: str) -> None:
    engine = engine_of(name)
    (tmp_path / "driver.cpp").write_text(DRIVER)
    app = [each for each in sources_of("fft2d") if each.stem == name]
    program = tmp_path / "driver"
    command = [*compiler(), "-std=c++20", "-O0", *engine.flags, f"-I{app[0].parent}"]
    command += [*map(str, app), *engine.sources, str(tmp_path / "driver.cpp"), "-o", str(program)]
    subprocess.run([*command, *engine.libraries, "-pthread"], check=True)
    random = np.random.default_rng(22)
    # Small factors, a power of two over a page, a prime, and twice a large prime.
    for length in (1, 30, 4096, 41, 2042):
        for direction in ("forward", "inverse"):
            values = random.standard_normal((4, 2 * (length + 3))).view(np.complex128)
            done = subprocess.run(
                [str(program), str(length), direction],
                input=values.tobytes(),
                capture_output=True,
                check=True,
            )
            found = np.frombuffer(done.stdout, np.complex128).reshape(values.shape)
            inside = values[:, :length]
            wanted = np.fft.fft(inside) if direction == "forward" else np.fft.ifft(inside) * length
            assert np.max(np.abs(found[:, :length] - wanted)) < 1e-12 * np.max(np.abs(wanted))
            assert np.array_equal(found[:, length:], values[:, length:])
