"""The board of a launch: its size and head, who can open it, and that it is gone afterwards.

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

from corewise.mpi import packing_board
from corewise.mpi.packing_board import KNOB, MOST_RANKS, board


def size_of(ranks: int) -> int:
    """Bytes: a head, and a cell by side, writer, partner and class of tags."""
    return 64 + 2 * 16 * ranks * ranks


@pytest.mark.parametrize(("ranks", "served"), [(2, 2), (100, 100), (MOST_RANKS, MOST_RANKS), (None, 128)])
def test_a_board_serves_its_ranks_and_goes_with_the_launch(ranks: int | None, served: int) -> None:
    with board(ranks) as variables:
        path = Path(variables[KNOB])
        found = path.stat()
        assert list(variables) == [KNOB] and stat.S_ISREG(found.st_mode) and found.st_nlink == 0
        assert found.st_size == size_of(served)
        assert found.st_blocks * 512 >= size_of(served), "a rank may touch all of it"
        data = path.read_bytes()
        assert data[:8] == b"CWHINTS1" and int.from_bytes(data[8:12], "little") == served
        assert not any(data[12:])
    assert not path.exists()


def test_it_goes_when_a_launch_fails_or_its_launcher_is_killed() -> None:
    with pytest.raises(KeyError), board(2) as variables:
        raise KeyError
    assert not Path(variables[KNOB]).exists()
    before = set(Path("/dev/shm").glob("corewise-packing*"))
    child = os.fork()
    if child == 0:
        with board(2):
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert set(Path("/dev/shm").glob("corewise-packing*")) == before


@pytest.mark.parametrize("ranks", [0, 1, MOST_RANKS + 1])
def test_who_has_no_partner_and_who_has_too_many_get_none(ranks: int) -> None:
    with board(ranks) as variables:
        assert variables == {}


def test_another_process_opens_it_through_the_launcher() -> None:
    with board(2) as variables:
        code = f"import os; print(os.pread(os.open({variables[KNOB]!r}, os.O_RDWR), 8, 0))"
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert said.stdout.strip() == "b'CWHINTS1'"
        inherits = f"import os; os.fstat({Path(variables[KNOB]).name})"
        lost = subprocess.run(
            [sys.executable, "-c", inherits], capture_output=True, text=True, close_fds=False, check=False
        )
        assert "Bad file descriptor" in lost.stderr


def open_files() -> int:
    """Of this process, the one that lists them among them."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_where_there_is_no_proc_or_no_memory_there_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: int) -> None:
        raise OSError

    before = open_files()
    for name in ("posix_fallocate", "memfd_create"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with board(2) as variables:
                assert variables == {}
    with monkeypatch.context() as patch:
        patch.delattr(os, "memfd_create")  # as some builds of Python are
        with board(2) as variables:
            assert variables == {}
    monkeypatch.setattr(packing_board, "_PROC", tmp_path)
    with board(2) as variables:
        assert variables == {}
    assert open_files() == before
