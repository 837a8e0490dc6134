"""Code places in words: functions for their entries, call sites as ``function+0x1c``.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from corewise.data.symbols.addresses import find_symbol


def function_name(path: str, offset: int) -> str:
    """The function that begins at an offset of a file; empty when the file does not say."""
    symbol = find_symbol(path, offset + 1)
    return symbol.function if symbol is not None else ""


class Sites:
    """Names of call sites, each looked up once."""

    def __init__(self, objects: Sequence[str]) -> None:
        self._objects = objects
        self._known: dict[tuple[int, int], str] = {}

    def name(self, object_: int, offset: int) -> str:
        """Function and offset; file and offset where the file names no function; empty for no site."""
        key = (object_, offset)
        if key not in self._known:
            self._known[key] = self._look_up(object_, offset)
        return self._known[key]

    def _look_up(self, object_: int, offset: int) -> str:
        if object_ < 0:
            return f"{offset:#x}" if offset else ""
        path = self._objects[object_]
        symbol = find_symbol(path, offset)
        if symbol is None:
            return f"{Path(path).name}+{offset:#x}"
        return f"{symbol.function}+{symbol.offset:#x}"
