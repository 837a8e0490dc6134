"""Check that neither a tracked file nor a commit message carries a trace of the machine it was written on.

Looks for absolute paths of build machines and for the host names of package registries, which make a
repository work on one machine only. The patterns are written in pieces, so that this file does not match
itself.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_PATHS = ("/" + "work/", "/" + "root/", "/" + "home/runner/")
_HOSTS = (
    "py" + "pi.org",
    "python" + "hosted.org",
    "np" + "mjs.org",
    "deb." + "debian.org",
    "crates" + ".io",
    "proxy.golang" + ".org",
)
# A path counts only where a path begins: the same word inside a longer path is just a folder.
PATTERN = re.compile(
    "|".join([r"(?<![\w.~-])" + re.escape(path) for path in _PATHS] + [re.escape(host) for host in _HOSTS])
)


def _git(root: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", "-c", f"safe.directory={root}", "-C", str(root), *arguments], check=True, capture_output=True
    ).stdout


def dirty_files(root: Path) -> Iterator[str]:
    """Yield one message per line of a tracked file that names a machine or a registry."""
    for name in _git(root, "ls-files", "-z").decode().split("\0"):
        path = root / name
        if not name or not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), start=1):
            found = PATTERN.search(line)
            if found:
                yield f"{name}:{number}: '{found[0]}' belongs to one machine or registry"


def dirty_messages(root: Path) -> Iterator[str]:
    """Yield one message per commit whose message names a machine or a registry."""
    log = _git(root, "log", "--format=%h%x00%B%x01").decode("utf-8", errors="replace")
    for entry in log.split("\x01"):
        commit, _, message = entry.strip().partition("\0")
        found = PATTERN.search(message)
        if found:
            yield f"commit {commit}: its message names '{found[0]}'"


def main(arguments: list[str] | None = None) -> int:
    """Check a repository; the exit status is 1 when something was found, 2 when git cannot be asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT)
    root: Path = parser.parse_args(arguments).root.resolve()
    try:
        messages = [*dirty_files(root), *dirty_messages(root)]
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{root}: git cannot be asked: {error}", file=sys.stderr)
        return 2
    for message in messages:
        print(message)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
