"""Packages that ./dev package has made, and roots to install them in: of Debian's, and one that holds a shell and no more.

A root is entered by namespaces of its own for processes and mounts, so that all that a test started is gone with them.
"""

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest
from patience import PATIENCE_S, wait_until
from program import ROOT, children_of

DIST = Path(os.environ.get("TONY_DIST", ROOT / "dist"))
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tony-package/roots"
MACHINE = platform.machine()
USER = 1000
INCLUDED = {"bookworm": "man-db", "bullseye": "python3-venv"}


def package(pattern):
    """The one file of dist/ that is called so."""
    found = sorted(DIST.glob(pattern))
    if len(found) != 1:
        pytest.fail(f"{len(found)} files {DIST}/{pattern}: run ./dev package", pytrace=False)
    return found[0]


def mirror():
    """From where this machine has its own packages."""
    lines = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"],
                           check=True, capture_output=True, text=True)
    return lines.stdout.split()[0]


def debian(suite):
    """A minimal system of this suite, made once."""
    path = CACHE / suite
    if not (path / "etc/complete").exists():
        shutil.rmtree(path, ignore_errors=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={INCLUDED[suite]}", suite, path, mirror()], check=True,
                       stdout=subprocess.DEVNULL)
        (path / "etc/complete").touch()
    return path


class Root:
    """A folder that commands run in as if it were the whole file system."""

    def __init__(self, path):
        self.path = path
        for name in ("proc", "dev", "tmp", "home/ada", "etc", "var/lib"):
            (path / name).mkdir(parents=True, exist_ok=True)
        (path / "tmp").chmod(0o1777)
        os.chown(path / "home/ada", USER, USER)
        script = 'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec sleep infinity'
        # pylint: disable-next=consider-using-with
        self.keeper = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, path])
        self.first, = wait_until(lambda: children_of(self.keeper.pid), "the first process of the root")
        wait_until(lambda: (Path(f"/proc/{self.first}/root/{path}") / "proc/1").exists(), "the root's /proc")

    def command(self, *words, user=USER):
        """By the machine's own programs: the root may have none that change users and roots."""
        become = [f"--userspec={user}:{user}", "--groups="] if user else []
        return ["nsenter", f"--target={self.first}", "--mount", "--pid", "--", "/usr/sbin/chroot", *become, self.path, *map(str, words)]

    def run(self, *words, user=USER, check=True, env=None):
        home = "/home/ada" if user else "/root"
        done = subprocess.run(self.command(*words, user=user), check=False, capture_output=True, text=True, timeout=4 * PATIENCE_S,
                              stdin=subprocess.DEVNULL, cwd="/",
                              env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home, "LC_ALL": "C.UTF-8",
                                   "TONY_LEDGER_DIR": "/tmp/ledger", **(env or {})})
        assert not check or done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def shell(self, text, **options):
        return self.run("/bin/sh", "-c", text, **options)

    def finish(self):
        """Ends all that runs there. The mounts go with the namespace."""
        self.keeper.kill()
        self.keeper.wait()


@pytest.fixture
def make_root(tmp_path):
    """make_root(SUITE): a copy of a Debian of this suite; make_root(None): nothing but busybox, as in the smallest of containers."""
    roots = []

    def make(suite):
        path = tmp_path / f"root-{len(roots)}"
        if suite:
            subprocess.run(["cp", "-a", "--reflink=auto", debian(suite), path], check=True)
        else:
            (path / "bin").mkdir(parents=True)
            shutil.copy("/bin/busybox", path / "bin/busybox")
            for name in ("sh", "sleep", "cat", "ls", "tar", "gzip", "kill", "test", "mkdir"):
                (path / "bin" / name).symlink_to("busybox")
        roots.append(Root(path))
        return roots[-1]

    yield make
    for root in roots:
        root.finish()
    shutil.rmtree(tmp_path, ignore_errors=True)


class Job:
    """A job in a root, of the program `tony` there."""

    def __init__(self, root, tony, *arguments, env=None):
        self.root, self.tony, self.env = root, tony, env
        answer = root.run(tony, "submit", "--detach", "--json", *arguments, env=env)
        self.id = json.loads(answer.stdout)["id"]

    def run(self, verb, *arguments, **options):
        return self.root.run(self.tony, verb, self.id, *arguments, env=self.env, **options)

    def status(self):
        return json.loads(self.run("status", "--json").stdout)

    def task(self, name):
        return next(task for task in self.status()["tasks"] if task["task"] == name)

    def wait_task(self, name, **fields):
        def found():
            task = self.task(name)
            return task if all(task.get(key) == value for key, value in fields.items()) else None
        return wait_until(found, f"{name} to have {fields}")
