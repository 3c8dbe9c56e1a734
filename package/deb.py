"""The Debian package: debian/ beside this file, in a copy of the tree, built by dpkg-buildpackage."""

import os
import shutil
import subprocess
from pathlib import Path

from programs import ROOT, version
from toolchain import CACHE, HERE, JOBS, run

CHANGES = """tony ({version}) unstable; urgency=medium

  * CHANGELOG.md has what changed.

 -- {maintainer}  {date}
"""


def copy_tree(target):
    """The files that git tracks, as they are now."""
    names = run("git", "-C", ROOT, "ls-files", "-z").split("\0")
    for name in filter(None, names):
        source, copy = ROOT / name, target / name
        if source.is_symlink() or source.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)


def make(folder):
    """The path of the package."""
    work = CACHE / "deb"
    shutil.rmtree(work, ignore_errors=True)
    tree = work / f"tony-{version()}"
    copy_tree(tree)
    shutil.copytree(HERE / "debian", tree / "debian")
    control = (tree / "debian/control").read_text()
    maintainer = next(line.removeprefix("Maintainer: ") for line in control.splitlines() if line.startswith("Maintainer: "))
    date = run("git", "-C", ROOT, "log", "-1", "--format=%cD").strip()
    (tree / "debian/changelog").write_text(CHANGES.format(version=version(), maintainer=maintainer, date=date))
    print("the Debian package", flush=True)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    # Objects that ./dev build has made are the same here.
    compiler = {"CC": "ccache gcc", "CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1",
                "CCACHE_DIR": os.environ.get("CCACHE_DIR") or f"{cache}/ccache"} if shutil.which("ccache") else {}
    run("dpkg-buildpackage", "--unsigned-source", "--unsigned-changes", "--build=binary", cwd=tree,
        env={**os.environ, **compiler, "TONY_CACHE": str(cache), "TONY_JOBS": f"-j{JOBS}", "DEB_BUILD_OPTIONS": "noautodbgsym"})
    architecture = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()
    return Path(shutil.copy(work / f"tony_{version()}_{architecture}.deb", folder))
