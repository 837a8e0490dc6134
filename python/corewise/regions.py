"""Regions and phases of a Python program, for ``corewise run``.

Owns the way to the preload's functions; without the preload nothing happens and nothing is loaded, so a
program may keep the calls for good. Needs the standard library only.

Example::

    from corewise import regions

    regions.phase("setup")
    with regions.region("solve"):
        ...


    @regions.region("step")
    def step(): ...

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import ctypes
from contextlib import ContextDecorator
from types import TracebackType

__all__ = ["begin", "end", "phase", "region"]

_loaded = ctypes.CDLL(None)
_begin = getattr(_loaded, "corewise_begin", None)
_end = getattr(_loaded, "corewise_end", None)
_phase = getattr(_loaded, "corewise_phase", None)
# The preload tells names apart by their text; one that stays where it is, is found fastest.
_encoded: dict[str, bytes] = {}


def _bytes(name: str) -> bytes:
    found = _encoded.get(name)
    if found is None:
        found = name.encode()
        if len(_encoded) < 1024:
            _encoded[name] = found
    return found


def begin(name: str) -> None:
    """Begins a region of the calling thread.

    Parameters
    ----------
    name : what it is called; cut at 255 bytes and at a NUL.
    """
    if _begin is not None:
        _begin(_bytes(name))


def end() -> None:
    """Ends the region that was begun last."""
    if _end is not None:
        _end()


def phase(name: str) -> None:
    """Begins a phase, which lasts until the thread's next one.

    Parameters
    ----------
    name : what it is called.
    """
    if _phase is not None:
        _phase(_bytes(name))


class region(ContextDecorator):  # noqa: N801 - used as a word: with region("solve")
    """A region around a ``with`` block or a function, ended also by an exception.

    Parameters
    ----------
    name : what it is called.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> region:
        begin(self.name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        end()
