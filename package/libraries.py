"""The libraries of the static programs, built once for each processor and kept."""

import shutil
import subprocess
import sys

from toolchain import ARCHITECTURES, CACHE, HERE, JOBS, digest


class Libraries:
    """`prefix`: where they are for one processor."""

    def __init__(self, toolchain, sources, architecture):
        recipes = HERE / "libraries.sh"
        key = digest(toolchain.id, recipes, *(f"{name} {version}" for name, version in sorted(sources.versions.items())))
        self.prefix = CACHE / f"libraries-{architecture}"
        known = self.prefix / "key"
        if not known.exists() or known.read_text() != key:
            shutil.rmtree(self.prefix, ignore_errors=True)
            self.prefix.mkdir(parents=True)
            known.write_text(key)
        if not (self.prefix / "complete").exists():
            self.build(toolchain, sources, architecture, recipes)

    def build(self, toolchain, sources, architecture, recipes):
        print(f"libraries for {architecture}, which takes minutes, once", flush=True)
        environment = {**toolchain.environment, "CC": str(toolchain.compiler(architecture)), "AR": str(toolchain.bin / "zig-ar"),
                       "RANLIB": str(toolchain.bin / "zig-ranlib"), "JOBS": JOBS}
        done = subprocess.run([recipes, architecture, sources.folder, self.prefix], env=environment, check=False)
        if done.returncode != 0:
            sys.exit(f"package: the libraries for {architecture} cannot be built")
        (self.prefix / "complete").touch()


if __name__ == "__main__":
    from sources import Sources
    from toolchain import Toolchain
    for each in sys.argv[1:] or ARCHITECTURES:
        Libraries(Toolchain(), Sources(), each)
