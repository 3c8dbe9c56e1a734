"""A bucket of S3: moto stands for Amazon's servers."""

import json
import os
import socket
import subprocess
import urllib.request

from program import venv_bin, wait_until

# Its bucket is there from the first answer on.
WITH_OBJECTS = """import json, os, sys
from moto.backends import get_backend
from moto.server import main
store = get_backend("s3")["123456789012"]["aws"]
store.create_bucket("jobs", "us-east-1")
for key, text in json.loads(os.environ["TEST_OBJECTS"]).items():
    store.put_object("jobs", key, text.encode())
main(sys.argv[1:])"""


class Bucket:
    """A server of its own, and a bucket in it."""

    # For what tells an object's time.
    HOURS_BEHIND = """import sys, datetime, moto.s3.models as models, moto.server
now = models.utcnow
models.utcnow = lambda: now() - datetime.timedelta(hours=2)
moto.server.main(sys.argv[1:])"""

    def __init__(self, directory, env, *options, is_behind=False):
        self.env = env
        self.log = directory / "moto.log"
        self.port = socket.socket()
        program = [venv_bin("moto") / "python3", "-c", self.HOURS_BEHIND] if is_behind else [venv_bin("moto") / "moto_server"]
        self.start(*program, "-H", "127.0.0.1", "-p", "0", *options)

    def start(self, *command, **env):
        with open(self.log, "w", encoding="utf-8") as log:
            self.server = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **env})

    def come_back(self, **objects):
        """At the same address, with nothing but these objects."""
        self.port.close()
        self.start(venv_bin("moto") / "python3", "-c", WITH_OBJECTS, "-H", "127.0.0.1", "-p", self.url.split(":")[-1].strip("/"),
                   TEST_OBJECTS=json.dumps(objects))
        wait_until(self.find_url, "moto to listen again")

    def __enter__(self):
        self.url = wait_until(self.find_url, "moto to listen")
        return self

    def __exit__(self, *failure):
        self.server.terminate()
        self.server.wait()
        self.port.close()

    def find_url(self):
        lines = [line for line in self.log.read_text().splitlines() if "Running on http" in line]
        return lines[0].split()[-1] if lines else None

    def call(self, method, path):
        with urllib.request.urlopen(urllib.request.Request(self.url + path, method=method)) as answer:
            return answer.read().decode()

    def keys(self):
        return [part.split("</Key>")[0] for part in self.call("GET", "/jobs?list-type=2").split("<Key>")[1:]]

    def run(self, script):
        """By Amazon's own client."""
        head = "import boto3, json, sys; bucket = boto3.resource('s3', endpoint_url=sys.argv[1]).Bucket('jobs'); "
        done = subprocess.run([venv_bin("moto") / "python3", "-c", head + script, self.url], env=self.env, capture_output=True,
                              text=True, check=True)
        return done.stdout

    def make(self):
        self.run("bucket.create()")

    def read_all(self):
        """{key: text}"""
        return json.loads(self.run("print(json.dumps({each.key: each.get()['Body'].read().decode() "
                                   "for each in bucket.objects.all()}))"))

    def close(self):
        """Nobody else gets its port until it comes back."""
        self.server.terminate()
        self.server.wait()
        self.port = socket.socket()
        self.port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.port.bind(("127.0.0.1", int(self.url.split(":")[-1].strip("/"))))
