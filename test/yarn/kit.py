"""The suite's clusters: what they are made of, and how a test or a developer handles one.

As a program: `kit.py up|down|env|status` keeps a developer's cluster of the suite's making between runs
(`./dev yarn up`); the suite then uses that one, and leaves it up.
"""

import functools
import json
import os
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))
from patience import PATIENCE_S  # noqa: E402

KIT = HERE / "cluster" / "yarn-cluster"
DEVELOPERS = Path(os.environ.get("TONY_YARN_DIR") or f"{tempfile.gettempdir()}/tony-yarn-{os.getuid()}")
VERSION = os.environ.get("TONY_YARN_VERSION")  # of Hadoop, for new clusters; None: the kit's own
HAS_HTTPFS = not (VERSION or "").startswith(("2.", "3.5."))  # as yarn-cluster says
# Three nodes for everybody; a fourth that only a label opens, so that one cluster does for all. No test here waits for
# YARN to miss a node or an AM. Containers are larger than the tests ask for, as on most clusters.
SUITE = {"--nodes": 4, "--labels": ",,,fast", "--gpus": 2, "--heartbeat-ms": 100, "--expiry-ms": 60000, "--recovery": None,
         "--minimum-mb": 256, "--limited-queues": None,
         **({"--httpfs": None} if HAS_HTTPFS else {})}
LABELLED_NODE = 4
# With Kerberos, and all that a cluster can seal unless a run asks for less: without HTTPS, DataNodes have no SASL.
SECURE = {"--secure": None, "--protection": os.environ.get("TONY_YARN_PROTECTION") or "privacy",
          **({} if os.environ.get("TONY_YARN_HTTP") else {"--https": None})}


class Cluster:
    """A running cluster in `directory`."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.cookies = {}
        self.envs = {}

    def kit(self, verb, *arguments, check=True, timeout=300):
        done = subprocess.run([KIT, verb, "--dir", self.directory, *map(str, arguments)], text=True,
                              capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            raise RuntimeError(f"yarn-cluster {verb} {' '.join(map(str, arguments))}: "
                               f"{done.stdout}{done.stderr}")
        return done

    def up(self, options):
        flags = [str(part) for pair in options.items() for part in pair if part is not None]
        self.kit("up", *flags)
        return self

    def down(self):
        self.kit("down", "--delete")

    def is_up(self):
        return (self.directory / "cluster.json").exists() and self.kit("status", check=False).returncode == 0

    def has(self, options):
        """Was it started with these options, and with the version of Hadoop that is wanted now?"""
        spec = json.loads((self.directory / "cluster.json").read_text())
        wanted = {flag.strip("-").replace("-", "_"): value for flag, value in options.items()}
        if VERSION:
            wanted["version"] = VERSION
        return all(spec.get(name) == (value.split(",") if name == "labels" else True if value is None else value)
                   for name, value in wanted.items())

    @functools.cached_property
    def env(self):
        """What `yarn-cluster env` exports."""
        return self.env_of(self.user)

    def env_of(self, user):
        """The same as another principal of a secure cluster, or another user of any."""
        if user not in self.envs:
            lines = shlex.split(self.kit("env", "--user", user).stdout)
            self.envs[user] = dict(word.split("=", 1) for word in lines if "=" in word)
        return self.envs[user]

    def rolls(self):
        """How often all ResourceManagers together changed to another key for the tokens of AMs."""
        return sum(path.read_text(errors="replace").count("Activating next master key")
                   for path in (self.directory / "log").glob("rm*.log"))

    def restart(self, daemon, number=""):
        self.kit("restart", *([daemon, number] if number else [daemon]))

    def kill(self, daemon, number="", containers=False):
        self.kit("kill", *([daemon, number] if number else [daemon]), *(["--containers"] if containers else []))

    def activate(self, daemon, number):
        self.kit("activate", daemon, number)

    @property
    def has_hdfs(self):
        return "WEBHDFS_URL" in self.env

    def masters(self, service):
        """Of "rm" or "nn", the base URL of each of a pair, or of the only one."""
        return self.env[{"rm": "YARN_RM_WEB", "nn": "WEBHDFS_URL"}[service]].split(",")

    def active(self, service):
        """Of these, the one that serves."""
        path = {"rm": "/ws/v1/cluster/info", "nn": "/?op=GETFILESTATUS"}[service]
        *others, last = self.masters(service)
        return next((url for url in others if self.answers(url + path)), last)

    def answers(self, url):
        """Without sending us elsewhere."""
        try:
            with self.open(url, timeout=PATIENCE_S) as answer:
                return b"STANDBY" not in answer.read()
        except (OSError, subprocess.CalledProcessError):
            return False

    @property
    def user(self):
        return json.loads((self.directory / "cluster.json").read_text())["user"]

    def rm(self, path, query=""):
        """One answer of the ResourceManager's REST interface."""
        url = f"{self.active('rm')}/ws/v1/cluster/{path}?user.name={self.user}{query}"
        with self.open(url, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def application(self, app):
        return self.rm(f"apps/{app}")["app"]

    def hdfs(self, method, path, body=None, by=None, **query):
        """One call of WebHDFS: bytes of the answer, or None if there is no such file. `by`: as open() has it."""
        query = urllib.parse.urlencode({"user.name": self.user, **query})
        url = f"{self.active('nn')}{urllib.parse.quote(path)}?{query}"
        try:
            return self.request(method, url, body, by)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise RuntimeError(f"{method} {url}: {error.code} {error.read().decode()}") from error

    def context(self):
        """Trusts the cluster's own authority."""
        authority = self.env.get("TONY_YARN_CA")
        return ssl.create_default_context(cafile=authority) if authority else None

    @property
    def is_secure(self):
        return "KRB5_CONFIG" in self.env

    def open(self, request, by=None, handlers=(), **options):
        """On a secure cluster by a ticket of the user `by`; None: of HDFS's superuser, or YARN's administrator."""
        if not isinstance(request, urllib.request.Request):
            request = urllib.request.Request(request)
        if self.is_secure and "delegation=" not in request.full_url:
            request.add_header("Cookie", self.cookie(request, by))
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=self.context()), *handlers)
        return opener.open(request, **options)

    def cookie(self, request, by):
        """A server gives it for a ticket, and takes it in place of one for hours."""
        user = by or ("hdfs" if "/webhdfs/" in request.full_url else "yarn")
        if (request.host, user) not in self.cookies:
            headers = self.curl(user, request.full_url, "-o", "/dev/null", "-D", "-")
            self.cookies[request.host, user] = re.search(r"(?i)^set-cookie: (hadoop\.auth=\"?u=[^;]*)", headers, re.M)[1]
        return self.cookies[request.host, user]

    def curl(self, user, url, *arguments):
        """Its output, with that user's ticket; None: without any."""
        env = os.environ | (self.env_of(user) if user else {"KRB5CCNAME": "FILE:/nonexistent"})
        trust = ["--cacert", self.env["TONY_YARN_CA"]] if "TONY_YARN_CA" in self.env else []
        done = subprocess.run(["curl", "-sS", "-m", str(PATIENCE_S), *trust, "--negotiate", "-u", ":", *arguments, url],
                              env=env, text=True, capture_output=True, check=True)
        return done.stdout

    def request(self, method, url, body=None, by=None):
        if body is not None:   # the NameNode says where; it wants nothing of the file itself
            ask = urllib.request.Request(url + "&noredirect=true", method=method)
            with self.open(ask, by, timeout=PATIENCE_S) as answer:
                url = json.load(answer)["Location"]
        request = urllib.request.Request(url, body, method=method,
                                         headers={"Content-Type": "application/octet-stream"})
        with self.open(request, by, timeout=PATIENCE_S) as answer:
            return answer.read()

    def put(self, path, content, by=None):
        self.hdfs("PUT", path, content, by, op="CREATE", overwrite="true")

    def get(self, path):
        return self.hdfs("GET", path, op="OPEN")

    def list(self, path):
        answer = self.hdfs("GET", path, op="LISTSTATUS")
        return [] if answer is None else [row["pathSuffix"] for row in
                                          json.loads(answer)["FileStatuses"]["FileStatus"]]

    def status(self, path):
        answer = self.hdfs("GET", path, op="GETFILESTATUS")
        return answer and json.loads(answer)["FileStatus"]


