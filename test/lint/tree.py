"""The files that lint's scripts look at, and how these report."""

import subprocess
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])


def tracked(*patterns):
    """The files under version control that are there, as paths from the root."""
    listing = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for path in listing.splitlines() if Path(ROOT, path).exists()]


def read(path):
    return Path(ROOT, path).read_text(encoding="utf-8")


def report(offences, looked_at):
    """Prints one line for each offence and a last one; the exit code."""
    print(*offences, f"{looked_at}, {len(offences)} offences", sep="\n")
    return 1 if offences else 0
