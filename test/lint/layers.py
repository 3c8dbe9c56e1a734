"""Sources and programs are as ARCHITECTURE.md's table of rooms says: layers.py BUILD.

A room is a library of src/: a folder, or the part of it that only tony links. ARCHITECTURE.md's table says of each in which
program it is and which rooms it includes. A room includes only rooms of rows above its own, and one that is in tony-agent
only such as are, too. The table is exact: a room that includes another for the first time, or no longer, changes its row.
Prints one line for each offence and exits 1 if there was any.
"""

import collections
import json
import re
import sys
from pathlib import Path

from tree import ROOT, read, report, tracked

TABLE = re.compile(r"<!-- rooms: .* -->\n(.*?)\n<!-- end of rooms -->", re.S)
PROGRAMS = {"both": {"tony", "tony-agent"}, "tony": {"tony"}, "tony-agent": {"tony-agent"}}


def read_table(text):
    """{room: (programs, included)}, in the order of the rows."""
    found = TABLE.search(text)
    rows = {}
    for line in found[1].splitlines()[2:] if found else []:
        room, _, program, included, *_ = (cell.strip() for cell in line.strip("|").split("|"))
        rows[room.strip("`")] = (PROGRAMS.get(program, set()), set(re.findall(r"`([\w-]+)`", included)))
    return rows


def rooms_of_sources(targets):
    """{"hadoop/site.c": "hadoop_client"}, of Meson's intro-targets.json. A program's own sources are a room by its name."""
    return {source.removeprefix(f"{ROOT}/src/"): target["name"]
            for target in targets if target["type"] == "static library" or target["name"] in PROGRAMS
            for group in target["target_sources"] for source in group.get("sources", [])
            if source.startswith(f"{ROOT}/src/") and Path(target["defined_in"]).parent in (Path(ROOT), *Path(source).parents)}


def find_includes(texts):
    """{path: headers}, of the texts of sources and headers by path."""
    return {path: re.findall(r'^#include "([^"]+/[^"]+)"', text, re.M) for path, text in texts.items()}


def add_headers(rooms, includes):
    """A header is of its .c file's room. One without is of the room whose sources include it, in its folder; of several, of
    the folder's own, whose name is the shortest.
    """
    beside = collections.defaultdict(set)
    for path, room in rooms.items():
        for header in includes[path]:
            if Path(header).parent == Path(path).parent:
                beside[header].add(room)
    headers = {header for found in includes.values() for header in found} | includes.keys() - rooms.keys()
    return {**rooms, **{header: rooms.get(str(Path(header).with_suffix(".c")))
                        or min(beside[header], key=len, default=Path(header).parts[0]) for header in headers}}


def find_edges(rooms, includes):
    """{(room, included room): lines that say where}."""
    edges = collections.defaultdict(list)
    for path, headers in sorted(includes.items()):
        for header in headers:
            if rooms[header] != rooms[path]:
                edges[rooms[path], rooms[header]].append(f"src/{path} includes {header}")
    return edges


def linked_rooms(ninja):
    """{program: rooms}, from the link lines of build.ninja."""
    return {program: {program, *re.findall(r"/lib([\w-]+)\.a\b", line)}
            for program, line in re.findall(r"^build (tony|tony-agent): c_LINKER (.*)$", ninja, re.M)}


def check(rows, edges, linked):
    above = set()
    for room, (programs, included) in rows.items():
        for program, rooms in linked.items():
            if (program in programs) != (room in rooms):
                yield f"{room}: {program} {'has' if room in rooms else 'does not have'} it"
        for other in sorted(included):
            if other not in above:
                yield f"{room} names {other}, which has no row above"
            elif not programs <= rows[other][0]:
                yield f"{room} is in a program that does not have {other}"
            if (room, other) not in edges:
                yield f"{room} includes nothing of {other}: take it out of the row"
        above.add(room)
    for (room, other), places in edges.items():
        if other not in rows.get(room, (None, ()))[1]:
            yield from (f"{place}: {room} may not include {other}" for place in places)


def main():
    build = Path(sys.argv[1]).resolve()
    rooms = rooms_of_sources(json.loads((build / "meson-info/intro-targets.json").read_text()))
    headers = (path.removeprefix("src/") for path in tracked("src/**/*.h"))
    includes = find_includes({path: read(f"src/{path}") for path in (*headers, *rooms)})
    rows = read_table(read("ARCHITECTURE.md"))
    edges = find_edges(add_headers(rooms, includes), includes)
    linked = linked_rooms((build / "build.ninja").read_text())
    return report(list(check(rows, edges, linked)), f"{len(rows)} rooms")


if __name__ == "__main__":
    sys.exit(main())
