"""Hosts made of namespaces: each has its own name, processes and mounts, and a small local disk.

A host dies at once, with every process on it, when its first process is killed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

_NAMESPACES = ("user", "mnt", "uts", "pid")
_HOST = """
hostname "$0" && mount -t tmpfs -o size="$2" tmpfs "$1" && mount -t tmpfs tmpfs "$3" && echo there &&
  exec sleep 100000
"""
_AGENT = """#!/bin/sh
# Launchers call it as they call ssh: options, a host, a command line.
while [ "${1#-}" != "$1" ]; do
  case "$1" in -l|-p) shift;; esac
  shift
done
host="$1"
shift
read pid < "PIDS/$host" || exit 255
exec nsenter --user=/proc/$pid/ns/user --mount=/proc/$pid/ns/mnt --uts=/proc/$pid/ns/uts \
  --pid=/proc/$pid/ns/pid --preserve-credentials /bin/sh -c "$*"
"""


@dataclass(frozen=True)
class Hosts:
    """Hosts by name.

    Attributes
    ----------
    names : their names.
    disk : where each has its local disk; on this host it is an empty folder.
    agent : starts a command on a host, as ssh does.
    pids : has a file per host with its first process.
    scratch : for files of launchers, each host its own: some are named by process, some not at all.
    """

    names: tuple[str, ...]
    disk: Path
    agent: Path
    pids: Path
    scratch: Path

    def variables(self, family: str, slots: int, folder: Path) -> Mapping[str, str]:
        """An environment in which a launcher uses these hosts, by a host file of its own."""
        file = folder / f"hosts.{family}"
        if family == "mpich":
            file.write_text("".join(f"{name}:{slots}\n" for name in self.names))
            return {
                "HYDRA_HOST_FILE": str(file),
                "HYDRA_LAUNCHER": "ssh",
                "HYDRA_LAUNCHER_EXEC": str(self.agent),
            }
        file.write_text("".join(f"{name} slots={slots}\n" for name in self.names))
        return {
            "PRTE_MCA_prte_default_hostfile": str(file),
            "TMPDIR": str(self.scratch),
            "PRTE_MCA_plm": "ssh",
            "PRTE_MCA_plm_ssh_agent": str(self.agent),
            "PRTE_ALLOW_RUN_AS_ROOT": "1",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }

    def on(self, name: str, *words: str) -> str:
        """What a command says on a host."""
        done = subprocess.run(
            [str(self.agent), name, *words], capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout

    def kill(self, name: str) -> None:
        """Ends a host, as a power failure would: when this returns, nothing runs there any more."""
        first = int((self.pids / name).read_text())
        ended = os.pidfd_open(first)
        try:
            os.kill(first, signal.SIGKILL)
            select.select(
                [ended], [], []
            )  # the kernel says so when all processes of the namespace have ended
        finally:
            os.close(ended)


@contextmanager
def hosts(folder: Path, names: Sequence[str], disk_size: str = "16m") -> Iterator[Hosts]:
    """Hosts that live until the block ends; skips where the system gives no namespaces."""
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        pytest.skip("capability: no unshare or nsenter (util-linux)")
    disk, pids, agent = folder / "disk", folder / "pids", folder / "agent"
    disk.mkdir()
    pids.mkdir()
    agent.write_text(_AGENT.replace("PIDS", str(pids)))
    agent.chmod(0o755)
    words = ["unshare", "--user", "--map-root-user", "--mount", "--uts", "--pid", "--fork", "--mount-proc"]
    words += ["--kill-child", "/bin/sh", "-c", _HOST]
    started: list[subprocess.Popen[str]] = []
    # A short path: sockets lie there.
    with TemporaryDirectory(prefix="hosts", ignore_cleanup_errors=True) as scratch:
        try:
            for name in names:
                command = [*words, name, str(disk), disk_size, scratch]
                each = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
                started.append(each)
                assert each.stdout is not None
                if each.stdout.readline() != "there\n":
                    pytest.skip("capability: no user, mount, host name and process namespaces")
                children = Path(f"/proc/{each.pid}/task/{each.pid}/children").read_text()
                (pids / name).write_text(children.split()[0] + "\n")
            yield Hosts(tuple(names), disk, agent, pids, Path(scratch))
        finally:
            for each in started:
                each.kill()  # and with it its host's first process
                each.wait()


@contextmanager
def when_asked(folder: Path, action: Callable[[], None]) -> Iterator[str]:
    """A shell's words for a program; they return when an action was done outside of all hosts."""
    paths = folder / "asked", folder / "done"
    for path in paths:
        os.mkfifo(path)
    # Opened for both ways, an end never waits for another.
    asked, done = (os.open(path, os.O_RDWR) for path in paths)

    def answer() -> None:
        if os.read(asked, 6) == b"asked\n":
            action()
            os.write(done, b"done\n")

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield f"echo asked > {paths[0]}; read answer < {paths[1]}"
    finally:
        os.write(asked, b"over\n")
        thread.join()
        os.close(asked)
        os.close(done)
