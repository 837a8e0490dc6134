"""Patterns as files, and patterns from anything on the command line that holds one.

The C++ room reads and writes the texts of all three formats; this module owns files, suffixes, and the rule
by which a reference is a file or a profile directory.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from corewise._core import Pattern
from corewise.data.files import read_text, write_text
from corewise.errors import InputError

PROFILE_SUFFIX = ".cw"

_WRITERS: Mapping[str, Callable[[Pattern], str]] = MappingProxyType(
    {".json": Pattern.to_json, ".csv": Pattern.to_csv, ".mtx": Pattern.to_matrix_market}
)


def load_pattern(path: str | Path) -> Pattern:
    """Reads a pattern file: JSON, CSV or Matrix Market, told apart by how the text begins."""
    text = read_text(Path(path))
    if not text.strip():
        raise InputError(f"{path}: the file is empty, allowed: a pattern as JSON, CSV or Matrix Market")
    return Pattern.from_text(text, str(path))


def save_pattern(pattern: Pattern, path: str | Path) -> None:
    """Writes a pattern file; the suffix says how. Only JSON keeps everything."""
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        raise InputError(f"{path}: found suffix '{suffix}', allowed for a pattern: {', '.join(_WRITERS)}")
    write_text(Path(path), _WRITERS[suffix](pattern))


def load_pattern_or_profile(reference: str | Path) -> Pattern:
    """The pattern of a file, or of a profile directory ``NAME.cw``."""
    return load_pattern_and_collectives(reference)[0]


def load_pattern_and_collectives(reference: str | Path) -> tuple[Pattern, int | None]:
    """The same, and the bytes of a profile's collectives, which no pattern holds; None for a pattern file."""
    path = Path(reference)
    if not is_profile(path):
        return load_pattern(path), None
    # Only a profile needs the trace reader; pattern files stay quick to read without it.
    profile = importlib.import_module("corewise.data.profile").load_profile(path)
    pattern: Pattern = profile.pattern()
    return pattern, int(profile.world.coordinates("collective")[2].sum())


def is_profile(path: Path) -> bool:
    """Whether a reference means a profile directory and not a pattern file."""
    return path.suffix == PROFILE_SUFFIX or path.is_dir()
