"""Circles are found, whole and each on its own."""

from circles import describe, find_circles


def calls(*pairs):
    found = {}
    for pair in pairs:
        caller, callee = pair.split(">")
        found.setdefault(caller, {})[callee] = {f"{callee}_do"}
        found.setdefault(callee, {})
    return found


def test_a_tree_has_no_circle():
    assert find_circles(calls("top>left", "top>right", "left>low", "right>low")) == []


def test_two_that_call_each_other_are_a_circle():
    graph = calls("top>left", "left>right", "right>left", "right>low")
    assert find_circles(graph) == [{"left", "right"}]
    assert describe({"left", "right"}, graph) == ("these call each other: left, right\n"
                                                  "    left calls right_do of right\n    right calls left_do of left")


def test_a_long_way_round_is_one_circle():
    assert find_circles(calls("a>b", "b>c", "c>d", "d>a", "b>e", "e>b", "x>a", "d>y")) == [{"a", "b", "c", "d", "e"}]


def test_circles_apart_are_told_apart():
    assert sorted(find_circles(calls("a>b", "b>a", "b>c", "c>d", "d>c")), key=sorted) == [{"a", "b"}, {"c", "d"}]
