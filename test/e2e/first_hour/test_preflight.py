"""tony submit finds before it starts anything all that tony check finds. The ids are those of the table of inputs."""

import pytest
from program import PYTHON
from rows import run_row

ZIP = f"mkdir -p env/{{inner}}; touch env/{{inner}}/python3.11; (cd env && {PYTHON} -m zipfile -c ../env.zip *)"
VENV = "--python_venv env{} --python_binary_path bin/python --executes train.py --workers 1"
SOURCES = "mkdir src; touch src/train.py"
LACKS = "printf '#!/bin/sh\nexit 7\n' >python3; chmod +x python3; printf 'import torch\n' >train.py; mkdir -p .venv/bin; " \
        f"ln -s {PYTHON} .venv/bin/python3; tony check --framework pytorch --workers 1"
STAGES = "--type prep=1 --type worker=1 --conf tony.worker.depends-on=prep --conf tony.prep.command='touch made.py' " \
         f"--conf tony.worker.command='{PYTHON} made.py'"

ROWS = [
    ("3.20", f"{PYTHON} -c 1; tony submit -- {PYTHON} trian.py", 3, ['"trian.py" is not in the current directory'], []),
    ("3.20 src_dir", f"{SOURCES}; tony submit --src_dir src -- {PYTHON} trian.py", 3,
     ['"trian.py" is neither in src_dir nor among the resources'], []),
    ("3.20 only here", f"{SOURCES}; touch here.py; tony submit --src_dir src -- {PYTHON} here.py", 3,
     ['"here.py" is neither in src_dir nor among the resources, only in the current directory; give --src_dir .'], []),
    ("3.20 other folder", f"{SOURCES}; tony submit --src_dir . -- {PYTHON} train.py", 3, ["; there is src/train.py"], []),
    ("3.20 program", "tony submit -- no-such-program", 3, ['"no-such-program" is not in PATH; install it'], []),
    ("3.20 types", "tony submit --type worker=1 --type ps=1 --executes 'nosuch x'", 3,
     ['task type worker: "nosuch"', 'task type ps: "nosuch"'], []),
    ("3.20 later", f"tony submit {STAGES}", 0, [], []),
    ("3.20 function", "load() { echo loaded $1; }; export -f load; tony submit -f --memory 64m --executes 'load cuda && pushd /'",
     0, ["loaded cuda"], []),
    ("3.20 shell", "tony submit --executes '$NO_SUCH ./x'", 1, ["127"], []),
    ("3.49 zip", f"{ZIP.format(inner='bin')}; touch train.py; tony submit --src_dir . {VENV.format('.zip')}", 3,
     ['"venv/bin/python"', "there is venv/bin/python3.11"], []),
    ("3.49 folder in it", f"{ZIP.format(inner='mine/bin')}; touch train.py; tony check --src_dir . {VENV.format('.zip')}",
     3, ["there is venv/mine/bin/python3.11"], []),
    ("3.49 directory", f"{ZIP.format(inner='mine/bin')}; tony check --src_dir . {VENV.format('')}", 3,
     ["there is venv/mine/bin/python3.11"], []),
    ("2.2 lacks", f"{LACKS} -- ./python3 train.py", 3,
     ["train.py imports torch, which ", "/python3 does not have; ", "/.venv/bin/python3 has it: write ", "/.venv/bin/python3 train.py"], []),
    ("2.2 venv", f"{LACKS} --src_dir . --python_venv .venv -- ./python3 train.py", 3,
     ["write venv/bin/python3 train.py, and the one of --python_venv is taken"], []),
    ("2.2 venv lacks", f"{LACKS.rpartition(' mkdir')[0]} mkdir -p v/bin; mv python3 v/bin; tony check --framework pytorch --src_dir . "
     "--python_venv v -- venv/bin/python3 train.py", 3, ["/v/bin/python3 does not have; install it there\n"], []),
    ("2.2 has", f"{LACKS} -- {PYTHON} train.py", 0, [f"framework of worker: torch, of {PYTHON}"], []),
    ("2.2 asked once", f"{LACKS.replace('exit 7', 'echo >>asked; exit 7').rpartition(' mkdir')[0]} mkdir bin; mv python3 bin; ln -s bin sbin; "
     "PATH=$PWD/bin:$PWD/sbin:$PATH tony check --framework pytorch --workers 1 -- python3 train.py; echo asked $(wc -l <asked)", 0,
     ["train.py imports torch, which ", "asked 1\n"], []),
    ("2.2 not asked", f"{LACKS} -- ./python3 ./python3", 0, [], ["framework of worker"]),
    ("3.71", "touch file; tony submit --conf tony.history.location=$PWD/file/x -- true", 3,
     ["tony.history.location: ", "/file is no directory"], []),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_row(tony, row):
    run_row(tony, row)
    assert tony.ids() == [] or row[2] != 3
