"""Documents, man pages, help and messages name only verbs, options and keys that tony has.

The tables are those of the build, build/tony or that of the folder that the argument names: its completion script has the verbs
and their options, `tony config keys` the keys, and `./dev --help` the verbs of ./dev. The script judges:

- commands whose program is tony or ./dev, in the blocks of commands and in code spans;
- code spans that begin with an option: some verb of tony has it, or test/lint/other_options.txt lists it as another tool's in
  this document;
- "tony VERB --option" in help and in the sources of messages, and every --option in help;
- keys of tony in code spans and blocks, which may be names of the Python package, too.

Marks that excuse a block of commands from test/e2e/test_documents.py (test/harness/documents.py) name tests that exist and
commands that are there, and a man page's commands fit a terminal. Prints one line for each offence and exits 1 if there was any.
"""

import dataclasses
import fnmatch
import json
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tree import ROOT, read, report, tracked

sys.path += [os.path.join(ROOT, "test/harness"), os.path.join(ROOT, "python")]
import documents  # noqa: E402
import tony  # noqa: E402

OTHERS = "test/lint/other_options.txt"
ZSH_VERB = re.compile(r"\t\t([\w-]+)\) _arguments")
ZSH_OPTION = re.compile(r"\t\t\t'\*?-(?P<name>-?[\w-]+)=?\[(?:[^]\\]|\\.)*\](?P<value>:?)")
ZSH_WORDS = re.compile(r"\t\t\t'1:word:\((.*)\)'")
DEV_VERBS = re.compile(r"^  ([a-z][a-z|]*)", re.MULTILINE)
WRAPPERS = {"env", "nice", "nohup", "ssh", "sudo", "time"}  # programs that run what follows their own arguments
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
SAID = re.compile(r"\btony ([a-z]+)((?: --?[a-z][\w-]*)*)(?![\w.-])")
MAN_WIDTH = 67  # of a command in a terminal of 80 columns: man breaks longer lines
KEY = re.compile(r"(?<![\w./-])tony\.[a-z<*][\w.<>*-]*[\w>*]")
FILES = re.compile(r"tony\.(xml|git|service|\d|job\.(id|state|output)$)")  # and what workflow engines are told
PLACEHOLDER = re.compile(r"<[a-z]+>")
TEST = re.compile(r"\b(test_\w+)(\.py\b)?")


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def fold(option):
    """tony takes '_' and '-' as the same letter, and long names behind one dash."""
    return option.lstrip("-").replace("_", "-")


# ---- tables ------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Verb:
    options: dict = dataclasses.field(default_factory=lambda: {"help": False, "h": False})  # {name: has it a value}
    words: list = dataclasses.field(default_factory=list)  # one of these is the first operand


def read_verbs(script):
    verbs = {}
    for line in script.splitlines():
        if match := ZSH_VERB.match(line):
            verb = verbs[match[1]] = Verb()
        elif match := ZSH_OPTION.match(line):
            verb.options[fold(match["name"])] = bool(match["value"])
        elif match := ZSH_WORDS.match(line):
            verb.words = match[1].split()
    return verbs


@dataclasses.dataclass
class Tables:
    verbs: dict
    keys: list
    dev: set

    def has_option(self, option):
        return any(fold(option) in verb.options for verb in self.verbs.values())

    def has_key(self, name):
        return any(fits(name.split("."), key.split(".")) for key in self.keys)


def read_tables(tony):
    return Tables(verbs=read_verbs(run(tony, "completion", "zsh")),
                  keys=[key["name"] for key in json.loads(run(tony, "config", "keys", "--json"))],
                  dev={verb for line in DEV_VERBS.findall(run("./dev", "--help")) for verb in line.split("|")})


def fits(said, key):
    """Parts of a name that a document says, and of a row of the table: "<type>" in a row stands for any word, and a "*" that
    is said for any."""
    if not said or not key:
        return said == key
    if len(said) == 1 and said[0].endswith("*") and fnmatch.fnmatch(key[0], said[0]):
        return True
    is_any = PLACEHOLDER.fullmatch(key[0])
    if not is_any and not fnmatch.fnmatch(key[0], said[0]):
        return False
    return fits(said[1:], key[1:]) or bool(is_any and len(key) == 1)  # a resource's name may have dots


