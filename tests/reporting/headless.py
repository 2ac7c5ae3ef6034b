"""A headless Chromium through its WebDriver, spoken to over plain HTTP."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import requests

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key that WebDriver gives elements
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "ArrowRight": "\ue014", "Tab": "\ue004"}


class Browser:
    """One window. Elements are named by CSS selectors."""

    def __init__(self, address: str) -> None:
        options = {
            "args": [
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--lang=en",
            ]
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        self._http = requests.Session()
        self._http.trust_env = False  # no proxy for the driver on this machine
        self._url = address
        made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._url = f"{address}/session/{made['sessionId']}"

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        answer = self._http.request(method, self._url + path, json=body, timeout=60).json()
        if isinstance(answer["value"], dict) and "error" in answer["value"]:
            raise AssertionError(answer["value"]["message"])
        return answer["value"]

    def close(self) -> None:
        self._call("DELETE", "")

    def open(self, path: Path) -> None:
        self._call("POST", "/url", {"url": path.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript in the page and give what it returns."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def window(self, width: int, height: int) -> None:
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def scheme(self, name: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": name}
        self.devtools("Emulation.setEmulatedMedia", features=[feature])

    def _element(self, selector: str) -> str:
        found = {"using": "css selector", "value": selector}
        return self._call("POST", "/element", found)[ELEMENT]

    def click(self, selector: str) -> None:
        """Click as a user does: the element must be visible and not covered."""
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        self._call("POST", f"/element/{self._element(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        self._call("POST", f"/element/{self._element(selector)}/value", {"text": text})

    def press(self, key: str) -> None:
        """Press a key wherever the focus is."""
        strokes = [{"type": kind, "value": KEYS[key]} for kind in ("keyDown", "keyUp")]
        action = {"type": "key", "id": "keyboard", "actions": strokes}
        self._call("POST", "/actions", {"actions": [action]})
        # what a key sets off, such as a dialog that closes and gives the focus back, ends by the
        # next frame; a busy machine may be slow to draw it
        self.run("return new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def until(self, script: str, seconds: float = 20) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"return Boolean({script})"):
            assert time.monotonic() < end, f"still not so after {seconds} s: {script}"
            time.sleep(0.05)

    def texts(self, selector: str) -> list[str]:
        """Visible text of every element that matches."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.innerText.trim())",
            selector,
        )

    def text(self, selector: str) -> str:
        return self.texts(selector)[0]

    def log(self, kind: str) -> list[dict[str, Any]]:
        return self._call("POST", "/se/log", {"type": kind})

    def requested(self) -> list[str]:
        """Addresses that the page asked for since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def pdf(self) -> bytes:
        """The page as a browser prints it."""
        return base64.b64decode(self.devtools("Page.printToPDF", preferCSSPageSize=True)["data"])


@contextlib.contextmanager
def browser(driver: str) -> Iterator[Browser]:
    """Start a driver and a browser on a free port; both end with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(address)
        window = Browser(address)
        try:
            yield window
        finally:
            window.close()
    finally:
        process.terminate()
        process.wait(10)


def _wait(address: str) -> None:
    for _ in range(100):
        with contextlib.suppress(requests.ConnectionError):
            if requests.get(f"{address}/status", timeout=5).json()["value"]["ready"]:
                return
        time.sleep(0.1)
    raise AssertionError(f"no WebDriver answers at {address}")
