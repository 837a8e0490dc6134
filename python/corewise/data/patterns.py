"""Patterns as files, and patterns from anything on the command line that holds or describes one.

The C++ room reads and writes the texts of all three formats; this module owns files, suffixes, and the rule
by which a reference is a file or a profile directory.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from corewise._core import Machine, Pattern, generate, generators
from corewise.base.files import read_text, write_text
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


def pattern_of(reference: str, parameters: Sequence[str], machine: Machine | None = None) -> Pattern:
    """The pattern of a file or a profile, or the one that a generator's name and parameters describe.

    Parameters
    ----------
    reference : str
        A path, or the name of a generator; where a file has that name, the file.
    parameters : sequence of str
        Of the generator, each ``NAME=VALUE``; a file has none.
    machine : Machine or None
        Where it is to run: more ranks than units are refused before the pattern is made.
    """
    names = [family.name for family in generators()]
    if reference in names and not Path(reference).exists():
        return generate_pattern(reference, parameters, machine)
    if parameters:
        allowed = f"none behind a file; parameters belong to a generator: {', '.join(names)}"
        raise InputError(f"parameter '{parameters[0]}': found behind '{reference}', allowed: {allowed}")
    looks_like_file = Path(reference).suffix != "" or "/" in reference or Path(reference).exists()
    if not looks_like_file:
        allowed = f"a pattern file, a profile NAME.cw, or a generator: {', '.join(names)}"
        raise InputError(f"pattern '{reference}' is unknown, allowed: {allowed}")
    return load_pattern_or_profile(reference)


def generate_pattern(name: str, parameters: Sequence[str], machine: Machine | None = None) -> Pattern:
    """The pattern of a generator; each parameter is given as ``NAME=VALUE``."""
    given = _with_ranks(_given(parameters))
    if machine is not None and re.fullmatch("[0-9]{1,9}", given.get("ranks", "")):
        machine.identity_placement(int(given["ranks"]))
    return generate(name, given)


def _given(parameters: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for parameter in parameters:
        name, equals, value = parameter.partition("=")
        if not equals or not name:
            raise InputError(f"parameter '{parameter}': found no '=', allowed: NAME=VALUE, e.g. ranks=8")
        if name in given:
            raise InputError(f"parameter '{name}': given twice, allowed: once")
        given[name] = value
    return given


def _with_ranks(given: dict[str, str]) -> dict[str, str]:
    """Whole dimensions say how many ranks there are; the user need not."""
    dims = re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", given.get("dims", ""))
    if dims is None or "ranks" in given:
        return given
    return {**given, "ranks": str(math.prod(int(one) for one in dims[0].split("x")))}


def is_profile(path: Path) -> bool:
    """Whether a reference means a profile directory and not a pattern file."""
    return path.suffix == PROFILE_SUFFIX or path.is_dir()
