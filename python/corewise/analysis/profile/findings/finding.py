"""What a finding is: a sentence about a run, its evidence, its share of the run, what to do next.

Owns the record that the terminal, the page, the JSON object and Python programs share, and the names of
kinds.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType

from corewise.analysis.profile.findings.efficiency import Efficiency

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "unfinished": "the run did not finish, and where it came to its end",
        "late-crash": "a rank crashed after MPI_Finalize",
        "computing": "most of the run is outside MPI",
        "communication": "most of the run is in MPI",
        "more-ranks-than-cores": "more ranks than cores that they may run on",
        "sharing": "ranks share a core while another is idle",
        "ignored-binding": "a binding was asked for, and ranks are bound otherwise",
        "quota": "the system gives the launch less processor time than its ranks ask for",
        "unbound": "ranks may move between cores",
        "late-rank": "one rank keeps the others waiting",
        "imbalance": "ranks have different amounts of work",
        "late-sender": "receives wait for messages that are sent late",
        "late-receiver": "sends wait for receives that are posted late",
        "late-at-collectives": "ranks come to collectives at different times",
        "small-messages": "many messages carry little",
        "collective-algorithm": "another algorithm of a collective is quicker at this size",
        "placement": "another placement of the ranks loads the machine's links less",
        "placement-best": "no placement of the ranks is better",
        "startup": "starting and stopping MPI takes much of the launch",
        "nothing": "nothing to gain",
    }
)
"""What each kind of finding says."""


@dataclass(frozen=True)
class Finding:
    """One thing that a run shows.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    title : str
        One sentence.
    evidence : str
        The numbers behind it, in words.
    next : str
        A command, or what to do.
    run_share : float or None
        Of all ranks' time between MPI_Init and MPI_Finalize, 0 to 1; of the whole launch for ``startup``.
        None where no part of the run can be named.
    mpi_share : float or None
        Of the time in MPI; None where it is not about time in MPI.
    rank : int or None
        The rank that it is about.
    procedure, where : str
        The MPI procedure and the line of source, where one stands out.
    numbers : mapping of str to float
        What else was counted; units end names.
    """

    kind: str
    title: str
    evidence: str = ""
    next: str = ""
    run_share: float | None = None
    mpi_share: float | None = None
    rank: int | None = None
    procedure: str = ""
    where: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)

    def row(self) -> dict[str, object]:
        """As a JSON row."""
        return {"id": self.kind, **asdict(self)}


@dataclass(frozen=True)
class Findings:
    """What a run shows, the largest part of the run first.

    Attributes
    ----------
    efficiency : Efficiency or None
        None where no call was timed.
    rows : tuple of Finding
        One to six. The first says how the run is divided between computing and MPI, where that is known;
        before it stands where a run ended that did not finish.
    """

    efficiency: Efficiency | None
    rows: tuple[Finding, ...]

    def of(self, kind: str) -> Finding | None:
        """The finding of a kind, None where there is none."""
        return next((row for row in self.rows if row.kind == kind), None)
