"""A new user's mistakes and odd inputs that tony has always refused by name, value and remedy, or survived. The exit
code is that of the command line (2), of a file (3), of permission (6) or of capacity (7)."""

import pytest
from program import PYTHON
from rows import run_row

NOBODY = "setpriv --inh-caps=-all --bounding-set=-all --"
CODES = "tony submit --memory 64m --%s -- true; echo =$?"

ROWS = [
    ("3.1", "tony sumbit; echo =$?; tony submit --wrokers 2 -- true; echo =$?; tony submit --worker 2 -- true", 2,
     ['unknown verb "sumbit"; did you mean tony submit?', "--wrokers; did you mean --workers?",
      "--worker; did you mean --workers?", "=2"], []),
    ("3.3", "tony submit --conf tony.worker.memry=1g -- true", 2,
     ["--conf: tony.worker.memry: is not a known key; did you mean tony.worker.memory?"], []),
    ("3.15", "; ".join(CODES % option for option in ("gpus=-1", "vcores=0", "retries=-1", "processes=1025")), 0,
     ['--gpus: "-1" is out of range', '--vcores: "0" is', '--retries: "-1" is', '--processes: "1025" is', "=2"], ["=3"]),
    ("3.16", "tony submit --vcores 100000 -- true", 7, ["driver:0 needs 100000 vcores; this machine has "], []),
    ("3.17", "tony submit --workers 4000 -- true", 7, ["4000 tasks that run together", "this machine has"], []),
    ("3.18", "tony submit --framework pytroch -- true; echo =$?; tony submit --scheduler k8s -- true", 2,
     ['--framework: "pytroch" is not a known framework; write pytorch', '"k8s" is not known; write local or yarn', "=2"], []),
    ("3.24", "tony submit python3 train.py; echo =$?; tony submit --executes true -- true", 2,
     ['unexpected "python3"; the program and its arguments stand after --', "say the same thing; give one", "=2"], []),
    ("3.28", f"mkdir d; mkfifo p; touch e u; chmod 0 u; for f in none d e p; do {NOBODY} tony submit --conf_file $f -- true; "
     f"echo =$?; done; {NOBODY} tony submit --conf_file u -- true", 3,
     ["none: No such file", "d: is a directory", "e: is empty", "p: is a FIFO, not a regular file", "u: Permission denied"],
     ["=2"]),
    ("3.29", "echo '{}' >a.json; tony submit --conf_file a.json -- true", 3, ["a.json:1: not XML"], []),
    ("3.31", "echo '<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\"><xi:include href=\"/etc/passwd\"/></configuration>' "
     ">a.xml; tony submit --conf_file a.xml -- true", 3, ["/etc/passwd:1: not XML"], ["root:"]),
    ("3.32", "head -c 17000000 /dev/zero >a.xml; tony submit --conf_file a.xml -- true; echo =$?; "
     "tony submit --name $(printf %05000d 0) -- true", 2, ["a.xml: is larger than 16777216 bytes", "is 5000 bytes long", "=3"], []),
    ("3.33", r"printf '\xef\xbb\xbf<configuration>\r\n<property><name>tony.application.name</name>\r\n<value> far </value>"
     r"</property></configuration>\r\n' >tony.xml; tony config show -- true", 0, ["tony.application.name = far  (tony.xml:"], []),
    ("3.35", r"""for n in 'ü x' $'a\nb' $'\e[31mred' ../../x; do tony submit -d --memory 64m --name "$n" -- true; tony wait; done; """
     "tony list -a", 0, ["ü x", "../../x"], ["\x1b"]),
    ("3.37", r"""mkdir -p $'a b/ü\n'; cd a*; touch here; ln -s nowhere dangling; ln -s . loop; """
     "tony submit -f --memory 64m --src_dir . -- ls", 0, ["here", "dangling", "loop"], []),
    ("3.38", "touch f; mkdir s; mkfifo s/p; for d in none f s; do tony submit --src_dir $d -- true; echo =$?; done", 0,
     ['--src_dir: "none": No such file', "is neither a directory nor an archive", "s/p: is neither a file, a dir", "=3"], ["=2"]),
    ("files of variables", f"mkdir d; touch u; chmod 0 u; for f in none d u; do {NOBODY} tony submit --env-file $f -- true; "
     "echo =$?; done; " + NOBODY + " tony submit --env-file none -- true", 3,
     ['--env-file: "none": No such file or directory; write the path of a file of NAME=VALUE lines',
      '"d": Is a directory; write the path', '"u": Permission denied; make it readable (chmod)', "=3"], ["=4", "=6", "=70"]),
    ("source unreadable", f"mkdir d; chmod 0 d; {NOBODY} tony submit --src_dir d -- true", 3,
     ['--src_dir: "d": Permission denied; make it readable (chmod)'], ["write the path"]),
    ("3.45", f"echo def >a.py; for c in a.py '-c import~nosuch' '-c exit(\"text\")'; do "
     f"tony submit --memory 64m -- {PYTHON} ${{c/\\~/ }}; done", 1, ["SyntaxError: invalid syntax"], []),
    ("3.49", "touch t.py; for v in none t.py; do tony submit --python_venv $v --python_binary_path bin/python --executes t.py; "
     "echo =$?; done", 0, ['--python_venv: "none": No such file', "t.py\" is neither a directory nor an archive", "=3"], ["=2"]),
    ("3.57", "tony=$(command -v tony); PATH= $tony submit --memory 64m -- true && PATH= $tony submit -- ls", 3,
     ['"ls" is not in PATH; install it, or write its path'], []),
    ("3.60", "tony submit --memory 64m -- true <&-", 0, ["succeeded"], []),
    ("3.62", "tony submit --memory 64m -- sleep 1 | head -1 >seen; tony wait; tony config keys | head -1", 0,
     ["succeeded", "APPLICATION"], []),
    ("3.62 keys", "tony config keys grace && tony config keys no-such-word; echo =$?; tony config show worker; tony config keys memry; tony config keys tony.ps.memry", 4,
     ["tony.<type>.stop-grace = 10s", 'no key has "no-such-word" in its name or meaning; see tony config keys', "=4\n",
      'takes no "worker"; did you mean tony config keys worker?', "did you mean memory?", "did you mean tony.ps.memory?"], ["tony.application.name"]),
    ("3.63", "TERM=dumb NO_COLOR=1 LC_ALL=C tony submit --memory 64m --name ü -- true; LC_ALL=xx tony status", 0, ["ü"],
     ["\x1b"]),
    ("3.70", "tony submit --type a=1 --type b=1 --conf tony.a.depends-on=b --conf tony.b.depends-on=a -- true; echo =$?; "
     "tony submit --workers 1 --conf tony.worker.depends-on=ps -- true; echo =$?; "
     "tony submit --workers 1 --conf tony.application.untracked.jobtypes=worker -- true; echo =$?; "
     "tony submit --framework standalone --workers 2 -- true", 2,
     ["task types wait for each other: ", '"ps" is no task type of this job', "every task is untracked", "exactly one task"],
     ["=3"]),
    ("3.72", "echo '<configuration>' >tony.xml; tony submit -- true; echo =$?; tony list", 0, ["tony.xml:2: not XML", "=3"], []),
    ("3.75", "mkdir -m 700 o; chmod 711 . .. ../..; setpriv --reuid 65534 --clear-groups env HOME=$PWD/o TONY_STATE_DIR= "
     "XDG_STATE_HOME= tony list", 6, ["Permission denied"], []),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_row(tony, row):
    run_row(tony, row)
