"""Both programs for one processor, static, with musl."""

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from toolchain import CACHE, HERE, JOBS, run

ROOT = HERE.parent
CROSS_FILE = """[binaries]
c = '{compiler}'
ar = '{bin}/zig-ar'
ranlib = '{bin}/zig-ranlib'
strip = 'llvm-strip-14'
pkg-config = 'pkg-config'
{wrapper}
[built-in options]
c_args = ['-idirafter', '{include}', '-Wno-enum-float-conversion', '-Wno-shorten-64-to-32', '-Wno-unterminated-string-initialization']
[properties]
pkg_config_libdir = '{prefix}/lib/pkgconfig'
needs_exe_wrapper = {needs_wrapper}
[host_machine]
system = 'linux'
cpu_family = '{architecture}'
cpu = '{architecture}'
endian = 'little'
"""


def version():
    """Of everything: meson.build is its one place."""
    return re.search(r"^ *version: '([^']+)'", (ROOT / "meson.build").read_text(), re.MULTILINE)[1]


def native_architecture():
    return platform.machine()


class Programs:
    """`build`: the folder with both. Built anew each time: ninja knows what has changed."""

    def __init__(self, toolchain, libraries, architecture):
        self.build = ROOT / f"build-{architecture}"  # paths in the programs are relative to it
        cross = CACHE / f"{architecture}.cross"
        wrapper = [] if architecture == native_architecture() else [self.emulator(architecture)]
        text = CROSS_FILE.format(
            compiler=toolchain.compiler(architecture), bin=toolchain.bin, include=toolchain.folder / "include", prefix=libraries.prefix,
            needs_wrapper=str(bool(wrapper)).lower(), architecture=architecture, wrapper=f"exe_wrapper = {wrapper}" if wrapper else "")
        if not cross.exists() or cross.read_text() != text:
            shutil.rmtree(self.build, ignore_errors=True)
            cross.write_text(text)
        if not (self.build / "build.ninja").exists():
            run(toolchain.meson, "setup", self.build, ROOT, "--cross-file", cross, "--prefix", "/usr/local", "-Dstatic_client=true",
                "-Dtests=false", "-Dbuildtype=debugoptimized", env=toolchain.environment)
        print(f"both programs for {architecture}", flush=True)
        # Man pages and completion, for which a program has to run, are the same for each processor.
        targets = ["tony", "tony-agent"] if wrapper else ["programs"]
        done = subprocess.run(["ninja", "-C", self.build, f"-j{JOBS}", "--quiet", *targets], env=toolchain.environment, check=False)
        if done.returncode != 0:
            sys.exit(f"package: the programs for {architecture} cannot be built")

    @staticmethod
    def emulator(architecture):
        found = shutil.which(f"qemu-{architecture}-static")
        if not found:
            sys.exit(f"package: no qemu-{architecture}-static here; install qemu-user-static")
        return found

    def stripped(self, folder):
        """Both in `folder`, without symbols."""
        paths = []
        for name in ("tony", "tony-agent"):
            path = Path(folder) / name
            run("llvm-strip-14", "-o", path, self.build / name)
            path.chmod(0o755)
            paths.append(path)
        return paths
