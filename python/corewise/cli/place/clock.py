"""The clock of `corewise place`: when a search ends, how far it is, and Ctrl-C.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from corewise.errors import InputError

LONGEST_S = 31_536_000
"""A year."""
DEFAULT_S = 5.0
"""Where no proof is certain and the user names no end."""


class Clock:
    """Asked by a search whether to end; tells a progress bar how much of the time is gone.

    Parameters
    ----------
    seconds : float or None
        From now on; None: no end but Ctrl-C.
    """

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not seconds <= LONGEST_S:  # also where it is no number
            raise InputError(f"--time: found {seconds:g}, allowed: up to {LONGEST_S} seconds")
        self.seconds = seconds
        self.interrupted = False
        self._begin = time.monotonic()
        self._end = self._begin + (seconds or 0.0)
        self._advance: Callable[[float], None] | None = None

    def __call__(self) -> bool:
        """Whether to end."""
        now = time.monotonic()
        if self._advance is not None and self.seconds:
            self._advance(min(1.0, (now - self._begin) / self.seconds))
        return self.interrupted or (self.seconds is not None and now >= self._end)

    def begin(self, share: float) -> None:
        """One of several searches begins: it may take this share of the time.

        Parameters
        ----------
        share : float
            Of all the time, 0 to 1.
        """
        self._end = time.monotonic() + share * (self.seconds or 0.0)

    @contextmanager
    def running(self, advance: Callable[[float], None]) -> Iterator[None]:
        """From here the time counts, and the first Ctrl-C ends the search with the best so far.

        Parameters
        ----------
        advance : callable
            Told the share of the time that is gone.
        """
        self._begin = time.monotonic()
        self._advance = advance
        self.begin(1.0)
        # Only the main thread may set handlers; elsewhere nobody presses Ctrl-C.
        ours = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, self._interrupt) if ours else None
        try:
            yield
        finally:
            self._advance = None
            if ours:
                signal.signal(signal.SIGINT, before)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