# ---- commands ----------------------------------------------------------------------------------------


def simple_commands(text):
    """The words of each command of a shell's line."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        words = text.split()
    found = [[]]
    for word in words:
        if set(word) <= set("();|&<>") and set(word) & set("(;|&)"):
            found.append([])
        else:
            found[-1].append(word)
    return [command for command in found if command]


def program_of(words):
    """The words from the program on, without variables and programs that only run it."""
    while words and re.match(r"\w+=", words[0]):
        words = words[1:]
    if words and words[0] in WRAPPERS:
        at = next((i for i, word in enumerate(words) if os.path.basename(word) == "tony"), len(words))
        return words[at:]
    return words


class UnknownOption(str):
    """An offence, unless another tool has the option."""

    def __new__(cls, option):
        self = super().__new__(cls, f"no verb of tony has {option}; {OTHERS} lists other tools' options")
        self.option = option
        return self


def check_command(words, tables):
    words = program_of(words)
    if words[:1] == ["./dev"]:
        if len(words) > 1 and words[1] not in tables.dev and words[1] != "--help":
            yield f'./dev has no verb "{words[1]}"'
    elif words and os.path.basename(words[0]) == "tony" and len(words) > 1:
        yield from check_tony(words[1:], tables)


def check_tony(words, tables):
    name = "submit" if words[0].startswith("-") else words.pop(0)
    if words and words[0] in ("--help", "--version") or name in ("help", "VERB", "...") or not re.match(r"[\w-]", name):
        return
    verb = tables.verbs.get(name)
    if not verb:
        yield f'tony has no verb "{name}"'
        return
    operands = []
    while words and words[0] != "--":
        word = words.pop(0)
        option, is_joined, _ = word.partition("=")
        if not word.startswith("-"):
            operands.append(word)
        elif fold(option) not in verb.options:
            yield f"tony {name} has no option {option}"
        elif verb.options[fold(option)] and not is_joined:
            words = words[1:]
    if operands and verb.words and operands[0].islower() and operands[0] not in verb.words:
        yield f'tony {name} takes {", ".join(verb.words)}, and not "{operands[0]}"'


def check_span(text, tables):
    """Words in a sentence that stand out as code: a command, a verb with its options, or options."""
    first = text.split()[0]
    if first.startswith("-"):
        for option in OPTION.findall(text):
            if not tables.has_option(option):
                yield UnknownOption(option)
    elif first in tables.verbs and re.search(" --?[a-z]", text):
        yield from check_tony(text.split(), tables)
    else:
        yield from check_text(text, tables)


def check_text(text, tables):
    for words in simple_commands(text):
        yield from check_command(words, tables)


# ---- keys --------------------------------------------------------------------------------------------


def is_python(name):
    """Whether the package has it: tony.submit, tony.task.rank, tony.azkaban."""
    if name.count(".") == 1 and importlib.util.find_spec(name):
        return True
    value = tony
    for word in name.split(".")[1:]:
        try:
            value = getattr(value, word)
        except tony.TaskError:
            return True
        except AttributeError:
            return False
    return True


def check_keys(text, tables):
    for key in KEY.findall(text):
        if not FILES.match(key) and not tables.has_key(key) and not is_python(key):
            yield f"tony has no key {key}"


# ---- help and messages -------------------------------------------------------------------------------


def check_said(text, tables):
    """Prose without code spans: (offset, offence). "tony adds a task" is no command."""
    for match in SAID.finditer(text):
        name, options = match[1], match[2].split()
        verb = tables.verbs.get(name)
        if options and not verb and name != "help":
            yield match.start(), f'tony has no verb "{name}"'
        for option in options if verb else ():
            if fold(option) not in verb.options:
                yield match.start(), f"tony {name} has no option {option}"


def check_help(tony, tables):
    for name in ["", *tables.verbs]:
        text = run(tony, *name.split(), "--help")
        offences = [offence for _, offence in check_said(" ".join(text.split()), tables)]
        offences += [f"no verb of tony has {option}" for option in OPTION.findall(text)
                     if option.startswith("--") and option != "--version" and not tables.has_option(option)]
        yield from (f"tony {name} --help: {offence}" for offence in offences)


def check_sources(tables):
    """Messages and comments. A literal of C that goes on in the next line is one text."""
    for path in tracked("src/*.c", "src/*.h", "web/*.js", "examples/*.py", "examples/*.xml"):
        source = read(path)
        joints = [(match.start(), match.end()) for match in re.finditer(r'"\s+"', source)]
        places = [at for begin, end in zip([0, *(end for _, end in joints)], [*(begin for begin, _ in joints), len(source)])
                  for at in range(begin, end)]
        for at, offence in check_said("".join(source[place] for place in places), tables):
            yield f"{path}:{source.count(chr(10), 0, places[at]) + 1}: {offence}"


# ---- documents ---------------------------------------------------------------------------------------


def check_document(document, tables):
    """(line, offence)"""
    for line, text in document.spans:
        for offence in [*check_span(text, tables), *check_keys(text, tables)]:
            yield line, offence
    for block in document.blocks:
        for line, text in block.commands() if block.is_commands else ():
            for offence in check_text(text or "", tables):
                yield line, offence
        for line, text in enumerate(block.lines, block.line):
            for offence in check_keys(text, tables):
                yield line, offence


def read_others():
    """{(document, option): line}; a line of the list is a document's pattern and the options in it."""
    others = {}
    for number, line in enumerate(read(OTHERS).splitlines(), 1):
        pattern, *options = line.split()
        others.update({(pattern, option): number for option in options})
    return others


