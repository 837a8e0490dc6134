"""The rule by which a launch is advised, held against made-up times; launches taken apart; quotas.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from corewise.base.quota import quota_cores
from corewise.data.machines import load_machine
from corewise.data.placement import make_placement
from corewise.errors import InputError
from corewise.mpi import lines
from corewise.mpi.find import MpiLibrary
from corewise.mpi.launch import LaunchPlan
from corewise.report import advice as view
from corewise.trials.advice import contest, study
from corewise.trials.advice.contest import PLAIN, Rounds, plan_rounds
from corewise.trials.levers.lever import Setting

LEVERS = ("binding", "acceleration", "packing", "all")


def noisy(rng: np.random.Generator, rounds: int, launches: int) -> NDArray[np.float64]:
    """Times as a busy host gives them: a level that drifts, scatter, and now and then a run that takes far
    longer."""
    level = 1 + 0.2 * np.sin(np.linspace(0, 3, rounds))[:, None]
    scatter = rng.lognormal(0, 0.03, (rounds, launches))
    bursts = 1 + rng.exponential(0.5, (rounds, launches)) * (rng.random((rounds, launches)) < 0.05)
    return level * scatter * bursts


def advised(rng: np.random.Generator, effort: Rounds, gains: dict[str, float]) -> str:
    """What the rule advises of programs that are so many times faster under each lever; empty: nothing."""
    names = (PLAIN, *gains)
    speed = np.array([1.0, *gains.values()])
    first = noisy(rng, effort.choosing, len(names)) / speed
    parts = {name: 3 if name == "all" else 1 for name in gains}
    best = contest.winner({name: first[:, at].tolist() for at, name in enumerate(names)}, parts)
    fresh = noisy(rng, effort.confirming, 2) / np.array([1.0, gains[best]])
    return best if contest.confirm(fresh[:, 0].tolist(), fresh[:, 1].tolist()).faster else ""


@pytest.mark.parametrize("effort", [Rounds(3, 6), Rounds(5, 12), Rounds(7, 25)])
def test_nothing_is_advised_where_nothing_helps(effort: Rounds) -> None:
    """At most one try in twenty may say otherwise; by the rule's intervals it is one in forty."""
    tries, rng = 2_000, np.random.default_rng(19)
    wrong = sum(bool(advised(rng, effort, dict.fromkeys(LEVERS, 1.0))) for _ in range(tries))
    # Three standard deviations over one in forty is still under one in twenty.
    assert wrong / tries < 0.025 + 3 * math.sqrt(0.025 * 0.975 / tries) < 0.05


def test_choosing_and_confirming_by_the_same_rounds_would_not_do() -> None:
    """The luckiest of four levers: what the rule is there for."""
    tries, rng = 1_000, np.random.default_rng(19)
    wrong = 0
    for _ in range(tries):
        times = noisy(rng, 12, 5)
        own = [contest.confirm(times[:, 0].tolist(), times[:, at].tolist()) for at in range(1, 5)]
        wrong += any(each.faster for each in own)
    assert wrong / tries > 0.05


@pytest.mark.parametrize("helps", LEVERS)
def test_a_lever_that_helps_is_found(helps: str) -> None:
    rng = np.random.default_rng(20)
    gains = {name: 1.25 if name == helps else 1.0 for name in LEVERS}
    found = [advised(rng, Rounds(5, 15), gains) for _ in range(200)]
    assert found.count(helps) >= 190


def test_a_launch_with_fewer_levers_is_chosen_where_it_is_nearly_as_good() -> None:
    parts = {"a": 1, "b": 1, "a + b": 2}
    times = {PLAIN: [2.0] * 5, "a": [1.02] * 5, "b": [2.0] * 5, "a + b": [1.0] * 5}
    assert contest.winner(times, parts) == "a"
    assert contest.winner({**times, "a + b": [0.9] * 5}, parts) == "a + b"
    assert contest.winner({**times, "b": [1.01] * 5}, parts) == "b"


