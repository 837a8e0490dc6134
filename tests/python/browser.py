"""A headless Chromium for tests of pages: real mouse, real keys, what the console said, pictures.

Speaks the browser's own protocol over two pipes, so that no port is opened and no library is needed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_KEYS = {
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35,
    "Tab": 9, "Enter": 13, " ": 32,
}  # fmt: skip
_OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
    "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--force-color-profile=srgb",
    "--hide-scrollbars",
)  # fmt: skip
_PATIENCE_S = 60


class Browser:
    """One window, and in it one page at a time."""

    def __init__(self, folder: Path, width: int = 1280, height: int = 1000) -> None:
        assert CHROMIUM is not None
        self.console: list[str] = []
        self.requests: list[str] = []
        self._number = 0
        self._opened = 0
        self._rest = b""
        self._events: list[dict[str, Any]] = []
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def pipes() -> None:
            os.dup2(to_browser, 30)
            os.dup2(from_browser, 31)
            os.dup2(30, 3)
            os.dup2(31, 4)

        command = [
            CHROMIUM, *_OPTIONS, f"--user-data-dir={folder}", f"--window-size={width},{height}",
            "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command,
            preexec_fn=pipes,
            pass_fds=(3, 4, to_browser, from_browser),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        targets = self._send("Target.getTargets", session=False)["targetInfos"]
        page = next(each for each in targets if each["type"] == "page")
        attached = self._send("Target.attachToTarget", session=False, targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._send(f"{domain}.enable")
        self.size(width, height)

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)

    # ---- the protocol ----

    def _send(self, method: str, session: bool = True, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], _PATIENCE_S)
            assert ready, "the browser says nothing"
            self._rest += os.read(self._read, 1 << 20)
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(each.get("value", each)) for each in parameters["args"]))
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.console.append(str(details.get("exception", details).get("description", details)))
        elif method == "Log.entryAdded":
            self.console.append(str(parameters["entry"]["text"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(str(parameters["request"]["url"]))
        elif method is not None:
            self._events.append(message)

    # ---- what a reader does ----

    def size(self, width: int, height: int) -> None:
        """The window's size in pixels."""
        self._send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def dark(self, on: bool = True) -> None:
        """What the reader's system prefers."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, file: Path, hash: str = "", ready: str = "true") -> None:
        """Opens a page anew and waits until an expression is true on it."""
        self._opened += 1
        mark = f"?{self._opened}"
        self._send("Page.navigate", url=f"{file.as_uri()}{mark}{hash}")
        self.wait(f"location.search === '{mark}' && document.readyState === 'complete' && ({ready})")

    def wait(self, expression: str) -> None:
        """Until an expression is true."""
        end = time.monotonic() + _PATIENCE_S
        while not self.ask(f"Boolean({expression})"):
            assert time.monotonic() < end, expression
            time.sleep(0.02)

    def ask(self, expression: str) -> Any:
        """The value of an expression, also of a promise."""
        answer = self._send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        """``mouseMoved``, ``mousePressed``, ``mouseReleased`` or ``mouseWheel`` at a place in the window."""
        self._send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        """A click of the left button."""
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def click_on(self, selector: str) -> None:
        """A click into the middle of an element."""
        self.ask(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        box = self.box(selector)
        self.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def box(self, selector: str) -> dict[str, float]:
        """Where an element is in the window."""
        return dict(
            self.ask(f"document.querySelector({json.dumps(selector)}).getBoundingClientRect().toJSON()")
        )

    def key(self, name: str, shift: bool = False) -> None:
        """A key, pressed and left."""
        code = _KEYS.get(name, ord(name.upper()) if len(name) == 1 else 0)
        text = {"text": name} if len(name) == 1 else {"text": "\r"} if name == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self._send(
                "Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code,
                modifiers=8 if shift else 0, **(text if kind == "keyDown" else {}),
            )  # fmt: skip

    def keys(self, names: Sequence[str]) -> None:
        """Several keys, one after the other."""
        for name in names:
            self.key(name)

    def picture(self, file: Path, whole: bool = False) -> Path:
        """What the window shows, or the whole page, as PNG."""
        answer = self._send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(answer["data"]))
        return file

    def print(self, file: Path) -> Path:
        """The page as PDF, as a reader prints it."""
        answer = self._send("Page.printToPDF", printBackground=True)
        file.write_bytes(base64.b64decode(answer["data"]))
        return file