class Watched:
    """A new cluster that is taken down by close(), and also when this process ends in any other way:
    a process of its own waits for the pipe to be closed."""

    def __init__(self, options):
        self.place = Path(tempfile.mkdtemp(prefix="tony-yarn-"))
        self.guard = subprocess.Popen([sys.executable, __file__, "guard", self.place], start_new_session=True,
                                      stdin=subprocess.PIPE)
        try:
            self.cluster = Cluster(self.place / "cluster").up(options)
        except BaseException:
            self.close()
            raise

    def close(self):
        self.guard.stdin.close()
        self.guard.wait(timeout=PATIENCE_S)


def guard(place):
    sys.stdin.buffer.read()
    cluster = Cluster(Path(place) / "cluster")
    if (cluster.directory / "cluster.json").exists():
        cluster.down()
    shutil.rmtree(place, ignore_errors=True)
    return 0


def fitting_developers():
    """The cluster that a developer keeps up, if it is of the suite's making."""
    cluster = Cluster(DEVELOPERS)
    return cluster if cluster.is_up() and cluster.has(SUITE) else None


def main(verb):
    cluster = Cluster(DEVELOPERS)
    if verb == "up":
        if cluster.is_up():
            print(f"a cluster is up in {DEVELOPERS} already", file=sys.stderr)
        else:
            cluster.up(SUITE)
            print(f"up in {DEVELOPERS}; ./dev test yarn uses it. For your shell:\n"
                  "  eval \"$(./dev yarn env)\"", file=sys.stderr)
        return 0
    if verb == "down":
        cluster.down()
        return 0
    if verb in ("env", "status"):
        done = cluster.kit(verb, check=False)
        print(done.stdout, end="")
        print(done.stderr, end="", file=sys.stderr)
        return done.returncode
    sys.exit("usage: kit.py up|down|env|status")


if __name__ == "__main__":
    if sys.argv[1:2] == ["guard"]:
        sys.exit(guard(sys.argv[2]))
    sys.exit(main(sys.argv[1] if len(sys.argv) == 2 else ""))
