"""A third engine costs few lines, and one row."""

from pathlib import Path

MOST = 300


def test_the_scheduler_is_small():
    """Lines that are neither blank nor a comment."""
    lines = [line.strip() for path in Path(__file__).parent.glob("*.[ch]") for line in path.read_text().splitlines()]
    assert sum(1 for line in lines if line and not line.startswith(("/*", "*"))) <= MOST
