"""`corewise explore`: what placements do to the time of a pattern or a program.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from corewise.base import late
from corewise.base.files import check_target
from corewise.cli import console, sweeps
from corewise.cli.settings import WithSettings
from corewise.errors import InputError
from corewise.trials.simulation import MODELS

with late.imports():
    from corewise._core import Machine, Pattern
    from corewise.analysis.placement.exploration import Exploration, Plan, least_runs
    from corewise.cli.place.replayed import replays_on
    from corewise.data.machines import machine_text
    from corewise.data.patterns import is_profile, load_pattern_or_profile, pattern_of
    from corewise.plots.explore import check_ending, write_curves
    from corewise.report import exploration as view
    from corewise.sim.sweeps import workers_of
    from corewise.trials.exploration import Effort, explore_host, explore_replayed, explore_simulated, plan
    from corewise.trials.host import is_this_host
    from corewise.trials.launches import Launches, Program
    from corewise.trials.simulation import Simulation

_HELP = """Time a pattern, or your program, under all or sampled placements.

Every placement is run several times. The answer says which one is best and worst and by how much, where rank
order stands, how likely a random placement is within 10 % of the best, how well runs agree with each other
and with models, and what unpinned runs take. A statistical model is fitted on the placements and its error on
unseen ones reported.

On any machine by simulation: the pattern is a file, a profile NAME.cw or a generator with its parameters
(`corewise patterns` lists them). On this host by running: give a profile recorded with `corewise run`, or -n
and the program, with --machine host.

\b
Example:
  corewise explore ring ranks=6 bytes="16 KiB" -m ps3 --all -o ring.svg
  corewise explore halo_2d dims=8x6 -m mesh-6x4 --samples 400
  corewise explore lbm.cw -m mesh-6x4 --model replay
  corewise explore ring ranks=8 -m qs22 --all -o ring.svg --executor dask://head:8786
  corewise explore -m host -n 2 --runs 9 -- ./program
