"""No source above the schedulers knows one of them by name.

am/, executor/, portal/ and client/ ask a scheduler's traits and call its functions: no line of theirs says "Hadoop" or
"YARN", but in the name of a key, nor takes `local_engine` for the engine of any job. Prints one line for each offence and exits 1 if there was any.
"""

import re
import sys

from tree import read, report, tracked

ROOMS = [f"src/{room}/*.{kind}" for room in ("am", "executor", "portal", "client") for kind in "ch"]
WORDS = re.compile(r"hadoop|yarn|\blocal_engine\b", re.IGNORECASE)
KEY = re.compile(r'"tony\.[a-z.-]+"')


def find(text):
    """The numbers of the lines that name one."""
    return [number for number, line in enumerate(text.splitlines(), 1) if WORDS.search(KEY.sub("", line))]


def main():
    paths = tracked(*ROOMS)
    offences = [f"{path}:{number}: names a scheduler: ask its traits, or call its functions"
                for path in paths for number in find(read(path))]
    return report(offences, f"{len(paths)} sources")


if __name__ == "__main__":
    sys.exit(main())
