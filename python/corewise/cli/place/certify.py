"""`corewise certify`: checks a certificate of `corewise place`, believing nothing of it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.base.documents import Fields, read_json
from corewise.cli import console
from corewise.cli.place import options
from corewise.cli.place.sources import load_patterns
from corewise.errors import RunError

with late.imports():
    from corewise._core import Machine
    from corewise.analysis.placement.certificate import check_certificate
    from corewise.analysis.placement.comparison import weights_of
    from corewise.analysis.placement.programs import Programs
    from corewise.data.machines import load_machine
    from corewise.data.quantities import number_text

_HELP = """Check the proof that a placement is the best: a certificate of corewise place --certificate.

The checker shares no code with the search that wrote it. Give the pattern or patterns, weights and machine
that the certificate is about. Exit status 0: it holds; 1: it does not; 2: it is about something else.

\b
Example:
  corewise place ring.json --machine cell-be --certificate proof.json
  corewise certify proof.json ring.json --machine cell-be
"""
_CERTIFICATE = typer.Argument(..., metavar="CERTIFICATE", help="The file to check.")
_SUMMED = typer.Option(False, "--summed", help="Take all phases as one.")


def register(app: typer.Typer) -> None:
    """Adds `certify`."""
    app.command("certify", help=_HELP)(certify)


def certify(
    file: Path = _CERTIFICATE,
    sources: list[Path] = options.SOURCES,
    machine_reference: str = options.MACHINE,
    weights: list[float] = options.WEIGHT,
    summed: bool = _SUMMED,
    together: bool = options.TOGETHER,
    as_json: bool = options.AS_JSON,
) -> None:
    """Says that a certificate holds, or fails."""
    machine = load_machine(machine_reference)
    patterns, _ = load_patterns(sources, summed, together)
    if together:
        programs = Programs(tuple(patterns), weights_of(patterns, weights))
        patterns, weights = [programs.joint()], []
    read = read_json(file)
    try:
        with console.progress("checking the certificate"):
            check_certificate(machine, patterns, weights_of(patterns, weights), read)
    except RunError as error:
        raise RunError(f"{file} does not hold: {error}") from None
    cost_ns, bound_ns = read.number("cost_ns", 0), read.number("bound_ns", 0)
    if as_json:
        row = {"certificate": str(file), "holds": True, "cost_ns": cost_ns, "bound_ns": bound_ns}
        console.show_json("certify", machine.name, [row])
        return
    names = " + ".join(each.name for each in patterns)
    console.show(
        f"{file} holds: no placement of {names} on {machine.name}{_within(read, machine)} costs less "
        f"than {number_text(bound_ns, 6)} ns; the one it names costs {number_text(cost_ns, 6)} ns"
    )


def _within(read: Fields, machine: Machine) -> str:
    """The limits that a checked certificate is about."""
    if read.whole("version", 1) == 1:
        return ""
    names = [unit.name for unit in machine.units]
    parts = [f"rank {rank} on {names[unit]}" for rank, unit in read.lists_of_wholes("fixed", 0)]
    parts += [f"nobody on {names[unit]}" for unit in read.wholes("kept_free", 0, may_be_empty=True)]
    parts += ["cores shared only where none is idle"] if read.lists_of_wholes("cores", 0) else []
    return f" with {', '.join(parts)}" if parts else ""
