"""Each package is installed, used, upgraded under a running job and removed, in a root of its own."""

import json
import re
import shutil
import subprocess

import pytest
from conftest import DIST, MACHINE, Job, package
from hardening import missing_in_headers, readelf
from patience import PATIENCE_S, wait_until
from program import ROOT

import programs
import wheel

pytestmark = pytest.mark.slow
VERSION = programs.version()
NEWER = f"{VERSION}.post1"
LIFE = ("state", "attempt", "epoch", "restart", "pids", "executor_pid", "port")
# Ends when its file is there. Each start says which agent its programs are told of, and whether that can be run.
WAIT = 'test -x "$TONY_AGENT" && echo "agent $TONY_AGENT is there"; until [ -e /tmp/go ]; do sleep 0.1; done'


def run_a_job(root, tony, **options):
    answer = root.run(tony, "submit", "--workers", "2", "--conf", "tony.worker.memory=64m", "--executes", "echo hello of $TASK_INDEX",
                      **options)
    assert answer.returncode == 0, answer.stderr
    job = re.search(r"^(\S+) submitted$", answer.stdout, re.MULTILINE)[1]
    assert sorted(root.run(tony, "logs", job, **options).stdout.split("\n")) == ["", "worker:0| hello of 0", "worker:1| hello of 1"]


def upgrade_under_a_job(root, tony, upgrade, **options):
    """A task that is started again, the next AM and the next client are of the new files, or of the old ones that the kernel keeps:
    the job loses nothing."""
    job = Job(root, tony, "--workers", "2", "--conf", "tony.worker.memory=64m", "--executes", WAIT, **options)
    for name in ("worker:0", "worker:1"):
        job.wait_task(name, state="running")
    before = job.status()
    upgrade()
    after = job.status()
    for task, same in zip(before["tasks"], after["tasks"]):
        assert {key: task[key] for key in LIFE} == {key: same[key] for key in LIFE}, "an upgrade disturbs no job"
    assert after["am_pid"] == before["am_pid"]
    job.run("restart", "worker:0")
    wait_until(lambda: job.run("logs", "--task", "worker:0").stdout.count("is there") == 2, "worker:0 to run again")
    root.shell(f"kill -9 {after['am_pid']}", **options)
    wait_until(lambda: job.status()["am_attempt"] == before["am_attempt"] + 1, "the next AM")
    root.shell(": >/tmp/go")
    assert job.run("wait", check=False).returncode == 0, job.run("logs").stdout


# ---- the tarball


def unpack(root, where="/usr/local"):
    subprocess.run(["tar", "-xf", package(f"tony-{VERSION}-linux-{MACHINE}.tar.gz"), "-C", root.path / where.strip("/"),
                    "--strip-components=1", "--no-same-owner"], check=True)


@pytest.mark.parametrize("suite", [None, "bullseye"], ids=["busybox", "Debian 11"])
def test_tarball(make_root, suite):
    root = make_root(suite)
    (root.path / "usr/local").mkdir(parents=True, exist_ok=True)
    unpack(root)
    assert json.loads(root.run("tony", "version", "--json").stdout)["linked"] == "static"
    run_a_job(root, "tony")
    # Archives are read by libarchive, which is inside.
    root.shell("cd /tmp && mkdir data && echo text >data/file && tar -czf data.tar.gz data && cd /home/ada && "
               "tony submit --conf tony.worker.instances=1 --conf tony.worker.resources=/tmp/data.tar.gz::unpacked#archive --executes 'cat unpacked/data/file'")
    upgrade_under_a_job(root, "tony", lambda: unpack(root))
    for name in ("bin/tony", "bin/tony-agent"):
        (root.path / "usr/local" / name).unlink()


# ---- the wheel


