"""The compiler of the static programs: zig, which brings musl for each processor, from PyPI in a virtual environment of its own."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tony-package"
ARCHITECTURES = ("x86_64", "aarch64")
JOBS = os.environ.get("TONY_PACKAGE_JOBS") or str(os.cpu_count())
# zig finds undefined behaviour with traps unless told otherwise; the lowest processor of the kind is what the packages promise.
COMPILER = """#!/bin/sh
exec "{zig}" cc -target {architecture}-linux-musl -mcpu=baseline -fno-sanitize=undefined "$@"
"""
TOOL = """#!/bin/sh
exec "{zig}" {name} "$@"
"""


def digest(*parts):
    """Of texts and of files, for the names of what is cached."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part.read_bytes() if isinstance(part, Path) else part.encode())
    return total.hexdigest()[:16]


def run(*command, **options):
    """Runs a command whose output is of interest only when it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.stderr.write(done.stdout[-8000:] + done.stderr[-8000:])
        sys.exit(f"package: failed with {done.returncode}: {' '.join(map(str, command))}")
    return done.stdout


def write_script(path, text):
    path.write_text(text)
    path.chmod(0o755)


class Toolchain:
    """Its compilers and its Meson, installed when they are not there."""

    def __init__(self):
        requirements = HERE / "requirements.txt"
        self.id = digest(requirements, COMPILER, TOOL)
        self.folder = CACHE / f"tools-{self.id}"
        self.bin = self.folder / "bin"
        self.meson = self.bin / "meson"
        # Else zig keeps what it compiled in a place of its own, out of which nothing is ever removed.
        self.environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(CACHE / "zig"), "ZIG_LOCAL_CACHE_DIR": str(CACHE / "zig")}
        if not (self.folder / "complete").exists():
            self.install(requirements)

    def install(self, requirements):
        print("zig and Meson from PyPI", flush=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        run("/usr/bin/python3", "-m", "venv", self.folder)
        run(self.bin / "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "--requirement", requirements)
        zig = run(self.bin / "python", "-c", "import ziglang, os; print(os.path.dirname(ziglang.__file__))").strip() + "/zig"
        for name in ("ar", "ranlib"):
            write_script(self.bin / f"zig-{name}", TOOL.format(zig=zig, name=name))
        for architecture in ARCHITECTURES:
            write_script(self.compiler(architecture), COMPILER.format(zig=zig, architecture=architecture))
        self.add_headers(Path(zig).parent)
        (self.folder / "complete").touch()

    def add_headers(self, zig):
        """<sys/queue.h>, which musl does not have and each BSD does: glibc's copy, which zig brings."""
        include = self.folder / "include/sys"
        include.mkdir(parents=True)
        shutil.copy(zig / "lib/libc/include/generic-glibc/sys/queue.h", include)

    def compiler(self, architecture):
        return self.bin / f"cc-{architecture}"
