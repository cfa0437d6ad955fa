"""A headless Chromium to open pages in, for tests and benchmarks."""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def why_no_browser() -> str:
    """Say what is missing to drive a browser; empty if nothing is."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "needs selenium (pip install priorwise[test])"
    if not any(map(shutil.which, BROWSERS)) or not shutil.which("chromedriver"):
        return "needs Chromium and its driver (apt-get install chromium chromium-driver)"
    return ""


@contextmanager
def open_browser(width: int = 1300, height: int = 1000, *, dark: bool = False) -> Iterator[Any]:
    """Start a browser of a size, with the colours of the dark if asked for; end it afterwards."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        yield driver
    finally:
        driver.quit()


def open_page(driver: Any, path: Path, fragment: str = "") -> None:
    """Open a file; what was logged before is forgotten."""
    driver.get("about:blank")
    for name in ("browser", "performance"):
        driver.get_log(name)
    driver.get(path.resolve().as_uri() + fragment)
    # A page that explores a model draws its controls after the first answer.
    for _ in range(600):
        if not driver.execute_script("return document.querySelector('main.starting')"):
            return
        time.sleep(0.05)
    raise TimeoutError(f"{path} has not started")


def list_requests(driver: Any) -> list[str]:
    """Return the addresses asked for since the page was opened, but for files and data."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [m for m in messages if m["method"] == "Network.requestWillBeSent"]
    urls = [m["params"]["request"]["url"] for m in sent]
    return [url for url in urls if not url.startswith(("file:", "data:"))]


def list_errors(driver: Any) -> list[str]:
    """Return what the console of the browser has said since the page was opened."""
    return [entry["message"] for entry in driver.get_log("browser")]
