"""The size of the sources: lines, and lines of code without comments and blanks, by room.

Prints a table of the rooms (the folders of src/) beside test/lint/size.txt, which --keep writes; --trend prints one line.
Nothing here fails: the reader judges.
"""

import argparse
import collections
import os
import re

from tree import ROOT, read, tracked

KEPT = os.path.join(ROOT, "test", "lint", "size.txt")
# Strings first: neither "/*" nor "//" begins a comment in one.
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|/\*.*?\*/|//[^\n]*', re.DOTALL)


def strip_comments(text):
    return COMMENT.sub(lambda found: " " if found.group().startswith("/") else found.group(), text)


def count(text):
    """(lines, lines of code)"""
    code = sum(1 for line in strip_comments(text).splitlines() if line.strip())
    return text.count("\n"), code


def measure():
    """{room: [files, lines, code]}"""
    rooms = collections.defaultdict(lambda: [0, 0, 0])
    for path in tracked("src/*.c", "src/*.h"):
        lines, code = count(read(path))
        room = rooms[os.path.dirname(path).removeprefix("src/")]
        for place, more in enumerate((1, lines, code)):
            room[place] += more
    return dict(rooms)


def read_kept():
    """{room: code}"""
    with open(KEPT, encoding="ascii") as file:
        return {room: int(code) for room, code in (line.split() for line in file)}


def trend(rooms, kept):
    code = sum(room[2] for room in rooms.values())
    return f"src: {code:,} lines of code in {len(rooms)} rooms, {code - sum(kept.values()):+,} since test/lint/size.txt"


def print_table(rooms, kept):
    print(f"{'room':28} {'files':>6} {'lines':>8} {'code':>8} {'change':>8}")
    for name in sorted({*rooms, *kept}):
        files, lines, code = rooms.get(name, (0, 0, 0))
        print(f"{name:28} {files:6} {lines:8,} {code:8,} {code - kept.get(name, 0):+8,}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trend", action="store_true", help="one line")
    parser.add_argument("--keep", action="store_true", help="write test/lint/size.txt")
    chosen = parser.parse_args()
    rooms = measure()
    if chosen.keep:
        with open(KEPT, "w", encoding="ascii") as file:
            file.writelines(f"{name} {room[2]}\n" for name, room in sorted(rooms.items()))
    kept = read_kept()
    if not chosen.trend:
        print_table(rooms, kept)
    print(trend(rooms, kept))


if __name__ == "__main__":
    main()
