"""`corewise place`: the rank-to-unit placement that communicates fastest, and how much it gains.

Reads what the user gave, calls the analysis, hands the result to `place_show`; computes nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from corewise._core import Machine, Pattern
from corewise.analysis.placement.certificate import check_certificate
from corewise.analysis.placement.comparison import PlacementStudy, study_placements, weights_of
from corewise.analysis.placement.explanation import Explanation, explain_placement
from corewise.analysis.placement.search import Costs, Settings
from corewise.analysis.placement.starts import named_starts
from corewise.cli import console
from corewise.cli.place import options
from corewise.cli.place import show as place_show
from corewise.cli.place.show import Shown
from corewise.data.export import RANK_FILE_FORM, Export, export_placement
from corewise.data.files import read_text, write_text
from corewise.data.machines import HOST, load_machine
from corewise.data.patterns import load_pattern_and_collectives
from corewise.data.placement import make_placement, save_placement
from corewise.errors import InputError, RunError, bad_field
from corewise.mpi.reorder import split_advice
from corewise.trials import measured as applied
from corewise.trials.verification.host import Program, recorded, time_on_host
from corewise.trials.verification.runs import RANDOM, contenders, default_of, simulate
from corewise.trials.verification.statistics import Verification, verify

ROUNDS = 9
"""Runs of each placement, unless the user says."""


def register(app: typer.Typer) -> None:
    """Adds `place`."""
    app.command("place", help=options.HELP, cls=options.WithProgram)(place)


def place(
    ctx: typer.Context,
    sources: list[Path] = options.SOURCES,
    machine_reference: str = options.MACHINE,
    weights: list[float] = options.WEIGHT,
    objective: str = options.OBJECTIVE,
    method: str = options.METHOD,
    seconds: float | None = options.TIME,
    seed: int = options.SEED,
    summed: bool = options.SUMMED,
    named: bool = options.NAMED,
    placement: str | None = options.PLACEMENT,
    explain: bool = options.EXPLAIN,
    verified: bool = options.VERIFY,
    apply: bool = options.APPLY,
    rounds: int | None = options.ROUNDS,
    mpi: str | None = options.MPI,
    output: Path | None = options.OUTPUT,
    export_form: str | None = options.EXPORT,
    export_file: Path | None = options.EXPORT_FILE,
    certificate: Path | None = options.CERTIFICATE,
    check: Path | None = options.CHECK,
    as_json: bool = options.AS_JSON,
) -> None:
    """Finds the best placement."""
    runs = options.Runs(verified, apply, rounds, mpi, ctx.meta.get("program", ()))
    rank_file = options.check_export(export_form, export_file)
    options.check_targets(output, certificate, rank_file if export_form == RANK_FILE_FORM else None)
    options.check_runs(runs, sources, machine_reference)
    if check is not None:
        options.check_alone(ctx)
    machine = load_machine(machine_reference)
    on_host = machine_reference == HOST
    patterns, collectives = _load(sources, summed)
    if check is not None:
        _check(check, machine, patterns, weights, as_json)
        return
    given = None
    if placement is not None:
        given = options.given_placement(
            placement, machine, patterns[0].ranks, lambda: named_starts(machine, patterns)
        )
    settings = Settings(
        method=method, should_stop=options.stop_after(seconds), certify=certificate is not None
    )
    with console.progress("searching placements"):
        study = study_placements(
            patterns, machine, objective, seed, str(sources[0]),
            weights=weights, settings=settings, named=named, given=given,
        )  # fmt: skip
    costs = Costs(machine, study.patterns, study.weights, settings.with_(objective=objective, seed=seed))
    shown = Shown(
        study=study,
        on_host=on_host,
        collectives=collectives,
        clocked=seconds is not None,
        explained="given" if given is not None else "best",
        explanation=_explain(costs, given or study.best.unit_of_rank) if explain else None,
        verification=_verify(costs, study, sources[0], on_host, runs, seed) if verified else None,
        applied=_apply(study, sources[0], runs) if apply else None,
        export=_export(study, export_form, rank_file),
    )
    written = _write(study, shown.export, output, rank_file, certificate)
    advice = _advice(study, export_form)
    if as_json:
        place_show.show_json(shown, advice)
        return
    # A script reads the launcher's line: it is then alone on standard output.
    show = console.show if shown.export is None and advice is None else console.show_aside
    place_show.show(show, shown)
    for path in written:
        show(f"written to {path}")
    if shown.export is not None:
        console.show_text(" ".join([shown.export.program, *shown.export.arguments]))
    if advice is not None:
        console.show_text(advice)


def _check(
    file: Path, machine: Machine, patterns: Sequence[Pattern], weights: Sequence[float], as_json: bool
) -> None:
    """Believes nothing of a certificate; says so where it holds, else fails."""
    text = read_text(file)
    padded = weights_of(patterns, weights)
    try:
        with console.progress("checking the certificate"):
            check_certificate(machine, patterns, padded, text)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    except RunError as error:
        raise RunError(f"{file} does not hold: {error}") from None
    read = json.loads(text)
    if as_json:
        row = {
            "certificate": str(file),
            "holds": True,
            "cost_ns": read["cost_ns"],
            "bound_ns": read["bound_ns"],
        }
        console.show_json("place", machine.name, [row])
        return
    names = " + ".join(each.name for each in patterns)
    console.show(
        f"{file} holds: no placement of {names} on {machine.name} costs less than {read['bound_ns']:.6g} ns; "
        f"the one it names costs {read['cost_ns']:.6g} ns"
    )


def _load(sources: Sequence[Path], summed: bool) -> tuple[list[Pattern], int]:
    """The patterns, and the bytes of collectives that profiles have beside them."""
    patterns: list[Pattern] = []
    collectives = 0
    for source in sources:
        pattern, beside = load_pattern_and_collectives(source)
        _check_messages(pattern, beside, source)
        if patterns and pattern.ranks != patterns[0].ranks:
            allowed = f"{patterns[0].ranks}, the ranks of {sources[0]}, with which it shares the placement"
            raise bad_field(str(source), "ranks", pattern.ranks, allowed)
        patterns.append(pattern.summed() if summed else pattern)
        collectives += beside or 0
    return patterns, collectives


def _check_messages(pattern: Pattern, collectives: int | None, source: Path) -> None:
    """Refuses a profile whose every placement costs nothing: a proof that the best is zero says nothing."""
    if collectives is None or pattern.coordinates()[2].any():
        return
    left_out = (
        f"; {place_show.count(collectives)} bytes of collectives are not considered" if collectives else ""
    )
    raise InputError(f"{source}: no point-to-point messages: nothing to place{left_out}")


def _explain(costs: Costs, units: Sequence[int]) -> Explanation:
    with console.progress("explaining"):
        return explain_placement(costs, units)


def _verify(
    costs: Costs, study: PlacementStudy, source: Path, on_host: bool, runs: options.Runs, seed: int
) -> Verification:
    rounds = runs.rounds or ROUNDS
    with console.progress("choosing what to run"):
        chosen = contenders(costs, study.best.unit_of_rank, rounds)
    if not on_host:
        with console.progress(f"simulating {len(chosen.fixed) + 2} placements {rounds} times"):
            times = simulate(costs, chosen, rounds, seed)
        how = f"simulated packet by packet with jitter, {rounds} rounds; default: {default_of(study.machine)}"
        return verify(times, chosen.predicted, chosen.fixed, "us", how)
    program = Program(runs.program, study.pattern.ranks, runs.mpi) if runs.program else recorded(source)
    with console.progress(f"running {len(chosen.fixed) + 2} placements {rounds} times"):
        times = time_on_host(study.machine, program, chosen.fixed, rounds, {RANDOM: chosen.randoms})
    how = (
        f"measured on this host, wall time of the whole launch, {rounds} interleaved rounds; default: unbound"
    )
    return verify(times, chosen.predicted, chosen.fixed, "s", how)


def _apply(study: PlacementStudy, profile: Path, runs: options.Runs) -> list[applied.AppliedRow]:
    """Runs the profiled program under every row of the study."""
    distinct = applied.merge_equal({row.which: row.unit_of_rank for row in study.rows})
    rounds = runs.rounds or ROUNDS
    with console.progress(f"running {len(distinct) + 1} placements {rounds} times"):
        return applied.summarise(time_on_host(study.machine, recorded(profile), distinct, rounds))


def _export(study: PlacementStudy, form: str | None, rank_file: Path) -> Export | None:
    if form is None or form in options.SPLIT:
        return None
    best = make_placement(study.machine, study.best.unit_of_rank)
    return export_placement(form, study.machine, best, str(rank_file))


def _advice(study: PlacementStudy, form: str | None) -> str | None:
    if form not in options.SPLIT:
        return None
    machine: Machine = study.machine
    return split_advice(make_placement(machine, study.best.unit_of_rank), options.SPLIT[form], machine)


def _write(
    study: PlacementStudy,
    export: Export | None,
    output: Path | None,
    rank_file: Path,
    certificate: Path | None,
) -> list[Path]:
    if certificate is not None and study.certificate is None:
        raise InputError(
            f"--certificate {certificate}: nothing is proven here ({study.method}), allowed: "
            "method exhaustive or branch-and-bound"
        )
    written = []
    if output is not None:
        save_placement(make_placement(study.machine, study.best.unit_of_rank), output)
        written.append(output)
    if export is not None and export.needs_file:
        write_text(rank_file, export.text)
        written.append(rank_file)
    if certificate is not None and study.certificate is not None:
        write_text(certificate, study.certificate)
        written.append(certificate)
    return written
