"""corewise: makes message passing inside a multicore node visible, predictable and fast.

What a Python program needs stands here: `load`, `advise`, `machine`, `place`, `simulate`. They live in
`corewise.api` and are imported when they are asked for, so that ``import corewise`` costs no more than this
file. The rooms below are `corewise.data` (files in and out), `corewise.analysis` (numbers, no printing),
`corewise.plots` and `corewise.cli`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib
from typing import Any

from corewise.errors import CorewiseError, InputError, RunError

_OF_API = (
    "Advised",
    "Found",
    "Machine",
    "Pattern",
    "Placing",
    "Profile",
    "Simulated",
    "Waits",
    "advise",
    "load",
    "machine",
    "place",
    "simulate",
)

__all__ = [
    "Advised",
    "CorewiseError",
    "Found",
    "InputError",
    "Machine",
    "Pattern",
    "Placing",
    "Profile",
    "RunError",
    "Simulated",
    "Waits",
    "__version__",
    "advise",
    "load",
    "machine",
    "place",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """What is imported late; the types stand in ``__init__.pyi``."""
    if name == "__version__":
        return _version()
    if name in _OF_API:
        return getattr(importlib.import_module("corewise.api"), name)
    raise AttributeError(f"module 'corewise' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    """Of the package as it was built; its metadata takes longer to read than a quick command."""
    try:
        found = str(importlib.import_module("corewise._version").VERSION)
    except ImportError:  # imported from a source tree
        found = _installed_version()
    globals()["__version__"] = found
    return found


def _installed_version() -> str:
    metadata = importlib.import_module("importlib.metadata")
    try:
        return str(metadata.version("corewise"))
    except metadata.PackageNotFoundError:
        return "0+source"
