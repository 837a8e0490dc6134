"""`corewise build-preload`: a library for an MPI, built ahead, and where the recording one's headers are.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.cli import console
from corewise.errors import InputError
from corewise.mpi.kinds import KINDS

with late.imports():
    from corewise.mpi import build, find
    from corewise.mpi.find import MpiLibrary
    from corewise.mpi.kinds import ALL, bits_of, chosen_kinds

_HELP = """Build the preload library for an MPI and print where it is.

`corewise run` does this by itself the first time it meets an MPI; use this to build ahead, e.g. on a login
node, or to preload the library by hand.

\b
Example:
  corewise build-preload --mpi mpich
  mpiexec -genv LD_PRELOAD $(corewise build-preload --mpi mpich) \\
          -genv COREWISE_TRACE_DIR /tmp/run.cw -n 4 ./program

\b
What is never to be recorded need not be compiled in:
  lib=$(corewise build-preload --mpi mpich --without functions,sites)
  corewise run --preload $lib -n 4 ./program

\b
The library that does collectives inside a node works without the recording one, too:
  mpiexec -genv LD_PRELOAD $(corewise build-preload --mpi mpich --accelerate) \\
          -genv COREWISE_ACCELERATE on -n 4 ./program

\b
A program names its own regions and phases by corewise.h or corewise.f90 from this folder:
  mpicc -I$(corewise build-preload --include) program.c
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("build-preload", help=_HELP)(_build)


def _build(
    mpi: str | None = typer.Option(
        None, "--mpi", help="openmpi, mpich, abi, a prefix or a launcher; default: all found"
    ),
    force: bool = typer.Option(False, "--force", help="build even when the cache has it"),
    without: str = typer.Option("", "--without", help=f"leave code out: {', '.join(KINDS)}"),
    accelerate: bool = typer.Option(
        False, "--accelerate", help="the library of corewise run --accelerate instead of the recording one"
    ),
    heap: bool = typer.Option(
        False, "--heap", help="with --accelerate: the library that gives large blocks of malloc, too"
    ),
    include: bool = typer.Option(False, "--include", help="print the folder of corewise.h and corewise.f90"),
    as_json: bool = typer.Option(False, "--json", help="print one JSON object"),
) -> None:
    if include:
        folder = str(build.include_folder())
        if as_json:
            console.show_json("build-preload", None, [{"include": folder}])
        else:
            console.show_text(folder)
        return
    if accelerate and without:
        raise InputError(f"--without: found '{without}' with --accelerate, which records nothing")
    if heap and not accelerate:
        raise InputError("--heap: found without --accelerate, allowed: with it")
    kinds = ALL - bits_of(chosen_kinds(without, "--without")) if without else ALL
    if kinds == 0:
        raise InputError(f"--without: found '{without}', which leaves nothing to record")
    wanted = [find.find(mpi)] if mpi is not None else find.find_all() or [find.find()]
    rows = [
        {
            "mpi": library.name,
            "version": library.version,
            "prefix": str(library.prefix),
            "library": str(_built(library, force, kinds, accelerate, heap)),
        }
        for library in wanted
    ]
    if as_json:
        console.show_json("build-preload", None, rows)
    else:
        console.show_text("\n".join(row["library"] for row in rows))


def _built(mpi: MpiLibrary, force: bool, kinds: int, accelerate: bool, heap: bool) -> Path:
    """The library, built if need be, which is said in a line."""
    missing = force or not build.is_built(
        mpi, recording=not accelerate, accelerating=accelerate, allocating=heap, kinds=kinds
    )
    with console.progress(f"building the preload for {mpi.name} {mpi.version}, once", log=missing):
        if accelerate:
            return build.build_accelerate(mpi, force=force, allocating=heap)
        return build.build_preload(mpi, force=force, kinds=kinds)
