"""Jars of Maven Central, kept outside of the tree under the hash of the pom.xml that asks for them."""

import fcntl
import hashlib
import os
import subprocess
from pathlib import Path

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


def jars(pom):
    """The directory that has them."""
    cache = Path(os.environ.get("TONY_TEST_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tony-test"))
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"{pom.parent.name}-{hashlib.sha256(pom.read_bytes()).hexdigest()[:16]}"
    with open(cache / f"{pom.parent.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            done = subprocess.run(["mvn", "-B", "-q", "-f", pom, PLUGIN, f"-DoutputDirectory={folder}"], capture_output=True, text=True,
                                  timeout=1800)
            assert done.returncode == 0, done.stdout[-3000:]
            (folder / "complete").touch()
    return folder
