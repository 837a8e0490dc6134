"""The programs of others that benchmarks are held against, and how to get those that are not here.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """A rival that has to be installed.

    Attributes
    ----------
    name : str
    get : str
        What to do to have it.
    """

    name: str
    get: str

    @property
    def hint(self) -> str:
        """One line for the user."""
        return f"{self.name} is not here and was left out; to get it: {self.get}"


SIMGRID = Peer("SimGrid", "apt install libsimgrid-dev (Debian)")
EZTRACE = Peer("EZTrace", "apt install eztrace openmpi-bin libopenmpi-dev (Debian)")
UFTRACE = Peer("uftrace", "apt install uftrace (Debian)")
SCOTCH = Peer("Scotch", "apt install libscotch-dev (Debian)")
SHAREDMAP = Peer("SharedMap", "pip install chszlablib, and name that Python with --peers PYTHON")
KAHIP = Peer("KaHIP", "pip install kahip, and name that Python with --peers PYTHON")
