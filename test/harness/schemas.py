"""The answers of --json, held against their schemas (docs/json). A schema lets fields be added, and here none may be
that it does not name."""

import functools
import json
from pathlib import Path

from jsonschema import Draft202012Validator, RefResolver
from jsonschema.exceptions import best_match

FOLDER = Path(__file__).resolve().parents[2] / "docs/json"
SUFFIX = ".schema.json"


def names():
    return {path.name.removesuffix(SUFFIX) for path in FOLDER.iterdir()}


def read(name):
    return json.loads((FOLDER / (name + SUFFIX)).read_text(encoding="utf-8"))


def strict(schema):
    """A copy that refuses members without a name in it."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: strict(value) for key, value in schema.items()}
    if "properties" in copy:
        copy.setdefault("additionalProperties", False)
    return copy


@functools.cache
def validator(name):
    base = FOLDER.as_uri() + "/"
    store = {base + other + SUFFIX: strict(read(other)) for other in names()}
    own = base + name + SUFFIX
    return Draft202012Validator(store[own], resolver=RefResolver(own, store[own], store=store))


def check(name, answer):
    """The answer, which is as docs/json/NAME.schema.json says."""
    found = best_match(validator(name).iter_errors(answer))
    assert not found, f"{name}: {found.json_path}: {found.message}"
    return answer
