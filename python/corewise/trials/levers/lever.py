"""What a lever sees, says and changes.

A lever is a module with three functions. *predict* says from a recorded run what the lever could gain, and
why. *apply* changes how the program is launched. *verify* says from a run that was recorded under the changed
launch whether the change took effect: a launcher may ignore what it is told. How long runs take is measured
elsewhere (`corewise.trials.advice`), for all levers in the same way.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from corewise._core import Machine
from corewise.analysis.noise.sources import NodeNoise
from corewise.analysis.profile.findings import Findings, Run
from corewise.data.placement import Placement, make_placement
from corewise.mpi.launch import LaunchPlan, RecordOptions
from corewise.mpi.lines import Line
from corewise.trials.replaying import Replays


@dataclass(frozen=True)
class Case:
    """A recorded run, and where its program may be launched again.

    Attributes
    ----------
    run : Run
    findings : Findings
        Of the run.
    line : Line or None
        How the program is launched here; None where it cannot be.
    machine : Machine or None
        What placements are searched on: this host, or one that is described.
    is_host : bool
        Whether `machine` is this host.
    placement_note : str
        Why there is no study of placements, or what it leaves out.
    noise : NodeNoise or None
        What this host takes from its cores; None where nobody asked.
    replays : Replays or None
        The recorded run, which can be replayed on the machine; None where it cannot.
    """

    run: Run
    findings: Findings
    line: Line | None
    machine: Machine | None
    is_host: bool
    placement_note: str = ""
    noise: NodeNoise | None = None
    replays: Replays | None = None

    @property
    def ranks(self) -> int:
        """Of the recorded run."""
        return int(self.run.analysis.world.size)

    def best_placement(self) -> Placement:
        """The best placement that was found on the machine; asked for only where there is one."""
        assert self.run.study is not None and self.machine is not None
        return make_placement(self.machine, self.run.study.best.unit_of_rank)


@dataclass(frozen=True)
class Prediction:
    """What a lever could gain.

    Attributes
    ----------
    gain : float or None
        How many times faster the run could be, at most; 1 is nothing. None where no number can be given.
    reason : str
        Why, in one sentence.
    promising : bool
        Whether it is worth a try.
    """

    gain: float | None
    reason: str
    promising: bool


@dataclass(frozen=True)
class Setting:
    """A launch under levers, as far as it differs from the plain one.

    Attributes
    ----------
    binding : tuple of str
        Launcher arguments that bind ranks; empty: as the launch was written.
    placement : Placement or None
        Where they bind ranks to, on this host.
    options : RecordOptions
        The libraries that ranks load.
    """

    binding: tuple[str, ...] = ()
    placement: Placement | None = None
    options: RecordOptions = field(default_factory=RecordOptions)

    def plan(self, line: Line) -> LaunchPlan:
        """The launch, its libraries left out."""
        return line.bound(self.binding) if self.binding else line.plain()


@dataclass(frozen=True)
class Lever:
    """A row of the table of levers.

    Attributes
    ----------
    name : str
    what : str
        What it changes, in a few words.
    group : str
        Levers of one group exclude each other.
    predict : callable
        (case) -> Prediction.
    apply : callable
        (case, setting, folder) -> Setting; files that the launch needs are written to the folder and stay.
    verify : callable
        (case, profile) -> why the lever had no effect in a run recorded under it; empty where it had.
    """

    name: str
    what: str
    group: str
    predict: Callable[[Case], Prediction]
    apply: Callable[[Case, Setting, Path], Setting]
    verify: Callable[[Case, Path], str]


def gain_of_share(share: float) -> float:
    """How many times faster a run is without a share of it."""
    return 1 / (1 - min(share, 0.99))
