"""What `meson install` puts where, and that it runs from there."""

import subprocess

import pytest
from conftest import BUILD
from patience import PATIENCE_S

VERBS = ("init", "submit", "list", "status", "wait", "logs", "open", "events", "kill", "restart", "scale", "config", "check",
         "render", "history", "version", "completion")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    root = tmp_path_factory.mktemp("installed")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root], check=True,
                   capture_output=True)
    return root / "usr/local"


def test_programs(installed):
    for name in ("tony", "tony-agent"):
        assert (installed / "bin" / name).stat().st_mode & 0o111


def test_a_job_runs_from_there(installed, tony):
    answer = subprocess.run([installed / "bin/tony", "submit", "--conf", "tony.worker.instances=1",
                             "--conf", "tony.worker.memory=64m", "--executes", "true"], env=tony.env,
                            cwd=tony.directory, capture_output=True, text=True, timeout=PATIENCE_S)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.promise("S82")
def test_the_portals_unit_gives_it_little(installed):
    """At most 2.0 on the scale of `systemd-analyze security`, where 10 is a service without any limit."""
    unit = installed / "lib/systemd/system/tony-portal.service"
    assert "\nExecStart=/usr/local/bin/tony portal $TONY_PORTAL_OPTIONS\n" in unit.read_text()
    rated = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20", unit], text=True,
                           capture_output=True, check=False)
    assert rated.returncode == 0 and "Overall exposure level" in rated.stdout, rated.stdout + rated.stderr
    known = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], text=True, capture_output=True, check=False)
    said = [line for line in known.stderr.splitlines() if "is not executable" not in line]
    assert not said, "a word of the unit's that systemd does not know"


def test_man_pages(installed):
    pages = ["man1/tony.1", "man5/tony-conf.5", "man7/tony-env.7", "man7/tony-exit.7"]
    pages += [f"man1/tony-{verb}.1" for verb in VERBS]
    for page in pages:
        path = installed / "share/man" / page
        text = subprocess.run(["man", "--warnings", "-l", path], check=True, capture_output=True,
                              text=True, env={"PATH": "/usr/bin:/bin", "MANWIDTH": "100", "LANG": "C.UTF-8"})
        assert "NAME" in text.stdout and text.stderr == "", page


def test_completion(installed):
    assert "submit" in (installed / "share/bash-completion/completions/tony").read_text()
    assert (installed / "share/zsh/site-functions/_tony").read_text().startswith("#compdef tony")
    assert "submit" in (installed / "share/fish/vendor_completions.d/tony.fish").read_text()


def test_every_key_is_in_the_manual(installed, tony):
    import json
    manual = subprocess.run(["man", "-l", installed / "share/man/man5/tony-conf.5"], check=True,
                            capture_output=True, text=True,
                            env={"PATH": "/usr/bin:/bin", "MANWIDTH": "300", "LANG": "C.UTF-8"}).stdout
    for row in json.loads(tony.run("config", "keys", "--json").stdout):
        assert row["name"] in manual, row["name"]
