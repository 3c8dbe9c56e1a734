"""A program that lacks one of the properties is refused, and by the line that names it."""

import platform
import subprocess

import pytest
from hardening import BRANCHES, missing, missing_in_commands

SOURCE = """
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	char name[8];
	strcpy(name, argv[0]);
	return puts(name) < 0;
}
"""
MACHINE = {"x86_64": "X86-64", "aarch64": "AArch64"}.get(platform.machine())
BRANCH, NOTE = BRANCHES.get(MACHINE, ("", ""))
GOOD = ["-g", "-O2", "-fPIE", "-D_FORTIFY_SOURCE=3", "-fstack-protector-strong", "-fstack-clash-protection", *BRANCH.split(),
        "-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack"]

# Options that are added, whether the program is to be static, and the beginnings of what is said then.
CASES = {
    "nothing": ([], False, []),
    "static pie": (["-static-pie"], True, []),
    "no pie": (["-no-pie"], False, ["is not position independent"]),
    "static and no pie": (["-static"], True, ["is not position independent", "binds functions later"]),
    "pie that is not static": (["-pie"], True, ["is not linked statically"]),
    "no relro": (["-Wl,-z,norelro"], False, ["has no data that becomes read-only"]),
    "lazy": (["-Wl,-z,lazy"], False, ["binds functions later"]),
    "executable stack": (["-Wl,-z,execstack"], False, ["has memory, as its stack"]),
    "no debug information": (["-g0"], False, ["names no compiler's options"]),
    "weak stack protector": (["-fstack-protector"], False, ["has 1 sources that were compiled without -fstack-protector-strong"]),
    "no stack protector": (["-fno-stack-protector"], False, [
        "has 1 sources that were compiled without -fstack-protector-strong"]),
    "no stack clash": (["-fno-stack-clash-protection"], False, [
        "has 1 sources that were compiled without -fstack-clash-protection"]),
    "no fortify": (["-U_FORTIFY_SOURCE"], False, ["checks no sizes"]),
}
if BRANCH:
    unguarded = f"{BRANCH.partition('=')[0]}=none"
    CASES["no guard of branches"] = ([unguarded], False, [f"has 1 sources that were compiled without {BRANCH}", "has no note"])


@pytest.mark.parametrize("case", CASES)
def test_property(tmp_path, case):
    options, is_static, wanted = CASES[case]
    (tmp_path / "program.c").write_text(SOURCE)
    for command in (["-c", "program.c"], ["-o", "program", "program.o"]):
        subprocess.run(["gcc", *GOOD, *options, *command], cwd=tmp_path, check=True)
    said = list(missing(tmp_path / "program", tmp_path / "program.o", is_static))
    assert len(said) == len(wanted) and all(map(str.startswith, said, wanted)), said


@pytest.mark.parametrize("level, count", [("-D_FORTIFY_SOURCE=3", 0), ("-D_FORTIFY_SOURCE=2", 1), ("", 1)])
def test_level_of_fortify(level, count):
    command = {"file": "../src/am/api.c", "command": f"gcc -O2 {level} -c ../src/am/api.c"}
    assert len(list(missing_in_commands([command]))) == count
