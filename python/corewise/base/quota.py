"""How much processor time the system gives this process and its children: the quota of its control groups.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_SELF = Path("/proc/self/cgroup")


def quota_cores(groups: Path = _GROUPS, own: Path = _SELF) -> float | None:
    """The smallest quota of the groups that this process is in, in cores; None where there is none.

    Version 2 writes ``cpu.max`` ("max 100000", or quota and period in us), version 1 ``cpu.cfs_quota_us`` (-1
    without one) and ``cpu.cfs_period_us``.

    Parameters
    ----------
    groups : Path
        Where control groups are mounted.
    own : Path
        Which ones this process is in.
    """
    found = [quota for folder in _folders(groups, own) if (quota := _quota(folder)) is not None]
    return min(found, default=None)


def granted_cores() -> int:
    """How many threads of this process can run at once: the processors it may use, or fewer by the quota."""
    cores = len(os.sched_getaffinity(0))
    quota = quota_cores()
    return cores if quota is None else max(1, min(cores, int(quota)))


def _folders(groups: Path, own: Path) -> list[Path]:
    """The groups that this process is in, and all above them."""
    found: list[Path] = []
    for line in _text(own).splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        for root in (groups, groups / "cpu", groups / controllers, groups / "unified"):
            inside = root / path.lstrip("/")
            found += [each for each in (inside, *inside.parents) if each == groups or groups in each.parents]
    return list(dict.fromkeys(found))


def _quota(folder: Path) -> float | None:
    words = _text(folder / "cpu.max").split()
    if not words:
        words = [_text(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    try:
        quota, period = map(int, words)
    except ValueError:  # "max", or no such file
        return None
    return quota / period if quota > 0 and period > 0 else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
