"""The table of rooms is read, and each way in which sources and build can differ from it is told."""

from layers import add_headers, check, find_edges, find_includes, linked_rooms, read_table, rooms_of_sources
from tree import ROOT

TABLE = """
<!-- rooms: read by a test -->
| room | holds | linked by | includes |
|---|---|---|---|
| `base` | strings | both | |
| `conf` | keys | tony | `base` |
| `am` | the `AM` | tony-agent | `base` |
<!-- end of rooms -->
"""
LINKED = {"tony": {"base", "conf"}, "tony-agent": {"base", "am"}}
EDGES = {("conf", "base"): ["a"], ("am", "base"): ["b"]}


def offences(table=TABLE, edges=EDGES, linked=LINKED):
    return list(check(read_table(table), edges, linked))


def test_what_is_as_the_table_says_is_no_offence():
    assert offences() == []


def test_an_include_that_the_row_does_not_name_is_told_with_its_place():
    edges = {**EDGES, ("am", "conf"): ["src/am/am_main.c includes conf/keys.h"]}
    assert offences(edges=edges) == ["src/am/am_main.c includes conf/keys.h: am may not include conf"]


def test_a_room_without_a_row_may_include_nothing():
    assert offences(edges={**EDGES, ("logs", "base"): ["x"]}) == ["x: logs may not include base"]
    assert len(offences(table="")) == 2


def test_a_row_that_names_too_much_is_told():
    assert offences(edges={("conf", "base"): ["a"]}) == ["am includes nothing of base: take it out of the row"]


def test_a_row_names_only_rooms_above_it():
    edges = {**EDGES, ("base", "conf"): ["x"]}
    assert offences(TABLE.replace("| both | |", "| both | `conf` |"), edges) == ["base names conf, which has no row above"]


def test_what_is_in_a_program_includes_only_what_is_there_too():
    edges = {**EDGES, ("am", "conf"): ["x"]}
    table = TABLE.replace("| tony-agent | `base` |", "| tony-agent | `base`, `conf` |")
    assert offences(table, edges) == ["am is in a program that does not have conf"]


def test_the_link_lines_are_checked():
    assert offences(linked={**LINKED, "tony": {"base", "conf", "am"}}) == ["am: tony has it"]
    assert offences(linked={**LINKED, "tony": {"base"}}) == ["conf: tony does not have it"]


def test_link_lines_are_read_from_the_build_file():
    ninja = ("build tony: c_LINKER tony.p/main.o | src/client/libclient.a src/base/libbase.a /usr/lib/libm.so\n"
             "build tony-agent: c_LINKER x.o | src/am/libam.a\nbuild test: c_LINKER src/job/libjob.a\n")
    assert linked_rooms(ninja) == {"tony": {"tony", "client", "base"}, "tony-agent": {"tony-agent", "am"}}


def test_a_source_is_of_the_library_of_its_folder():
    def target(name, kind, folder, *sources):
        return {"name": name, "type": kind, "defined_in": f"{ROOT}/{folder}/meson.build",
                "target_sources": [{"sources": [f"{ROOT}/{source}" for source in sources]}]}
    assert rooms_of_sources([
        target("hadoop", "static library", "src/hadoop", "src/hadoop/rpc.c"),
        target("hadoop_client", "static library", "src/hadoop/client", "src/hadoop/client/site.c", "build/made.c"),
        target("tony", "executable", ".", "src/main_tony.c"),
        target("test_site", "executable", "test/unit/hadoop", "src/hadoop/client/site.c"),
        target("fake", "static library", "test/fakes", "src/hadoop/rpc.c"),
    ]) == {"hadoop/rpc.c": "hadoop", "hadoop/client/site.c": "hadoop_client", "main_tony.c": "tony"}


def test_a_header_is_of_its_source_or_of_those_that_include_it():
    rooms = {"h/rpc.c": "h", "h/site.c": "h_client", "h/other.c": "h_client", "am/am.c": "am"}
    includes = find_includes({
        "h/rpc.c": '#include "h/rpc.h"\n#include "h/both.h"\n#include <h/not.h>\n',
        "h/site.c": '#include "h/site.h"\n#include "h/both.h"\n#include "h/site_internal.h"\n',
        "h/other.c": '#include "h/site.h"\n',
        "h/rpc.h": "", "h/site.h": "", "h/both.h": "", "h/site_internal.h": '#include "proto/x.h"\n',
        "am/am.c": '#include "h/both.h"\n#include "h/site.h"\n#include "spawn.h"\n',
    })
    rooms = add_headers(rooms, includes)
    assert rooms["h/rpc.h"] == rooms["h/both.h"] == "h"
    assert rooms["h/site.h"] == rooms["h/site_internal.h"] == "h_client"
    assert find_edges(rooms, includes) == {
        ("am", "h"): ["src/am/am.c includes h/both.h"],
        ("am", "h_client"): ["src/am/am.c includes h/site.h"],
        ("h_client", "h"): ["src/h/site.c includes h/both.h"],
        ("h_client", "proto"): ["src/h/site_internal.h includes proto/x.h"],
    }
