"""`corewise place`: the rank-to-unit placement that communicates fastest, and how much it gains.

Reads what the user gave, calls the analysis, hands the result to `show`; computes nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from corewise.base import late
from corewise.base.files import write_text
from corewise.cli import console
from corewise.cli.place import clusters, limits, options, replayed
from corewise.cli.place import show as place_show
from corewise.cli.place import spare as place_spare
from corewise.cli.place.clock import DEFAULT_S, Clock
from corewise.cli.place.show import Answer
from corewise.cli.place.sources import load_patterns
from corewise.errors import InputError

with late.imports():
    from corewise._core import Machine, Pattern
    from corewise.analysis.placement.comparison import PlacementStudy, study_placements, weights_of
    from corewise.analysis.placement.contenders import contenders
    from corewise.analysis.placement.explanation import Explanation, explain_placement
    from corewise.analysis.placement.limits import LimitRules
    from corewise.analysis.placement.paired import Verification
    from corewise.analysis.placement.programs import Programs
    from corewise.analysis.placement.search import Costs, Settings, settings_for
    from corewise.analysis.placement.starts import named_starts
    from corewise.data.clusters import Cluster
    from corewise.data.export import Export, export_placement
    from corewise.data.placement import make_placement, save_placement
    from corewise.trials.replaying import Replays


def register(app: typer.Typer) -> None:
    """Adds `place`."""
    app.command("place", help=options.HELP, cls=options.WithProgram)(place)


def place(
    ctx: typer.Context,
    sources: list[Path] = options.SOURCES,
    machine_reference: str = options.MACHINE,
    weights: list[float] = options.WEIGHT,
    together: bool = options.TOGETHER,
    fix: list[str] = limits.FIX,
    keep_free: list[str] = limits.KEEP_FREE,
    share_cores: bool = limits.SHARE_CORES,
    spare: str | None = place_spare.SPARE,
    objective: str | None = options.OBJECTIVE,
    method: str = options.METHOD,
    seconds: float | None = options.TIME,
    evaluations: int | None = options.EVALUATIONS,
    seed: int = options.SEED,
    summed: bool = options.SUMMED,
    named: bool = options.NAMED,
    placement: str | None = options.PLACEMENT,
    explain: bool = options.EXPLAIN,
    verify: bool = options.VERIFY,
    rounds: int | None = options.ROUNDS,
    mpi: str | None = options.MPI,
    output: Path | None = options.OUTPUT,
    export_form: str | None = options.EXPORT,
    export_file: Path | None = options.EXPORT_FILE,
    certificate: Path | None = options.CERTIFICATE,
    html_file: Path | None = options.HTML,
    as_json: bool = options.AS_JSON,
) -> None:
    """Finds the best placement."""
    runs = options.Runs(verify, rounds, mpi, ctx.meta.get("program", ()))
    inputs = (*sources, machine_reference, placement)
    files = options.files_of(output, html_file, certificate, export_form, export_file, inputs)
    machine, cluster = clusters.load(machine_reference)
    on_host = _is_this_host(machine_reference, machine)
    options.check_runs(runs, sources, machine_reference, on_host)
    replays = replayed.replays_of(sources, machine, objective, together, verify and not on_host)
    patterns, collectives = _patterns(sources, summed, together, replays)
    rules = limits.rules_of(machine, patterns if together else patterns[:1], fix, keep_free, share_cores)
    idle = place_spare.spare_of(spare, machine, on_host)
    programs = Programs(tuple(patterns), weights_of(patterns, weights), rules) if together else None
    if programs is not None:
        options.check_together(files, runs, on_host)
        patterns, weights = [programs.joint()], []
    given = _given(placement, machine, patterns)
    wanted = Settings(method=method, seed=seed, certify=certificate is not None, evaluations=evaluations)
    settings, clock = _settings(machine, patterns[0].ranks, objective, rules, wanted, seconds, replays)
    with _searching(clock):
        study = study_placements(
            patterns, machine, settings.objective, seed, str(sources[0]),
            weights=weights, settings=settings, named=named, given=given, programs=programs,
        )  # fmt: skip
    costs = Costs(machine, study.patterns, study.weights, settings.with_(objective=study.objective))
    answer = Answer(
        study=study, on_host=on_host, collectives=collectives, clock=clock, clock_is_ours=seconds is None,
        explained="given" if given is not None else "best", spare=idle, export=_export(study, files, cluster),
        explanation=_explain(costs, given or study.best.unit_of_rank) if explain else None,
        verification=_verify(costs, study, sources[0], on_host, runs, named) if verify else None,
        programs=programs, verified=verify, advice=_advice(study, export_form),
    )  # fmt: skip
    _show(answer, _write(answer, files), as_json)


def _patterns(
    sources: Sequence[Path], summed: bool, together: bool, replays: Replays | None
) -> tuple[list[Pattern], int]:
    """What is placed; a replay's messages have those of its collectives among them."""
    return load_patterns(sources, summed, together) if replays is None else ([replays.pattern()], 0)


def _is_this_host(reference: str, machine: Machine) -> bool:
    # What knows hosts finds MPIs too, which `place --help` need not import.
    from corewise.trials.host import is_this_host

    return is_this_host(reference, machine)