def test_a_confirmed_ratio_has_the_exact_interval() -> None:
    """Six rounds, all faster: the interval runs from the smallest to the largest mean of two ratios."""
    plain, own = [2.0, 2.2, 2.4, 2.6, 2.8, 3.0], [1.0] * 6
    found = contest.confirm(plain, own)
    logs = [math.log(each) for each in plain]
    walsh = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(logs, 2))
    assert (found.low, found.high) == (pytest.approx(math.exp(walsh[0])), pytest.approx(math.exp(walsh[-1])))
    assert found.gain == pytest.approx(math.exp(float(np.median(walsh))))
    assert found.faster and not found.slower
    reverse = contest.confirm(own, plain)
    assert reverse.slower and not reverse.faster
    assert not contest.confirm(plain[:5], own[:5]).faster  # too few for any end


@pytest.mark.parametrize(
    ("left_s", "times_s", "rounds"),
    [
        (100, {PLAIN: 1, "a": 1}, Rounds(0, 25)),  # nothing to choose from, and enough is enough
        (13, {PLAIN: 1, "a": 1}, Rounds(0, 6)),
        (11, {PLAIN: 1, "a": 1}, None),
        (100, {PLAIN: 1, "a": 1, "b": 2}, Rounds(7, 24)),
        (30, {PLAIN: 1, "a": 1, "b": 2}, Rounds(3, 6)),
        (29, {PLAIN: 1, "a": 1, "b": 2}, None),
    ],
)
def test_rounds_fit_the_budget(left_s: float, times_s: dict[str, float], rounds: Rounds | None) -> None:
    assert plan_rounds(left_s, times_s) == rounds
    assert (contest.least_time_s(times_s) <= left_s) == (rounds is not None)
    if rounds is not None:
        slowest = max(time for name, time in times_s.items() if name != PLAIN)
        spent = rounds.choosing * sum(times_s.values()) + rounds.confirming * (times_s[PLAIN] + slowest)
        assert spent <= left_s


# ---- launches taken apart --------------------------------------------------------------------------------


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A program, and `launch.plan` as it answers for a launcher's line."""
    program = tmp_path / "flow"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "mpiexec").write_text("#!/bin/sh\necho 'HYDRA build details: Version: 5.0'\n")
    (tmp_path / "mpiexec").chmod(0o755)
    mpi = MpiLibrary("mpich", "5.0", tmp_path, tmp_path / "mpiexec", tmp_path / "libmpi.so", (), ())

    def plan(command: list[str], **more: object) -> LaunchPlan:
        return LaunchPlan(mpi, ("mpiexec", *command[1:]), 1, None, None)

    monkeypatch.setattr(lines.launch, "plan", plan)
    yield program


