"""`corewise bundle`: the rank files of a profile as one file per node.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import typer

from corewise import _core
from corewise.cli import console
from corewise.data.profile import profile_folder

_HELP = """Bundle a profile's rank files into one file per node.

A run of many ranks leaves many files, which shared file systems do not like. This puts the rank files of
each node into `node-NODE.cwn` and removes them; every other command reads the profile as before.
`corewise run --files node` does it at the end of the run.

\b
Example:
  corewise run -n 64 ./program
  corewise bundle program.cw
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("bundle", help=_HELP)(_bundle)


def _bundle(
    profile: str = typer.Argument(help="a profile folder NAME.cw"),
    as_json: bool = typer.Option(False, "--json", help="print one JSON object"),
) -> None:
    folder = profile_folder(profile)
    ranks = len(_core.rank_files(profile))
    loose = any(folder.glob("*.cwt"))
    # Bundling what is bundled changes nothing: the files that are there are the answer.
    names = _core.pack_profile(profile) if loose else sorted(file.name for file in folder.glob("*.cwn"))
    if as_json:
        rows = [{"file": name, "bytes": (folder / name).stat().st_size} for name in names]
        console.show_json("bundle", None, rows)
        return
    for name in names:
        console.show_text(str(folder / name))
    console.show_text(f"{_files(ranks)} {'bundled into' if loose else 'already bundled into'} {len(names)}")


def _files(count: int) -> str:
    return f"{count} rank file{'' if count == 1 else 's'}"
