"""tony-agent is the same, bit by bit, when it is built in another folder: reproducible.py BUILD.

Builds it from a copy of the tree, and compares with that of BUILD, a build with Meson's default options. ccache keeps what is
compiled for this apart, so that no object is one that was compiled for BUILD; only what has changed since the last time is
compiled.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tree import ROOT, report, tracked

PROGRAM = "tony-agent"


def copy_tree(folder):
    for path in tracked("--cached", "--others", "--exclude-standard"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(Path(ROOT, path), folder / path, follow_symlinks=False)


def build(folder):
    env = {**os.environ, "CC": f"{'ccache ' * bool(shutil.which('ccache'))}gcc",
           "CCACHE_BASEDIR": str(folder), "CCACHE_NAMESPACE": "another folder"}
    for command in (["meson", "setup", "build"], ["ninja", "-C", "build", PROGRAM]):
        done = subprocess.run(command, cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            sys.exit(done.stdout)
    return folder / "build" / PROGRAM


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main():
    first = Path(sys.argv[1], PROGRAM)
    with tempfile.TemporaryDirectory(prefix="tony-reproducible-") as directory:
        folder = Path(directory, "another", "folder")
        copy_tree(folder)
        digests = digest(first), digest(build(folder))
    same = digests[0] == digests[1]
    return report([] if same else [f"{first}: is another one in another folder: sha256 {digests[0]} and {digests[1]}; "
                                   "diffoscope shows where they differ"], f"two builds of {PROGRAM}")


if __name__ == "__main__":
    sys.exit(main())
