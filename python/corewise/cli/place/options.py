"""The options of `corewise place`: their texts, and what of them fits together.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from corewise.analysis.placement.search import METHODS, MOST_RANKS, OBJECTIVES
from corewise.base import late
from corewise.base.files import check_target, read_text
from corewise.cli.place.clock import DEFAULT_S
from corewise.cli.place.limits import unit_of
from corewise.cli.settings import WithSettings
from corewise.data.export import FORMS
from corewise.errors import InputError

with late.imports():
    from corewise._core import Machine
    from corewise.data.export import RANK_FILE_FORMS, is_rank_file
    from corewise.data.patterns import is_profile
    from corewise.data.placement import load_placement

HELP = """Find the placement of ranks on a machine's units that communicates fastest.

Take a pattern (.json, .csv, .mtx) or a profile NAME.cw. Compare the best placement with rank order
(identity), the median of random ones, and the worst, and says whether the best is proven or what a search
found. Several patterns share one placement: the best compromise, and its price per pattern. With --together
they are programs that run at the same time, each on units of its own; their ranks are counted on.

\b
Example:
  corewise patterns make ring ranks=8 -o ring.json
  corewise place ring.json --machine cell-be -o best.json
  corewise place ring.json --machine cell-be --placement overlap --explain
  corewise place ring.json tree.json --weight 2 --weight 1 --machine cell-be
  corewise place ring.json tree.json --together --machine chiplet-2s -o best.json
  corewise place ring.json --machine chiplet-2s --fix 0=core8 --keep-free core0,core32
  corewise place ring.json --machine cell-be --objective simulated --verify
or on this host, for a program recorded with corewise run:
  corewise place NAME.cw --machine host --verify
  $(corewise place NAME.cw --machine host --export mpich) ./program
"""
SPLIT = {"split": "c", "split-fortran": "fortran", "split-python": "python"}
"""Exports that are code for the program and no launcher arguments: the form, and its language."""

SOURCES = typer.Argument(..., metavar="PATTERN_OR_PROFILE", help="Pattern files or NAME.cw directories.")
MACHINE = typer.Option(
    ..., "--machine", "-m", metavar="MACHINE", help="Name, file, `host`, or synthetic text."
)
WEIGHT = typer.Option(
    [], "--weight", "-w", help="How much a pattern counts, in the order of the patterns (1)."
)
OBJECTIVE = typer.Option(
    None,
    "--objective",
    help=f"What to minimise: {', '.join(OBJECTIVES)} (bottleneck where few enough for a proof, else flow).",
)
METHOD = typer.Option(
    METHODS[0], "--method", metavar="METHOD", help=f"How to search: {', '.join(METHODS)}.", hidden=True
)
TIME = typer.Option(
    None,
    "--time",
    metavar="SECONDS",
    min=0.001,
    help="End the search then, with the best so far, the proven bound and the gap "
    f"({DEFAULT_S:g} beyond {MOST_RANKS} ranks).",
)
EVALUATIONS = typer.Option(
    None,
    "--evaluations",
    metavar="N",
    min=1,
    max=2**64 - 1,
    help="End the search after looking at so many placements: the same answer on every host.",
    hidden=True,
)
SEED = typer.Option(
    1,
    "--seed",
    metavar="N",
    min=0,
    max=2**64 - 1,
    help="Of the search and of the random placements.",
    hidden=True,
)
TOGETHER = typer.Option(
    False,
    "--together",
    help="The patterns are programs that run at one time; -o BEST.json then writes BEST-1.json and so on.",
)
SUMMED = typer.Option(False, "--summed", help="Take all phases as one.", hidden=True)
NAMED = typer.Option(False, "--named", help="A row for every named placement too.", hidden=True)
PLACEMENT = typer.Option(
    None,
    "--placement",
    metavar="FILE|NAME|LIST",
    help="A row for this placement too; --explain is then about it. LIST: units by rank, as 0,2,1.",
)
EXPLAIN = typer.Option(
    False,
    "--explain",
    help="Say why: busiest links and their messages, rules of thumb, the best single swap.",
)
VERIFY = typer.Option(
    False,
    "--verify",
    help="Run default, best, next bests and random interleaved (here, or simulated), and the rows asked for "
    "by --named or --placement; gain with its interval.",
)
ROUNDS = typer.Option(
    None,
    "--rounds",
    metavar="N",
    min=2,
    help="With --verify: runs of each placement (9 or more).",
    hidden=True,
)
MPI = typer.Option(None, "--mpi", help="With -- PROGRAM: openmpi, mpich, a prefix, or a launcher.")
OUTPUT = typer.Option(None, "--output", "-o", metavar="FILE", help="Write the best placement as JSON.")
EXPORT = typer.Option(
    None,
    "--export",
    metavar="FORM",
    help=f"Print the launcher's part of a command line: {', '.join(FORMS)}; or code: {', '.join(SPLIT)}.",
)
EXPORT_FILE = typer.Option(
    None,
    "--export-file",
    metavar="FILE",
    help="Where openmpi-rankfile and openmpi4 write their file (rankfile).",
    hidden=True,
)
CERTIFICATE = typer.Option(
    None, "--certificate", metavar="FILE", help="Write the proof; corewise certify checks it."
)
HTML = typer.Option(None, "--html", metavar="FILE", help="Also write one self-contained web page.")
AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")


class WithProgram(WithSettings):
    """A command that takes a program behind ``--``, which its variadic argument would swallow."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Keeps what stands behind ``--`` in ``ctx.meta``."""
        if "--" in args:
            at = args.index("--")
            ctx.meta["program"] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


