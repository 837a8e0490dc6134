"""Looks into a wheel: whether it has all that a machine without a compiler needs, and nothing of this one.

    wheel.py WHEEL

Called by ``tools/release.sh``. What it asks for: a tag of manylinux; a whole set of preload libraries for
each of Open MPI 4 and 5, MPICH and the standard ABI of MPI 5; manual pages; a record of every file; and no
file that names the folder of this repository. Exit status 1: something is wrong, a line each; 2: it cannot
be read.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PREBUILT = "corewise/_prebuilt/"
LIBRARIES = ("preload", "reorder", "packing", "accelerate")
ABIS = {
    "Open MPI 4": ("openmpi", "4."),
    "Open MPI 5": ("openmpi", "5."),
    "MPICH": ("mpich", ""),
    "the standard ABI": ("abi", ""),
}
"""Name and beginning of the version of a set."""


def faults(wheel: Path, root: Path = ROOT) -> Iterator[str]:
    """What is wrong with a wheel, a sentence each.

    Parameters
    ----------
    wheel : Path
    root : Path
        The folder that no file may name.
    """
    tag = wheel.stem.rpartition("-")[2]
    if "manylinux" not in tag:
        yield f"its tag is {tag}, wanted: manylinux (auditwheel repair)"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        yield from _prebuilt_faults(archive, names)
        yield from _record_faults(archive, names)
        if not any(name.endswith("/man/man1/corewise.1") for name in names):
            yield "no manual page corewise.1"
        for module in ("corewise/_core", "corewise/_lab"):
            if not any(name.startswith(f"{module}.") and name.endswith(".so") for name in names):
                yield f"no extension module {module}"
        for name in names:
            if str(root).encode() in archive.read(name):
                yield f"{name} names the folder that it was built in"


def _prebuilt_faults(archive: zipfile.ZipFile, names: list[str]) -> Iterator[str]:
    if f"{PREBUILT}manifest.json" not in names:
        yield "no preload libraries: corewise/_prebuilt/manifest.json is missing"
        return
    sets = json.loads(archive.read(f"{PREBUILT}manifest.json"))["sets"]
    for what, (name, version) in ABIS.items():
        if not any(each["name"] == name and each["version"].startswith(version) for each in sets):
            yield f"no set of preload libraries for {what}"
    for each in sets:
        for library in LIBRARIES:
            file = f"{PREBUILT}{each['folder']}/libcorewise-{library}.so"
            if file not in names:
                yield f"{file} is missing"
            elif archive.read(file)[:4] != b"\x7fELF":
                yield f"{file} is no library"


def _record_faults(archive: zipfile.ZipFile, names: list[str]) -> Iterator[str]:
    records = [name for name in names if name.endswith(".dist-info/RECORD")]
    if len(records) != 1:
        yield f"{len(records)} records of its files, wanted: 1"
        return
    rows = csv.reader(io.StringIO(archive.read(records[0]).decode()))
    listed = {row[0] for row in rows if row}
    for name in sorted(set(names) ^ listed):
        if not name.endswith("/"):
            yield f"{name} is {'not in its record' if name in names else 'in its record only'}"


def main(arguments: list[str] | None = None) -> int:
    """Prints what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("wheel", type=Path)
    wheel = parser.parse_args(arguments).wheel
    try:
        found = list(faults(wheel))
    except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
        print(f"wheel.py: {wheel}: cannot be read: {error}", file=sys.stderr)
        return 2
    for fault in found:
        print(f"{wheel.name}: {fault}")
    print(f"{wheel.name}: {len(found)} fault(s), {wheel.stat().st_size / 2**20:.1f} MiB")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
