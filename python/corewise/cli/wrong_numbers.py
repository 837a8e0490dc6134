"""What the command line says of an option whose number cannot be: what was found, and what is allowed.

Typer has numbers read by Click or by Pydantic, as its version is; each says one half of it, in its words.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from typing import Any

_KINDS = {"int": "a whole number", "integer": "a whole number", "float": "a number"}
_BY_CLICK = re.compile(r"'?(.*?)'? is not (?:in the range|a valid) ", re.DOTALL)


def wrong_number(error: BaseException) -> str:
    """One line about a number that was refused; "" where the error is about anything else."""
    parameter: Any = getattr(error, "param", None)
    asked = getattr(parameter, "get_runtime_param", None)
    cause: Any = error.__cause__
    if asked is not None and hasattr(cause, "errors"):
        read = asked()
        kind, ranged, found = (
            getattr(read.annotation, "__name__", ""),
            read.parameter_info,
            cause.errors()[0]["input"],
        )
    else:
        ranged, match = getattr(parameter, "type", None), _BY_CLICK.match(str(getattr(error, "message", "")))
        kind, found = str(getattr(ranged, "name", "")).partition(" ")[0], match and match[1]
    if kind not in _KINDS or found is None:
        return ""
    name = max(parameter.opts, key=len)
    return f"{name}: found {found}, allowed: {_KINDS[kind]}{_bounds(ranged)}"


def _bounds(ranged: object) -> str:
    least, most = getattr(ranged, "min", None), getattr(ranged, "max", None)
    if least is None:
        return "" if most is None else f", at most {most}"
    return f", {least} or more" if most is None else f", {least} to {most}"