"""
REPLAY = "replay"
"""The model by which a profile is replayed, instead of its messages simulated alone."""
_MACHINE = typer.Option(
    ..., "--machine", "-m", metavar="MACHINE", help="Name, file, `host`, or synthetic text."
)
_ALSO = typer.Option(
    [],
    "--also",
    metavar="PATTERN",
    help="A further pattern with the same placement, e.g. 'halo_2d dims=4x2'; times add up. Repeatable.",
)
_SAMPLES = typer.Option(
    None, "--samples", min=1, help="Placements, where there are more (200; 24 on this host)."
)
_ALL = typer.Option(False, "--all", help="All placements, up to 100 000.")
RUNS = 3
_RUNS = typer.Option(RUNS, "--runs", min=1, max=1000, help="Runs of every placement.")
_REPEAT = typer.Option(
    1,
    "--repeat",
    metavar="N",
    min=1,
    max=1_000_000,
    help="Simulated: the pattern so often in a run.",
    hidden=True,
)
_MODEL = typer.Option(
    MODELS[0],
    "--model",
    metavar="MODEL",
    help=f"Simulated: {', '.join(MODELS)} (quicker, less exact), {REPLAY} (of a profile: who waits counts).",
    hidden=True,
)
_SEPARATION = typer.Option(
    "dependence",
    "--separation",
    metavar="WORD",
    help="Simulated: before its next phase a rank waits for its own messages (dependence) or all (barrier).",
    hidden=True,
)
_JITTER = typer.Option(
    1.0,
    "--jitter",
    metavar="FACTOR",
    min=0,
    max=100,
    help="Simulated: link latencies up to so much longer, per run; 0: none.",
    hidden=True,
)
_UNPINNED = typer.Option(
    False,
    "--unpinned",
    help="Simulated: every run renames the units, as threads that nobody pins.",
    hidden=True,
)
_SIMULATE = typer.Option(False, "--simulate", help="Simulate a profile on this host's description.")
_RANKS = typer.Option(None, "-n", "--ranks", min=1, help="Ranks of a program that is run here.")
_MPI = typer.Option(None, "--mpi", help="MPI of the program: a name, prefix or launcher.")
_OUTPUT = typer.Option(None, "--output", "-o", metavar="FILE", help="Draw the curves (.svg or .png).")
_SEED = typer.Option(
    1, "--seed", metavar="N", min=0, max=2**31, help="Of sample, jitter and searches.", hidden=True
)
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")

HOST_SAMPLES, SAMPLES = 24, 200


def register(app: typer.Typer) -> None:
    """Adds `explore`."""
    app.command("explore", help=_HELP, cls=WithSettings)(explore)


def explore(
    words: list[str] = typer.Argument(
        ..., metavar="PATTERN [NAME=VALUE]... | PROFILE | -- PROGRAM [ARGUMENT]...", help="What is run."
    ),
    machine_reference: str = _MACHINE,
    also: list[str] = _ALSO,
    samples: int | None = _SAMPLES,
    everything: bool = _ALL,
    runs: int = _RUNS,
    repeat: int = _REPEAT,
    model: str = _MODEL,
    separation: str = _SEPARATION,
    jitter: float = _JITTER,
    unpinned: bool = _UNPINNED,
    simulate: bool = _SIMULATE,
    ranks: int | None = _RANKS,
    mpi: str | None = _MPI,
    output: Path | None = _OUTPUT,
    executor: str | None = sweeps.EXECUTOR,
    resume: Path | None = sweeps.RESUME,
    seed: int = _SEED,
    as_json: bool = _AS_JSON,
) -> None:
    """Explores placements."""
    _check_output(output, [words[0], machine_reference])
    if everything and samples is not None:
        raise InputError(f"--samples {samples}: found with --all, allowed: one of them")
    if model not in (*MODELS, REPLAY):
        raise InputError(f"--model '{model}' is unknown, allowed: {', '.join((*MODELS, REPLAY))}")
    made_from = machine_text(machine_reference)
    machine = made_from.load()
    how = Simulation(
        machine, (), model=model, jitter=jitter, repetitions=repeat, separation=separation,
        seed=seed, renamed=unpinned,
    )  # fmt: skip
    if model == REPLAY:
        _check_replayed(how, words, also, ranks or mpi, runs)
        _refuse_sweep(executor, resume, f"with --model {REPLAY}")
        effort = Effort(1, samples or SAMPLES, everything, seed)
        _show(_replayed(Path(words[0]), machine, effort), output, as_json)
        return
    on_host = is_this_host(machine_reference, machine)
    program, patterns, title = _what(words, also, machine_reference, on_host, ranks, mpi, simulate)
    effort = Effort(runs, samples or (HOST_SAMPLES if program else SAMPLES), everything, seed)
    how = replace(how, patterns=tuple(patterns))
    if program is not None:
        _refuse_simulated(how, MODELS[0])
        _refuse_sweep(executor, resume)
    sweeps.check_sent(executor, made_from)
    keep = None if program else sweeps.kept(output, resume)
    chosen = plan(machine, program.ranks if program else patterns[0].ranks, patterns, effort)
    _say_if_too_few(runs, chosen)
    if program is not None:
        with console.progress_bar("running the program under placements") as advance:
            found = explore_host(Launches(machine, program), patterns, chosen, title, effort, advance)
    else:
        with workers_of(executor) as workers, console.progress_bar("simulating placements") as advance:
            found = explore_simulated(how, made_from, chosen, title, effort, advance, workers, keep)
    _show(found, output, as_json)


def _show(found: Exploration, output: Path | None, as_json: bool) -> None:
    if output is not None:
        with console.progress("drawing"):
            write_curves(found, output)
    if as_json:
        console.show_json("explore", found.machine.name, view.rows(found), **view.summary(found))
        return
    console.show(*view.views(found))
    if output is not None:
        console.show(f"written to {output}")


def _say_if_too_few(runs: int, chosen: Plan) -> None:
    """Before anything is measured: a user who wants a verdict need not wait for none."""
    needed = least_runs(chosen.population)
    if 1 < runs < needed:
        console.note(
            f"{runs} runs cannot tell {chosen.population} placements apart, allowed: {needed} or more; "
            "ranks and models are shown all the same"
        )


# ---- what was asked for ----------------------------------------------------------------------------------


def _what(
    words: Sequence[str],
    also: Sequence[str],
    machine: str,
    on_host: bool,
    ranks: int | None,
    mpi: str | None,
    simulate: bool,
) -> tuple[Program | None, list[Pattern], str]:
    """The program to run here, or None; the patterns; what to call it."""
    source = Path(words[0])
    if ranks is not None:
        if not on_host:
            raise InputError(
                f"-n {ranks}: found with machine '{machine}', allowed: host, or a file of corewise probe "
                "that is this host's, where a program runs"
            )
        if also:
            raise InputError(f"--also '{also[0]}': found with a program, allowed: with a pattern")
        return Program.checked(words, ranks, mpi), [], source.name
    if is_profile(source) and on_host and not simulate:
        if len(words) > 1:
            raise InputError(f"'{words[1]}': found behind {source}, allowed: nothing; give -n for a program")
        return Program.recorded(source, mpi), [load_pattern_or_profile(source)], source.name
    _check_simulated(source, words, on_host, mpi, simulate)
    patterns = [pattern_of(words[0], list(words[1:]))]
    patterns += [_also(each) for each in also]
    title = " + ".join(pattern.name or "pattern" for pattern in patterns)
    return None, patterns, title


def _check_simulated(
    source: Path, words: Sequence[str], on_host: bool, mpi: str | None, simulate: bool
) -> None:
    """Refuses what makes no sense where a pattern is simulated."""
    if on_host and len(words) == 1 and _runs(source):
        raise InputError(f"{source}: found a program without its ranks, allowed: -n RANKS -- PROGRAM")
    if mpi is not None:
        raise InputError(f"--mpi {mpi}: found in a simulation, allowed: with a program that is run")
    if simulate and not (on_host and is_profile(source)):
        raise InputError(
            "--simulate: found where all is simulated anyway, allowed: with a profile on machine host"
        )


def _also(text: str) -> Pattern:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"--also {text!r}: found {error}, allowed: words whose quotes are closed") from None
    if not words:
        raise InputError("--also: found nothing, allowed: a pattern, e.g. 'halo_2d dims=4x2'")
    return pattern_of(words[0], words[1:])


def _runs(source: Path) -> bool:
    return source.is_file() and source.suffix == "" and os.access(source, os.X_OK)


def _refuse_sweep(
    executor: str | None, resume: Path | None, beside: str = "with a program that is run"
) -> None:
    for option, value in (("--executor", executor), ("--resume", resume)):
        if value is not None:
            raise InputError(f"{option} {value}: found {beside}, allowed: in a simulation")


def _refuse_simulated(how: Simulation, model: str, beside: str = "with a program that is run") -> None:
    """Refuses options of a simulation where there is none."""
    usual = Simulation(how.machine, how.patterns, model=model, seed=how.seed)
    names = {
        "--repeat": "repetitions",
        "--model": "model",
        "--unpinned": "renamed",
        "--jitter": "jitter",
        "--separation": "separation",
    }
    for option, name in names.items():
        if getattr(how, name) != getattr(usual, name):
            raise InputError(f"option '{option}': found {beside}, allowed: in a simulation")


def _check_replayed(
    how: Simulation, words: Sequence[str], also: Sequence[str], launched: int | str | None, runs: int
) -> None:
    """Refuses what makes no sense where a recorded run is replayed."""
    beside = f"with --model {REPLAY}"
    _refuse_simulated(how, REPLAY, beside)
    if not is_profile(Path(words[0])) or len(words) > 1:
        raise InputError(f"{' '.join(words)}: found {beside}, allowed: one profile NAME.cw")
    if also:
        raise InputError(f"--also '{also[0]}': found {beside}, allowed: with a pattern")
    if launched is not None:
        raise InputError(f"-n or --mpi {launched}: found {beside}, allowed: with a program that is run")
    if runs not in (1, RUNS):
        raise InputError(f"--runs {runs}: found {beside}, allowed: 1, as replays of a placement are alike")


def _replayed(source: Path, machine: Machine, effort: Effort) -> Exploration:
    replays = replays_on(source, machine)
    chosen = plan(machine, replays.recording.size, [replays.pattern()], effort)
    with console.progress_bar("replaying under placements") as advance:
        return explore_replayed(replays, chosen, source.name, effort, advance)


def _check_output(output: Path | None, inputs: Sequence[str]) -> None:
    if output is not None:
        check_target(output, inputs)
        check_ending(output)
