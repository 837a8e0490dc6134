"""The whole of an advice: what every lever promises, what was run, and the launch that is advised.

Owns which launches are tried (each promising lever, and all of them together), that each is first recorded
once to see that its levers took effect, and the sentence that sums up. Nothing is advised that was not
confirmed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import subprocess
import tempfile
import time as clock
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from corewise.data.quantities import time_text
from corewise.errors import CorewiseError, RunError
from corewise.mpi import launch
from corewise.mpi.launch import LaunchPlan
from corewise.mpi.lines import Line
from corewise.trials.advice import contest
from corewise.trials.advice.contest import PLAIN, Confirmed
from corewise.trials.levers.lever import Case, Lever, Prediction, Setting
from corewise.trials.levers.table import LEVERS
from corewise.trials.timing import Array, Candidate, Progress, time

Stage = Callable[[str], AbstractContextManager[Progress]]
"""Tells what is being done, and gives what is told the share that is done."""
_TOGETHER = " + "
_PATIENCE = 10.0
"""A launch under a lever that takes so many times as long as the plain one is ended."""
_LEAST_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Launch:
    """A launch that takes part: its levers, and what they make of it."""

    name: str
    levers: tuple[Lever, ...]
    setting: Setting
    plan: LaunchPlan
    variables: Mapping[str, str]

    @property
    def command(self) -> list[str]:
        """What is run, and what is advised."""
        return self.plan.with_environment(self.variables)


@dataclass(frozen=True)
class LeverRow:
    """What became of a lever.

    Attributes
    ----------
    lever : str
    what : str
    prediction : Prediction
    tried : bool
        Whether it was run.
    outcome : str
        Why it was not run, or had no effect; empty otherwise.
    gain : float or None
        How many times as fast as the plain launch: in the rounds that chose, or, where there was nothing to
        choose from, in those that confirmed. None where it took no part in them.
    """

    lever: str
    what: str
    prediction: Prediction
    tried: bool = False
    outcome: str = ""
    gain: float | None = None


@dataclass(frozen=True)
class Advice:
    """What is advised, and why.

    Attributes
    ----------
    rows : tuple of LeverRow
        Every lever.
    advised : Launch or None
        The launch that was confirmed to be faster; None: the plain one.
    chosen : str
        What was run against the plain launch in fresh rounds; empty where nothing was.
    confirmed : Confirmed or None
        What those rounds gave.
    choosing_rounds : int
    statement : str
        One sentence.
    plain : tuple of str
        The plain launch; empty where the program is not launched here.
    spent_s : float
    """

    rows: tuple[LeverRow, ...]
    advised: Launch | None
    chosen: str
    confirmed: Confirmed | None
    choosing_rounds: int
    statement: str
    plain: tuple[str, ...]
    spent_s: float


def predictions(case: Case, levers: Sequence[Lever] = LEVERS) -> dict[str, LeverRow]:
    """What every lever promises, by its name."""
    return {each.name: LeverRow(each.name, each.what, each.predict(case)) for each in levers}


def predict_only(case: Case, why: str) -> Advice:
    """An advice for a program that is not run.

    Parameters
    ----------
    case : Case
    why : str
        Why it is not.
    """
    rows = predictions(case)
    promising = [row for row in rows.values() if row.prediction.promising]
    said = "; ".join(f"{row.lever}{_at_most(row.prediction)}" for row in promising)
    statement = f"predicted only, {why}: {said or 'no lever promises anything'}"
    plain = () if case.line is None else case.line.plain().command
    return Advice(tuple(rows.values()), None, "", None, 0, statement, plain, 0.0)


def _at_most(found: Prediction) -> str:
    return " may help" if found.gain is None else f" may make it up to {found.gain:.2f} times faster"


def advise(case: Case, budget_s: float, folder: Path, stage: Stage) -> Advice:
    """Runs what is promising, and advises what is confirmed.

    Parameters
    ----------
    case : Case
        Its program can be launched here.
    budget_s : float
        For all runs, in seconds.
    folder : Path
        Where files lie that the advised launch needs: they stay.
    stage : callable
        Told what is being done.

    Raises
    ------
    RunError
        A timed run failed.
    """
    if case.line is None:
        return predict_only(case, "the program is not launched here")
    began = clock.monotonic()
    trial = _Trial(case, case.line, folder, began + budget_s, predictions(case))
    launches = trial.admitted(stage)
    found = _decided(trial, launches, stage)
    return replace(found, spent_s=clock.monotonic() - began)


def _decided(trial: _Trial, launches: Sequence[Launch], stage: Stage) -> Advice:
    if not launches:
        return trial.advice(_nothing_to_try(trial))
    times_s = {each.name: trial.took_s[each.name] for each in (trial.plain, *launches)}
    left_s = trial.end - clock.monotonic()
    while (rounds := contest.plan_rounds(left_s, times_s)) is None and len(times_s) > 2:
        del times_s[_least_promising(trial, times_s)]
    if rounds is None:
        need = time_text(1e9 * (contest.least_time_s(times_s) + trial.spent_s))
        return trial.advice(
            f"predicted only: the fewest runs that can confirm anything take about {need} (--budget)"
        )
    launches = [each for each in launches if each.name in times_s]
    chosen = launches[0]
    if len(launches) > 1:
        chosen, gains = _chosen(trial, launches, rounds.choosing, stage)
        trial.tell_gains(gains)
        if gains[chosen.name] <= 1:
            tried = ", ".join(gains)
            return trial.advice(
                f"no difference: in {rounds.choosing} rounds none of {tried} was faster",
                choosing_rounds=rounds.choosing,
            )
    with stage(f"{rounds.confirming} rounds of {chosen.name} and the plain launch") as progress:
        times = trial.time((trial.plain, chosen), rounds.confirming, progress)
    confirmed = contest.confirm(times[:, 0].tolist(), times[:, 1].tolist())
    if rounds.choosing == 0:
        trial.tell_gains({chosen.name: confirmed.gain})
    return trial.advice(_verdict(chosen.name, confirmed), chosen, confirmed, rounds.choosing)


def _chosen(
    trial: _Trial, launches: Sequence[Launch], rounds: int, stage: Stage
) -> tuple[Launch, dict[str, float]]:
    """The launch that gained most in some rounds, and what each gained."""
    with stage(f"{rounds} rounds of {len(launches)} changed launches and the plain one") as progress:
        times = trial.time((trial.plain, *launches), rounds, progress)
    by_name = {each.name: times[:, at].tolist() for at, each in enumerate((trial.plain, *launches))}
    best = contest.winner(by_name, {each.name: len(each.levers) for each in launches})
    gains = {name: contest.gain(by_name[PLAIN], own) for name, own in by_name.items() if name != PLAIN}
    return next(each for each in launches if each.name == best), gains


def _least_promising(trial: _Trial, names: Mapping[str, float]) -> str:
    """The launch that is given up first where time is short: of the least gain, then of most levers."""

    def promise(name: str) -> tuple[float, int]:
        levers = name.split(_TOGETHER)
        gains = [trial.rows[lever].prediction.gain for lever in levers]
        return max((gain for gain in gains if gain is not None), default=1.0), -len(levers)

    return min((name for name in names if name != PLAIN), key=promise)


def _nothing_to_try(trial: _Trial) -> str:
    failed = [row for row in trial.rows.values() if row.tried]
    if failed:
        return f"no difference: {'; '.join(f'{row.lever}: {row.outcome}' for row in failed)}"
    finding = trial.case.findings.of("nothing") or trial.case.findings.of("computing")
    why = finding.title if finding is not None else "no lever promises anything"
    return f"no difference, and nothing was tried: {why}"


def _verdict(name: str, found: Confirmed) -> str:
    interval = f"95 % interval {found.low:.3f} to {found.high:.3f}, {found.rounds} fresh rounds"
    if found.faster:
        return f"{name}: {found.gain:.3f} times faster than the plain launch ({interval})"
    if found.slower:
        return f"no gain: {name} is slower than the plain launch, {found.gain:.3f} times as fast ({interval})"
    return f"no difference: {name} is {found.gain:.3f} times as fast as the plain launch ({interval})"


class _Trial:
    """The launches of one advice, and what is known of each lever."""

    def __init__(self, case: Case, line: Line, folder: Path, end: float, rows: dict[str, LeverRow]) -> None:
        self.case, self.folder, self.end, self.rows = case, folder, end, rows
        self.began = clock.monotonic()
        self.line = line
        self.plain = Launch(PLAIN, (), Setting(), line.plain(), {})
        self.took_s: dict[str, float] = {}

    @property
    def spent_s(self) -> float:
        """Since the first launch."""
        return clock.monotonic() - self.began

    def admitted(self, stage: Stage) -> list[Launch]:
        """The launches whose levers took effect when they were recorded once; the last has them all."""
        promising = [each for each in LEVERS if self.rows[each.name].prediction.promising]
        if not promising:
            return []
        with stage("trying each lever once") as progress:
            # The recorded run was the first: it found cold caches and an idle launcher.
            self.took_s[PLAIN] = self._run(self.plain, None)
            found = []
            for at, lever in enumerate(promising, 1):
                progress(at / (len(promising) + 2))
                launched = self._admit((lever,))
                found += [launched] if launched is not None else []
            groups = {each.levers[0].group: each.levers[0] for each in reversed(found)}
            together = tuple(each for each in LEVERS if each in groups.values())
            if len(together) > 1 and (all_of_them := self._admit(together)) is not None:
                found.append(all_of_them)
            progress(1.0)
        return found

    def _admit(self, levers: tuple[Lever, ...]) -> Launch | None:
        """A launch that ran, and in which every lever took effect; else None, and the rows say why."""
        name = _TOGETHER.join(each.name for each in levers)
        alone = levers[0].name if len(levers) == 1 else None
        try:
            launched = self._made(name, levers)
            outcome = self._tried(launched)
        except CorewiseError as error:
            launched, outcome = None, str(error)
        if alone is not None:
            self.rows[alone] = replace(self.rows[alone], tried=True, outcome=outcome)
        return launched if not outcome else None

    def _made(self, name: str, levers: tuple[Lever, ...]) -> Launch:
        setting = Setting()
        for each in levers:
            setting = each.apply(self.case, setting, self.folder)
        building = clock.monotonic()
        variables = launch.unrecorded(self.line.mpi, setting.options, self.folder)
        self.end += clock.monotonic() - building  # a library is built once, and not out of the budget
        return Launch(name, levers, setting, setting.plan(self.line), variables)

    def _tried(self, launched: Launch) -> str:
        """Records a run under the levers; why one had no effect, or nothing."""
        limit_s = max(_LEAST_PATIENCE_S, _PATIENCE * self.took_s[PLAIN])
        with tempfile.TemporaryDirectory(prefix="corewise-advise-") as place:
            profile = Path(place) / "tried.cw"
            options = replace(launched.setting.options, timeout_s=limit_s)
            outcome = launch.record(launched.plan, profile, options, subprocess.DEVNULL)
            if outcome.exit_status == launch.TIMED_OUT:
                return f"the launch was ended after {limit_s:.0f} s"
            if outcome.exit_status != 0:
                return f"the program ended with exit status {outcome.exit_status} under it"
            self.took_s[launched.name] = outcome.wall_s
            reasons = (each.verify(self.case, profile) for each in launched.levers)
            return next((f"no effect: {reason}" for reason in reasons if reason), "")

    def tell_gains(self, gains: Mapping[str, float]) -> None:
        """Notes what each lever gained alone."""
        for name, gain in gains.items():
            if name in self.rows:
                self.rows[name] = replace(self.rows[name], gain=gain)

    def time(self, launches: Sequence[Launch], rounds: int, progress: Progress) -> Array:
        """Wall times, ns, shape (rounds, launches), interleaved."""
        backend = _Wall({each.name: each for each in launches}, self._run)
        return time([Candidate(each.name) for each in launches], backend, rounds, progress)

    def _run(self, launched: Launch, limit_s: float | None) -> float:
        """Seconds of one run; a run that fails ends the advice."""
        outcome = launch.execute(
            launched.command, launch.environment(launched.plan), subprocess.DEVNULL, limit_s
        )
        if outcome.exit_status != 0:
            raise RunError(
                f"{launched.name}: {' '.join(launched.command)}: ended with exit status {outcome.exit_status}"
            )
        return outcome.wall_s

    def advice(
        self,
        statement: str,
        chosen: Launch | None = None,
        confirmed: Confirmed | None = None,
        choosing_rounds: int = 0,
    ) -> Advice:
        """What came of it."""
        return Advice(
            rows=tuple(self.rows.values()),
            advised=chosen if confirmed is not None and confirmed.faster else None,
            chosen="" if chosen is None else chosen.name,
            confirmed=confirmed,
            choosing_rounds=choosing_rounds,
            statement=statement,
            plain=self.plain.plan.command,
            spent_s=0.0,
        )


@dataclass(frozen=True)
class _Wall:
    """The backend of `corewise.trials.time`: wall times of whole launches by name."""

    launches: Mapping[str, Launch]
    run: Callable[[Launch, float | None], float]

    def time_ns(self, candidates: Sequence[Candidate], number: int, progress: Progress) -> Array:
        """See `corewise.trials.timing.Backend`."""
        del number
        found = np.zeros(len(candidates))
        for at, candidate in enumerate(candidates):
            found[at] = 1e9 * self.run(self.launches[candidate.name], None)
            progress((at + 1) / len(candidates))
        return found
