"""`corewise advise`: from a program to a faster launch line, or to the proof that there is none.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from corewise.base import late
from corewise.base.files import check_target
from corewise.cli import console, pages
from corewise.cli.place.spare import measured, noise_of
from corewise.cli.profile_page import PageOptions, profile_view
from corewise.cli.run import profile_folder
from corewise.errors import InputError

with late.imports():
    from corewise.analysis.noise.records import node_noise
    from corewise.data.machines import load_machine
    from corewise.data.noise import NoiseRecord
    from corewise.data.profile import Profile
    from corewise.mpi import build
    from corewise.mpi.find import MpiLibrary
    from corewise.mpi.lines import Line, line_of
    from corewise.report import advice as view
    from corewise.report.page.advice import page as advice_page
    from corewise.trials.advice import cases, study
    from corewise.trials.levers.lever import Case

_HELP = """Say what makes a program slow, and find a launch that makes it faster.

The program is run once with its communication recorded. Its findings are told, and the mistakes of its
launch. Then every lever (binding, placement, reordering, an idle core, collectives and packing by corewise,
the MPI's own algorithms) is predicted.
The promising ones are run beside the plain launch in turns. What is advised was confirmed by fresh runs;
where nothing is faster, it says so (docs/advising/advise.md).

The program runs many times in the working directory, and its output is dropped. It must not read standard
input.

\b
Example:
  corewise advise -n 8 -- ./lbm --size 32x32x32 --steps 100
with your own launcher line:
  corewise advise -- mpiexec -n 8 --bind-to none ./lbm
of a run that is recorded already, or only predicted for another machine:
  corewise advise lbm.cw
  corewise advise lbm.cw --machine dual-epyc-7r13
"""
_UNITS_S = {"s": 1.0, "min": 60.0, "h": 3600.0}
_BUDGET = re.compile(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*(s|min|h)\s*")
_SLURM = "SLURM_JOB_ID"
"""Set inside a job of Slurm."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("advise", help=_HELP, context_settings={"allow_interspersed_args": True})(_advise)


def _advise(
    command: list[str] = typer.Argument(
        None,
        metavar="[PROFILE | -- COMMAND...]",
        help="a program, an mpiexec command line, or a NAME.cw folder",
    ),
    ranks: int | None = typer.Option(None, "-n", "--ranks", help="number of ranks"),
    mpi: str | None = typer.Option(None, "--mpi", help="openmpi, mpich, abi, a prefix or a launcher"),
    output: Path | None = typer.Option(
        None, "-o", "--output", help="the profile to write (default: PROGRAM.cw)"
    ),
    machine_reference: str = typer.Option(
        "host",
        "--machine",
        "-m",
        metavar="MACHINE",
        help="predict for this machine; runs are on this host only",
    ),
    budget: str = typer.Option(
        "5min", "--budget", help="time for all runs: '90 s', '5min'; '0 s' only predicts"
    ),
    html_file: Path | None = typer.Option(
        None, "--html", metavar="FILE", help="also write one self-contained web page"
    ),
    noise: str | None = typer.Option(
        None,
        "--noise",
        metavar="FILE|TEXT",
        help="what the system takes from this host's cores, for the lever idle_core: a file of bench node "
        "--noise-file, or a text such as rate=10,length=50us (default: measured where it matters)",
    ),
    as_json: bool = typer.Option(False, "--json", help="print one JSON object"),
) -> None:
    if html_file is not None:
        check_target(html_file)
    record = None if noise is None else noise_of(noise, "--noise")
    began = time.monotonic()
    budget_s = _seconds(budget)
    is_host = machine_reference == "host"
    if command and len(command) == 1 and Path(command[0]).is_dir():
        _refuse(Path(command[0]), ranks=ranks, mpi=mpi, output=output)
        case, why = _of_profile(Path(command[0]), machine_reference)
    else:
        line = _line(command or [], ranks, mpi)
        case, why = _of_program(line, output, machine_reference, budget_s or None)
    case = _with_noise(case, record)
    why = why or ("" if is_host else f"for {machine_reference}") or ("" if budget_s else "--budget is 0")
    if why:
        found = study.predict_only(case, why)
    else:
        left_s = budget_s - (time.monotonic() - began)
        found = study.advise(case, left_s, case.run.analysis.profile.path.resolve(), console.progress_bar)
    _show(case, found, as_json)
    if html_file is not None:
        _write_page(case, found, html_file)


def _line(command: Sequence[str], ranks: int | None, mpi: str | None) -> Line:
    """The launch to advise on; what is missing is said in this command's words."""
    if not command:
        raise InputError(
            "no program to run and no profile: corewise advise -n 4 -- ./program, "
            "corewise advise -- mpiexec -n 4 ./program, or corewise advise NAME.cw"
        )
    if len(command) == 1 and command[0].rstrip("/").endswith(".cw"):
        raise InputError(f"{command[0]}: no profile folder is there (corewise run writes one)")
    return line_of(command, ranks, mpi)


def _with_noise(case: Case, record: NoiseRecord | None) -> Case:
    """Measured only where it says something, and nobody gave it."""
    if not cases.wants_noise(case):
        return case
    return replace(case, noise=node_noise(record or measured()))


def _write_page(case: Case, found: study.Advice, file: Path) -> None:
    source = case.run.analysis.profile.path
    seen = profile_view(source, case.run, case.machine, PageOptions(file))
    pages.write(file, advice_page(seen, case, found, _SLURM in os.environ))
    console.note(f"corewise: written to {file}")


def _show(case: Case, found: study.Advice, as_json: bool) -> None:
    slurm = _SLURM in os.environ
    if as_json:
        name = None if case.machine is None else case.machine.name
        console.show_json("advise", name, view.rows(found), **view.fields(case, found, slurm))
    else:
        console.show(*view.views(case, found))
        for line in view.lines(case, found, slurm):
            console.show_text(line)


def _of_program(line: Line, output: Path | None, machine: str, limit_s: float | None) -> tuple[Case, str]:
    """Records the program, and looks at it."""
    _build(line.mpi)
    with (
        profile_folder(line.program, output) as folder,
        console.progress(f"recording {' '.join(line.program[:1])} on {line.ranks} ranks"),
    ):
        cases.record(line, folder, limit_s)
    console.note(f"corewise: recorded in {folder}")
    return _case(folder, machine, line), ""


def _of_profile(folder: Path, machine: str) -> tuple[Case, str]:
    """Looks at a profile; also why its program is not launched here."""
    why = ""

    def line_from(profile: Profile) -> Line | None:
        nonlocal why
        line, why = cases.line_of_profile(folder, profile)
        return line

    with console.progress("reading the profile"):
        case = cases.case_of(folder, load_machine(machine), machine == "host", line_from)
    if case.line is not None:
        _build(case.line.mpi)
    return case, why


def _case(folder: Path, machine: str, line: Line) -> Case:
    with console.progress("reading the profile"):
        return cases.case_of(folder, load_machine(machine), machine == "host", lambda profile: line)


def _build(mpi: MpiLibrary) -> None:
    """Builds the recording library: the first time for an MPI this takes a while, else nothing."""
    missing = not build.is_built(mpi)
    with console.progress(f"building the preload for {mpi.name} {mpi.version}, once", log=missing):
        build.build_preload(mpi)


def _refuse(profile: Path, **options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise InputError(f"--{name}: found '{value}' with the profile {profile}, which says it")


def _seconds(text: str) -> float:
    """A budget; minutes and hours are what people think in."""
    found = _BUDGET.fullmatch(text)
    if found is None:
        raise InputError(
            f"--budget: found '{text}', allowed: a time with a unit: {', '.join(_UNITS_S)}, as 5min"
        )
    return float(found[1]) * _UNITS_S[found[2]]
