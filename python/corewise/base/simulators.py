"""Whether this corewise has its simulators: the extension module `corewise._lab`, or what stands for it.

A package that was compiled in a hurry (`make demo` in a fresh clone) has a module of that name which only
says what is missing (``src/bind/lab/without_lab.py``). Invariant: nothing else asks how the package was
compiled.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from importlib import import_module

from corewise.errors import InputError

_MODULE = "corewise._lab"


def missing() -> str:
    """What is missing and what to type; empty where the simulators are there. It is loaded only now."""
    return str(getattr(import_module(_MODULE), "MISSING", ""))


def require() -> None:
    """Raises an `InputError` where the simulators are missing; for what is a program of its own."""
    if said := missing():
        raise InputError(said)
