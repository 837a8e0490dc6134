"""The exceptions a user of corewise meets, one class per exit status.

The C++ rooms return a `Status`; `src/bind` raises it as one of these, and Python code raises them directly.
Invariant: the message is one line that names the source, the field, what was found and what is allowed, so
that the command line prints it as it is.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations


class CorewiseError(Exception):
    """Base of everything that corewise raises on purpose."""

    exit_status = 1


class InputError(CorewiseError):
    """What the user gave is wrong (exit status 2)."""

    exit_status = 2


class RunError(CorewiseError):
    """The run failed although the input was right, e.g. a capability is missing (exit status 1)."""

    exit_status = 1


def bad_field(source: str, field: str, found: object, allowed: str) -> InputError:
    """The error of one wrong field, in the same words as the C++ rooms use."""
    prefix = f"{source}: " if source else ""
    return InputError(f"{prefix}field '{field}': found {found}, allowed: {allowed}")