@pytest.mark.parametrize(
    ("words", "options", "binding"),
    [
        ("-n 4", "", ""),
        ("-np 4 --bind-to none", "", "--bind-to none"),
        ("--bind-to core -n 4 --oversubscribe -x A=1", "-x A=1", "--bind-to core --oversubscribe"),
        ("-genv A 1 -bind-to user:0,0 -n 4 -l", "-genv A 1 -l", "-bind-to user:0,0"),
        ("--mca btl ^ofi --map-by core --n 4", "--mca btl ^ofi", "--map-by core"),
    ],
)
def test_a_launchers_line_is_taken_apart(launcher: Path, words: str, options: str, binding: str) -> None:
    found = lines.line_of(["mpiexec", *words.split(), str(launcher), "-n", "7"], None, None)
    assert found.ranks == 4
    assert " ".join(found.options) == options
    assert " ".join(found.binding) == binding
    assert found.program == (str(launcher), "-n", "7")
    plain = found.plain().command[1:]
    assert plain == (*options.split(), "-n", "4", *binding.split(), str(launcher), "-n", "7")
    bound = found.bound(["-n", "4", "-bind-to", "user:1,0,2,3"]).command[1:]
    assert bound == (*options.split(), "-n", "4", "-bind-to", "user:1,0,2,3", str(launcher), "-n", "7")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-n 4 {} : -n 2 {}", "several programs"),
        ("{}", "no number of ranks"),
        ("-n four {}", "-n: found four"),
        ("-n 4", "found nothing where a program stands"),
        ("-n 4 no-such-program-here", "'no-such-program-here' where a program stands"),
    ],
)
def test_lines_that_cannot_be_taken_apart_are_refused(launcher: Path, words: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        lines.line_of(["mpiexec", *words.format(launcher, launcher).split()], None, None)


def test_the_launch_is_told_in_slurms_words(launcher: Path) -> None:
    machine = load_machine("host")
    if len(machine.units) < 2:
        pytest.skip("capability: two cores")
    line = lines.line_of(["mpiexec", "-n", "2", str(launcher), "--deep"], None, None)
    variables = {"LD_PRELOAD": "/lib/a.so", "COREWISE_ACCELERATE": "on|2>barrier=-:mpi"}
    setting = Setting(placement=make_placement(machine, (1, 0)))
    launched = study.Launch("both", (), setting, line.plain(), variables)
    cpus = f"{machine.units[1].os_index},{machine.units[0].os_index}"
    case: Any = SimpleNamespace(ranks=2, machine=machine)
    program = [
        "env",
        "LD_PRELOAD=/lib/a.so",
        "COREWISE_ACCELERATE=on|2>barrier=-:mpi",
        str(launcher),
        "--deep",
    ]
    bound = ["srun", "--nodes=1", "--whole", "--ntasks=2", f"--cpu-bind=map_cpu:{cpus}"]
    assert view.slurm_command(case, launched) == [*bound, *program]
    confirmed = contest.Confirmed(1.5, 1.4, 1.6, 12)
    found = study.Advice((), launched, "both", confirmed, 0, "faster", line.plain().command, 1.0)
    told, slurm = view.lines(case, found, slurm=True)
    assert shlex.split(told.removeprefix("launch: ")) == launched.command
    assert shlex.split(slurm.removeprefix("the same for Slurm, not run: ")) == [*bound, *program]
    assert view.lines(case, found, slurm=False) == [told]
    nothing = study.Advice((), None, "", None, 0, "no difference", line.plain().command, 1.0)
    assert view.lines(case, nothing, slurm=True) == [f"launch as before: {shlex.join(line.plain().command)}"]
    loose = study.Launch("collectives", (), Setting(), line.plain(), variables)
    assert view.slurm_command(case, loose) == ["srun", "--ntasks=2", *program]


# ---- quotas ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "own", "cores"),
    [
        ({}, "0::/job\n", None),
        ({"job/cpu.max": "max 100000\n"}, "0::/job\n", None),
        ({"job/cpu.max": "150000 100000\n"}, "0::/job\n", 1.5),
        ({"cpu.max": "max 100000", "job/cpu.max": "400000 100000", "job/step/cpu.max": "200000 100000"},
         "0::/job/step\n", 2.0),
        ({"job/cpu.max": "100000 100000", "job/step/cpu.max": "200000 100000"}, "0::/job/step\n", 1.0),
        ({"cpu/job/cpu.cfs_quota_us": "-1\n", "cpu/job/cpu.cfs_period_us": "100000\n"},
         "4:cpu,cpuacct:/job\n3:memory:/job\n", None),
        ({"cpu/job/cpu.cfs_quota_us": "250000\n", "cpu/job/cpu.cfs_period_us": "100000\n"},
         "4:cpu,cpuacct:/job\n3:memory:/job\n", 2.5),
        ({"cpu/job/cpu.cfs_quota_us": "250000\n", "cpu/job/cpu.cfs_period_us": "100000\n"},
         "3:memory:/job\n", None),
    ],
)  # fmt: skip
def test_quotas_of_both_versions(
    tmp_path: Path, files: dict[str, str], own: str, cores: float | None
) -> None:
    groups, mine = tmp_path / "groups", tmp_path / "own"
    groups.mkdir()
    mine.write_text(own)
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text)
    assert quota_cores(groups, mine) == cores
