"""A library that two need at the same time is built by one of them; where it is kept, and what stays if not.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import errno
import os
import pwd
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace

import pytest

from corewise.errors import RunError
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


def test_a_full_cache_is_named_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "cache" / "lib.so"

    def full(source: Path, copy: Path) -> None:
        copy.write_text("half of it", encoding="utf-8")
        raise OSError(errno.ENOSPC, "No space left on device", str(source))

    monkeypatch.setattr(build, "_prebuilt", lambda *rest: None)
    monkeypatch.setattr(build, "_target", lambda *rest: target)
    monkeypatch.setattr(build, "_compile", lambda mpi, work, *rest: work / "built.so")
    monkeypatch.setattr(build, "_REORDERING", replace(build._REORDERING, generate=lambda *rest: []))
    monkeypatch.setattr(build.shutil, "copy2", full)
    with pytest.raises(RunError) as caught:
        build.build_reorder(MpiLibrary("mpich", "4.0", tmp_path, tmp_path, tmp_path, (), ()))
    assert str(caught.value) == f"{target}: cannot be written: No space left on device"
    assert not list(target.parent.iterdir())


def test_a_full_folder_to_build_in_is_named() -> None:
    with pytest.raises(RunError, match=r"corewise-build-\w+: .*: No space left"), build._scratch():
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(FileNotFoundError), build._scratch() as work:
        (work / "none").read_text(encoding="utf-8")


BUILDING = """
from corewise.mpi import build
with build._scratch() as work:
    build._run(["sh", "-c", "sleep 600 & echo $! > pid.tmp && mv pid.tmp pid; wait"], "failed")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_build_that_is_told_to_end_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    """Neither its folder nor what the compiler has started."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", BUILDING], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL,
        # Who runs the tests in the background may leave these signals ignored.
        preexec_fn=lambda: signal.signal(number, signal.default_int_handler)
        if number == signal.SIGINT
        else signal.signal(number, signal.SIG_DFL),
    ) as process:  # fmt: skip
        try:
            deadline = time.monotonic() + 60
            while not (tmp_path / "pid").exists():
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.02)
            process.send_signal(number)
            process.wait(timeout=60)
        finally:
            process.kill()
    assert process.returncode == (143 if number == signal.SIGTERM else -signal.SIGINT)
    assert [path.name for path in tmp_path.iterdir()] == ["pid"]
    status = Path("/proc") / (tmp_path / "pid").read_text().strip() / "status"
    while status.exists() and "State:\tZ" not in status.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_cache_of_a_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(number: int) -> None:
        raise KeyError(number)

    for variable in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert build.cache_root() == tmp_path / f"corewise-{os.getuid()}"


def test_the_cache_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launcher may start ranks in another folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "kept")
    assert build.cache_root() == tmp_path / "kept" / "corewise"


def test_the_cache_where_nothing_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loader takes no library from a file system that is mounted noexec."""
    barred = [tmp_path / "kept"]

    def mounted(folder: Path) -> SimpleNamespace:
        return SimpleNamespace(f_flag=os.ST_NOEXEC if any(folder.is_relative_to(b) for b in barred) else 0)

    monkeypatch.setattr(build.os, "statvfs", mounted)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert build.cache_root() == tmp_path / f"corewise-{os.getuid()}"
    barred.append(Path("/"))
    with pytest.raises(RunError, match=r"noexec.*set XDG_CACHE_HOME"):
        build.cache_root()


def test_cache_that_the_loader_could_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LD_PRELOAD cannot hold a path with a space or a colon."""
    for folder in ("with space", "with:colon"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / folder))
        assert not set(" :") & set(str(build.cache_root()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "plain"))
    assert build.cache_root() == tmp_path / "plain" / "corewise"


def test_cache_in_a_folder_that_others_can_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who could put a library there would run in the user's programs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "with space"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    folder = tmp_path / f"corewise-{os.getuid()}"
    assert build.cache_root() == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    assert build.cache_root() == folder
    folder.chmod(0o770)
    with pytest.raises(RunError, match="only you"):
        build.cache_root()
    folder.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match="only you"):
        build.cache_root()
    folder.unlink()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "with space"))
    assert not set(" :") & set(str(build.cache_root()))
