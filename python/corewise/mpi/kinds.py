"""What a user may choose to record, by the words of ``corewise run --record``.

The bits are those of ``Kind`` in ``src/trace/format.hpp``; the words are the knob COREWISE_TRACE_RECORD's.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence

from corewise.errors import InputError

KINDS = {
    "calls": 1,
    "messages": 2,
    "collectives": 4,
    "one-sided": 8,
    "files": 16,
    "functions": 32,
    "regions": 64,
    "sites": 128,
}
ALL = sum(KINDS.values())


def chosen_kinds(text: str, option: str) -> tuple[str, ...]:
    """The words of a list such as ``messages,collectives`` or ``!functions,!sites``.

    Parameters
    ----------
    text : words with commas between them; ``!`` before a word leaves it out, and a list of such words alone
        starts from everything; ``all`` is everything.
    option : which the errors name.

    Returns
    -------
    tuple of str
        In the order of `KINDS`; never empty.

    Raises
    ------
    InputError
        A word that is none of these, or nothing left to record.
    """
    words = [word.strip() for word in text.split(",")]
    known = {**{word: {word} for word in KINDS}, "all": set(KINDS)}
    for word in words:
        if word.removeprefix("!") not in known:
            raise InputError(f"{option}: found '{word}', allowed: {', '.join(known)}; '!' leaves one out")
    chosen = set(KINDS) if all(word.startswith("!") for word in words) else set()
    for word in words:
        if not word.startswith("!"):
            chosen |= known[word]
    for word in words:
        if word.startswith("!"):
            chosen -= known[word[1:]]
    if not chosen:
        raise InputError(f"{option}: found '{text}', which leaves nothing to record")
    return tuple(word for word in KINDS if word in chosen)


def bits_of(words: Sequence[str]) -> int:
    """The kinds as one number."""
    return sum(KINDS[word] for word in words)
