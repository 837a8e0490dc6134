"""Stands for `corewise._lab` in a package that was compiled without the simulators (COREWISE_QUICK).

It is installed under that name. Invariant: importing it does nothing; whoever takes something from it is told
what is missing and what to type.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from typing import Any

from corewise.errors import InputError

MISSING = (
    "simulators (the Cell, collectives on it, programs and recordings on simulated ranks): found a corewise "
    "compiled without them, as `make demo` does, allowed: the whole package, which `make package` builds"
)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise InputError(MISSING)
