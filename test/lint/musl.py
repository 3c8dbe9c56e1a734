"""The static programs of ./dev package would compile: musl.py BUILD.

Their C library is musl, which lacks some of what glibc has. Each source is read with Debian's headers of musl and those of package/musl instead of
glibc's. Prints the compiler's errors and exits 1 if there were any.
"""

import concurrent.futures
import json
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path

from tree import ROOT

# Debian's musl is older than that of the package's build, which has this system call.
STATX = "#include <linux/stat.h>\nint statx(int, const char *, int, unsigned, struct statx *);\n"
SYSTEM = ("/usr/include", f"/usr/include/{platform.machine()}-linux-gnu")  # of other libraries


def find_musl():
    """As options of gcc. The kernel's headers and <sys/queue.h>, which musl does not have, are those of the system, as in the package's build."""
    own = subprocess.run(["gcc", "-print-file-name=include"], check=True, capture_output=True, text=True).stdout.strip()
    found = (f"{ROOT}/package/musl", f"/usr/include/{platform.machine()}-linux-musl", own)
    return ["-nostdinc", *(word for path in found for word in ("-isystem", path)), *(word for path in SYSTEM for word in ("-idirafter", path))]


def errors_of(entry, musl):
    words = [word for word in shlex.split(entry["command"]) if word.startswith(("-I", "-D", "-std=")) and "FORTIFY" not in word]
    command = ["gcc", "-fsyntax-only", "-Werror=implicit-function-declaration", *words, *musl, "-include", "/dev/stdin", entry["file"]]
    done = subprocess.run(command, cwd=entry["directory"], input=STATX, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def main():
    with open(Path(sys.argv[1], "compile_commands.json"), encoding="utf-8") as file:
        entries = {entry["file"]: entry for entry in json.load(file) if entry["file"].startswith("../src/")}
    musl = find_musl()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = [error for error in pool.map(lambda entry: errors_of(entry, musl), entries.values()) if error]
    print("\n".join(errors), end="")
    print(f"{len(entries)} sources, {len(errors)} that use what musl has not")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
