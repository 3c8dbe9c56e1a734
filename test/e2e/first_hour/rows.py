"""Runs one row of the tables in this folder: (id, shell line, wanted exit code, words that must be on standard
output or standard error, words that must not be). The line runs in an empty folder, with tony in PATH."""

import subprocess

from patience import PATIENCE_S
from program import BUILD, hear_signals


def run_row(tony, row):
    _, line, code, wanted, unwanted = row
    folder = tony.directory / "folder"
    folder.mkdir()
    env = {**tony.env, "PATH": f"{BUILD}:{tony.env['PATH']}"}
    answer = subprocess.run(["bash", "-c", line], cwd=folder, env=env, stdin=subprocess.DEVNULL, text=True,
                            capture_output=True, timeout=PATIENCE_S, preexec_fn=hear_signals)
    said = answer.stdout + answer.stderr
    assert answer.returncode == code, said
    assert [word for word in wanted if word not in said] == [], said
    assert [word for word in unwanted if word in said] == [], said