def drop_others(found, others):
    """The offences that are left, of [(path, line, offence)], and the list's lines that excuse nothing."""
    used, left = set(), []
    for path, line, offence in found:
        excuses = {(pattern, option) for pattern, option in others
                   if fnmatch.fnmatch(path, pattern) and option == getattr(offence, "option", None)}
        used |= excuses
        if not excuses:
            left.append((path, line, offence))
    return left + [(OTHERS, others[excuse], f"{excuse[0]} does not have {excuse[1]} any more")
                   for excuse in sorted(others.keys() - used)]


def check_width(document):
    """A command that man breaks cannot be copied."""
    commands = [block for block in document.blocks if block.is_commands and not document.path.endswith(".md")]
    for block in commands:
        for line, text in enumerate(block.lines, block.line):
            if len(text) > MAN_WIDTH:
                yield line, f"man breaks a line of {len(text)} characters; go on in the next one behind {MAN_WIDTH} at most"


def check_fences(document):
    for block in document.blocks if document.path.endswith(".md") else ():
        if block.language == "":
            yield block.line - 1, "the fence names no language"


def check_marks(document, tests):
    for line, _ in document.stray:
        yield line, "no block of commands stands below the mark, or it is not written as test/harness/documents.py says"
    for block in document.blocks:
        commands = [text for _, text in block.commands() if text]
        for mark in block.marks:
            if not any(mark.words in command for command in commands):
                yield mark.line, f'no command below has "{mark.words}"'
            for name, end in TEST.findall(mark.reason):
                if name + end not in tests:
                    yield mark.line, f"there is no test {name}{end}"


def find_tests():
    """The names of the files and functions of tests in Python, rows that suites share among them."""
    paths = tracked("test/*test_*.py", "test/harness/*_rows.py")
    return {os.path.basename(path) for path in paths} | {
        name for path in paths for name in re.findall(r"^def (test_\w+)", read(path), re.MULTILINE)}


def check_all(tony):
    tables, tests = read_tables(tony), find_tests()
    read_ones = documents.read_documents()
    found = [(document.path, line, offence) for document in read_ones
             for line, offence in sorted([*check_document(document, tables), *check_marks(document, tests),
                                          *check_width(document), *check_fences(document)])]
    offences = [f"{path}:{line}: {offence}" for path, line, offence in drop_others(found, read_others())]
    offences += [*check_help(tony, tables), *check_sources(tables)]
    return offences, f"{len(tables.verbs)} verbs and {len(tables.keys)} keys in {len(read_ones)} documents"


def main():
    return report(*check_all(Path(ROOT, *sys.argv[1:] or ["build"], "tony")))


if __name__ == "__main__":
    sys.exit(main())
