"""`corewise simcc`: compiles an MPI program for simulated ranks.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import typer

from corewise.base import late
from corewise.cli import console

with late.imports():
    from corewise.sim.ranks import compile_program
    from corewise.sim.ranks.compiler import added_words

_HELP = """Compile an MPI program for simulated ranks (corewise simrun).

Takes a C or C++ compiler's arguments and adds the simulated MPI. With -c it compiles only; object files can
be linked by a later call. A program that uses what the simulated MPI lacks fails here, and the message says
what. CC and CXX choose the compilers; --c++ takes the C++ compiler whatever the sources are called.

\b
Example:
  corewise simcc -O2 ring.c -o ring.sim
  corewise simrun -n 8 -m ring:8 ring.sim
In a makefile: make CC="corewise simcc" CXX="corewise simcc --c++"
"""


def register(app: typer.Typer) -> None:
    """Adds `simcc`."""
    app.command(
        "simcc",
        help=_HELP,
        context_settings={
            "ignore_unknown_options": True,
            "allow_interspersed_args": False,
            "help_option_names": ["--help"],
        },
    )(simcc)


def simcc(
    cxx: bool = typer.Option(False, "--c++", help="Take the C++ compiler."),
    as_json: bool = typer.Option(False, "--json", help="Print the compiler's words as one JSON object."),
    words: list[str] = typer.Argument(None, metavar="ARGUMENT...", help="As for a compiler."),
) -> int:
    """Compiles."""
    status = compile_program(words or [], cxx=cxx)
    if as_json:
        console.show_json(
            "simcc", None, [{"word": word} for word in added_words(words or [], cxx)], status=status
        )
    return status
