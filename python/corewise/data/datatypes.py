"""Datatypes as text: ``vector(512, 8, 16, double)``, nested as MPI programs nest them.

Owns the grammar (docs/packing/datatypes.md) and the names of predefined types. The core checks the
arguments, by MPI's rules; an `InputError` names the constructor and the argument, or where in the text
something else was
expected. Reading needs no more memory than the text and its ranges, however deep the nest.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from corewise._core import Datatype
from corewise.errors import InputError

MOST_ENTRIES = 1 << 24
"""Entries that a list may have, ranges included."""
_MOST_DIGITS = 19
_DEFAULT_DARG = -1

_LIST = r"\[\s*[+-]?\d+(?:\s*,\s*[+-]?\d+)*\s*\]"
_TOKEN = re.compile(
    rf"\s*(?:(?P<list>{_LIST})|(?P<word>\d*[A-Za-z_]\w*)|(?P<number>[+-]?\d+)|(?P<sign>[(),\[\]:])|(?P<bad>\S))"
)

Value: TypeAlias = int | str | list[Any] | Datatype
"""What an argument can be: a number, a word of a constructor, a list, a type."""


@dataclass(frozen=True)
class Token:
    """A piece of the text and where it begins, counted from 1."""

    kind: str
    text: str
    at: int


@dataclass
class _Open:
    """A constructor or a list that is not closed yet; `name` is empty for a list."""

    name: str
    at: int
    values: list[Value] = field(default_factory=list)


def _c(kind: type[ctypes._SimpleCData[Any]]) -> Callable[[], Datatype]:
    return lambda: Datatype.basic(ctypes.sizeof(kind), ctypes.alignment(kind))


def _exact(size: int, alignment: int = 0) -> Callable[[], Datatype]:
    return lambda: Datatype.basic(size, alignment)


def _pair(first: type[ctypes._SimpleCData[Any]]) -> Callable[[], Datatype]:
    class Layout(ctypes.Structure):
        _fields_ = (("value", first), ("index", ctypes.c_int))

    size, second_at = ctypes.sizeof(first), Layout.index.offset
    return lambda: Datatype.pair(size, second_at, ctypes.sizeof(ctypes.c_int), ctypes.sizeof(Layout))


_PREDEFINED: dict[str, Callable[[], Datatype]] = {
    **dict.fromkeys(("char", "signed_char", "unsigned_char", "byte", "packed", "character"), _exact(1)),
    "wchar": _c(ctypes.c_wchar),
    **dict.fromkeys(("short", "unsigned_short"), _c(ctypes.c_short)),
    **dict.fromkeys(("int", "unsigned", "integer", "logical"), _c(ctypes.c_int)),
    **dict.fromkeys(("long", "unsigned_long"), _c(ctypes.c_long)),
    **dict.fromkeys(("long_long", "long_long_int", "unsigned_long_long"), _c(ctypes.c_longlong)),
    **dict.fromkeys(("float", "real"), _c(ctypes.c_float)),
    **dict.fromkeys(("double", "double_precision"), _c(ctypes.c_double)),
    "long_double": _c(ctypes.c_longdouble),
    "c_bool": _c(ctypes.c_bool),
    "cxx_bool": _c(ctypes.c_bool),
    **{f"{sign}int{bits}_t": _exact(bits // 8) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"integer{size}": _exact(size) for size in (1, 2, 4, 8)},
    **{f"real{size}": _exact(size) for size in (2, 4, 8, 16)},
    **{f"complex{2 * size}": _exact(2 * size, size) for size in (2, 4, 8, 16)},
    **dict.fromkeys(("aint", "offset", "count"), _exact(8)),
    **dict.fromkeys(("c_complex", "c_float_complex", "cxx_float_complex", "complex"), _exact(8, 4)),
    **dict.fromkeys(("c_double_complex", "cxx_double_complex", "double_complex"), _exact(16, 8)),
    **dict.fromkeys(("c_long_double_complex", "cxx_long_double_complex"), _exact(32, 16)),
    "float_int": _pair(ctypes.c_float),
    "double_int": _pair(ctypes.c_double),
    "long_int": _pair(ctypes.c_long),
    "2int": _pair(ctypes.c_int),
    "short_int": _pair(ctypes.c_short),
    "long_double_int": _pair(ctypes.c_longdouble),
    **dict.fromkeys(("2real", "2integer"), _exact(8, 4)),
    "2double_precision": _exact(16, 8),
}

_CONSTRUCTORS: dict[str, tuple[str, Callable[..., Datatype]]] = {
    "contiguous": ("count, type", Datatype.contiguous),
    "vector": ("count, blocklength, stride, type", Datatype.vector),
    "hvector": ("count, blocklength, stride_bytes, type", Datatype.hvector),
    "indexed": ("[blocklengths], [displacements], type", Datatype.indexed),
    "hindexed": ("[blocklengths], [displacements], type", Datatype.hindexed),
    "indexed_block": ("blocklength, [displacements], type", Datatype.indexed_block),
    "hindexed_block": ("blocklength, [displacements], type", Datatype.hindexed_block),
    "struct": ("[blocklengths], [displacements], [types]", Datatype.structure),
    "subarray": ("[sizes], [subsizes], [starts], order, type", Datatype.subarray),
    "darray": (
        "size, rank, [gsizes], [distributions], [dargs], [psizes], order, type",
        Datatype.darray,
    ),
    "resized": ("type, lb, extent", Datatype.resized),
}
_WORDS = ("c", "fortran", "block", "cyclic", "none", "default")
_SIGNATURE: dict[str, tuple[Callable[[Value], bool], str]] = {
    "type": (lambda value: isinstance(value, Datatype), "a type"),
    "[types]": (lambda value: _is_list(value, Datatype), "a list of types"),
    "order": (lambda value: value in ("c", "fortran"), "c or fortran"),
    "[distributions]": (lambda value: _is_list(value, str), "a list of block, cyclic, none"),
    "[dargs]": (lambda value: _is_list(value, (int, str)), "a list of numbers or default"),
}
_NUMBER: tuple[Callable[[Value], bool], str] = (lambda value: isinstance(value, int), "a number")
_NUMBERS: tuple[Callable[[Value], bool], str] = (lambda value: _is_list(value, int), "a list of numbers")


def predefined_names() -> list[str]:
    """The names of predefined types, sorted; each may also be written as MPI does (``MPI_DOUBLE``)."""
    return sorted(_PREDEFINED)


def read_datatype(text: str) -> Datatype:
    """The type that a text describes.

    Parameters
    ----------
    text : str
        A predefined name, with or without ``MPI_``, or a constructor with its arguments in MPI's order,
        nested; lists are ``[1, 2]`` or ranges ``[0:100:4]`` (the end is not part of it).

    Returns
    -------
    Datatype

    Raises
    ------
    InputError
        One line: where in the text, what was found, what is allowed.
    """
    tokens = _tokens(text)
    result = _read(tokens)
    if not isinstance(result, Datatype):
        raise _expected(Token("", text.strip() or "nothing", 1), "a type")
    last = next(tokens)
    if last.kind != "end":
        raise _expected(last, "the end of the text")
    return result


def _tokens(text: str) -> Iterator[Token]:
    position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        kind = match.lastgroup or ""
        token = Token(kind, match[kind], match.start(kind) + 1)
        if kind == "bad":
            raise _expected(token, "a name, a number, or one of ( ) [ ] , :")
        yield token
    yield Token("end", "the end", len(text) + 1)


def _expected(found: Token, allowed: str) -> InputError:
    shown = found.text if found.kind == "end" else f"'{_short(found.text)}'"
    return InputError(f"datatype, character {found.at}: found {shown}, allowed: {allowed}")


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _read(tokens: Iterator[Token]) -> Value:
    """The first value of the text. An explicit stack, no calls: texts may nest as deep as they like."""
    stack: list[_Open] = []
    token: Token | None = next(tokens)
    while True:
        value, token = _value(token, tokens, stack)
        while value is not None:
            if not stack:
                return value
            stack[-1].values.append(value)
            value, token = _separator(_after(token, tokens), tokens, stack)


def _after(token: Token | None, tokens: Iterator[Token]) -> Token:
    return next(tokens) if token is None else token


def _value(
    token: Token | None, tokens: Iterator[Token], stack: list[_Open]
) -> tuple[Value | None, Token | None]:
    """One value, or nothing where it opens a constructor or list; then the next token, if it was read."""
    found = _after(token, tokens)
    if found.kind == "number":
        return _number_or_range(found, tokens, stack)
    if found.kind == "list":
        return _numbers(found), None
    if found.text == "[":
        return _opened(_Open("", found.at), tokens, stack, "]")
    if found.kind == "word":
        name = found.text.lower().removeprefix("mpi_")
        if name in _CONSTRUCTORS:
            opening = next(tokens)
            if opening.text != "(":
                raise _expected(opening, f"( after {name}")
            return _opened(_Open(name, found.at), tokens, stack, ")")
        return _word(found, name, bool(stack)), None
    raise _expected(found, "a type, a number or a list")


def _opened(
    entry: _Open, tokens: Iterator[Token], stack: list[_Open], closing: str
) -> tuple[Value | None, Token | None]:
    following = next(tokens)
    if following.text == closing:
        return _closed(entry), None
    stack.append(entry)
    return None, following


def _word(found: Token, name: str, inside: bool) -> Value:
    if name in _PREDEFINED:
        return _PREDEFINED[name]()
    if inside and name in _WORDS:
        return name
    constructors = ", ".join(_CONSTRUCTORS)
    raise _expected(found, f"a predefined type such as double, or one of {constructors}")


def _number(token: Token) -> int:
    if token.kind != "number":
        raise _expected(token, "a number")
    if len(token.text.lstrip("+-")) > _MOST_DIGITS or abs(int(token.text)) >= 1 << 63:
        raise _expected(token, "a number of 64 bits")
    return int(token.text)


def _numbers(found: Token) -> list[Value]:
    """A list of numbers alone, in one step: it may have a million entries."""
    texts = found.text[1:-1].split(",")
    numbers = [int(text) for text in texts] if max(map(len, texts)) < 100 else [1 << 64]
    if min(numbers) <= -(1 << 63) or max(numbers) >= 1 << 63:
        raise _expected(found, "numbers of 64 bits")
    if len(numbers) > MOST_ENTRIES:
        raise _expected(found, f"at most {MOST_ENTRIES} entries in a list")
    return [*numbers]


def _number_or_range(
    first: Token, tokens: Iterator[Token], stack: list[_Open]
) -> tuple[Value | None, Token | None]:
    numbers, following = [_number(first)], next(tokens)
    while following.text == ":" and len(numbers) < 3:
        numbers.append(_number(next(tokens)))
        following = next(tokens)
    if len(numbers) == 1:
        return numbers[0], following
    if not stack or stack[-1].name:
        raise _expected(first, "a range inside a list alone")
    if numbers[-1] == 0 and len(numbers) == 3:
        raise _expected(first, "a range whose step is not 0")
    entries = range(*numbers)
    if len(stack[-1].values) + len(entries) > MOST_ENTRIES:
        raise _expected(first, f"at most {MOST_ENTRIES} entries in a list")
    if not entries:
        raise _expected(first, "a range with an entry")
    stack[-1].values.extend(entries[:-1])
    return entries[-1], following


def _separator(
    token: Token, tokens: Iterator[Token], stack: list[_Open]
) -> tuple[Value | None, Token | None]:
    """After a value: nothing where another follows, or the constructor or list that ends here."""
    entry = stack[-1]
    closing = ")" if entry.name else "]"
    if token.text == ",":
        return None, None
    if token.text != closing:
        raise _expected(token, f", or {closing}")
    stack.pop()
    return _closed(entry), None


def _closed(entry: _Open) -> Value:
    if not entry.name:
        return entry.values
    signature, construct = _CONSTRUCTORS[entry.name]
    names = signature.split(", ")
    place = f"datatype, character {entry.at}, {entry.name}({signature})"
    if len(entry.values) != len(names):
        raise InputError(f"{place}: found {len(entry.values)} arguments, allowed: {len(names)}")
    for name, value in zip(names, entry.values, strict=True):
        _check(place, name, value)
    arguments = [_plain(name, value) for name, value in zip(names, entry.values, strict=True)]
    try:
        return construct(*arguments)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def _check(place: str, name: str, value: Value) -> None:
    fits, allowed = _SIGNATURE.get(name, _NUMBERS if name.startswith("[") else _NUMBER)
    if not fits(value):
        raise InputError(f"{place}: argument '{name.strip('[]')}': found {_shown(value)}, allowed: {allowed}")


def _is_list(value: Value, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)


def _plain(name: str, value: Value) -> Value | Sequence[Value]:
    if name == "[dargs]" and isinstance(value, list):
        return [_DEFAULT_DARG if each == "default" else each for each in value]
    return value


def _shown(value: Value) -> str:
    if isinstance(value, Datatype):
        return "a type"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return f"'{value}'"
