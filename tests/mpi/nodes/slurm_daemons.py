"""A Slurm of a test's own: munged, a controller, and one daemon per node, all on this host.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

SLURM_PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "salloc")


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def slurm_conf(folder: Path, nodes: Sequence[str]) -> str:
    """One controller and some nodes on this host, with task affinity, as the current user."""
    host = socket.gethostname()
    user = "root" if os.geteuid() == 0 else os.environ["USER"]
    controller, *ports = free_ports(1 + len(nodes))
    lines = {
        "ClusterName": "corewise",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmctldPort": controller,
        "SlurmUser": user,
        "SlurmdUser": user,
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={folder}/munge.socket",
        "CredType": "cred/munge",
        "StateSaveLocation": folder / "state",
        "SlurmdSpoolDir": f"{folder}/spool-%n",
        "SlurmctldPidFile": folder / "slurmctld.pid",
        "SlurmdPidFile": f"{folder}/slurmd-%n.pid",
        "SlurmctldLogFile": folder / "slurmctld.log",
        "SlurmdLogFile": f"{folder}/slurmd-%n.log",
        "ProctrackType": "proctrack/pgid",
        "TaskPlugin": "task/affinity",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "MpiDefault": "none",
        "ReturnToService": 2,
        "PartitionName": "all Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
    }
    named = [
        f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={os.cpu_count()}\n"
        for node, port in zip(nodes, ports, strict=True)
    ]
    last = lines.pop("PartitionName")
    return "".join([*(f"{key}={value}\n" for key, value in lines.items()), *named, f"PartitionName={last}\n"])


@contextmanager
def running(folder: Path, nodes: Sequence[str] = ("one",), more: str = "") -> Iterator[dict[str, str]]:
    """The environment of a running Slurm; skips where none can be started."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    missing = [name for name in SLURM_PROGRAMS if not shutil.which(name, path=path)]
    if missing:
        pytest.skip(f"capability: Slurm is not installed ({', '.join(missing)} not found)")
    if os.geteuid() != 0:
        pytest.skip("capability: slurmd binds tasks only as root")
    folder.chmod(0o700)
    for name in ("state", *(f"spool-{node}" for node in nodes)):
        (folder / name).mkdir()
    key = folder / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    (folder / "slurm.conf").write_text(slurm_conf(folder, nodes) + more)
    env = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": path}
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        start_slurm(folder, nodes, env, daemons)
        yield env
        # A job step that outlives its daemons keeps asking for them for minutes.
        wait_until_idle(env)
    finally:
        for process in reversed(daemons):
            process.terminate()
        for process in reversed(daemons):
            process.wait(timeout=600)


def wait_until_idle(env: dict[str, str]) -> bool:
    """Whether all nodes are idle, or become so within two minutes."""
    command = ["sinfo", "-h", "-o", "%t"]
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)
        if set(done.stdout.split()) == {"idle"}:
            return True
        time.sleep(0.5)
    return False


def start_slurm(
    folder: Path, nodes: Sequence[str], env: dict[str, str], daemons: list[subprocess.Popen[bytes]]
) -> None:
    """Starts the daemons and waits until the nodes are idle."""
    files = {
        "socket": "munge.socket",
        "key-file": "key",
        "pid-file": "pid",
        "log-file": "log",
        "seed-file": "seed",
    }
    munge = [f"--{option}={folder / name}" for option, name in files.items()]
    commands = [
        ["munged", "--foreground", "--force", *munge],
        ["slurmctld", "-D", "-c"],
        *(["slurmd", "-D", "-c", "-N", node] for node in nodes),
    ]
    full = {**os.environ, **env}
    for command in commands:
        log = (folder / f"{command[0]}-{len(daemons)}.out").open("wb")
        program = shutil.which(command[0], path=env["PATH"]) or command[0]
        daemons.append(subprocess.Popen([program, *command[1:]], env=full, stdout=log, stderr=log))
        time.sleep(0.5)
    if wait_until_idle(env):
        return
    logs = "".join(path.read_text(errors="replace")[-2000:] for path in sorted(folder.glob("*.log")))
    pytest.skip(f"capability: Slurm's daemons did not come up on this host: {logs}")
