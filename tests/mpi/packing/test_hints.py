"""What ranks tell each other of their messages: what is best for the pair is packed; hints are only hints.

``packing/hints_program.c`` sends, over ``packing/shim.c``, messages with gaps on one side, on both or on
neither, and checks every byte. Under `ALONE` a side packs where the other one is in one run; under `TOGETHER`
where the other one has gaps. One message may come before its partner's first word: counts have a room of one.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import packing_runs
import pytest
from conftest import YIELD_ENV
from installed_tool import COREWISE
from packing_runs import FLAGS, SOURCES, built, ran

from corewise.mpi import packing_board

NAMES = packing_runs.MPI_NAMES[:2]
SECTIONS = (
    *("send", "receive", "both", "once", "change", "fickle", "wildcards"),
    *("reversed", "between", "threads", "calls"),
)
"""In the order of hints_program.c, which numbers them from 1."""
TIMES, MANY = 16, 300
BYTES, RUN = 1024, 16  # of a message with gaps, as the program has them
MOST_CHANGES = 63
ALONE = f"send={BYTES}:{RUN};receive={BYTES}:{RUN};both={BYTES}:0"
TOGETHER = f"send={BYTES}:0;receive={BYTES}:0;both={BYTES}:{RUN}"
EITHER = f"send={BYTES}:{RUN};receive={BYTES}:{RUN};both={BYTES}:{RUN}"
Counts = dict[str, Counter[str]]
"""By section, then by PROCEDURE/KIND, of all ranks."""


@cache
def program(name: str) -> Path:
    """``hints_program.c`` for an MPI."""
    folder = packing_runs.engine_program(name).parent
    output = folder / f"hints_program.{name}"
    return packing_runs.library(name).build(output, SOURCES / "hints_program.c", flags=(*FLAGS, "-lpthread"))


@contextmanager
def board(ranks: int = 2) -> Iterator[Path]:
    """A board as a launch gets it."""
    with packing_board.board(ranks) as variables:
        yield Path(variables[packing_board.KNOB])


def run(name: str, packing: str, file: Path | None, *sections: str, ranks: int = 2) -> Counts:
    """What reached the MPI under COREWISE_PACKING=`packing`, with a board or without one."""
    mpi, shim = packing_runs.library(name), built(name)[0]
    with tempfile.TemporaryDirectory(prefix="corewise-hints-") as folder:
        stem = Path(folder) / "counts"
        words = [
            f"LD_PRELOAD={packing_runs.packing_library(name)}:{shim}",
            f"COREWISE_SHIM_OUT={stem}",
            f"COREWISE_PACKING={packing}",
            *([] if file is None else [f"{packing_board.KNOB}={file}"]),
        ]
        command = [str(mpi.mpiexec), "-n", str(ranks), "/usr/bin/env", *words, str(program(name)), *sections]
        said = ran(command, {**mpi.env, **YIELD_ENV[name]})
        assert said.splitlines()[-1] == "ok"
        return read_counts(stem, ranks)


def read_counts(stem: Path, ranks: int) -> Counts:
    """What the shims have written."""
    found = {section: Counter[str]() for section in SECTIONS}
    for rank in range(ranks):
        for line in Path(f"{stem}.{rank}").read_text().splitlines():
            section, what = line.split(" ", 1)
            procedure, _, count = what.rpartition(" ")
            found[SECTIONS[int(section) - 1]][procedure] += int(count)
    return found


def packed(counts: Counter[str]) -> dict[str, int]:
    """Packed messages by procedure."""
    return {what.split("/")[0]: count for what, count in counts.items() if what.endswith("/packed")}


def all_but_one(count: int, of: int = TIMES, rounds: int = 1) -> bool:
    """In each round a message may have come before the partner's first word."""
    return of - rounds <= count <= of


@pytest.mark.parametrize("name", NAMES)
def test_each_side_packs_what_is_best_for_the_pair(name: str) -> None:
    with board() as file:
        counts = run(name, ALONE, file, "send", "receive", "both", "once", "change")
    assert all_but_one(packed(counts["send"])["MPI_Send"]) and list(packed(counts["send"])) == ["MPI_Send"]
    assert all_but_one(packed(counts["receive"])["MPI_Recv"])
    assert packed(counts["both"]) == packed(counts["once"]) == {}
    assert all_but_one(packed(counts["change"])["MPI_Send"]) and len(packed(counts["change"])) == 1
    with board() as file:
        counts = run(name, TOGETHER, file, "send", "receive", "both", "once", "change")
    assert packed(counts["send"]) == packed(counts["receive"]) == packed(counts["once"]) == {}
    for section in ("both", "change"):
        assert all_but_one(packed(counts[section])["MPI_Recv"]), section
    assert all_but_one(packed(counts["both"])["MPI_Send"])
    assert TIMES - 1 <= packed(counts["change"])["MPI_Send"] <= TIMES + 1


