"""The documents' commands: the blocks that a reader types, and the words in the text that name commands, options and keys.

In Markdown an indented block is commands, and so is a fenced one whose language is sh; every other fence names its language.
In the man pages' scdoc a paragraph that a tab begins is commands. test/e2e/test_documents.py runs them all but those that a mark
above the block excuses, `<!-- ... -->` in Markdown and `; ...` in scdoc:

    not run: REASON              the whole block
    not run "WORDS": REASON      the commands of the block in which WORDS are

A reason names the test that runs such commands, where there is one.
"""

import dataclasses
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACES = "*.md", "docs/*.md", "bench/**/*.md", "examples/**/*.md", "test/**/*.md", "man/**/*.scd", "man/*.scd.in"
COMMENT = re.compile(r"<!-- (?P<markdown>.*) -->|; (?P<scdoc>.*)")
MARK = re.compile(r'not run(?: "(?P<words>[^"]+)")?: (?P<reason>\S.*)')
MARKDOWN_SPAN = re.compile(r"(?<!`)`((?:[^`\n]|\n(?!\s*\n))+)`(?!`)")
SCDOC_SPAN = re.compile(r"(?<![\\\w*])\*((?:[^*\\\n]|\\.)+)\*")


@dataclasses.dataclass(frozen=True)
class Mark:
    line: int
    words: str  # "": all commands of the block
    reason: str


@dataclasses.dataclass
class Block:
    line: int
    language: str  # of a fence; None: indented
    is_commands: bool
    lines: list  # as a reader sees them
    marks: list = dataclasses.field(default_factory=list)

    def commands(self):
        """(line, command) of each, with the lines that it goes on in; None stands for a blank line between two."""
        begin, text = self.line, ""
        for number, line in enumerate(self.lines, self.line):
            begin, text = (begin, f"{text}\n{line}") if text else (number, line)
            if not text:
                yield number, None
            elif not line.endswith("\\") and is_whole(text):
                yield begin, text
                text = ""
        if text:
            yield begin, text

    def paragraphs(self):
        """Commands to run, between blank lines: lists of (line, command)."""
        found = [[]]
        for number, command in self.commands():
            if command is None:
                found.append([])
            elif not self.excuse(command):
                found[-1].append((number, command))
        return [paragraph for paragraph in found if paragraph]

    def excuse(self, command):
        return next((mark for mark in self.marks if mark.words in command), None)


@dataclasses.dataclass
class Document:
    path: str
    blocks: list = dataclasses.field(default_factory=list)
    spans: list = dataclasses.field(default_factory=list)  # (line, words in the text that stand out as code)
    stray: list = dataclasses.field(default_factory=list)  # (line, mark) without a block of commands


def is_whole(text):
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False
    return True


def fence_language(line):
    return line[3:].strip() if line.startswith("```") else None


def find_blocks(lines, indent):
    """(index of its first line, index behind its last one, language, the same indices of its content)"""
    at = 0
    while at < len(lines):
        language = fence_language(lines[at])
        if language is not None:
            end = next((i for i in range(at + 1, len(lines)) if fence_language(lines[i]) is not None), len(lines))
            yield at, end + 1, language, at + 1, end
            at = end + 1
        elif lines[at].startswith(indent) and (at == 0 or not lines[at - 1] or COMMENT.fullmatch(lines[at - 1])):
            end = end_of_indented(lines, at, indent)
            yield at, end, None, at, end
            at = end
        else:
            at += 1


def end_of_indented(lines, at, indent):
    """A blank line ends a block of scdoc. In Markdown one that is followed by more of it does not."""
    while at < len(lines) and (lines[at] if indent == "\t" else lines[at].startswith(indent) or (
            not lines[at] and at + 1 < len(lines) and lines[at + 1].startswith(indent))):
        at += 1
    return at


def marks_above(lines, at):
    """(marks, index of the first of the lines that they stand on)"""
    first = at
    while first > 0 and (not lines[first - 1] or COMMENT.fullmatch(lines[first - 1])):
        first -= 1
    marks = []
    for number in range(first, at):
        comment = COMMENT.fullmatch(lines[number])
        mark = comment and MARK.fullmatch(comment["markdown"] or comment["scdoc"])
        if mark:
            marks.append(Mark(number + 1, mark["words"] or "", mark["reason"]))
    return marks


def shown(lines, is_scdoc, indent):
    if not is_scdoc:
        return [line.removeprefix(indent) for line in lines]
    return [re.sub(r"\\(.)", r"\1", line.removeprefix(indent).removesuffix("++")) for line in lines]


def read_document(path):
    is_scdoc = not path.endswith(".md")
    indent = "\t" if is_scdoc else "    "
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    document = Document(path)
    text, marked = list(lines), set()
    for begin, behind, language, first, last in find_blocks(lines, indent):
        is_commands = language in (None, "sh")
        marks = marks_above(lines, begin) if is_commands else []
        marked.update(mark.line for mark in marks)
        block_lines = shown(lines[first:last], is_scdoc, indent)
        document.blocks.append(Block(first + 1, language, is_commands, block_lines, marks))
        text[begin:behind] = [""] * (behind - begin)
    document.stray = [(number, line) for number, line in enumerate(lines, 1)
                      if COMMENT.fullmatch(line) and "not run" in line and number not in marked]
    document.spans = list(find_spans("\n".join(text), is_scdoc))
    return document


def find_spans(text, is_scdoc):
    for match in (SCDOC_SPAN if is_scdoc else MARKDOWN_SPAN).finditer(text):
        words = re.sub(r"\\(.)", r"\1", match[1]) if is_scdoc else " ".join(match[1].split())
        yield text.count("\n", 0, match.start()) + 1, words


def read_documents():
    paths = sorted({str(path.relative_to(ROOT)) for place in PLACES for path in ROOT.glob(place)})
    return [read_document(path) for path in paths]
