"""Signals that reach us while a launcher runs, and what the launcher gets of them.

Owns that a signal to end ends the launcher in any case, and that an interrupt reaches it exactly once.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from corewise.base.endings import ENDING

GRACE_S = 10.0
"""A launcher that was told to end gets so much time for it."""
_GROUP_S = 0.5
"""A signal to our group has ended the witness by then, also on a busy host."""
_WITNESS = ("/bin/sh", "-c", "trap '' HUP QUIT TERM; read -r line")


class _Witness:
    """A process of our group, to tell whether an interrupt went to the group.

    Ctrl-C at a terminal goes to the group, and the launcher has it then. Told once more, MPICH's launcher
    kills its ranks at once, and Open MPI's may leave them behind.
    """

    def __init__(self) -> None:
        self._process = self._started()

    @staticmethod
    def _started() -> subprocess.Popen[bytes]:
        # It ends when we do, whatever ends us: then its input does.
        return subprocess.Popen(
            _WITNESS, env={"PATH": os.defpath}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def group_was_interrupted(self) -> bool:
        """Whether the interrupt that has just come went to all of the group."""
        try:
            status = self._process.wait(_GROUP_S)
        except subprocess.TimeoutExpired:
            return False
        if status != -signal.SIGINT:  # it cannot tell
            return False
        self._close()
        with suppress(OSError):  # without a new one, the next interrupt counts as the group's
            self._process = self._started()
        return True

    def end(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()


class Told:
    """What we are told while a launcher runs.

    Attributes
    ----------
    received : the signals that end a run, in their order.
    """

    def __init__(self) -> None:
        self.received: list[int] = []
        self._launcher: subprocess.Popen[bytes] | None = None
        self._kill: threading.Timer | None = None
        self._is_early = False  # an interrupt came before there was a launcher
        self._witness: _Witness | None = None

    def pass_on_to(self, launcher: subprocess.Popen[bytes]) -> None:
        """From here a launcher gets what we are told, and what we have been told already.

        Parameters
        ----------
        launcher : just started.
        """
        self._launcher = launcher
        if self.received:
            self.end()
        elif self._is_early:
            launcher.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Tells the launcher to end, and kills it where it does not in time.

        It is told once: at a second time some launchers leave their ranks behind.
        """
        if self._launcher is None or self._kill is not None:
            return
        self._kill = threading.Timer(GRACE_S, self._launcher.kill)
        self._kill.daemon = True
        # Every launcher ends its ranks on SIGTERM; on the others some die alone and leave them behind.
        self._launcher.send_signal(signal.SIGTERM)
        with suppress(RuntimeError):  # no thread to be had: then it has all the time it wants
            self._kill.start()

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Within, signals are passed on; what was ignored before (nohup) stays ignored.

        Outside the main thread Python allows no handlers, and there everything stays as it is.
        """
        before = self._installed() if threading.current_thread() is threading.main_thread() else {}
        try:
            yield
        finally:
            for number, was in before.items():
                if was is not None:  # one that a library set in C cannot be put back
                    signal.signal(number, was)
            if self._kill is not None:
                self._kill.cancel()
            if self._witness is not None:
                self._witness.end()

    def _installed(self) -> dict[signal.Signals, Any]:
        """Sets the handlers; what was there before."""
        wanted = dict.fromkeys(ENDING, self._on_end) | {signal.SIGINT: self._on_interrupt}
        before = {number: signal.getsignal(number) for number in wanted}
        if before[signal.SIGINT] is not signal.SIG_IGN:
            # Where no further process is allowed, only an interrupt of the group reaches the launcher.
            with suppress(OSError):
                self._witness = _Witness()
        for number, handler in wanted.items():
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, handler)
        return before

    def _on_end(self, number: int, frame: object) -> None:
        self.received.append(number)
        self.end()

    def _on_interrupt(self, number: int, frame: object) -> None:
        if self.received or self._witness is None:
            return
        group = self._witness.group_was_interrupted()
        if self._launcher is None:
            self._is_early = True
        elif not group:
            self._launcher.send_signal(signal.SIGINT)
