"""Sizes as people write them on a command line: bytes as a bare number, or with a unit.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise._core import parse_size_bytes

_MOST_DIGITS = 18


def size_bytes(text: str, field: str) -> int:
    """``128``, ``64 KiB``, ``1MB``; an `InputError` names the field."""
    bare = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if bare else parse_size_bytes(text, "", field)
