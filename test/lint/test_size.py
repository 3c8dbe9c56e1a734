"""Comments and blank lines are not counted as code."""

from size import count, trend


def test_comments_and_blank_lines_are_no_code():
    assert count("/* one\n * two */\n\nint a; // three\n") == (4, 1)


def test_a_string_holds_no_comment():
    assert count('char *a = "/*";\nchar b = \'"\'; /* c */\nint d; // "\n') == (3, 3)


def test_the_trend_counts_rooms_that_are_gone():
    assert trend({"am": [1, 12, 10]}, {"am": 12, "old": 3}) == "src: 10 lines of code in 1 rooms, -5 since test/lint/size.txt"
