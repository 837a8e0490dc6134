"""The exceptions a user of corewise meets, one class per exit status.

The C++ rooms return a `Status`; `src/bind` raises it as one of these, and Python code raises them directly.
Invariant: the message is one line that names the source, the field, what was found and what is allowed, so
that the command line prints it as it is.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import reprlib

MOST_SHOWN = 80
"""Characters of a value that a message shows."""


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
    named = shortened(field)
    return InputError(f"{prefix}field '{named}': found {shortened(str(found))}, allowed: {allowed}")


def shown(value: object) -> str:
    """A value as a message shows it: on one line, printable, and short however long it is."""
    short = reprlib.Repr()
    short.maxlist = short.maxtuple = short.maxdict = 8
    short.maxlevel = 3
    short.maxstring = short.maxlong = short.maxother = MOST_SHOWN
    try:
        return shortened(short.repr(value))
    except ValueError:  # Python refuses to write whole numbers of more than 4300 digits
        return f"a number of more than {MOST_SHOWN} digits"


def shortened(text: str, most: int = MOST_SHOWN) -> str:
    """A text that came from the user, without its middle where it is long, and without control characters."""
    if len(text) > most:
        half = (most - 3) // 2
        text = f"{text[:half]}...{text[-half:]}"
    return "".join(each if each.isprintable() else "?" for each in text)
