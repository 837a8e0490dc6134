"""Records on the local disks of nodes, and their way into the profile when the run has ended.

A folder is made on every node before the run, and the ranks write there. Afterwards each node copies its
files. Invariants: a file is removed from its node only when its copy is there as a whole; each run has a
folder of its own, so that runs at one time never meet; what does not arrive is named.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
import uuid
from dataclasses import dataclass
from pathlib import Path

from corewise.errors import InputError, RunError
from corewise.mpi import launch
from corewise.mpi.allocation import read_allocation

_MAKE = 'mkdir -p "$1" && mkdir "$2" && echo corewise-made'
_COPY = """
left=0
for file in "$1"/*; do
  [ -e "$file" ] || continue
  name=${file##*/}
  if cp "$file" "$2/.$name.part" && mv "$2/.$name.part" "$2/$name"; then
    rm -f "$file"
  else
    rm -f "$2/.$name.part"
    left=$((left + 1))
  fi
done
[ $left -gt 0 ] || rmdir "$1"
echo "corewise-left $left."
"""
"""Copies under another name first: a reader never meets half a file."""
_LEFT = re.compile(r"corewise-left (\d+)\.")
_ANSWER_S = 60.0
"""How long a node has to make a folder."""
_COPY_S = 7 * 86400.0
"""How long a node has to copy: a week, for what takes longer than that has stopped."""
_LONGEST = 200


@dataclass(frozen=True)
class LocalDisks:
    """A folder of the same name on every node.

    Attributes
    ----------
    decided : the launch whose ranks write there.
    parent : what the user named; made where it is missing.
    folder : the run's own one in it.
    nodes : names of the nodes; empty: this host alone, without a launcher.
    """

    decided: launch.LaunchPlan
    parent: Path
    folder: Path
    nodes: tuple[str, ...]

    def prepare(self) -> None:
        """Makes the folder on every node.

        Raises
        ------
        RunError
            A node cannot be reached, or the folder cannot be made there. What was made is removed.
        """
        made: list[str] = []
        for node in self.nodes or ("",):
            done = self._on(node, _MAKE, (self.parent, self.folder), _ANSWER_S)
            if "corewise-made" not in done.stdout:
                for each in made:
                    self._on(each, 'rmdir "$1"', (self.folder,), _ANSWER_S)
                raise RunError(f"--local-dir {self.parent}: cannot be made{_at(node)}{_quoted(done.stderr)}")
            made.append(node)

    def gather(self, directory: Path) -> tuple[str, ...]:
        """Copies all nodes' files into the profile.

        Parameters
        ----------
        directory : the profile.

        Returns
        -------
        tuple of str
            What is missing, a sentence each; empty where everything arrived.
        """
        missing = []
        for node in self.nodes or ("",):
            done = self._on(node, _COPY, (self.folder, directory.resolve()), _COPY_S)
            found = _LEFT.search(done.stdout)
            if found is None:
                missing.append(
                    f"node {node or 'here'} was lost: what its ranks recorded is missing, and lies in "
                    f"{self.folder} there where its disk survived{_quoted(done.stderr)}"
                )
            elif found[1] != "0":
                missing.append(
                    f"node {node or 'here'}: {found[1]} of its files could not be copied, and lie in "
                    f"{self.folder} there{_quoted(done.stderr)}"
                )
        if missing and self.decided.ranks is not None:
            missing += _without_file(directory, self.decided.ranks)
        return tuple(missing)

    def _on(self, node: str, script: str, arguments: tuple[Path, ...], timeout_s: float) -> launch.Said:
        """Runs a script on a node, or here."""
        mpi = self.decided.mpi
        words = ["/bin/sh", "-c", script, "corewise", *map(str, arguments)]
        if node:
            host = (
                ["-hosts", node] if mpi.family == "mpich" else [*launch.as_root(mpi), "--host", f"{node}:1"]
            )
            words = [str(mpi.launcher), *host, "-n", "1", *words]
        return launch.tried(launch.LaunchPlan(mpi, tuple(words), 1, 1, None), timeout_s)


def local_disks(decided: launch.LaunchPlan, parent: Path) -> LocalDisks:
    """Where the ranks of a launch write on their nodes.

    Parameters
    ----------
    decided : the launch.
    parent : a folder of every node.

    Raises
    ------
    InputError
        The folder is no whole path, or the nodes are only known to a launcher's own line.
    """
    if not parent.is_absolute():
        raise InputError(f"--local-dir: found '{parent}', allowed: a whole path, such as /tmp, on every node")
    if decided.program is None:
        raise InputError(
            f"--local-dir {parent}: found with a launcher's line, allowed: -n RANKS -- PROGRAM "
            "(the nodes are those of the allocation)"
        )
    allocation = read_allocation(os.environ, decided.mpi.family)
    nodes = () if allocation is None else tuple(node.name for node in allocation.nodes)
    return LocalDisks(decided, parent, parent / f"corewise-{uuid.uuid4().hex}", nodes)


def _without_file(directory: Path, ranks: int) -> list[str]:
    found = {path.name for path in directory.glob("rank-*.cwt")}
    absent = [str(rank) for rank in range(ranks) if f"rank-{rank:05d}.cwt" not in found]
    if not absent:
        return []
    more = f" and {len(absent) - 16} more" if len(absent) > 16 else ""
    return [f"no file of rank{'' if len(absent) == 1 else 's'} {', '.join(absent[:16])}{more}"]


def _at(node: str) -> str:
    return f" on node {node}" if node else ""


def _quoted(said: str) -> str:
    """What a node or its launcher said, on one line."""
    text = " ".join(line.strip() for line in said.splitlines() if line.strip(" -\t"))
    return f": {text[:_LONGEST]}{'...' if len(text) > _LONGEST else ''}" if text else ""
