"""Tests wait long enough: a busy machine makes them slower, and no test fails for that.

- Python: a number that limits a wait is at least PATIENCE_S of test/harness/patience.py. Nothing sleeps or measures time
  but the helpers there; the worlds of test/fault, which strike at the times of a schedule, may.
- C: nothing sleeps but the helpers of test/unit/base/patience.h, whose PATIENCE_MS is as long; no poll() has a shorter
  limit, and no event loop has any.
- A test of meson's has more time than one wait.

Programs that jobs run are no tests, nor is what runs the tests (test/lanes, test/mutants). "# patience: REASON" (C:
"/* patience: REASON */") excuses its line. Prints one line for each offence and exits 1 if there was any.
"""

import ast
import operator
import re
import sys

from tree import read, report, tracked

HELPERS = "test/harness/patience.py", "test/unit/base/patience.h"
NO_TESTS = "test/e2e/programs/", "test/fault/program.py", "test/null/engine.py", "test/lanes/", "test/mutants/"
BY_SCHEDULE = "test/fault/"
EXCUSE = re.compile(r"(#|/\*) patience: \w")

LIMIT_KEYWORDS = {"timeout", "patience_s"}
# Functions that wait: where among their arguments the limit is.
LIMIT_PLACES = {"wait_until": 2, "wait": 0, "join": 0, "communicate": 1, "wait_for": 1, "select": 3, "urlopen": 2,
                "create_connection": 1, "HTTPConnection": 2, "WebDriverWait": 1, "settimeout": 0, "set_script_timeout": 0}
CLOCKS = {"sleep": "sleeps; wait_until() waits, assert_never() looks, let_pass() lets others go on",
          "monotonic": "measures time; a test says what happens, and in which order",
          "perf_counter": "measures time; a test says what happens, and in which order"}
CLOCK_MODULES = "time", "asyncio"
ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}

C_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'", re.DOTALL)
C_SLEEP = re.compile(r"\b(alarm|clock_nanosleep|nanosleep|pselect|select|setitimer|sleep|usleep)\s*\(")
C_POLL = re.compile(r"\b(?:poll|epoll_wait)\s*\(")
C_LOOP_LIMIT = re.compile(r"\bevent_base_loopexit\s*\(")
C_CONSTANT = re.compile(r"\b([A-Z][A-Z0-9_]*) *= *([^,;=}]+)|#define +([A-Z][A-Z0-9_]*) +(.+)")
C_PATIENCE = re.compile(r"\bPATIENCE_MS\s*=\s*(\d+)")
MESON_LIMIT = re.compile(r"timeout\b\s*[:=]\s*(?:\w+ \? )?(\d+)")


# ---- Python ----------------------------------------------------------------------------------------


def constants(tree, known):
    """Names that stand for one number, in the whole module, and those of `known`."""
    found = dict(known)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            value = number(node.value, found)
            found.update({target.id: value for target in node.targets if isinstance(target, ast.Name)})
    return found


def number(node, names):
    """The expression's value where it is a number, the name of one, or arithmetic with these; otherwise None."""
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        left, right = number(node.left, names), number(node.right, names)
        return ARITHMETIC[type(node.op)](left, right) if left is not None and right else None
    if isinstance(node, ast.Name):
        value = names.get(node.id)
    else:
        value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def limits_of_call(call):
    """Its arguments that limit a wait."""
    name = getattr(call.func, "attr", getattr(call.func, "id", None))
    place = LIMIT_PLACES.get(name, len(call.args))
    return call.args[place:place + 1] + [word.value for word in call.keywords if word.arg in LIMIT_KEYWORDS]


def limits_of_function(function):
    """The defaults of its parameters that limit a wait."""
    positional = function.args.posonlyargs + function.args.args
    pairs = [*zip(reversed(positional), reversed(function.args.defaults)),
             *zip(function.args.kwonlyargs, function.args.kw_defaults)]
    return [default for parameter, default in pairs if default and parameter.arg in LIMIT_KEYWORDS]


def clock_of(call):
    """ "sleep" of time.sleep(...), and so on."""
    function = call.func
    of_module = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and \
        function.value.id in CLOCK_MODULES
    return function.attr if of_module and function.attr in CLOCKS else None


