"""Prose whose subject is a thing with a name: no sentence begins with Who, What, Whoever, Whom,
Those who, One that or That is.

The script reads documents (Markdown and the man pages' scdoc), comments, Python's docstrings, and
messages, which are the string literals of C and JavaScript outside test/. A sentence begins where a
line, a literal or a table's cell does, and after a full stop, a colon or the like. The words count
with a capital only: a comment or a cell such as "what it costs" is a noun phrase. Headings, the
heads of tables, code blocks and questions may begin so.

test/lint/prose.txt lists the offences of the past by their first words, without the file, so that moving
a sentence changes nothing. The list may only shrink: an offence that it lacks fails, and so does a
line whose offence is gone. "python3 test/lint/prose.py --shrink" removes such lines, and never adds one.
It also resolves a merge of two lists: keep the lines of both sides, then shrink.
"""

import collections
import functools
import io
import os
import re
import sys
import tokenize

from tree import ROOT, tracked

LIST = os.path.join(ROOT, "test/lint/prose.txt")
KEY_WORDS = 8

# A reader keeps the prose of a file, line by line, with "\f" between texts that do not continue.
OFFENCE = re.compile(r"""(?:^|\f|\||[.!?:][)"'*_`]*[ \n])     # where a sentence can begin
                         (?:[\s*+>(\["'_-]|\d+[.)]\s)*         # list items, quotation marks
                         (?P<words>(?:Who|What|Whoever|Whom|Those\s+who|One\s+that|That\s+is)\b
                          .*?)
                         (?=(?P<end>[.!?])[)"'*_`]*(?:\s|$)
                            |\f|\||\n\s*\n|\n\s*(?:[-*+]|\d+\.)\s|\Z)""",
                     re.MULTILINE | re.DOTALL | re.VERBOSE)
SUSPECT = re.compile(r"\b(Who|What|Whoever|Whom|Those|One|That)\b")  # most files have none

COMMENT = r"/\*(?P<block>.*?)\*/|(?P<lines>//[^\n]*(?:\n[ \t]*//[^\n]*)*)"
C_TOKEN = re.compile(COMMENT + r"""|'(?:\\.|[^'\\\n])+'
                         |(?P<text>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)""",
                     re.DOTALL | re.VERBOSE)
JS_TOKEN = re.compile(COMMENT + r"""
                         |(?<=[(,=:[!&|?{;])\s*/(?![*/])(?:\\.|\[(?:\\.|[^]\\\n])*]|[^/\\\n])+/
                         |(?P<text>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)""",
                      re.DOTALL | re.VERBOSE)
DECORATION = re.compile(r"^[ \t]*(?:\*+|//+)", re.MULTILINE)
BETWEEN_LITERALS = re.compile(r'"(\s*)"')


def only_newlines(text):
    return "\n" * text.count("\n")


def read_tokens(source, path, token):
    """Comments and, outside test/, string literals; of everything else the line ends."""
    out = []
    at = 0
    for match in token.finditer(source):
        out.append(only_newlines(source[at:match.start()]))
        at = match.end()
        kind = match.lastgroup
        if kind in ("block", "lines"):
            out.append("\f" + DECORATION.sub("", match[kind]) + "\f")
        elif kind == "text" and not path.startswith("test/"):
            text = BETWEEN_LITERALS.sub(r"\1", match[kind])
            out.append("\f" + text[1:-1].replace("\\n", "\f") + "\f")
        else:
            out.append(only_newlines(match[0]))
    return "".join(out)


def read_python(source, _path):
    lines = [""] * (source.count("\n") + 2)
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        row, column = token.start
        if token.type == tokenize.COMMENT:
            apart = "\f" if token.line[:column].strip() else ""
            lines[row - 1] += apart + token.string.lstrip("#") + apart
        elif token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT):
            for number, line in enumerate(token.string.strip("\"'").splitlines()):
                lines[row - 1 + number] = line
        if token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.DEDENT):
            before = token.type
    return "\n".join(lines)


def read_script(source, _path):
    """The comments of a shell script or a meson.build."""
    lines = []
    for line in source.splitlines():
        code, _, comment = re.sub(r"(^|\s)#+(?=\s)", r"\1\0", line, count=1).partition("\0")
        apart = "\f" if code.strip() else ""
        lines.append(apart + comment + apart)
    return "\n".join(lines)


def read_document(source, _path):
    """Markdown or scdoc."""
    lines = source.splitlines()
    fenced = indented = False
    for number, line in enumerate(lines):
        head = number + 1 < len(lines) and re.match(r"\|[-:| ]+$", lines[number + 1])
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        if line.strip():
            begins = number == 0 or not lines[number - 1]
            indented = line.startswith("    ") and (indented or begins)
        if fenced or fence or indented or head or line.startswith("#"):
            lines[number] = ""
        else:
            lines[number] = re.sub(r"^(- )?\*\*[^*]+[.:]\*\*", "\f", line)  # a heading in the line
    return "\n".join(lines)


read_c = functools.partial(read_tokens, token=C_TOKEN)
read_js = functools.partial(read_tokens, token=JS_TOKEN)
READERS = {".c": read_c, ".h": read_c, ".proto": read_c, ".js": read_js, ".mjs": read_js,
           ".py": read_python, ".sh": read_script, "meson.build": read_script, ".md": read_document,
           ".scd": read_document, ".scd.in": read_document, "man/causes.txt": read_document}


def reader_of(path, source):
    for end, reader in READERS.items():
        if path.endswith(end):
            return reader
    if "." in os.path.basename(path) or not source.startswith("#!"):
        return None
    return read_python if "python" in source.partition("\n")[0] else read_script


def offences_in(path):
    """Of each offence its line and its sentence."""
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        source = file.read()
    reader = reader_of(path, source) if SUSPECT.search(source) else None
    if not reader:
        return
    text = reader(source, path)
    for match in OFFENCE.finditer(text):
        sentence = " ".join((match["words"] + (match["end"] or "")).replace("**", "").split())
        if not sentence.endswith("?") and " " in sentence:
            yield text.count("\n", 0, match.start("words")) + 1, sentence


def key_of(sentence):
    return " ".join(sentence.split()[:KEY_WORDS])


def read_list():
    with open(LIST, encoding="utf-8") as file:
        return collections.Counter(file.read().splitlines())


def report(found, new, gone):
    for path, line, sentence in found:
        if key_of(sentence) in new:
            print(f"{path}:{line}: {sentence}\n"
                  "    begin with the thing that acts: the AM, an executor, a task, the user")
    for key in sorted(gone):
        print(f'test/lint/prose.txt: "{key}" is gone: run "python3 test/lint/prose.py --shrink"')
    print(f"{len(found)} sentences, {new.total()} new, {gone.total()} gone")


def main():
    found = [(path, *offence) for path in tracked(":!test/fuzz/corpus") for offence in offences_in(path)]
    keys = collections.Counter(key_of(sentence) for _, _, sentence in found)
    listed = read_list()
    if sys.argv[1:] == ["--shrink"]:
        listed &= keys
        with open(LIST, "w", encoding="utf-8") as file:
            file.writelines(key + "\n" for key in sorted(listed.elements()))
    report(found, keys - listed, listed - keys)
    return 0 if keys == listed else 1


if __name__ == "__main__":
    sys.exit(main())
