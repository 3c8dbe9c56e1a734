"""embed_assets.py WEB OUTPUT.c OUTPUT.d [FILE...]: the dashboard's files as C (assets.h).

All of WEB that a browser can use, and FILEs that the build made, each file as it is and compressed. index.html names the others below
assets/VERSION/, a hash of them all: a changed file has another address, so that browsers keep each without asking again. The third
file tells ninja what this was made of: the folders too, so that a new file is seen.
"""

import gzip
import hashlib
import os
import sys

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
PAGE = "index.html"
OWN = set(TYPES) - {".json"}  # of WEB: those of packages stay at home


def find_own(web, made_of):
    """Names and paths of the files in `web`; folders on the way go to `made_of`."""
    for folder, folders, names in os.walk(web):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        made_of.append(folder)
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.splitext(name)[1] in OWN and not name.startswith("."):
                yield os.path.relpath(path, web), path


def array(name, data):
    numbers = [str(byte) for byte in data] + ["0"]
    rows = [",".join(numbers[i:i + 32]) + "," for i in range(0, len(numbers), 32)]
    return [f"static const unsigned char {name}[] = {{", *rows, "};"]


def embed(number, name, data):
    """The arrays of one file, and its row in the table."""
    small = gzip.compress(data, mtime=0)
    kind = TYPES[os.path.splitext(name)[1]]
    etag = hashlib.sha256(data).hexdigest()[:16]
    row = (f'{{"{name}", "{kind}", plain_{number}, {len(data)}, gzip_{number}, {len(small)}, '
           f'"\\"{etag}\\""}},')
    return array(f"plain_{number}", data) + array(f"gzip_{number}", small), row


def read_all(files):
    """The bytes of each name, by name."""
    contents = {}
    for name, path in sorted(files):
        with open(path, "rb") as file:
            contents[name] = file.read()
    return contents


def version_of(contents):
    whole = hashlib.sha256()
    for name, data in contents.items():
        whole.update(f"{name} {len(data)}\n".encode() + data)
    return whole.hexdigest()[:16]


def main():
    web, output, depfile, *made = sys.argv[1:]
    made_of = []
    files = list(find_own(web, made_of)) + [(os.path.basename(path), path) for path in made]
    contents = read_all(files)
    made_of += [path for _, path in files]
    version = version_of(contents)
    contents[PAGE] = contents[PAGE].replace(b'"assets/', f'"assets/{version}/'.encode())
    lines, rows = ['#include "web/assets.h"', f'const char web_assets_version[] = "{version}";'], []
    for number, (name, data) in enumerate(contents.items()):
        arrays, row = embed(number, name, data)
        lines += arrays
        rows.append(row)
    lines += ["const struct web_asset web_assets[] = {", *rows, "};",
              f"const size_t web_asset_count = {len(rows)};", ""]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    with open(depfile, "w", encoding="utf-8") as file:
        file.write(f"{output}: " + " ".join(path.replace(" ", "\\ ") for path in made_of) + "\n")


if __name__ == "__main__":
    main()
