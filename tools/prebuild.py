"""Builds the preload libraries that a wheel carries: one set per MPI that is named, and their manifest.

Called by ``tools/release.sh``:  prebuild.py FOLDER MPI...   an MPI is a prefix or a launcher. One that offers
the standard ABI gives a set for it too.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from corewise.errors import InputError
from corewise.mpi import build, find, prebuilt


def offered(named: Path) -> list[find.MpiLibrary]:
    """The MPI of a prefix or launcher, and the standard ABI where it has one."""
    look = find.from_prefix if named.is_dir() else find.from_launcher
    found = [look(named)]
    with suppress(InputError):  # most have none
        found.append(look(named, abi=True))
    return found


def make_set(mpi: find.MpiLibrary, folder: Path) -> dict[str, object]:
    """Builds one set; returns its row of the manifest."""
    name = f"{mpi.name}-{mpi.version}"
    target = folder / name
    target.mkdir(parents=True)
    for library in build.build_portable(mpi, target):
        print(f"{name}: {library.name}, {library.stat().st_size / 1024:.0f} KiB", flush=True)
    return {
        "name": mpi.name,
        "version": mpi.version,
        "folder": name,
        "wrapped": sorted(each.name for each in build.library_procedures(mpi)),
        "exported": sorted(prebuilt.exported_procedures(mpi)),
        "fortran": sorted(prebuilt.fortran_names(mpi)),
    }


def main() -> None:
    """Builds all that the command line names."""
    folder, *named = map(Path, sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    rows = [make_set(mpi, folder) for each in named for mpi in offered(each)]
    document = {"format": prebuilt.FORMAT, "version": prebuilt.VERSION, "sets": rows}
    (folder / prebuilt.MANIFEST).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
