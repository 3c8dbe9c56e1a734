"""`tony portal`, and a program that asks it."""

import contextlib
import http.client
import json
import re
import signal
import ssl
import urllib.error
import urllib.parse
import urllib.request

from program import PATIENCE_S, wait_until


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Portal:
    """A portal that runs; `link` is good for one browser, and for a minute."""

    def __init__(self, tony, *options, trusted=None, listen="127.0.0.1:0"):
        """`trusted`: the certificate with which it speaks HTTPS."""
        self.tony, self.trusted = tony, trusted
        self.context = ssl.create_default_context(cafile=trusted) if trusted else None
        self.child = tony.start("portal", "--listen", listen, *options)
        self.url = re.search(r"https?://\S+", self.child.stdout.readline())[0]
        self.child.stdout.readline()
        self.link = self.child.stdout.readline().strip()
        self.token = (tony.state / "portal/token").read_text().strip()
        self.headers = {"Authorization": f"Bearer {self.token}"}

    @property
    def place(self):
        """HOST:PORT"""
        return urllib.parse.urlsplit(self.url).netloc

    def ask_link(self):
        """Another one."""
        answer = self.tony.run("portal", "--link", "--listen", self.place)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.strip()

    def call(self, path, method="GET", headers=None, body=None):
        """(status, body, headers)"""
        request = urllib.request.Request(urllib.parse.urljoin(self.url, path), method=method, data=body,
                                         headers=self.headers if headers is None else headers)
        opener = urllib.request.build_opener(NoRedirect, urllib.request.HTTPSHandler(context=self.context))
        try:
            with opener.open(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read(), error.headers

    def status_of_two(self, path, name, values):
        """Of a request that has the header once for each value."""
        connection = http.client.HTTPConnection(self.place, timeout=PATIENCE_S)
        connection.putrequest("GET", urllib.parse.urljoin("/", path))
        for value in values:
            connection.putheader(name, value)
        connection.endheaders()
        with contextlib.closing(connection):
            return connection.getresponse().status

    def get(self, path, headers=None):
        status, body, _ = self.call(path, headers=headers)
        assert status == 200, (path, status, body)
        return json.loads(body)

    def jobs(self, query="", headers=None):
        return {job["id"]: job for job in self.get(f"v1/jobs?{query}", headers)["jobs"]}

    def wait_job(self, job, state, query=""):
        """Once it is kept, and shown so."""
        return wait_until(lambda: (row := self.jobs(query).get(job.id)) and row["state"] == state and row,
                          f"{job.id} {state} in the portal", PATIENCE_S)

    def wait_kept(self, job, state):
        return wait_until(lambda: (row := self.wait_job(job, state)) and "task_count" in row and row.get("begun_ms")
                          and row, f"the history of {job.id} in the portal", PATIENCE_S)

    def wait_logs(self, job, task):
        """The bytes of the logs of a job that has ended, by their names: YARN collects them some time after."""
        path = f"v1/jobs/{job.id}/tasks/{task}/logs"
        return wait_until(lambda: {log["log"]: log["bytes"] for log in self.get(path)},
                          f"the logs of {task} of {job.id} in the portal", PATIENCE_S)

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        assert self.child.wait(PATIENCE_S) == 0, self.child.stderr.read()
