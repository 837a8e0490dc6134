"""The user's own LD_PRELOAD on a launcher's line, which would otherwise replace corewise's or be replaced.

Owns by which options launchers set the variable for the ranks, and which of those can be joined with
corewise's libraries. The same library in the environment of corewise needs none of this.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corewise.errors import InputError
from corewise.mpi import elf

PRELOAD = "LD_PRELOAD"
_OPTIONS = {"mpich": ("genv", "env"), "openmpi": ("x",)}
"""Options that set a variable of the ranks: NAME=VALUE, under MPICH also NAME VALUE, under Open MPI NAME."""
_FOR_ALL = "genv"
"""The option that holds for all programs of a line; the others hold for one."""
_IN_ANOTHER_FORM = re.compile(rf"-+(g?env=|g?mca mca_base_env_list (\S*;)?){PRELOAD}\b")


@dataclass(frozen=True)
class _Setting:
    """An option that sets a variable.

    Attributes
    ----------
    begin, end : its words, of the line.
    option : without dashes.
    name : of the variable.
    value : None where the launcher takes it from its environment.
    """

    begin: int
    end: int
    option: str
    name: str
    value: str | None


def taken(words: Sequence[str], family: str) -> tuple[list[str], str]:
    """A launcher's line without its own LD_PRELOAD, and what it says; empty where it says nothing.

    Parameters
    ----------
    words : of the line, behind the launcher.
    family : of its MPI.

    Raises
    ------
    InputError
        It cannot be joined with other libraries: it is set twice, or for one program of several, or in a form
        that only the launcher understands.
    """
    settings = [each for each in _settings(words, family) if each.name == PRELOAD]
    given = [each for each in settings if each.value is not None]
    if len(given) > 1:
        raise _refusal("more than once")
    if given and os.environ.get(PRELOAD):
        raise _refusal("and in the environment")
    if given and given[0].option != _FOR_ALL and ":" in words:
        raise _refusal("for one program of several")
    left = [
        word for at, word in enumerate(words) if not any(each.begin <= at < each.end for each in settings)
    ]
    return left, (given[0].value or "") if given else ""


def is_program(word: str) -> bool:
    """Whether a word of a launcher's line names an executable file."""
    return os.access(word, os.X_OK) and elf.is_elf(Path(word))


def _settings(words: Sequence[str], family: str) -> Iterator[_Setting]:
    """What the launcher's words set; the words of the programs are theirs."""
    at, ours = 0, True
    while at < len(words):
        word = words[at]
        ours = word == ":" or (ours and not is_program(shutil.which(word) or word))
        if ours and word.startswith("-") and word.lstrip("-") in _OPTIONS[family] and at + 1 < len(words):
            found = _setting(words, at, family)
            yield found
            at = found.end
            continue
        if ours and _IN_ANOTHER_FORM.match(" ".join(words[at : at + 3])):
            raise _refusal(f"as '{word}'")
        at += 1


def _setting(words: Sequence[str], at: int, family: str) -> _Setting:
    """The setting whose option is at a place."""
    name, equals, value = words[at + 1].partition("=")
    option = words[at].lstrip("-")
    if equals:
        return _Setting(at, at + 2, option, name, value)
    if family == "openmpi" or at + 2 >= len(words):
        return _Setting(at, at + 2, option, name, None)
    return _Setting(at, at + 3, option, name, words[at + 2])


def _refusal(how: str) -> InputError:
    return InputError(
        f"{PRELOAD}: found in the launcher's line {how}, allowed: once, for all ranks, or better in the "
        f"environment of corewise ({PRELOAD}=LIBRARY corewise ...), which joins it with its own"
    )
