"""Chromium under a test's control: Debian's, driven by its chromedriver."""

import os
import re
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

sys.path.append(str(Path(__file__).resolve().parents[1] / "harness"))
from patience import wait_until  # noqa: E402


class Driver(Service):
    """On a port of its own choice: Selenium would look for a free one, which may be another's when it is taken."""

    def __init__(self, env):
        self.output = tempfile.TemporaryFile()
        super().__init__("/usr/bin/chromedriver", port=-1, service_args=["--log-path=/dev/null"], log_file=self.output,
                         env=os.environ | env)

    def command_line_args(self):
        return ["--port=0", *self.service_args]

    def find_port(self):
        return re.search(rb"started successfully on port (\d+)", self.output_text())

    def output_text(self):
        return os.pread(self.output.fileno(), 65536, 0)

    def start(self):
        def found():
            """It takes a free port of IPv4, and leaves when somebody else has the same one of IPv6."""
            if self.process.poll() is not None:
                assert b"port not available" in self.output_text(), self.output_text()
                self.output.truncate(0)
                self._start_process(self.path)
            return self.find_port()
        self._start_process(self.path)
        self.port = int(wait_until(found, "chromedriver to start")[1])


def start(width=1280, height=900, dark=False, calm=False, scale=1, headless="new", ticket=None):
    """A browser of its own, with an empty profile. `ticket`: where a user's Kerberos ticket is, in environment variables;
    it is shown to localhost, whose certificate is believed."""
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for argument in (f"--headless={headless}", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run",
                     "--hide-scrollbars", "--disable-gpu", f"--window-size={width},{height}",
                     f"--force-device-scale-factor={scale}"):
        options.add_argument(argument)
    if calm:
        options.add_argument("--force-prefers-reduced-motion")
    if ticket:
        options.add_argument("--auth-server-allowlist=localhost")
        options.accept_insecure_certs = True
        # On Linux a profile that no server has ever asked for a ticket leaves the first question unanswered.
        options.add_experimental_option("localState", {"net.received_http_auth_negotiate_headers": True})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Driver(ticket or {}), options=options)
    resize(driver, width, height)
    prefer(driver, dark)
    return driver


def lend():
    """One for all tests of a process."""
    driver = start()
    driver.set_script_timeout(300)
    yield driver
    driver.quit()


def resize(driver, width, height):
    """The page's own size: a window would not get as narrow."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 0, "mobile": False})


def prefer(driver, dark):
    """What the system asks of pages."""
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
