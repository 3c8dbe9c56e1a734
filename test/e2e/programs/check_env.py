"""Exits 0 if every argument holds: NAME (is set), NAME=VALUE, !NAME (is not set), ./PATH (exists)."""
import os
import sys

for check in sys.argv[1:]:
    name, equals, value = check.partition("=")
    if check.startswith("./"):
        good = os.path.exists(check)
    elif check.startswith("!"):
        good = check[1:] not in os.environ
    elif equals:
        good = os.environ.get(name) == value
    else:
        good = name in os.environ
    if not good:
        sys.exit(f"{check}: got {os.environ.get(name.lstrip('!'))!r}; here are {sorted(os.listdir('.'))}")
