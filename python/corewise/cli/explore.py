"""`corewise explore`: what placements do to the time of a pattern or a program.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import typer
from rich.text import Text

from corewise._core import Machine, Pattern
from corewise.cli import console
from corewise.data.files import check_target
from corewise.data.machines import HOST, load_machine
from corewise.data.patterns import is_profile, load_pattern_or_profile, pattern_of
from corewise.errors import InputError
from corewise.mpi.apply import recorded_program
from corewise.plots.explore import check_ending, write_curves
from corewise.report.layout import Column, FittingTable
from corewise.trials.exploration import study
from corewise.trials.exploration.findings import (
    CONFIDENCE,
    ERROR_RATE,
    NEAR,
    Agreement,
    Exploration,
    Standing,
    over,
)
from corewise.trials.exploration.host import mpi_of
from corewise.trials.exploration.pick import Pick, pick
from corewise.trials.exploration.runs import MODELS, SimulatedRuns
from corewise.trials.statistical.file import load_model, save_model
from corewise.trials.statistical.model import LEAST_PLACEMENTS

_HELP = """Times a pattern, or your program, under all or sampled placements.

Every placement is run several times. Says which placement is best and worst and by how much, where rank
order stands, how likely a random placement is within 10 % of the best, how well runs agree with each other
and with models, and what unpinned runs take. A statistical model is fitted on the placements and its error on
unseen ones reported; --fit keeps it, --pick lets it choose.

On any machine by simulation: the pattern is a file, a profile NAME.cw or a generator with its parameters
(`corewise patterns` lists them). On this host by running: give a profile recorded with `corewise run`, or -n
and the program, with --machine host.

\b
Example:
  corewise explore ring ranks=6 bytes="16 KiB" -m ps3 --all -o ring.svg
  corewise explore halo_2d dims=8x6 -m mesh-6x4 --samples 400 --fit mesh.json
  corewise explore halo_2d dims=8x6 -m mesh-6x4 --pick mesh.json
  corewise explore -m host -n 2 --runs 9 -- ./program
