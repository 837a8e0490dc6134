"""Imports that wait until a command runs, so that its help need not wait for them.

    with late.imports():
        from corewise.analysis.placement.search import Settings

Everywhere else than in a help these are imports like any others, made at once. While `postponed` holds, the
names are bound to stand-ins, and `load` puts the real ones in their places. (Python 3.15 has this as
``lazy import``, PEP 810.) Invariant: `load` has been called before a command's function begins, so that
code never meets a stand-in; one that is met all the same, by a test say, loads itself.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_state = {"postponed": False}


class _StandIn:
    """Stands for a module, or for a name in it, in the module that imported it."""

    def __init__(self, module: str, name: str = "") -> None:
        self._module, self._name = module, name

    def _real(self) -> Any:
        found: Any = importlib.import_module(self._module)
        if self._name:
            submodule = f"{self._module}.{self._name}"
            found = getattr(found, self._name, None) or importlib.import_module(submodule)
        return found._real() if isinstance(found, _StandIn) else found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real(), name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._real()(*given, **named)


class _Names:
    """What an import statement takes names from."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> _StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn(self._module, name)


_importers: list[dict[str, Any]] = []
"""The globals of modules that hold stand-ins."""


@contextmanager
def postponed() -> Iterator[None]:
    """Imports under `imports` wait, within this context."""
    _state["postponed"] = True
    try:
        yield
    finally:
        _state["postponed"] = False


@contextmanager
def imports() -> Iterator[None]:
    """Marks import statements that may wait."""
    if not _state["postponed"]:
        yield
        return
    usual = builtins.__import__
    importers: list[Any] = []

    def stand_in(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        importers.append(globals)
        if globals is not importers[0]:  # another module's, in the middle of its own imports
            return usual(name, globals, locals, fromlist, level)
        _importers.append(globals)
        return _Names(name) if fromlist else _StandIn(name)

    builtins.__import__ = stand_in
    try:
        yield
    finally:
        builtins.__import__ = usual


def load() -> None:
    """Imports all that waited."""
    _state["postponed"] = False
    while _importers:
        names = _importers.pop()
        for name, value in list(names.items()):
            if isinstance(value, _StandIn):
                names[name] = value._real()