@pytest.mark.parametrize("name", NAMES)
def test_who_does_not_know_packs_what_is_right_with_either(name: str) -> None:
    """At a first message, and for every message without a board."""
    counts = run(name, EITHER, None, "both", "once", "between")
    assert packed(counts["both"]) == {"MPI_Send": TIMES, "MPI_Recv": TIMES}
    assert packed(counts["once"]) == {"MPI_Send": 1, "MPI_Irecv": 1}
    assert packed(counts["between"]) == {"MPI_Send": TIMES}
    for table in (ALONE, TOGETHER):
        assert not any(packed(each) for each in run(name, table, None, *SECTIONS).values())


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_call_tells_and_asks(name: str) -> None:
    with board() as file:
        counts = packed(run(name, ALONE, file, "calls")["calls"])
    assert set(counts) == {
        *("MPI_Isend", "MPI_Irecv", "MPI_Send_init", "MPI_Recv_init"),
        *("MPI_Sendrecv out", "MPI_Sendrecv in", "MPI_Sendrecv_replace"),
    }
    assert all(all_but_one(count) for count in counts.values()), counts


@pytest.mark.parametrize("name", NAMES)
def test_ranks_are_those_of_the_world_whatever_the_communicator(name: str) -> None:
    """In reverse order, over communicators that are freed meanwhile."""
    with board(3) as file:
        counts = packed(run(name, ALONE, file, "reversed", ranks=3)["reversed"])
    assert list(counts) == ["MPI_Send"] and all_but_one(counts["MPI_Send"], of=4 * TIMES, rounds=2)


@pytest.mark.parametrize("name", NAMES)
def test_wildcards_and_other_worlds_are_unknown(name: str) -> None:
    with board() as file:
        counts = run(name, ALONE, file, "wildcards", "between")
    assert packed(counts["wildcards"]) == packed(counts["between"]) == {}


@pytest.mark.parametrize("name", NAMES)
def test_a_side_that_keeps_changing_is_unknown_in_the_end(name: str) -> None:
    """Its cell is not written any more: what goes to and fro costs more than it tells."""
    with board() as file:
        counts = packed(run(name, ALONE, file, "fickle")["fickle"])
    assert 1 <= counts["MPI_Send"] <= MOST_CHANGES + 1 < MANY // 2


@pytest.mark.parametrize("name", NAMES)
def test_threads_tell_and_ask_at_once(name: str) -> None:
    """Half of them send what has no gaps to a side that has."""
    with board() as file:
        counts = packed(run(name, ALONE, file, "threads")["threads"])
    assert list(counts) == ["MPI_Recv"] and all_but_one(counts["MPI_Recv"], of=4 * TIMES, rounds=4)


# ---- boards that are none --------------------------------------------------------------------------------


def edited(change: Callable[[bytearray], bytes | bytearray], ranks: int = 2) -> Callable[[Path], Path]:
    """A board whose bytes are others."""

    def make(folder: Path) -> Path:
        with board(ranks) as good:
            data = bytearray(good.read_bytes())
        (folder / "board").write_bytes(change(data))
        return folder / "board"

    return make


def sparse(folder: Path) -> Path:
    """Of the right size, with nothing behind its cells."""
    with board(64) as good:
        head = good.read_bytes()[:64]
    with (folder / "board").open("wb") as file:
        file.write(head)
        file.truncate(1 << 20)
    return folder / "board"


def fifo(folder: Path) -> Path:
    """A file that no writer has opened."""
    os.mkfifo(folder / "board")
    return folder / "board"


def with_ranks(ranks: int) -> Callable[[bytearray], bytearray]:
    """A head that promises more, or less, than there is."""
    return lambda data: data[:8] + struct.pack("=I", ranks) + data[12:]


