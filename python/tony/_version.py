"""The version of this package and its programs. The wheel has a file with the version alone in place of this one, which is of a
checkout: meson.build is where a version is changed."""

import pathlib
import re


def _read() -> str:
    text = (pathlib.Path(__file__).resolve().parents[2] / "meson.build").read_text()
    found = re.search(r"^ *version: '([^']+)'", text, re.MULTILINE)
    assert found, "meson.build has a version"
    return found[1]


__version__ = _read()
