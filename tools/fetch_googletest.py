"""Say where GoogleTest comes from: the system where CMake finds it, else a copy from a source package.

Owns the folder it is given. Writes the answer to ``location`` there: an empty line for the system's
GoogleTest, else the folder of the sources, which CMake takes as ``COREWISE_GTEST_SOURCE``
(docs/decisions/0002-googletest-fallback.md). The archive's checksum is pinned.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath

PACKAGE = "grpcio==1.9.1"
ARCHIVE = "grpcio-1.9.1.tar.gz"
ARCHIVE_SHA256 = "e7c43b5619deff48cc177c1b0618c4beeb2797f910f160e3c2035d5baf790a5d"
INSIDE = PurePosixPath("grpcio-1.9.1/third_party/boringssl/third_party/googletest")
PROBE = """\
cmake_minimum_required(VERSION 3.24)
project(probe LANGUAGES CXX)
find_package(GTest REQUIRED)
"""


def system_has_googletest(cmake: Path, folder: Path) -> bool:
    """Whether CMake finds a GoogleTest here, asked with a project of three lines."""
    source = folder / "probe"
    source.mkdir(parents=True, exist_ok=True)
    (source / "CMakeLists.txt").write_text(PROBE, encoding="utf-8")
    command = [str(cmake), "-S", str(source), "-B", str(source / "build")]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def download(unearth: Path, folder: Path) -> Path:
    """Fetch the source package that carries GoogleTest, and check that it is the one we know."""
    command = [str(unearth), "--no-binary", "--download", str(folder), PACKAGE]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    archive = folder / ARCHIVE
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != ARCHIVE_SHA256:
        raise ValueError(f"{archive}: sha256 is {found}, expected {ARCHIVE_SHA256}")
    return archive


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack the GoogleTest folder of the archive, and nothing else, into `folder`."""
    target = folder / "googletest"
    with tarfile.open(archive) as package:
        for member in package:
            path = PurePosixPath(member.name)
            if not member.isfile() or not path.is_relative_to(INSIDE) or ".." in path.parts:
                continue
            content = package.extractfile(member)
            if content is not None:
                file = target / path.relative_to(INSIDE)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read())
    if not (target / "src" / "gtest-all.cc").is_file():
        raise ValueError(f"{archive}: no GoogleTest sources at {INSIDE}")
    return target


def main(arguments: list[str] | None = None) -> int:
    """Decide, fetch where needed, and write the answer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cmake", type=Path, required=True)
    parser.add_argument("--unearth", type=Path, required=True)
    parser.add_argument(
        "--source-only", action="store_true", help="fetch the sources even where a system has it"
    )
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    folder: Path = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    location = ""
    if options.source_only or not system_has_googletest(options.cmake, folder):
        try:
            location = str(unpack(download(options.unearth, folder), folder))
        except (OSError, ValueError, tarfile.TarError, subprocess.CalledProcessError) as error:
            print(f"GoogleTest: {error}", file=sys.stderr)
            return 1
    (folder / "location").write_text(f"{location}\n", encoding="utf-8")
    print(f"GoogleTest: {location or 'the system has it'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