NO_BOARDS: dict[str, Callable[[Path], Path]] = {
    "missing": lambda folder: folder / "none",
    "folder": lambda folder: folder,
    "fifo": fifo,
    "empty": edited(lambda _: b""),
    "half a head": edited(lambda data: data[:32]),
    "truncated": edited(lambda data: data[:-1]),
    "another magic": edited(lambda data: b"X" + data[1:]),
    "text": edited(lambda _: b"not a board\n" * 1000),
    "no ranks": edited(with_ranks(0)),
    "fewer ranks": edited(with_ranks(1)),
    "too many ranks": edited(with_ranks(0xFFFFFFFF)),
    "more ranks than room": edited(with_ranks(64)),
    "of another world": edited(lambda data: data[:12] + struct.pack("=I", 2) + data[16:]),
    "sparse": sparse,
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", NO_BOARDS)
def test_what_is_not_a_board_tells_nothing_and_stays(name: str, kind: str, tmp_path: Path) -> None:
    file = NO_BOARDS[kind](tmp_path)
    before = file.exists()
    assert not any(packed(each) for each in run(name, ALONE, file, "send", "receive").values())
    assert file.exists() == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("byte", [0x55, 0xFF, None])
def test_garbage_in_the_cells_leaves_every_message_right(name: str, byte: int | None, tmp_path: Path) -> None:
    """The program checks every byte; what is packed may be anything."""

    def garbage(data: bytearray) -> bytes:
        rest = len(data) - 64
        return bytes(data[:64]) + (os.urandom(rest) if byte is None else bytes([byte]) * rest)

    run(name, ALONE, edited(garbage)(tmp_path), *SECTIONS)
    run(name, EITHER, edited(garbage)(tmp_path), *SECTIONS)


@pytest.mark.parametrize("name", NAMES)
def test_more_ranks_than_a_board_serves_know_nothing(name: str) -> None:
    with board(2) as file:
        assert packed(run(name, ALONE, file, "send", ranks=3)["send"]) == {}
        assert file.exists()
    with board(3) as file:
        assert all_but_one(packed(run(name, ALONE, file, "send", ranks=3)["send"])["MPI_Send"])


# ---- launches --------------------------------------------------------------------------------------------

TABLE = """format = "corewise-packing-tuning"
version = 3
host = "a processor"
mpi = "an mpi"
who = "corewise"
when = "2026-11-23"
command = "by hand"

[[row]]
use = "send"
lines = "dense"
bytes = 1024
runs = [[0, 16]]
measured_runs = [16]
ours_us = [1.0]
theirs_us = [2.0]
"""


@contextmanager
def running(name: str, folder: Path, script: str) -> Iterator[subprocess.Popen[str]]:
    """``corewise run`` of a script, which writes its board's name first; the table packs sends alone."""
    mpi = packing_runs.library(name)
    table, said = folder / "table.toml", folder / "name"
    table.write_text(TABLE)
    words = [
        str(COREWISE),
        "run",
        "-n",
        "2",
        "--mpi",
        str(mpi.prefix),
        "--packing",
        "--packing-tuning",
        str(table),
    ]
    script = f'echo "${packing_board.KNOB}" > {said}.$$; mv {said}.$$ {said}; {script}'
    command = [*words, "-o", str(folder / "profile"), "--", "/bin/sh", "-c", script]
    env = {**os.environ, **mpi.env, **YIELD_ENV[name], "COREWISE_SHIM_OUT": str(folder / "counts")}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command,
        env=env,
        stdout=pipe,
        stderr=pipe,
        text=True,
        # What runs the tests under nohup leaves it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    ) as started:
        yield started


@pytest.mark.parametrize("name", NAMES)
def test_a_launch_has_a_board_that_does_not_outlive_it(name: str, tmp_path: Path) -> None:
    shim = f'export LD_PRELOAD="$LD_PRELOAD:{built(name)[0]}"'
    with running(name, tmp_path, f"{shim}; exec {program(name)} send receive both") as started:
        out, err = started.communicate(timeout=600)
    assert started.returncode == 0, out + err
    counts = read_counts(tmp_path / "counts", 2)
    assert all_but_one(packed(counts["send"])["MPI_Send"])
    assert packed(counts["receive"]) == packed(counts["both"]) == {}
    file = Path((tmp_path / "name").read_text().strip())
    assert file.is_absolute() and not file.exists()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP])
def test_a_launch_that_is_ended_takes_its_board_along(end: signal.Signals, tmp_path: Path) -> None:
    """Also where no rank has opened it."""
    with running("mpich", tmp_path, "exec sleep 600") as started:
        while not (tmp_path / "name").exists():
            assert started.poll() is None
            time.sleep(0.05)
        file = Path((tmp_path / "name").read_text().strip())
        assert file.exists()
        started.send_signal(end)
        started.wait(timeout=600)
    assert not file.exists()
