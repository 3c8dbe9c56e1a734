"""Runs clang-tidy on each source file whose preprocessed text has changed since clang-tidy last passed it.

A change of the checks, of clang-tidy's version or of the compiler's options counts as a change of every file. With
TONY_LINT_ALL in the environment every file is checked. The list of good files is kept outside of the tree, so that
other clones use it, too.
"""

import hashlib
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tree import ROOT, tracked

BUILD = Path(ROOT, "build-asan")
GOOD = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tony-build/tidy"
KEPT = 20000   # files; each is empty
# Of the client that ./dev package links statically: no build here compiles them.
STATIC_ALONE = {"src/client/archive_linked.c", "src/hadoop/gssapi_linked.c"}


def preprocess(command):
    """The text with comments and macros, since checks read them; relative paths make it the same in every clone."""
    words = shlex.split(command["command"])
    words = [word for word in words[words.index("clang"):]
             if word not in ("-c", "-MD") and not word.startswith("-ffile-prefix-map=")]
    for option in ("-o", "-MF", "-MQ"):
        if option in words:
            del words[words.index(option):words.index(option) + 2]
    done = subprocess.run([*words, "-E", "-C", "-dD"], cwd=command["directory"], capture_output=True, check=True)
    return done.stdout, " ".join(words).encode()


def identify(command, common):
    text, options = preprocess(command)
    return hashlib.sha256(b"\0".join([common, options, text])).hexdigest()


def check(command, common):
    """None if the file is known to be good, else clang-tidy's findings: "" if there are none."""
    stamp = GOOD / identify(command, common)
    if stamp.exists() and not os.environ.get("TONY_LINT_ALL"):
        stamp.touch()
        return None
    done = subprocess.run(["clang-tidy", "-p", BUILD, "--quiet", command["file"]], cwd=command["directory"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stdout + done.stderr
    stamp.touch()
    return ""


def forget_old():
    """Removes the stamps that were used least recently."""
    stamps = sorted(GOOD.iterdir(), key=lambda stamp: stamp.stat().st_mtime)
    for stamp in stamps[:-KEPT]:
        stamp.unlink(missing_ok=True)


def main():
    GOOD.mkdir(parents=True, exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    common = version + Path(ROOT, ".clang-tidy").read_bytes()
    commands = {os.path.normpath(os.path.join(row["directory"], row["file"])): row
                for row in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))}
    chosen = [commands[os.path.join(ROOT, path)] for path in tracked("src/*.c") if path not in STATIC_ALONE]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda command: check(command, common), chosen))
    bad = [words for words in results if words]
    print(*bad, f"{len(results)} files, {results.count(None)} known to be good, {len(bad)} with findings", sep="\n")
    forget_old()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