@dataclass(frozen=True)
class Runs:
    """What is to be timed: ``--verify`` and what belongs to it."""

    verify: bool
    rounds: int | None
    mpi: str | None
    program: tuple[str, ...]


def check_runs(wanted: Runs, sources: Sequence[Path], machine_reference: str, is_host: bool) -> None:
    """Refuses what does not fit together; `is_host`: the machine is the one at hand, measured or by hwloc."""
    if wanted.rounds is not None and not wanted.verify:
        raise InputError(f"--rounds {wanted.rounds}: found alone, allowed: only with --verify")
    if wanted.program and not wanted.verify:
        raise InputError(f"-- {wanted.program[0]}: found without --verify, allowed: only with --verify")
    if wanted.mpi is not None and not wanted.program:
        raise InputError(f"--mpi {wanted.mpi}: found without a program, allowed: only with -- PROGRAM")
    if wanted.program and not is_host:
        raise InputError(
            f"-- {wanted.program[0]}: found with machine '{machine_reference}', allowed: host, or a file of "
            "corewise probe that is this host's"
        )
    on_host = wanted.verify and is_host and not wanted.program
    if on_host and sources[0].exists() and not is_profile(sources[0]):
        raise InputError(
            f"{sources[0]}: --verify on host needs a program; found a pattern file, allowed: a profile "
            "recorded with corewise run, or -- PROGRAM"
        )


def check_together(files: Files, runs: Runs, is_host: bool) -> None:
    """Refuses what is about one program."""
    if files.form is not None:
        raise InputError(
            f"--export {files.form}: found with --together, allowed: -o FILE, whose files "
            "corewise run --placement takes"
        )
    if runs.verify and is_host:
        raise InputError("--verify: found with --together on this host, allowed: with one program")
    if files.output is not None:
        check_target(file_of_program(files.output, 1))


def file_of_program(file: Path, number: int) -> Path:
    """Where the placement of one of several programs is written, counted from 1."""
    return file.with_name(f"{file.stem}-{number}{file.suffix}")


@dataclass(frozen=True)
class Files:
    """What is to be written: the best placement, a page, its certificate, and a launcher's form of it."""

    output: Path | None
    page: Path | None
    certificate: Path | None
    form: str | None
    rank_file: Path

    def check(self, inputs: Iterable[str | Path | None]) -> None:
        """Refuses files that cannot be written or are read, and one file for two things."""
        rank_file = self.rank_file if self.form in RANK_FILE_FORMS else None
        targets = {
            "--output": self.output,
            "--html": self.page,
            "--certificate": self.certificate,
            "--export-file": rank_file,
        }
        seen: dict[Path, str] = {}
        for option, target in targets.items():
            if target is None:
                continue
            check_target(target, inputs)
            first = seen.setdefault(target.resolve(), option)
            if first != option and target.resolve().parts[1:2] != ("dev",):
                raise InputError(f"{option} {target}: found the file of {first}, allowed: another one")


def files_of(
    output: Path | None,
    page: Path | None,
    certificate: Path | None,
    form: str | None,
    export_file: Path | None,
    inputs: Sequence[str | Path | None],
) -> Files:
    """What is to be written, refused where it cannot be or where it is one of the `inputs`."""
    files = Files(output, page, certificate, form, check_export(form, export_file))
    files.check(inputs)
    return files


def check_export(form: str | None, file: Path | None) -> Path:
    """Where a rank file goes, as a path that holds wherever the launcher is started."""
    if form is not None and form not in FORMS and form not in SPLIT:
        raise InputError(f"export '{form}' is unknown, allowed: {', '.join([*FORMS, *SPLIT])}")
    if file is not None and form not in RANK_FILE_FORMS:
        forms = " or ".join(RANK_FILE_FORMS)
        raise InputError(f"--export-file: found without a rank file, allowed: only with --export {forms}")
    path = Path(file or "rankfile")
    if form in RANK_FILE_FORMS:
        path = path.absolute()
        check_target(path)
        if path.is_file() and not is_rank_file(read_text(path)):
            raise InputError(f"{path}: found a file that is no rank file, allowed: a new file or a rank file")
    return path


def given_placement(
    text: str, machine: Machine, ranks: int, named: Callable[[], dict[str, list[int]]]
) -> list[int]:
    """The placement that ``--placement`` means: a name, units by number or name, or a file.

    Parameters
    ----------
    text : str
    machine : Machine
    ranks : int
        Of the pattern.
    named : callable
        Gives the named placements.
    """
    if (starts := named()).get(text) is not None:
        return starts[text]
    if Path(text).suffix == ".json" or Path(text).is_file():
        units = list(load_placement(text, machine).unit_of_rank)
    elif "," in text or text.isdigit():
        units = [unit_of(word.strip(), machine, f"--placement '{text}'") for word in text.split(",")]
    else:
        raise InputError(
            f"--placement '{text}': no such placement, allowed: a .json file, units such as 0,2,1, or "
            f"{', '.join(starts)}"
        )
    if len(units) != ranks:
        raise InputError(f"--placement '{text}': places {len(units)} ranks, allowed: {ranks}, the pattern's")
    try:
        machine.check_placement(units)
    except InputError as error:
        raise InputError(f"--placement '{text}': {error}") from None
    return units
