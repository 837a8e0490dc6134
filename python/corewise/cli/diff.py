"""`corewise diff`: what changed between two runs, or two groups of runs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from corewise.base import late
from corewise.base.files import check_ending, check_target, write_text
from corewise.cli import console
from corewise.errors import InputError

with late.imports():
    from corewise.analysis.profile.diff import compare_profiles
    from corewise.data.profile import load_profile
    from corewise.data.quantities import bytes_text
    from corewise.plots.heatmap_svg import difference_svg
    from corewise.report import diff as tables

_HELP = """Compare profiles: wall time, calls, bytes and time per MPI procedure and per place that calls it,
the matrix, and the pattern's name.

Of two single profiles nobody can say which change is noise. Give four or more of each side, the new ones
behind -- or each with --against: then every number has its spread, and changes that stand out are marked.

\b
Example:
  corewise diff before.cw after.cw
  corewise diff a1.cw a2.cw a3.cw a4.cw -- b1.cw b2.cw b3.cw b4.cw --svg change.svg
"""
_PROFILES = typer.Argument(..., metavar="BEFORE... [--] AFTER...", help="NAME.cw folders.")
_AGAINST = typer.Option(
    None, "--against", metavar="PROFILE", help="A profile of the new side; may be repeated."
)
_SVG = typer.Option(None, "--svg", metavar="FILE", help="Also write a picture of the matrices' difference.")
_TOP = typer.Option(12, "--top", help="Rows of the longer tables.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")


class _TwoSides(TyperCommand):
    """A bare ``--`` parts the sides: what follows it, up to the next option, is the new one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Writes the arguments behind ``--`` as ``--against``."""
        if "--" in args:
            at = args.index("--")
            rest = args[at + 1 :]
            after = next((i for i, word in enumerate(rest) if word.startswith("--")), len(rest))
            pairs = [word for profile in rest[:after] for word in ("--against", profile)]
            args = [*args[:at], *pairs, *rest[after:]]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Adds `diff`."""
    app.command("diff", help=_HELP, cls=_TwoSides)(diff)


def diff(
    profiles: list[Path] = _PROFILES,
    against: list[Path] = _AGAINST,
    svg: Path | None = _SVG,
    top: int = _TOP,
    as_json: bool = _AS_JSON,
) -> None:
    """Compares profiles."""
    if top < 1:
        raise InputError(f"--top: found {top}, allowed: 1 or more")
    before, after = _sides(profiles, against or [])
    check_ending(svg, ".svg")
    if svg is not None:
        check_target(svg)
    with console.progress("reading the profiles"):
        found = compare_profiles(
            [load_profile(each) for each in before], [load_profile(each) for each in after]
        )
    if svg is not None:
        if found.matrix is None:
            raise InputError(
                f"--svg: {found.ranks[0]} ranks before and {found.ranks[1]} after have no difference"
            )
        subtitle = f"{', '.join(found.names[1])} less {', '.join(found.names[0])}"
        picture = difference_svg(
            found.matrix, found.ranks[0], "bytes sent: what changed", subtitle, bytes_text
        )
        write_text(svg, picture)
    if as_json:
        console.show_json("diff", None, tables.rows(found, top), **tables.fields(found, top))
    else:
        legend = tables.legend(found)
        console.show(*tables.parts(found, top), *([legend] if legend is not None else []))
    if svg is not None:
        console.note(f"corewise: written to {svg}")


def _sides(profiles: list[Path], against: list[Path]) -> tuple[list[Path], list[Path]]:
    if against:
        return profiles, against
    if len(profiles) == 2:
        return profiles[:1], profiles[1:]
    raise InputError(
        f"profiles: found {len(profiles)}, allowed: two, or several of each side parted by -- or by --against"
    )
