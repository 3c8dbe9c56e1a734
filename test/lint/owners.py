#!/usr/bin/env python3
"""Checks that nobody drops the owner of a record: whoever finds one in a history looks at whose it is, or hands it on.

Two rules, of every function of src:
- It opens a job that may be another user's (opened_find_any() and its like) only where SHOWS names its file: what a verb there does
  is no more than to show it.
- It finds or reads a record (FINDERS) into a variable only if it also looks at that variable's user or owner, or asks for a doubt
  about it, or hands the record to its own caller. EXCEPTIONS says why a function need not.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

ANY = re.compile(r"\b(opened_find_any|opened_find_untold|schedulers_find_any|VERB_JOB_ANY)\b")
SHOWS = {
    "src/client/verb_compare.c": "prints what differs",
    "src/client/verb_events.c": "prints the journal",
    "src/client/verb_logs.c": "prints output",
    "src/client/verb_metrics.c": "prints curves",
    "src/client/verb_rm.c": "removes none but this user's, whatever the record says",
    "src/client/verb_status.c": "prints the state",
    "src/client/verb_top.c": "draws the state",
    "src/client/completion_words.c": "completes names of tasks",
    # Below them, where others than this user's are refused:
    "src/client/opened.c": "opened_find_of()",
    "src/client/schedulers.c": "schedulers_find()",
    "src/client/verbs.c": "opens the job of a verb with VERB_JOB_ANY",
}

FIND = "history_store_(find|record|summary)|job_stores_find|stored_job_find"
FINDERS = re.compile(rf"\b({FIND})\(")
READERS = rf"{FIND}|history_store_(read_file|open_file|list)|history_\w+_finish|sizeof"
EXCEPTIONS = {
    ("src/history/retain.c", "*"): "the owner of the location removes what is old, whoever's it is",
    ("src/portal/reader_open.c", "check_entry"): "its user was compared before; this asks who may look",
    ("src/scheduler/stored_removal.c", "remove_entry"): "the record was asked whose it is; this is its size",
    ("src/scheduler/stored_jobs.c", "check_ended"): "whether its end is known; stored_jobs_find() asks for the doubt",
}

FUNCTION = re.compile(r"^(?!\s|#|/|\*|\})[^;=]*?\b(\w+)\(([^;{]*?)\)\n\{\n(.*?)^\}", re.M | re.S)


def functions(text):
    for found in FUNCTION.finditer(text):
        yield found.group(1), found.group(2), found.group(3), text.count("\n", 0, found.start(3)) + 1


def arguments(body, start):
    """Those of the call whose parenthesis opens before `start`."""
    depth, parts, begun = 1, [], start
    for i in range(start, len(body)):
        depth += (body[i] == "(") - (body[i] == ")")
        if depth == 0 or (depth == 1 and body[i] == ","):
            parts.append(body[begun:i].strip())
            begun = i + 1
        if depth == 0:
            return parts
    return parts


def looks(body, name):
    """Is this variable's user looked at, or the variable handed to a function that may do so?"""
    if re.search(rf"\b{name}(\.|->)(user|owner)\b", body):
        return True
    calls = re.finditer(r"\b(\w+)\(", body)
    return any(not re.fullmatch(READERS, call.group(1)) and f"&{name}" in arguments(body, call.end()) for call in calls)


def check(path, text):
    flaws = []
    for match in ANY.finditer(text):
        if path not in SHOWS:
            flaws.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}: the job may be another user's; use "
                         "opened_find(), or say in test/lint/owners.py why it is only shown")
    for name, parameters, body, line in functions(text):
        if (path, name) in EXCEPTIONS or (path, "*") in EXCEPTIONS:
            continue
        for call in FINDERS.finditer(body):
            for argument in arguments(body, call.end()):
                variable = re.fullmatch(r"&(\w+)", argument)
                if not variable or variable.group(1) in ("err", "why", "missing", "flaw", "days", "store", "stores", "search"):
                    continue
                if not looks(body, variable.group(1)):
                    flaws.append(f"{path}:{line}: {name}() finds a record by {call.group(1)}() and drops whose it is: look at "
                                 f"{variable.group(1)}.user, or hand the record on")
    return flaws


def main():
    names = subprocess.run(["git", "ls-files", "src/*.c"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    flaws = [flaw for name in names for flaw in check(name, (ROOT / name).read_text())]
    print(*flaws, sep="\n", end="\n" if flaws else "")
    return 1 if flaws else 0


if __name__ == "__main__":
    sys.exit(main())
