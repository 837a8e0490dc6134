"""Signals that end this process from outside, as an exception: what a block has made is removed then.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""From batch systems, closed terminals, users; an interrupt is an exception already."""


@contextmanager
def raised_endings() -> Iterator[None]:
    """In the block such a signal raises `SystemExit`, with the status that shells expect.

    One that is ignored (nohup) or that somebody handles stays so. In another thread than the main one, which
    alone may ask for signals, nothing changes.
    """
    is_main = threading.current_thread() is threading.main_thread()
    taken = [number for number in ENDING if is_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _raise(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