@pytest.fixture
def newer_wheel(tmp_path, monkeypatch):
    """The same programs under another version, as files of their own."""
    shutil.unpack_archive(package(f"tony-{VERSION}-py3-none-manylinux*_{MACHINE}.whl"), tmp_path / "old", "zip")
    scripts = sorted((tmp_path / f"old/tony-{VERSION}.data/scripts").iterdir())
    monkeypatch.setattr(wheel, "version", lambda: NEWER)
    return wheel.make(tmp_path, MACHINE, scripts, [])


def test_wheel(make_root, newer_wheel):
    """In Debian 11, by a user, without a compiler."""
    root = make_root("bullseye")
    assert root.run("/bin/sh", "-c", "command -v cc gcc clang", check=False).stdout == ""
    for path in (package(f"tony-{VERSION}-py3-none-manylinux*_{MACHINE}.whl"), newer_wheel):
        shutil.copy(path, root.path / "tmp")
    venv = "/home/ada/venv"
    root.run("python3", "-m", "venv", venv)

    def install(version):
        path, = (root.path / "tmp").glob(f"tony-{version}-py3*.whl")
        root.run(f"{venv}/bin/pip", "install", "--quiet", "--no-index", f"/tmp/{path.name}")
        assert root.run(f"{venv}/bin/pip", "list", "--format=freeze").stdout.count(f"tony=={version}\n") == 1

    install(VERSION)
    assert root.run(f"{venv}/bin/python", "-c", "import tony; print(tony.__version__)").stdout == f"{VERSION}\n"
    assert root.run(f"{venv}/bin/python", "-m", "tony", "version").stdout == f"tony {VERSION}\n"
    run_a_job(root, f"{venv}/bin/tony")
    upgrade_under_a_job(root, f"{venv}/bin/tony", lambda: install(NEWER))
    root.run(f"{venv}/bin/pip", "uninstall", "--quiet", "--yes", "tony")
    assert not [path for path in (root.path / venv.strip("/")).rglob("*tony*") if "__pycache__" not in path.parts]


@pytest.mark.parametrize("platform", ["manylinux2014", "manylinux_2_28", "musllinux_1_1", "musllinux_1_2"])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_pip_takes_the_wheel_for(platform, machine, tmp_path):
    """Of pip's rules for other machines than this: Debian has no Python that is linked with musl."""
    subprocess.run(["/usr/bin/python3", "-m", "venv", tmp_path / "venv"], check=True)
    names = [f"{platform}_{machine}"]
    if platform.startswith("manylinux_"):
        names.append(f"manylinux_2_17_{machine}")
    if platform == "musllinux_1_2":
        names.append(f"musllinux_1_1_{machine}")
    chosen = [word for name in names for word in ("--platform", name)]
    subprocess.run([tmp_path / "venv/bin/pip", "install", "--quiet", "--no-index", "--find-links", DIST, "--target", tmp_path / "there",
                    "--only-binary", ":all:", *chosen, "tony"], check=True)
    assert (tmp_path / "there/bin/tony").exists()


def test_aarch64(tmp_path):
    """Both programs of the wheel start under qemu, and tony checks a job with an archive. No job runs there: qemu's prctl() makes no process
    a subreaper."""
    folder = tmp_path / "there"
    shutil.unpack_archive(package(f"tony-{VERSION}-py3-none-manylinux*_aarch64.whl"), folder, "zip")
    shutil.make_archive(str(tmp_path / "data"), "gztar", ROOT / "python")

    def run(name, *words):
        program = folder / f"tony-{VERSION}.data/scripts" / name
        program.chmod(0o755)
        return subprocess.run(["qemu-aarch64-static", program, *words], check=True, capture_output=True, text=True, cwd=tmp_path,
                              timeout=PATIENCE_S, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}).stdout

    assert json.loads(run("tony", "version", "--json"))["linked"] == "static"
    assert run("tony-agent", "version") == f"tony-agent {VERSION}\n"
    run("tony", "check", "--conf", "tony.worker.instances=1", "--conf", "tony.worker.resources=data.tar.gz#archive", "--executes", "true")
    assert ".instances" in run("tony", "config", "keys", "instances")


