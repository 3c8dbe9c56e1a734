"""tony-agent is the one file that goes into containers: static, small, at home in an empty root."""

import os
import shutil
import subprocess

import pytest
from conftest import BUILD
from patience import PATIENCE_S

LIMIT_BYTES = 8 << 20


@pytest.fixture
def stripped(tmp_path):
    path = tmp_path / "tony-agent"
    subprocess.run(["strip", "-o", path, BUILD / "tony-agent"], check=True)
    return path


def test_static(stripped):
    headers = subprocess.run(["readelf", "--program-headers", "--dynamic", stripped], check=True,
                             capture_output=True, text=True).stdout
    assert "INTERP" not in headers and "NEEDED" not in headers


def test_small(stripped):
    assert stripped.stat().st_size <= LIMIT_BYTES


def in_empty_root(root, *command):
    become_root = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
    return subprocess.run([*become_root, "/usr/sbin/chroot", root, *command], capture_output=True,
                          text=True, timeout=PATIENCE_S, env={"PATH": "/usr/bin:/bin"})


@pytest.fixture
def empty_root(tmp_path, stripped):
    """A root with /bin/sh, the libraries that it needs, tony-agent, and nothing else."""
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    shutil.copy("/bin/sh", root / "bin/sh")
    listing = subprocess.run(["ldd", "/bin/sh"], check=True, capture_output=True, text=True).stdout
    for word in listing.split():
        if word.startswith("/"):
            target = root / word.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, target)
    shutil.copy(stripped, root / "tony-agent")
    return root


def test_runs_in_an_empty_root(empty_root):
    answer = in_empty_root(empty_root, "/tony-agent", "version")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("tony-agent ") or answer.stdout.startswith("tony ")


def test_its_errors_in_an_empty_root(empty_root):
    """No job, no token, no AM: a sentence and an exit code, not a crash."""
    for arguments in (("exec",), ("am",), ("am", "--job-dir", "/nowhere"), ("nonsense",)):
        answer = in_empty_root(empty_root, "/tony-agent", *arguments)
        assert 0 < answer.returncode < 128, arguments
        assert answer.stderr.strip(), arguments
