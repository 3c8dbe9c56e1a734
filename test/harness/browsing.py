"""A browser that looks for nothing: curl, in the network that tony is in, whose links and cookies are marks of a canary."""

import subprocess
import urllib.parse

from patience import PATIENCE_S


def port_of(url):
    return urllib.parse.urlsplit(url).port


class Curl:
    def __init__(self, canary, name, *options):
        """`name`: the page that it looks at; `options`: of curl."""
        self.canary, self.name, self.options = canary, name, options
        self.jar = canary.tony.directory / f"{name}.cookies"

    def ask(self, url):
        answer = subprocess.run([*self.canary.tony.enter, "curl", "-sSf", "-L", "-b", self.jar, "-c", self.jar, *self.options, url],
                                capture_output=True, text=True, check=True, timeout=PATIENCE_S)
        return answer.stdout

    def open(self, link):
        """By the link's code; returns where it leads."""
        self.canary.add(f"code of {self.name}", urllib.parse.urlsplit(link).query.removeprefix("code=").encode())
        assert "<title>" in self.ask(link)
        self.canary.add(f"session of {self.name}", self.jar.read_text().split()[-1].encode())
        return link.partition("login?")[0]
