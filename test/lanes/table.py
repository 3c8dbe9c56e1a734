"""The table of parts: test/lanes.toml, read once."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "test/lanes.toml"
KINDS = ("ninja", "meson", "pytest", "node", "fuzz", "command")


@dataclass
class Part:
    """A row of the table as one lane has it. `what` is the value of the key that names its kind."""

    name: str
    kind: str
    what: object
    promise: str
    minutes: float
    cores: float = 1.0      # it keeps busy; parts run side by side while there are enough
    build: str = ""         # the part that builds what it needs
    needs: list = field(default_factory=list)   # other parts that must have passed
    lane: str = ""
    moved: str = ""         # its tests that are in the lane "all" only, for people
    before: str = ""        # a command of bash that comes first, and must not fail
    directory: str = "build"
    workers: int = 2
    seconds: int = 0
    mark: str = ""
    env: dict = field(default_factory=dict)

    @property
    def after(self):
        return [*self.needs, *([self.build] if self.build else [])]


def make_part(name, row):
    row = dict(row)
    kind = next(kind for kind in KINDS if kind in row)
    return Part(name=name, kind=kind, what=row.pop(kind), **row)


def read(path=TABLE):
    """{lane: {name: Part}}, in the table's order, in which parts are started. The lanes are "lint", "fast", "all"
    and "long"; a row is in a lane if it has a table of that name, whose keys stand above the row's own."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))
    lanes = {"lint": {}, "fast": {}, "all": {}, "long": {}}
    for name, row in rows.items():
        common = {key: value for key, value in row.items() if key not in lanes}
        for lane in lanes.keys() & row.keys():
            merged = {**common, **row[lane], "env": {**common.get("env", {}), **row[lane].get("env", {})}}
            lanes[lane][name] = make_part(name, {**merged, "lane": lane})
    return lanes