# ---- the Debian package


def newer_deb(tmp_path):
    old = package(f"tony_{VERSION}_*.deb")
    folder = tmp_path / "newer"
    subprocess.run(["dpkg-deb", "--raw-extract", old, folder], check=True)
    control = folder / "DEBIAN/control"
    control.write_text(control.read_text().replace(f"\nVersion: {VERSION}\n", f"\nVersion: {NEWER}\n"))
    new = tmp_path / f"tony_{NEWER}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", folder, new], check=True, stdout=subprocess.DEVNULL)
    return new


def files_of(root):
    """But for what apt and dpkg remember, caches, and users' files."""
    listed = root.shell("find / -xdev \\( -path /proc -o -path /dev -o -path /tmp -o -path /home -o -path /root -o -path /var/lib/dpkg "
                        "-o -path /var/lib/apt -o -path /var/cache -o -path /var/log \\) -prune -o -print", user=0).stdout
    return set(listed.splitlines())


def test_deb(make_root, tmp_path):
    root = make_root("bookworm")
    for path, name in ((package(f"tony_{VERSION}_*.deb"), "tony.deb"), (newer_deb(tmp_path), "newer.deb")):
        shutil.copy(path, root.path / "tmp" / name)
    apt = {"user": 0, "env": {"DEBIAN_FRONTEND": "noninteractive"}}
    root.run("apt-get", "update", "-q", **apt)
    # The packages that it needs, so that its removal can be told from theirs.
    root.run("apt-get", "install", "-q", "-y", "--no-install-recommends", "libarchive13", "init-system-helpers", **apt)
    before = files_of(root)
    shared = {"env": {"TONY_LEDGER_DIR": "/var/lib/tony/ledger"}}
    root.run("apt-get", "install", "-q", "-y", "--no-install-recommends", "/tmp/tony.deb", **apt)
    ledger = (root.path / "var/lib/tony/ledger").stat()
    assert (ledger.st_mode & 0o7777, ledger.st_uid) == (0o1777, 0)
    assert (root.path / "lib/systemd/system/tony-portal.service").exists()
    assert (root.path / "usr/share/bash-completion/completions/tony").exists()
    assert "tony-submit" in root.run("sh", "-c", "man -w tony-submit tony-conf").stdout
    assert json.loads(root.run("tony", "version", "--json").stdout)["linked"] == "shared"
    run_a_job(root, "tony", **shared)
    upgrade_under_a_job(root, "tony", lambda: root.run("dpkg", "--install", "/tmp/newer.deb", **apt), **shared)
    root.shell(": >/var/lib/tony/ledger/entry")  # as that of a job which runs
    root.run("apt-get", "remove", "-q", "-y", "tony", **apt)
    assert (root.path / "var/lib/tony/ledger").exists() and not (root.path / "usr/bin/tony").exists()
    root.run("apt-get", "purge", "-q", "-y", "tony", **apt)
    assert files_of(root) - before == set()


def test_lintian_finds_nothing():
    done = subprocess.run(["lintian", "--fail-on", "error,warning", package(f"tony_{VERSION}_*.deb")], check=False, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_static_programs(machine, tmp_path):
    """They need no library, are as hard to misuse as those of the tree, and tell no path of the machine that they were built on."""
    subprocess.run(["tar", "-xf", package(f"tony-{VERSION}-linux-{machine}.tar.gz"), "-C", tmp_path], check=True)
    for name in ("tony", "tony-agent"):
        path = tmp_path / f"tony-{VERSION}-linux-{machine}/bin/{name}"
        assert not list(missing_in_headers(readelf("--file-header", "--program-headers", "--dynamic", path), True))
        assert not re.search(rb"/(?:home|root|tmp|build)/[\w./-]*(?:tony|libraries)[\w./-]*", path.read_bytes()), path
