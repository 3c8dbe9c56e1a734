"""The shape of the sources: no function over 80 lines, no file over 1,000, every header stands alone.

Long functions and long files are where code goes to rot; a header that needs another one included
first breaks its next reader. Tests, which hold tables of cases, may be a bit longer. Prints one line
for each offence and exits 1 if there was any.
"""

import concurrent.futures
import os
import re
import shlex
import subprocess
import sys
import tempfile

from tree import ROOT, read, report, tracked

LIMITS = {"test": (100, 1000), "": (80, 1000)}  # folder: lines of a function, of a file
PACKAGES = ["libevent_core", "jansson", "libcrypto", "expat", "yaml-0.1", "libarchive"]


def long_functions(path, lines, limit):
    """In K&R layout a function's body starts and ends with a brace in the first column."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            length = number - start + 1
            if length > limit:
                yield f"{path}:{start}: a function of {length} lines (at most {limit})"
            start = None


def check_lengths(path):
    lines = read(path).splitlines()
    function_lines, file_lines = LIMITS.get(path.partition("/")[0], LIMITS[""])
    if len(lines) > file_lines:
        yield f"{path}: {len(lines)} lines (at most {file_lines})"
    yield from long_functions(path, lines, function_lines)


def check_notes(path):
    """Whatever a verb says to the user may hold what others wrote; client/report.h cleans it."""
    for number, line in enumerate(read(path).splitlines(), 1):
        if re.search(r'(?<!\\)"tony: ', line):
            yield f"{path}:{number}: said past report_note(), which cleans what a terminal would obey"


def check_header(path, flags):
    include = f'#include "{os.path.relpath(path, "src")}"\n'
    compiled = subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-Isrc", *flags, "-fsyntax-only",
                               "-Wall", "-Werror", "-x", "c", "-"], cwd=ROOT, input=include,
                              capture_output=True, text=True)
    return [] if compiled.returncode == 0 else [f"{path}: does not stand alone:\n{compiled.stderr}"]


def generate_messages(directory):
    """The headers that the build makes of proto/."""
    os.mkdir(os.path.join(directory, "proto"))
    subprocess.run(["protoc-c", "--proto_path=proto", f"--c_out={directory}/proto",
                    *tracked("proto/*.proto")], cwd=ROOT, check=True)


def main():
    flags = shlex.split(subprocess.run(["pkg-config", "--cflags", *PACKAGES], check=True,
                                       capture_output=True, text=True).stdout)
    offences = []
    for path in tracked("*.c", "*.h", "*.py"):
        offences += check_lengths(path)
    for path in tracked("src/client/*.c", "src/main_tony.c"):
        if path not in ("src/client/report.c", "src/client/live.c"):
            offences += check_notes(path)
    headers = tracked("src/**/*.h", "src/*.h")
    with tempfile.TemporaryDirectory() as generated, \
         concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        generate_messages(generated)
        flags.append(f"-I{generated}")
        for result in pool.map(lambda path: check_header(path, flags), headers):
            offences += result
    return report(offences, f"{len(headers)} headers")


if __name__ == "__main__":
    sys.exit(main())
