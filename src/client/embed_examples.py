"""embed_examples.py EXAMPLES OUTPUT.c OUTPUT.d: the folders that `tony init` writes, as C (examples.h).

An example is a folder with a tony.xml or pipeline.xml and a README.md, of which the first line below the title says
what it shows, and the first indented block what to type. Links are resolved. The third file tells
ninja what this was made of: the folders too, so that a new file is seen.
"""

import os
import re
import sys

JOB_FILES = "tony.xml", "pipeline.xml"


def walk(folder):
    """Every file below, in a fixed order; every folder on the way goes to `made_of`."""
    made_of = [folder]
    paths = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.startswith(".") or name == "__pycache__":
            continue
        if os.path.isdir(path):
            more_paths, more = walk(path)
            paths += more_paths
            made_of += more
        else:
            paths.append(path)
            made_of += [path, os.path.realpath(path)]
    return paths, made_of


def read(path):
    with open(path, "rb") as file:
        return file.read()


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def describe(readme):
    """Its summary and its commands."""
    text = readme.decode()
    summary = re.search(r"^# .*\n+([^\s#].*)$", text, re.M)
    block = re.search(r"^\n((?: {4}.*\n)+)", text, re.M)
    commands = re.sub(r"^ {4}", "", block.group(1), flags=re.M) if block else ""
    return (summary.group(1) if summary else ""), commands


class Writer:
    def __init__(self):
        self.lines = ['#include "client/examples.h"']
        self.contents = {}
        self.examples = []
        self.made_of = []

    def content(self, data):
        """The name of an array; several examples share one file of data."""
        if data not in self.contents:
            name = self.contents[data] = f"content_{len(self.contents)}"
            numbers = [str(byte) for byte in data] + ["0"]
            self.lines.append(f"static const unsigned char {name}[] = {{")
            self.lines += [",".join(numbers[i:i + 32]) + "," for i in range(0, len(numbers), 32)]
            self.lines.append("};")
        return self.contents[data]

    def add(self, name, folder):
        paths, made_of = walk(folder)
        self.made_of += made_of
        rows = []
        for path in paths:
            data = read(path)
            mode = "0755" if os.stat(path).st_mode & 0o111 else "0644"
            inner = quote(os.path.relpath(path, folder))
            rows.append(f"{{{inner}, {mode}, {self.content(data)}, {len(data)}}},")
        number = len(self.examples)
        self.lines += [f"static const struct example_file files_{number}[] = {{", *rows, "};"]
        summary, commands = map(quote, describe(read(os.path.join(folder, "README.md"))))
        self.examples.append(f"{{{quote(name)}, {summary}, {commands}, files_{number}, {len(rows)}}},")

    def text(self):
        return "\n".join([*self.lines, "const struct example examples[] = {", *self.examples, "};",
                          f"const size_t example_count = {len(self.examples)};", ""])


def main():
    root, output, depfile = sys.argv[1:]
    writer = Writer()
    names = sorted(os.listdir(root), key=lambda name: (name != "quickstart", name))
    for name in names:
        folder = os.path.join(root, name)
        if os.path.isdir(folder):
            writer.made_of.append(folder)
        if any(os.path.exists(os.path.join(folder, part)) for part in JOB_FILES):
            writer.add(name, folder)
    with open(output, "w", encoding="utf-8") as file:
        file.write(writer.text())
    with open(depfile, "w", encoding="utf-8") as file:
        paths = [path.replace(" ", "\\ ") for path in sorted({root, *writer.made_of})]
        file.write(f"{output}: " + " ".join(paths) + "\n")


if __name__ == "__main__":
    main()
