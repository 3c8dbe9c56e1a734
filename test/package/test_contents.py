"""The packages have their files, and all of them one version: with the programs of the tree in place of the static ones."""

import json
import re
import subprocess
import sys
import tarfile
import zipfile

import pytest
from patience import PATIENCE_S
from program import BUILD, PYTHON, ROOT, venv_bin

import programs
import tarball
import wheel


@pytest.fixture(scope="module")
def answer():
    """Of `tony version --json`."""
    return json.loads(subprocess.run([BUILD / "tony", "version", "--json"], check=True, capture_output=True, text=True).stdout)


@pytest.fixture(scope="module")
def notices(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notices")
    for name in ("LICENSE", "LICENSES", "sbom.spdx.json"):
        (folder / name).write_text(name)
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def made_wheel(tmp_path_factory, notices):
    return wheel.make(tmp_path_factory.mktemp("wheel"), programs.native_architecture(), [BUILD / "tony", BUILD / "tony-agent"], notices)


def test_the_wheel_has_both_programs_and_the_package(made_wheel):
    with zipfile.ZipFile(made_wheel) as archive:
        names = {item.filename: item.external_attr >> 16 & 0o777 for item in archive.infolist()}
        record = archive.read(f"tony-{programs.version()}.dist-info/RECORD").decode()
        about = archive.read(f"tony-{programs.version()}.dist-info/METADATA").decode()
    info = f"tony-{programs.version()}.dist-info"
    modules = {str(path.relative_to(ROOT / "python")) for path in (ROOT / "python/tony").rglob("*.*") if path.suffix != ".pyc"}
    scripts = {f"tony-{programs.version()}.data/scripts/{name}" for name in ("tony", "tony-agent")}
    assert set(names) == {*modules, *scripts, f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD",
                          f"{info}/entry_points.txt", f"{info}/licenses/LICENSE", f"{info}/licenses/LICENSES", f"{info}/sboms/sbom.spdx.json"}
    assert {"tony/__init__.py", "tony/py.typed", "tony/airflow/__init__.py"} <= modules
    assert all(names[name] == 0o755 for name in scripts)
    assert {line.split(",")[0] for line in record.splitlines()} == set(names)
    assert f"\nVersion: {programs.version()}\n" in about


def test_fsspec_finds_the_file_system_of_the_wheel(made_wheel, tmp_path):
    python = venv_bin("files") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--target", tmp_path, made_wheel], check=True)
    done = subprocess.run([python, "-c", "import fsspec; print(fsspec.get_filesystem_class('tony+hdfs').__module__)"],
                          env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert done.stdout == "tony._files\n"


def test_a_bare_virtual_environment_gets_tony(made_wheel, answer, tmp_path):
    """`tony`, `python -m tony` and `import tony`, all of one version. And nothing of it is left by a removal."""
    subprocess.run([PYTHON, "-m", "venv", tmp_path / "venv"], check=True)
    before = {path for path in (tmp_path / "venv").rglob("*") if "__pycache__" not in path.parts}
    command = tmp_path / "venv/bin"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}

    def run(*words):
        return subprocess.run(words, check=True, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=PATIENCE_S).stdout

    run(command / "pip", "install", "--no-index", made_wheel)
    assert json.loads(run(command / "tony", "version", "--json")) == answer
    assert run(command / "python", "-m", "tony", "version") == f"tony {programs.version()}\n"
    said = run(command / "python", "-c", "import tony; print(tony.__version__, tony.find_program(), tony.find_program('tony-agent'))")
    assert said.split() == [programs.version(), str(command / "tony"), str(command / "tony-agent")]
    run(command / "pip", "uninstall", "--yes", "tony")
    assert {path for path in (tmp_path / "venv").rglob("*") if "__pycache__" not in path.parts} == before


def test_the_tarball_has_one_folder(tmp_path):
    path = tarball.make(tmp_path, "x86_64", {"bin/tony": (0o755, b"program")})
    with tarfile.open(path) as archive:
        modes = {item.name: item.mode for item in archive.getmembers()}
    top = f"tony-{programs.version()}-linux-x86_64"
    assert modes == {f"{top}/bin/tony": 0o755, f"{top}/share/doc/tony/README": 0o644}
    assert path.read_bytes() == tarball.make(tmp_path, "x86_64", {"bin/tony": (0o755, b"program")}).read_bytes()


def test_the_same_files_make_the_same_wheel(made_wheel, notices, tmp_path):
    again = wheel.make(tmp_path, programs.native_architecture(), [BUILD / "tony", BUILD / "tony-agent"], notices)
    assert again.name == made_wheel.name and again.read_bytes() == made_wheel.read_bytes()


def test_the_version_is_written_once(answer):
    """In meson.build: programs, wheel and Debian package have it from there."""
    assert answer["version"] == programs.version()
    agent = subprocess.run([BUILD / "tony-agent", "version"], check=True, capture_output=True, text=True).stdout
    assert agent == f"tony-agent {programs.version()}\n"
    source = subprocess.run([sys.executable, "-c", "import tony; print(tony.__version__)"], check=True, capture_output=True, text=True,
                            env={"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"}).stdout
    assert source.strip() == programs.version()
    texts = [path for folder in ("package", "python") for path in (ROOT / folder).rglob("*") if path.suffix in ("", ".py", ".sh", ".toml")]
    assert not [path for path in texts if path.is_file() and re.search(rf"\b{re.escape(programs.version())}\b", path.read_text())]


def test_the_table_of_versions_is_that_of_the_programs(answer):
    """docs/install.md: which client may talk to which AM."""
    row = re.search(rf"^\| {re.escape(programs.version())} \| (.*) \|$", (ROOT / "docs/install.md").read_text(), re.MULTILINE)
    names = ("rest", "job_format", "job_format_oldest", "history_format")
    assert row and row[1].split(" | ") == [str(answer[name]) for name in names]
