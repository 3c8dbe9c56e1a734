"""The built programs have what makes a bug hard to use: hardening.py BUILD.

Reads the files with readelf: their headers, the compiler's options that the debug information of each source names (gcc
writes them there), and an object of tony's own, since the libraries in tony-agent have been compiled by others. Prints one
line for each property that is missing and exits 1 if there was any. test_hardening.py shows that each is missed.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tree import report

PROGRAMS = {"tony": False, "tony-agent": True}  # whether it is linked statically
FORTIFY = "-D_FORTIFY_SOURCE=3"
OPTIONS = ["-fstack-protector-strong", "-fstack-clash-protection"]
# By the machine's name in readelf: the compiler's option that guards jumps and calls, and what it writes into objects.
BRANCHES = {"X86-64": ("-fcf-protection=full", "IBT, SHSTK"), "AArch64": ("-mbranch-protection=standard", "BTI, PAC")}


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *map(str, arguments)], check=True, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def missing_in_headers(text, is_static):
    dynamic_flags = " ".join(re.findall(r"\(FLAGS(?:_1)?\) +(.*)", text))
    segments = re.findall(r"^  (\w+) +(?:0x\w+ +){5}([RWE ]{3}) ", text, re.MULTILINE)
    names = [name for name, _ in segments]
    if not re.search(r"Type: +DYN", text) or "PIE" not in dynamic_flags:
        yield "is not position independent (-pie, -static-pie)"
    if is_static and ("INTERP" in names or "(NEEDED)" in text):
        yield "is not linked statically (-static-pie)"
    if "GNU_RELRO" not in names:
        yield "has no data that becomes read-only at its start (-Wl,-z,relro)"
    if "NOW" not in dynamic_flags:
        yield "binds functions later than at its start (-Wl,-z,now)"
    if "GNU_STACK" not in names or any("W" in flags and "E" in flags for _, flags in segments):
        yield "has memory, as its stack, that can be written and executed (-Wl,-z,noexecstack)"


def family(option):
    """Of the options of one family the last holds."""
    return re.sub(r"^-f(no-)?|-(strong|all|explicit)$|=.*", "", option)


def missing_in_sources(debug, options):
    """`debug`: of one unit after the other, who compiled it how, and its name."""
    units = re.findall(r"DW_AT_producer +: (.*)\n(?:.*\n){0,3}?.*DW_AT_name +: (.*)", debug)
    if not units:
        yield "names no compiler's options (-g, gcc)"
    for option in options:
        without = [name.split()[-1] for producer, name in units
                   if {family(word): word for word in producer.split()}.get(family(option)) != option]
        if without:
            yield f"has {len(without)} sources that were compiled without {option}: {' '.join(without[:3])}"


def missing_in_object(text, note):
    if not re.search(r"UND __(?!stack)\w+_chk$", text, re.MULTILINE):
        yield "checks no sizes of buffers (-D_FORTIFY_SOURCE=3)"
    if note and note not in text:
        yield f"has no note of {note}"


def missing(program, own_object, is_static):
    """A sentence for each property that the program lacks."""
    headers = readelf("--file-header", "--program-headers", "--dynamic", program)
    machine = re.search(r"Machine: +(?:Advanced Micro Devices )?(.*)", headers)[1]
    option, note = BRANCHES.get(machine, (None, None))
    yield from missing_in_headers(headers, is_static)
    yield from missing_in_sources(readelf("--debug-dump=info", "--dwarf-depth=1", program), OPTIONS + [option] * bool(option))
    yield from missing_in_object(readelf("--notes", "--symbols", own_object), note)


def missing_in_commands(commands):
    """The level of FORTIFY leaves no trace in a program: `commands` are those of compile_commands.json."""
    without = [entry["file"] for entry in commands if "/src/" in entry["file"] and FORTIFY not in entry["command"].split()]
    if without:
        yield f"{len(without)} sources are compiled without {FORTIFY}: {' '.join(without[:3])}"


def main():
    build = Path(sys.argv[1])
    offences = list(missing_in_commands(json.loads((build / "compile_commands.json").read_text())))
    for name, is_static in PROGRAMS.items():
        own_object = build / "src/base/libbase.a.p/mem.c.o"
        offences += [f"{build / name}: {lack}" for lack in missing(build / name, own_object, is_static)]
    return report(offences, f"{len(PROGRAMS)} programs")


if __name__ == "__main__":
    sys.exit(main())
