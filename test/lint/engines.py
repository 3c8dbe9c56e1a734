"""No source above the schedulers knows one of them by name: engines.py [--shrink].

am/, executor/, portal/ and client/ ask a scheduler's traits and call its functions. engines.txt lists the files that still
say "Hadoop" or "YARN": the number of their lines that do, and why. A number may only fall: --shrink writes the present
ones. Prints one line for each offence and exits 1 if there was any.
"""

import re
import sys
from pathlib import Path

from tree import ROOT, read, report, tracked

ROOMS = [f"src/{room}/*.{kind}" for room in ("am", "executor", "portal", "client") for kind in "ch"]
LIST = "test/lint/engines.txt"
WORDS = re.compile(r"hadoop|yarn", re.IGNORECASE)


def count(text):
    return sum(1 for line in text.splitlines() if WORDS.search(line))


def parse(text):
    """{path: (lines, reason)} of "LINES PATH REASON"."""
    rows = [line.split(maxsplit=2) for line in text.splitlines() if line and not line.startswith("#")]
    return {path: (int(lines), reason) for lines, path, reason in rows}


def compare(found, allowed):
    """The offences of {path: lines} against the list."""
    for path, lines in sorted(found.items()):
        most = allowed.get(path, (0, ""))[0]
        if lines > most:
            yield f"{path}: {lines} lines name a scheduler (at most {most}): ask its traits, or call its functions"
        elif lines < most:
            yield f"{path}: {lines} lines name a scheduler instead of {most}: run engines.py --shrink"
    yield from (f"{LIST}: {path} names none any more: run engines.py --shrink" for path in sorted(set(allowed) - set(found)))


def shrink(text, found):
    """The list with the present numbers, where these are lower."""
    lines = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            most, path, reason = line.split(maxsplit=2)
            if path not in found:
                continue
            line = f"{min(found[path], int(most))} {path} {reason}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def main():
    paths = tracked(*ROOMS)
    found = {path: lines for path in paths if (lines := count(read(path)))}
    if sys.argv[1:] == ["--shrink"]:
        Path(ROOT, LIST).write_text(shrink(read(LIST), found), encoding="utf-8")
    return report(list(compare(found, parse(read(LIST)))), f"{len(paths)} sources")


if __name__ == "__main__":
    sys.exit(main())
