"""A word that tony lacks is refused wherever a reader finds it, and other tools' words are not."""

import textwrap

import commands
import documents
import pytest

TABLES = commands.Tables(
    verbs={"submit": commands.Verb({"help": False, "detach": False, "conf": True, "e": True, "src-dir": True}),
           "logs": commands.Verb({"help": False, "f": False, "follow": False, "tail": True}),
           "kill": commands.Verb(), "config": commands.Verb(words=["show", "keys"])},
    keys=["tony.am.memory", "tony.<type>.memory", "tony.<type>.resource.<resource>", "tony.<type>.jvm.opts"],
    dev={"test", "lint"})

SPANS = {
    "tony config check": 'tony config takes show, keys, and not "check"',
    "tony run": 'tony has no verb "run"',
    "tony logs --tial 3": "tony logs has no option --tial",
    "tony --bogus -src_dir x": "tony submit has no option --bogus",
    "x=$(tony stat) && true": 'tony has no verb "stat"',
    "sudo env A=b ../build/tony logs --detach": "tony logs has no option --detach",
    "cat list | tony logs -q": "tony logs has no option -q",
    "ssh -L 1:a:1 gateway tony open": 'tony has no verb "open"',
    "logs --tial 3": "tony logs has no option --tial",
    "--tial": "no verb of tony has --tial; test/lint/other_options.txt lists other tools' options",
    "./dev tset": './dev has no verb "tset"',
    "tony config show --help": None,
    "tony submit --conf --no -e --no -- python3 --bogus": None,
    "tony submit --src_dir=. -detach; git log --oneline": None,
    "tony VERB --help": None,
    "git clone tony && cd tony": None,
    "kill -9": None,
    "--src-dir": None,
    "./dev test e2e -k NAME": None,
}
KEYS = {"tony.am.memry": False, "tony.foo": False, "tony.worker.gpu.memory": False,
        "tony.am.memory": True, "tony.worker.memory": True, "tony.<type>.memory": True, "tony.*.jvm.opts": True,
        "tony.am.mem*": True, "tony.worker.resource.yarn.io/gpu": True, "tony.xml": True, "tony.*": True}
SAID = {"see tony logs --tial": (4, "tony logs has no option --tial"), "tony runs --all": (0, 'tony has no verb "runs"'),
        "tony adds a task": None, "tony logs --follow": None}

DOCUMENT = """\
Text with `tony logs` in
it, and `two
words`.

    tony one
    tony two \\
        --three

    tony four    # a job's

<!-- not run "cluster": needs one; test_shell.py -->

    on cluster
    tony five

```xml
<no-commands/>
```

<!-- not run: of nothing -->
Text.

```
drawing
```
"""
PAGE = """\
*tony logs*, _--name_ and *--a\\_b*

*term*
\tDefinition, no command

; not run: never

\ttony one \\\\++
    --two\\_2++
tony three
"""


@pytest.mark.parametrize("text", SPANS)
def test_span(text):
    assert list(commands.check_span(text, TABLES)) == [SPANS[text]] * (SPANS[text] is not None)


@pytest.mark.parametrize("name", KEYS)
def test_key(name):
    assert list(commands.check_keys(f"<name>{name}</name>", TABLES)) == [f"tony has no key {name}"] * (not KEYS[name])


@pytest.mark.parametrize("text", SAID)
def test_said_in_prose(text):
    assert list(commands.check_said(text, TABLES)) == [SAID[text]] * (SAID[text] is not None)


def write(folder, name, text):
    (folder / name).write_text(text)
    return documents.read_document(str(folder / name))


def test_commands_of_markdown(tmp_path):
    document = write(tmp_path, "document.md", DOCUMENT)
    assert document.spans == [(1, "tony logs"), (2, "two words")]
    first, second, *fences = document.blocks
    assert first.paragraphs() == [[(5, "tony one"), (6, "tony two \\\n    --three")], [(9, "tony four    # a job's")]]
    assert second.paragraphs() == [[(14, "tony five")]]
    assert [fence.is_commands for fence in fences] == [False, False]
    assert list(commands.check_fences(document)) == [(23, "the fence names no language")]


def test_commands_of_a_man_page(tmp_path):
    document = write(tmp_path, "page.scd", PAGE)
    assert document.spans == [(1, "tony logs"), (1, "--a_b"), (3, "term")]
    [block] = document.blocks
    assert block.paragraphs() == []
    assert list(block.commands()) == [(8, "tony one \\\n    --two_2"), (10, "tony three")]
    assert list(commands.check_width(document)) == []
    wide = write(tmp_path, "wide.scd", textwrap.dedent("""\
        Text

        \ttony submit -- python3 a-program-with-a-long-name.py --and a long option
        """))
    assert [line for line, _ in commands.check_width(wide)] == [3]


def test_marks(tmp_path):
    document = write(tmp_path, "document.md", DOCUMENT)
    stray, missing = commands.check_marks(document, {"test_other.py"})
    assert stray[0] == 20 and stray[1].startswith("no block of commands stands below the mark")
    assert missing == (11, "there is no test test_shell.py")
    elsewhere = write(tmp_path, "document.md", DOCUMENT.replace('"cluster"', '"clutser"'))
    assert (11, 'no command below has "clutser"') in list(commands.check_marks(elsewhere, {"test_shell.py"}))


def test_options_of_other_tools():
    found = [("a.md", 1, commands.UnknownOption("--np")), ("b.md", 2, commands.UnknownOption("--np")), ("a.md", 3, "else")]
    left = commands.drop_others(found, {("a.*", "--np"): 1, ("a.*", "--gone"): 2})
    assert left == [found[1], found[2], (commands.OTHERS, 2, "a.* does not have --gone any more")]
