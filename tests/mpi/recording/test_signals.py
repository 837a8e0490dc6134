"""`corewise run` that is told to end, interrupted or killed: its ranks end with it, and each is told once.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from preload_runs import COREWISE, described, library, preload, program
from trace_decoder import decode_folder

from corewise.mpi import launch

WAITING_C = r"""
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  MPI_Init(NULL, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  char name[64];
  snprintf(name, sizeof name, "pid-%d", (int)getpid());
  fclose(fopen(name, "w"));
  for (;;) pause();
}
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL])
def test_a_run_that_is_told_to_end_ends_its_ranks(name: str, number: signal.Signals, tmp_path: Path) -> None:
    """As a batch system does at the end of the time, or a terminal that is closed; also when it is killed."""
    killed = number == signal.SIGKILL
    (tmp_path / "waiting.c").write_text(WAITING_C)
    waiting = library(name).build(tmp_path / "waiting", tmp_path / "waiting.c")
    preload(name)  # built before time counts
    command = [*COREWISE, "run", "--mpi", library(name).prefix, "-n", 2, "-o", "it.cw", "--", waiting]
    with subprocess.Popen(
        list(map(str, command)),
        cwd=tmp_path,
        env={**os.environ, **library(name).env},
        stderr=subprocess.DEVNULL,
        # A shell that runs the tests in the background, or under nohup, leaves these signals ignored.
        preexec_fn=None if killed else lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        try:
            deadline = time.monotonic() + 300
            while len(list(tmp_path.glob("pid-*"))) < 2:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
            process.send_signal(number)
            process.wait(timeout=600)
        finally:
            process.kill()
    assert process.returncode == (-number if killed else 128 + number)
    status = json.loads((tmp_path / "it.cw" / "meta.json").read_text())["exit_status"]
    assert status == (None if killed else 128 + number)
    ranks = [int(path.name.removeprefix("pid-")) for path in tmp_path.glob("pid-*")]
    deadline = time.monotonic() + 300
    while any(is_running(pid) for pid in ranks):
        assert time.monotonic() < deadline
        time.sleep(0.05)


TRIED = r"""
import os, sys
from corewise.cli.main import execute
from corewise.mpi import signals
signals.GRACE_S = 1.0
sys.exit(execute(sys.argv[1:]))
"""
"""`corewise` that waits a second, not ten, before it kills a launcher."""
TOLD_C = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t told;
static void count(int number) { ++told; }

int main(int argc, char** argv) {
  const int stubborn = strcmp(argv[1], "stubborn") == 0;
  signal(SIGTERM, stubborn ? SIG_IGN : SIG_DFL);
  signal(SIGINT, stubborn ? SIG_IGN : count);
  MPI_Init(NULL, NULL);
  char name[64];
  snprintf(name, sizeof name, "pid-%d", (int)getpid());
  fclose(fopen(name, "w"));
  while (stubborn || told == 0) usleep(10000);
  for (int i = 0; i < 150; ++i) usleep(10000);
  snprintf(name, sizeof name, "told-%d-of-%d", (int)told, (int)getpid());
  fclose(fopen(name, "w"));
  MPI_Finalize();
}
"""
"""Ranks that no SIGTERM ends, or that end well a second and a half after an interrupt."""


@contextmanager
def told_run(name: str, how: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`corewise run` of TOLD_C in a group of its own, when its ranks have begun; they are gone afterwards."""
    (folder / "told.c").write_text(TOLD_C)
    told = library(name).build(folder / "told", folder / "told.c", flags=["-D_DEFAULT_SOURCE"])
    preload(name)
    words = ["run", "--mpi", library(name).prefix, "-n", 2, "-o", "it.cw", "--", told, how]
    with subprocess.Popen(
        [sys.executable, "-c", TRIED, *map(str, words)],
        cwd=folder,
        env={**os.environ, **library(name).env},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            deadline = time.monotonic() + 300
            while len(list(folder.glob("pid-*"))) < 2:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
            yield process
            process.wait(timeout=120)
            deadline = time.monotonic() + 120
            while any(is_running(pid) for pid in pids(folder)):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        finally:
            process.kill()
            for pid in filter(is_running, pids(folder)):
                os.kill(pid, signal.SIGKILL)


def pids(folder: Path) -> list[int]:
    """The ranks that have begun."""
    return [int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")]


@pytest.mark.both_mpis
@pytest.mark.parametrize("times", [1, 2])
def test_ranks_that_ignore_the_end_are_killed(name: str, times: int, tmp_path: Path) -> None:
    """MPICH's launcher waits for them forever; who loses patience tells corewise twice."""
    with told_run(name, "stubborn", tmp_path) as process:
        for _ in range(times):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
    assert process.returncode == 128 + signal.SIGTERM
    status = json.loads((tmp_path / "it.cw" / "meta.json").read_text())["exit_status"]
    assert status == 128 + signal.SIGTERM


@pytest.mark.both_mpis
@pytest.mark.parametrize("whom", ["tool", "group"])
def test_an_interrupt_reaches_the_launcher_once(name: str, whom: str, tmp_path: Path) -> None:
    """As Ctrl-C of a terminal, and as kill -INT; a second one would make the launcher kill its ranks."""
    with told_run(name, "gentle", tmp_path) as process:
        (os.killpg if whom == "group" else os.kill)(process.pid, signal.SIGINT)
    if name == "mpich":  # passes it on to the ranks; Open MPI ends them
        assert process.returncode == 0
        found = {path.name for path in tmp_path.glob("told-*")}
        assert found == {f"told-1-of-{pid}" for pid in pids(tmp_path)}
    else:
        assert process.returncode not in (0, -signal.SIGINT)
    status = json.loads((tmp_path / "it.cw" / "meta.json").read_text())["exit_status"]
    assert status == process.returncode


def test_a_launch_from_another_thread(name: str, tmp_path: Path) -> None:
    """Python lets only the main thread have handlers of signals."""
    plan = launch.plan([str(program(name, "ends")), "fork"], ranks=2, mpi=str(described(name).launcher))
    options = launch.RecordOptions(preload=preload(name))
    with ThreadPoolExecutor(1) as pool, (tmp_path / "out").open("w") as out:
        outcome = pool.submit(launch.record, plan, tmp_path / "it.cw", options, out).result()
    assert outcome.exit_status == 0
    assert [t.count("MPI_Send", "send") for t in decode_folder(tmp_path / "it.cw").values()] == [5000, 5000]


def is_running(pid: int) -> bool:
    """Whether a process still runs; one that nobody has waited for yet does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