def _settings(
    machine: Machine,
    ranks: int,
    objective: str | None,
    rules: LimitRules,
    wanted: Settings,
    seconds: float | None,
    replays: Replays | None,
) -> tuple[Settings, Clock | None]:
    """How to search; no clock where the search ends by itself."""
    settings = settings_for(machine, ranks, objective, wanted.with_(limits=rules.on(machine, ranks)))
    settings = settings if replays is None else replays.settings(settings)
    if seconds is None and settings.ends_by_itself:
        return settings, None
    clock = Clock(DEFAULT_S if seconds is None else seconds)
    return settings.with_(should_stop=clock, begin=clock.begin), clock


@contextmanager
def _searching(clock: Clock | None) -> Iterator[None]:
    if clock is None:
        with console.progress("searching placements"):
            yield
        return
    with console.progress_bar("searching placements") as advance, clock.running(advance):
        yield


def _given(text: str | None, machine: Machine, patterns: Sequence[Pattern]) -> list[int] | None:
    if text is None:
        return None
    return options.given_placement(text, machine, patterns[0].ranks, lambda: named_starts(machine, patterns))


def _explain(costs: Costs, units: Sequence[int]) -> Explanation:
    with console.progress("explaining"):
        return explain_placement(costs, units)


def _verify(
    costs: Costs, study: PlacementStudy, source: Path, on_host: bool, runs: options.Runs, named: bool
) -> Verification | None:
    """None where nothing has to be run to know that there is nothing to gain."""
    if runs.rounds is None and study.all_alike:
        return None
    # What finds MPIs and launches programs takes longer to import than a quick search.
    from corewise.trials.launches import Launches, Program
    from corewise.trials.verification import rounds_for, verify_on_host, verify_simulated

    with console.progress("choosing what to run"):
        chosen = contenders(costs, study.best.unit_of_rank, _asked_for(study, named))
    rounds = rounds_for(chosen, runs.rounds)
    amount = f"{len(chosen.units) + 2} placements {rounds} times"
    if not on_host:
        with console.progress_bar(f"simulating {amount}") as advance:
            return verify_simulated(costs, chosen, rounds, costs.settings.seed, advance)
    ranks = study.pattern.ranks
    program = Program(runs.program, ranks, runs.mpi) if runs.program else Program.recorded(source)
    with console.progress_bar(f"running {amount}") as advance:
        return verify_on_host(costs, chosen, rounds, Launches(study.machine, program), advance)


def _asked_for(study: PlacementStudy, named: bool) -> dict[str, tuple[int, ...]]:
    """Rows of the table that the user wants to see run: with ``--named`` all, else the given placement."""
    rows = [row for row in study.rows if named or row.which == "given"]
    return {row.words: row.unit_of_rank for row in rows}


def _export(study: PlacementStudy, files: options.Files, cluster: Cluster | None) -> Export | None:
    if files.form is None or files.form in options.SPLIT:
        return None
    best = make_placement(study.machine, study.best.unit_of_rank)
    if cluster is not None:
        return clusters.export(files.form, cluster, best, files.rank_file)
    return export_placement(files.form, study.machine, best, str(files.rank_file))


def _advice(study: PlacementStudy, form: str | None) -> str | None:
    if form not in options.SPLIT:
        return None
    from corewise.mpi.reorder import split_advice

    machine: Machine = study.machine
    return split_advice(make_placement(machine, study.best.unit_of_rank), options.SPLIT[form], machine)


def _write(answer: Answer, files: options.Files) -> list[Path]:
    """Writes what was asked for, or nothing where a part of it cannot be."""
    study, export, certificate = answer.study, answer.export, files.certificate
    if certificate is not None and study.certificate is None:
        raise InputError(
            f"--certificate {certificate}: nothing is proven here ({study.method}), allowed: "
            "method exhaustive or branch-and-bound"
        )
    written = []
    if files.output is not None:
        for path, units in _placements(answer, files.output):
            save_placement(make_placement(study.machine, units), path)
            written.append(path)
    if files.page is not None:
        place_show.write_page(answer, files.page)
        written.append(files.page)
    if export is not None and export.needs_file:
        write_text(files.rank_file, export.text)
        written.append(files.rank_file)
    if certificate is not None and study.certificate is not None:
        write_text(certificate, study.certificate)
        written.append(certificate)
    return written


def _placements(answer: Answer, file: Path) -> list[tuple[Path, Sequence[int]]]:
    """What is written where: of several programs a file each."""
    best = answer.study.best.unit_of_rank
    if answer.programs is None:
        return [(file, best)]
    parts = answer.programs.parts(best)
    return [(options.file_of_program(file, number), units) for number, units in enumerate(parts, start=1)]


def _show(answer: Answer, written: Sequence[Path], as_json: bool) -> None:
    if as_json:
        place_show.show_json(answer)
        return
    export, advice = answer.export, answer.advice
    # A script reads the launcher's line: it is then alone on standard output.
    show = console.show if export is None and advice is None else console.show_aside
    place_show.show(show, answer)
    for path in written:
        show(f"written to {path}")
    if export is not None:
        console.show_text(" ".join([export.program, *export.arguments]))
    if advice is not None:
        console.show_text(advice)
