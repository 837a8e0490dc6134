"""Check that folders show the structure: no pile of files that carry a folder's name as their prefix.

Owns two limits for every folder below the code's and the documents' roots: fewer than four modules that begin
with the same word (a header and its source are one module; a leading ``test_`` does not count), and at most
30 files. Files of ``tuning`` are named by what they were measured on. Needs nothing but the standard library.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOTS = ("apps", "bench", "docs", "machines", "python", "src", "tests", "tools")
MOST_FILES = 30
MOST_OF_A_WORD = 3
_GENERATED = {"__pycache__"}


def check(roots: Iterable[Path]) -> list[str]:
    """Return one message for each folder and limit that is broken, sorted by folder."""
    return [message for folder in sorted(_folders(roots)) for message in _check_folder(folder)]


def _folders(roots: Iterable[Path]) -> Iterator[Path]:
    for root in roots:
        yield root
        yield from (path for path in root.rglob("*") if path.is_dir() and not _GENERATED & set(path.parts))


def _check_folder(folder: Path) -> Iterator[str]:
    files = [path for path in folder.iterdir() if path.is_file()]
    if len(files) > MOST_FILES:
        yield f"{folder}: {len(files)} files; at most {MOST_FILES}"
    modules: dict[str, set[str]] = defaultdict(set)
    for path in files:
        name = path.name.split(".")[0].removeprefix("test_")
        modules[_first_word(name)].add(name)
    for word, names in sorted(modules.items()):
        if len(names) > MOST_OF_A_WORD and word:
            yield (
                f"{folder}: {len(names)} modules begin with '{word}' ({', '.join(sorted(names))}); "
                f"at most {MOST_OF_A_WORD}: they want a folder"
            )


def _first_word(name: str) -> str:
    word = re.split(r"[_-]", name, maxsplit=1)[0]
    return "" if word.isdigit() else word.lower()


def main(arguments: list[str] | None = None) -> int:
    """Check the folders and print what they break; the exit status is 1 when anything is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("roots", nargs="*", type=Path, help="folders to check (default: the repository's)")
    given: list[Path] = parser.parse_args(arguments).roots
    messages = check(given or [ROOT / name for name in ROOTS if (ROOT / name).is_dir()])
    for message in messages:
        print(message)
    print(f"folders: {len(messages)} violation(s)", file=sys.stderr)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
