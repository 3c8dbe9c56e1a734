"""No source calls another that calls it back, but where one object is cut in several: circles.py BUILD.

A registry stands above what it lists, and the helpers of its rows below, so that each file can be read, tested and moved
without those above it. nm tells which symbols each object of src/ defines and uses. Prints the calls of each circle that
is not allowed and exits 1 if there was one.
"""

import collections
import subprocess
import sys
from pathlib import Path

from tree import report

# One object each, whose files stand for the parts of one life: the mutual calls are its own.
ALLOWED = [
    {f"job/{name}" for name in ("machine", "machine_clock", "machine_elastic", "machine_end", "machine_form",
                                "machine_task")},
    {f"net/{name}" for name in ("http_answer", "http_connection", "http_request", "http_server")},
    {f"scheduler/{name}" for name in ("local", "local_adopt", "local_container", "local_queue")},
]


def source_of(build, path):
    """BUILD/src/am/libam.a.p/api.c.o -> am/api."""
    parts = Path(path).relative_to(build / "src").parts
    return f"{parts[0]}/{parts[-1].removesuffix('.c.o')}"


def read_calls(build):
    """{caller: {callee: symbols}}, both as source_of()."""
    objects = sorted(str(path) for path in build.glob("src/*/*.p/*.o"))
    listing = subprocess.run(["nm", "-A", *objects], check=True, capture_output=True, text=True).stdout
    definitions, uses = {}, collections.defaultdict(set)
    for line in listing.splitlines():
        path, rest = line.split(":", 1)
        *_, kind, symbol = rest.split()
        if kind in "TDBRVW":
            definitions[symbol] = source_of(build, path)
        elif kind == "U":
            uses[source_of(build, path)].add(symbol)
    calls = collections.defaultdict(lambda: collections.defaultdict(set))
    for caller, symbols in uses.items():
        for symbol in symbols:
            callee = definitions.get(symbol, caller)
            if callee != caller:
                calls[caller][callee].add(symbol)
    return calls


def find_circles(calls):
    """Sets of sources that reach each other (Tarjan's strongly connected components of more than one)."""
    number, lowest, path, circles = {}, {}, [], []

    def visit(source):
        number[source] = lowest[source] = len(number)
        path.append(source)
        for callee in calls.get(source, ()):
            if callee not in number:
                visit(callee)
            if callee in path:
                lowest[source] = min(lowest[source], lowest[callee])
        if lowest[source] == number[source]:
            circle = path[path.index(source):]
            del path[path.index(source):]
            if len(circle) > 1:
                circles.append(set(circle))

    for source in sorted(calls):
        if source not in number:
            visit(source)
    return circles


def describe(circle, calls):
    lines = [f"{caller} calls {', '.join(sorted(calls[caller][callee]))} of {callee}"
             for caller in sorted(circle) for callee in sorted(calls[caller]) if callee in circle]
    return "\n".join([f"these call each other: {', '.join(sorted(circle))}", *(f"    {line}" for line in lines)])


def main():
    build = Path(sys.argv[1]).resolve()
    calls = read_calls(build)
    sys.setrecursionlimit(10000)
    offences = [describe(circle, calls) for circle in find_circles(calls) if not any(circle <= known for known in ALLOWED)]
    return report(offences, f"{len(calls)} sources")


if __name__ == "__main__":
    sys.exit(main())