"""
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
_RUNS = typer.Option(3, "--runs", min=1, max=1000, help="Runs of every placement.")
_REPEAT = typer.Option(1, "--repeat", min=1, help="Simulated: the pattern so often in a run.")
_MODEL = typer.Option(MODELS[0], "--model", help=f"Simulated: {' or '.join(MODELS)} (quicker, less exact).")
_SEPARATION = typer.Option(
    "dependence",
    "--separation",
    help="Simulated: before its next phase a rank waits for its own messages (dependence) or all (barrier).",
)
_JITTER = typer.Option(
    1.0, "--jitter", min=0, max=100, help="Simulated: link latencies up to so much longer, per run; 0: none."
)
_UNPINNED = typer.Option(
    False, "--unpinned", help="Simulated: every run renames the units, as threads that nobody pins."
)
_SIMULATE = typer.Option(False, "--simulate", help="Simulate a profile on this host's description.")
_RANKS = typer.Option(None, "-n", "--ranks", min=1, help="Ranks of a program that is run here.")
_MPI = typer.Option(None, "--mpi", help="MPI of the program: a name, prefix or launcher.")
_FIT = typer.Option(None, "--fit", metavar="FILE", help="Write the fitted model.")
_PICK = typer.Option(None, "--pick", metavar="FILE", help="Let a fitted model choose, and check its choice.")
_OUTPUT = typer.Option(None, "--output", "-o", metavar="FILE", help="Draw the curves (.svg or .png).")
_SEED = typer.Option(1, "--seed", min=0, max=2**31, help="Of sample, jitter and searches.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")

HOST_SAMPLES, SAMPLES = 24, 200


def register(app: typer.Typer) -> None:
    """Adds `explore`."""
    app.command("explore", help=_HELP)(explore)


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
    fit: Path | None = _FIT,
    pick_by: Path | None = _PICK,
    output: Path | None = _OUTPUT,
    seed: int = _SEED,
    as_json: bool = _AS_JSON,
) -> None:
    """Explores placements."""
    _check_targets(fit, output)
    if everything and samples is not None:
        raise InputError(f"--samples {samples}: found with --all, allowed: one of them")
    if model not in MODELS:
        raise InputError(f"--model '{model}' is unknown, allowed: {', '.join(MODELS)}")
    program, patterns, title = _what(words, also, machine_reference, ranks, mpi, simulate)
    count = samples or (HOST_SAMPLES if program else SAMPLES)
    _check_fit(fit, patterns, count, everything)
    machine = load_machine(machine_reference)
    picked = _pick(pick_by, machine, patterns, seed)
    wanted = study.Wanted(runs, count, everything, seed, picked)
    if program is not None:
        simulated = {
            "--repeat": repeat != 1,
            "--model": model != MODELS[0],
            "--unpinned": unpinned,
            "--jitter": jitter != 1.0,
            "--separation": separation != "dependence",
        }
        _refuse([name for name, given in simulated.items() if given])
        with console.progress("running the program under placements"):
            found = study.explore_host(machine, program, patterns, title, wanted)
    else:
        how = SimulatedRuns(machine, tuple(patterns), model, jitter, repeat, separation, seed, unpinned)
        with console.progress_bar("simulating placements") as advance:
            found = study.explore_simulated(how, title, wanted, advance)
    if pick_by is not None:
        remarks = _carried_over(pick_by, patterns, found.source)
        found = replace(found, notes=(*found.notes, *remarks))
    _write(found, fit, output)
    if as_json:
        console.show_json("explore", machine.name, _rows(found), **_more(found, picked))
        return
    _show(found, picked)
    for written in (fit, output):
        if written is not None:
            console.show(f"written to {written}")


# ---- what was asked for ----------------------------------------------------------------------------------


def _check_targets(fit: Path | None, output: Path | None) -> None:
    for target in (fit, output):
        if target is not None:
            check_target(target)
    if output is not None:
        check_ending(output)


def _what(
    words: Sequence[str],
    also: Sequence[str],
    machine: str,
    ranks: int | None,
    mpi: str | None,
    simulate: bool,
) -> tuple[study.Program | None, list[Pattern], str]:
    """The program to run here, or None; the patterns; what to call it."""
    source = Path(words[0])
    on_host = machine == HOST
    if ranks is not None:
        if not on_host:
            raise InputError(
                f"-n {ranks}: found with machine '{machine}', allowed: host, where a program runs"
            )
        if also:
            raise InputError(f"--also '{also[0]}': found with a program, allowed: with a pattern")
        return study.Program(tuple(words), ranks, mpi_of(words, ranks, mpi)), [], source.name
    if is_profile(source) and on_host and not simulate:
        if len(words) > 1:
            raise InputError(f"'{words[1]}': found behind {source}, allowed: nothing; give -n for a program")
        program, count, prefix = recorded_program(source)
        pattern = load_pattern_or_profile(source)
        return study.Program(tuple(program), count, mpi or prefix), [pattern], source.name
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


def _check_fit(fit: Path | None, patterns: Sequence[Pattern], count: int, everything: bool) -> None:
    """Refuses what is known not to give a model, before anything runs."""
    if fit is None:
        return
    if not patterns:
        raise InputError(f"--fit {fit}: found with a program, allowed: a profile or a pattern, which tells "
                         "what is sent")  # fmt: skip
    if count < LEAST_PLACEMENTS and not everything:
        raise InputError(
            f"--fit {fit}: found {count} placements, allowed: {LEAST_PLACEMENTS} or more (--samples), to fit "
            "a model"
        )


def _refuse(given: Sequence[str]) -> None:
    if given:
        raise InputError(f"option '{given[0]}': found with a program that is run, allowed: in a simulation")


def _pick(file: Path | None, machine: Machine, patterns: Sequence[Pattern], seed: int) -> Pick | None:
    if file is None:
        return None
    fitted = load_model(file)
    if not patterns:
        raise InputError(f"--pick {file}: found with a program, allowed: a profile or a pattern, which tells "
                         "what is sent")  # fmt: skip
    if patterns[0].ranks > len(machine.units):
        raise InputError(
            f"pattern '{patterns[0].name}': found {patterns[0].ranks} ranks, allowed: at most "
            f"{len(machine.units)}, the units of '{machine.name}'"
        )
    with console.progress("asking the model"):
        return pick(fitted, machine, patterns, str(file), seed)


def _carried_over(file: Path, patterns: Sequence[Pattern], source: str) -> list[str]:
    """Where a model is asked about something else than it was fitted on."""
    fitted = load_model(file)
    one = (", ".join(fitted.patterns), fitted.ranks, fitted.source)
    other = (", ".join(pattern.name for pattern in patterns), patterns[0].ranks, source)
    if one == other:
        return []
    texts = [f"{names or 'a pattern'}, {ranks} ranks, {how}" for names, ranks, how in (one, other)]
    return [f"{file} was fitted on {texts[0]}; here it is asked about {texts[1]}: it may not carry over"]


def _write(found: Exploration, fit: Path | None, output: Path | None) -> None:
    if fit is not None:
        if found.fitted is None:
            raise InputError(
                f"--fit {fit}: found no model ({found.not_fitted}), allowed: where one is fitted"
            )
        save_model(found.fitted, fit)
    if output is not None:
        with console.progress("drawing"):
            write_curves(found, output)


# ---- text ------------------------------------------------------------------------------------------------


def _show(found: Exploration, picked: Pick | None) -> None:
    heading = Text(f"{found.title} on {found.machine.name}", style="bold")
    how = {"host": "measured on this host", "flow": "by flow"}.get(found.source, "simulated")
    heading.append(
        f": {found.ranks} ranks on {len(found.machine.units)} units, {how}, "
        f"{found.runs} run{'s' * (found.runs > 1)} of each",
        style="none",
    )
    console.show(heading, *found.notes, "", _standings_table(found), "")
    console.show(*_findings(found, picked), "", _agreements_table(found))
    if found.fitted is not None:
        console.show("", _errors_table(found))
    else:
        console.show("", found.not_fitted)


def _standings_table(found: Exploration) -> FittingTable:
    standings = found.standings()
    plan = found.plan
    population = f"all {plan.population} placements" if plan.complete else (
        f"a sample of {plan.population} of {_many(plan.total)} placements"
    )  # fmt: skip
    units = [_units(found, each) for each in standings]
    return FittingTable(
        [
            Column("placement", [each.name for each in standings]),
            Column("time", [_time(each.time_ns) for each in standings], right=True),
            Column(
                "least .. most of the runs",
                [f"{_time(each.least_ns)} .. {_time(each.most_ns)}" for each in standings],
                right=True,
                importance=2,
            ),
            Column("rank", [f"{each.rank}" for each in standings], right=True),
            Column("to best", [_number(each.factor) for each in standings], right=True),
            Column("unit of rank 0, 1, ...", units, importance=1),
        ],
        title=f"{population}; time: median of the runs; rank: 1 and how many of them are faster",
    )


def _units(found: Exploration, each: Standing) -> str:
    if each.row is None:
        return ""
    names = [found.machine.units[unit].name for unit in found.plan.placements[each.row]]
    return " ".join(names[:16] + ["..."] * (len(names) > 16))


def _findings(found: Exploration, picked: Pick | None) -> list[str]:
    near = found.near()
    bounds = (
        "" if found.plan.complete else f" ({near.low:.1%} to {near.high:.1%}, {CONFIDENCE:.0%} confidence)"
    )
    of = "the best" if found.plan.complete else "the best seen"
    lines = [
        f"worst / best: {_number(found.ratio)}, within a run {_number(found.run_ratio)}; "
        "a placement's runs differ by "
        f"{found.run_spread:.1%} of its time (median placement)",
        f"a random placement is within {NEAR:.0%} of {of} with probability {near.share:.1%}{bounds}",
    ]
    if found.chance is not None:
        certain = found.chance < ERROR_RATE
        verdict = (
            "placements differ beyond chance" if certain else "no significant difference between placements"
        )
        lines.append(f"{verdict} (p = {found.chance:.2g}, Kruskal-Wallis)")
    if picked is not None:
        lines.append(_pick_text(found, picked))
    return lines


def _pick_text(found: Exploration, picked: Pick) -> str:
    standing = found.standing(study.PICK, found.plan.named[study.PICK])
    best = study.best_pick(found)
    of = "all" if picked.complete else "a sample and its neighbours, together"
    return (
        f"pick: the model likes it best of {of} {_many(picked.predicted)}; predicted "
        f"{_time(picked.predicted_ns)}, checked {_time(standing.time_ns)} "
        f"(predicted / checked {_number(over(picked.predicted_ns, standing.time_ns))}), rank {standing.rank} "
        f"among {found.plan.population}; fastest of the {1 + len(picked.next_best)} it likes best: "
        f"{best.name}, {_time(best.time_ns)}, rank {best.rank}"
    )


def _agreements_table(found: Exploration) -> FittingTable:
    rows = found.agreements()
    return FittingTable(
        [
            Column("ranks compared", [each.what for each in rows]),
            Column("Spearman", [_number(each.spearman) for each in rows], right=True),
            Column("Kendall", [_number(each.kendall) for each in rows], right=True),
            Column("least Spearman", [_least(each) for each in rows], right=True, importance=1),
        ],
        title="rank correlation with the median of the runs",
    )


def _least(each: Agreement) -> str:
    return f"{each.least_spearman:.3f} of {each.pairs}" if each.least_spearman is not None else ""


def _errors_table(found: Exploration) -> FittingTable:
    assert found.fitted is not None
    errors = found.fitted.errors
    return FittingTable(
        [
            Column("model", [each.model for each in errors]),
            Column("median error", [f"{each.median:.1%}" for each in errors], right=True),
            Column("p90", [f"{each.p90:.1%}" for each in errors], right=True),
            Column("Spearman", [_number(each.spearman) for each in errors], right=True),
            Column("Kendall", [_number(each.kendall) for each in errors], right=True),
        ],
        title=f"error on {errors[0].n} unseen placements, fitted on {found.fitted.fitted_on} others",
        remark="models but the fitted one are brought to times by a straight line through the same "
        f"{found.fitted.fitted_on}",
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _many(number: int) -> str:
    return f"{number:,}".replace(",", " ") if number < 10**12 else f"{float(number):.1e}"


def _time(time_ns: float) -> str:
    for size, name in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if time_ns >= size:
            return f"{time_ns / size:.4g} {name}"
    return f"{time_ns:.4g} ns"


# ---- JSON ------------------------------------------------------------------------------------------------


def _rows(found: Exploration) -> list[dict[str, object]]:
    names: dict[int, list[str]] = {}
    for name, row in found.plan.named.items():
        names.setdefault(row, []).append(name)
    order = sorted(range(len(found.plan.placements)), key=lambda row: (found.time_ns[row], row))
    rows: list[dict[str, object]] = []
    for row in order:
        standing = found.standing("", row)
        rows.append(
            {
                "rank": standing.rank,
                "time_ns": standing.time_ns,
                "factor": standing.factor,
                "runs_ns": [float(time) for time in found.times_ns[:, row]],
                "names": names.get(row, []),
                "in_population": row < found.plan.population,
                "unit_of_rank": [int(unit) for unit in found.plan.placements[row]],
                "models": {name: float(says[row]) for name, says in found.models.items()},
            }
        )
    return rows


def _more(found: Exploration, picked: Pick | None) -> dict[str, object]:
    near = found.near()
    more: dict[str, object] = {
        "title": found.title,
        "ranks": found.ranks,
        "source": found.source,
        "runs": found.runs,
        "complete": found.plan.complete,
        "population": found.plan.population,
        "placements": found.plan.total,
        "ratio": found.ratio,
        "run_ratio": found.run_ratio,
        "run_spread": found.run_spread,
        "chance": found.chance,
        "within_10_percent": {"share": near.share, "low": near.low, "high": near.high},
        "standings": [
            {key: value for key, value in asdict(each).items() if key != "row"} for each in found.standings()
        ],
        "unpinned_runs_ns": [float(time) for time in found.unpinned_ns],
        "correlation": [asdict(each) for each in found.agreements()],
        "unseen": [error.row() for error in found.fitted.errors] if found.fitted else [],
        "notes": [*found.notes, *([found.not_fitted] if found.fitted is None else [])],
    }  # fmt: skip
    if picked is not None:
        standing = found.standing(study.PICK, found.plan.named[study.PICK])
        best = study.best_pick(found)
        more["pick"] = {
            "unit_of_rank": list(picked.unit_of_rank),
            "predicted_ns": picked.predicted_ns,
            "checked_ns": standing.time_ns,
            "rank": standing.rank,
            "predicted": picked.predicted,
            "complete": picked.complete,
            "best_checked": {
                "of": 1 + len(picked.next_best),
                "unit_of_rank": [int(unit) for unit in found.plan.placements[best.row or 0]],
                "time_ns": best.time_ns,
                "rank": best.rank,
            },
        }
    return more
