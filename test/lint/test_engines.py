"""engines.py finds what was added, and what went away."""

import engines


def test_lines_that_name_a_scheduler_are_counted_whatever_the_case():
    assert engines.count('/* YARN */ "yarn"\n#include "hadoop/site.h"\nint local;\n') == 2


def test_a_number_may_only_fall():
    allowed = engines.parse("# why\n2 src/am/a.c the wire\n1 src/am/b.c a key\n")
    assert not list(engines.compare({"src/am/a.c": 2, "src/am/b.c": 1}, allowed))
    grown = list(engines.compare({"src/am/a.c": 3, "src/am/b.c": 1, "src/am/c.c": 1}, allowed))
    assert [line.split(":")[0] for line in grown] == ["src/am/a.c", "src/am/c.c"]
    fallen = list(engines.compare({"src/am/a.c": 1}, allowed))
    assert len(fallen) == 2 and all("--shrink" in line for line in fallen)


def test_the_list_shrinks_and_keeps_its_reasons():
    text = "# why\n2 src/am/a.c the wire\n1 src/am/b.c a key\n"
    assert engines.shrink(text, {"src/am/a.c": 1}) == "# why\n1 src/am/a.c the wire\n"
    assert engines.shrink(text, {"src/am/a.c": 3, "src/am/b.c": 1}) == text