def clock_offences(node):
    """Reasons why the node may not be there: it sleeps, or measures time. The date is no measure, but what is added to
    it, or taken from it, is."""
    if isinstance(node, ast.Call) and clock_of(node):
        yield CLOCKS[clock_of(node)]
    elif isinstance(node, ast.ImportFrom) and node.module in CLOCK_MODULES:
        yield from (CLOCKS[alias.name] for alias in node.names if alias.name in CLOCKS)
    elif isinstance(node, ast.Import):
        yield from (f"import {alias.name} by its own name" for alias in node.names
                    if alias.name in CLOCK_MODULES and alias.asname)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and \
            "time.time()" in (ast.unparse(node.left), ast.unparse(node.right)):
        yield CLOCKS["monotonic"]


def check_python(path, text, patience_s):
    tree = ast.parse(text)
    names = constants(tree, {"PATIENCE_S": patience_s})
    for node in ast.walk(tree):
        limits = []
        if not path.startswith(BY_SCHEDULE):
            yield from ((node, offence) for offence in clock_offences(node))
        if isinstance(node, ast.Call):
            limits = limits_of_call(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            limits = limits_of_function(node)
        for limit in limits:
            value = number(limit, names)
            if value is not None and value < patience_s:
                yield limit, f"waits {value} s; PATIENCE_S is {patience_s}"


# ---- C and meson -----------------------------------------------------------------------------------


def blank(found):
    """Comments and texts have no code, but lines."""
    return re.sub(r"[^\n]", " ", found.group())


def last_argument(code, begin):
    """Of the call whose arguments begin there."""
    depth = 1
    for place in range(begin, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if code[place] == "," and depth == 1:
            begin = place + 1
        if depth == 0:
            return code[begin:place].strip()
    return ""


def c_number(expression, names):
    """As number(): C's arithmetic with constants is Python's, too."""
    try:
        return number(ast.parse(expression.strip(), mode="eval").body, names)
    except SyntaxError:
        return None


def c_constants(code, known):
    found = dict(known)
    for name, value, macro, text in C_CONSTANT.findall(code):
        found[name or macro] = c_number(value or text, found)
    return found


def check_c(_, text, patience_s):
    code = C_TEXT.sub(blank, text)
    names = c_constants(code, {"PATIENCE_MS": 1000 * patience_s})
    for found in C_SLEEP.finditer(code):
        yield found, f"{found.group(1)}(): wait_until() waits, assert_never() looks, let_pass() lets others go on"
    for found in C_POLL.finditer(code):
        limit = c_number(last_argument(code, found.end()), names)
        if limit is not None and 0 < limit < 1000 * patience_s:
            yield found, f"poll() waits {limit} ms; PATIENCE_MS is {1000 * patience_s}"
    for found in C_LOOP_LIMIT.finditer(code):
        if last_argument(code, found.end()) != "NULL":
            yield found, "an event loop waits for events, not for a time to pass"
    for found in C_PATIENCE.finditer(code):
        yield found, "PATIENCE_MS is that of test/unit/base/patience.h"


def check_meson(_, text, patience_s):
    for found in MESON_LIMIT.finditer(text):
        if int(found.group(1)) <= patience_s:
            yield found, f"a test of {found.group(1)} s is over before a wait of {patience_s} s"


# ---- all of it -------------------------------------------------------------------------------------


CHECKS = {("test/*.py",): check_python,
          ("test/unit/*.c", "test/unit/*.h", "test/sim/*.c", "test/sim/*.h"): check_c,
          ("test/*meson.build",): check_meson}


def check_file(path, check, patience_s):
    text = read(path)
    lines = text.splitlines()
    for place, words in check(path, text, patience_s):
        line = text.count("\n", 0, place.start()) + 1 if isinstance(place, re.Match) else place.lineno
        if not EXCUSE.search(lines[line - 1]):
            yield f"{path}:{line}: {words}"


def check_constants():
    """The patience, and what is wrong when that of the C tests is another."""
    names = constants(ast.parse(read(HELPERS[0])), {})
    in_c = C_PATIENCE.search(read(HELPERS[1]))
    patience_s = names["PATIENCE_S"]
    same = in_c and int(in_c.group(1)) == 1000 * patience_s
    return patience_s, [] if same else [f"{HELPERS[1]}: PATIENCE_MS is not the {patience_s} s of {HELPERS[0]}"]


def main():
    patience_s, offences = check_constants()
    count = 0
    for patterns, check in CHECKS.items():
        for path in tracked(*patterns):
            if path not in HELPERS and not path.startswith(NO_TESTS):
                offences += check_file(path, check, patience_s)
                count += 1
    return report(offences, f"{count} files")


if __name__ == "__main__":
    sys.exit(main())
