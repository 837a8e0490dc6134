"""Symbols as their sources wrote them: C++ demangled, Fortran modules, without return types and parameters.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from functools import lru_cache

_FORTRAN_MODULE = re.compile(r"^__(\w+?)_MOD_(\w+)$")
_OPERATOR = re.compile(r"(?<!\w)operator(?!\w)")
_OPEN, _CLOSE = "(<[{", ")>]}"


@lru_cache(maxsize=65536)
def demangled(name: str) -> str:
    """A function's name, as short as it stays unique to a reader.

    Parameters
    ----------
    name : str
        As the linker knows it. Without a demangler on this machine it stays as it is.
    """
    module = _FORTRAN_MODULE.match(name)
    if module:
        return f"{module[1]}::{module[2]}"
    if not name.startswith("_Z"):
        return name
    full = (_by_library(name) or _by_program(name)).replace("[abi:cxx11]", "")
    return _without_return_type(_without_parameters(full)) if full else name


def _without_parameters(name: str) -> str:
    """Cuts from the parenthesis that opens the parameter list: the last one at depth 0."""
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        if name[at] == ")":
            depth += 1
        elif name[at] == "(":
            depth -= 1
            if depth == 0 and not name.startswith("(anonymous", at):
                return name[:at]
    return name


def _without_return_type(name: str) -> str:
    """Only templates have one: what stands before the last blank that is outside of every bracket."""
    operator = _OPERATOR.search(name)  # behind it, blanks and brackets mean something else
    head, tail = (name[: operator.start()], name[operator.start() :]) if operator else (name, "")
    depth = 0
    for at in range(len(head) - 1, -1, -1):
        if head[at] in _CLOSE:
            depth += 1
        elif head[at] in _OPEN:
            depth -= 1
        elif head[at] == " " and depth == 0:
            return head[at + 1 :] + tail
    return head + tail


def _by_library(name: str) -> str:
    library = _cpp_library()
    if library is None:
        return ""
    status = ctypes.c_int()
    found = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not found:
        return ""
    text = ctypes.string_at(found).decode(errors="replace")
    _c_library().free(ctypes.c_void_p(found))
    return text


def _by_program(name: str) -> str:
    """By binutils' c++filt, where the C++ library is not to be had."""
    program = shutil.which("c++filt")
    if program is None or _cpp_library() is not None:
        return ""
    try:
        done = subprocess.run([program, name], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


@lru_cache(maxsize=1)
def _cpp_library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        library.__cxa_demangle.restype = ctypes.c_void_p
    except (OSError, AttributeError):
        return None
    return library


@lru_cache(maxsize=1)
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None)
