"""The memory of a launch: its size, who can open it, and that it is gone afterwards.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from corewise.mpi import launch_memory as module
from corewise.mpi.launch_memory import launch_memory


def open_files() -> int:
    """Of this process, the one that lists them among them."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_it_is_all_there_and_goes_with_the_launch() -> None:
    before = open_files()
    with launch_memory(100000) as path:
        assert path is not None
        found = path.stat()
        assert stat.S_ISREG(found.st_mode) and (found.st_nlink, found.st_size) == (0, 100000)
        assert found.st_blocks * 512 >= 100000, "a rank may touch all of it"
        assert not any(path.read_bytes())
    assert not path.exists() and open_files() == before


def test_it_goes_when_a_launch_fails_or_its_launcher_is_killed() -> None:
    with pytest.raises(KeyError), launch_memory(64) as path:
        raise KeyError
    assert path is not None and not path.exists()
    before = set(Path("/dev/shm").iterdir())
    child = os.fork()
    if child == 0:
        with launch_memory(64):
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert not {
        each.name for each in set(Path("/dev/shm").iterdir()) - before if "corewise-launch" in each.name
    }


def test_two_processes_share_it_through_the_launcher() -> None:
    with launch_memory(4096) as path:
        assert path is not None
        code = (
            "import mmap, os, sys; m = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 4096); "
            "print(m[7]); m[7] += 1; m.flush()"
        )
        said = [
            subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
            for _ in range(2)
        ]
        assert [each.stdout.strip() for each in said] == ["0", "1"]
        inherits = f"import os; os.fstat({path.name})"
        lost = subprocess.run(
            [sys.executable, "-c", inherits], capture_output=True, text=True, close_fds=False, check=False
        )
        assert "Bad file descriptor" in lost.stderr


def test_where_there_is_no_proc_or_no_memory_there_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: int) -> None:
        raise OSError

    before = open_files()
    for name in ("posix_fallocate", "memfd_create"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with launch_memory(64) as path:
                assert path is None
    with monkeypatch.context() as patch:
        patch.delattr(os, "memfd_create")  # as some builds of Python are
        with launch_memory(64) as path:
            assert path is None
    monkeypatch.setattr(module, "_PROC", tmp_path)
    with launch_memory(64) as path:
        assert path is None
    assert open_files() == before
