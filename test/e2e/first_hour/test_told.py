"""A new user is told the right reason, exit code and remedy. The ids are those of the table of inputs."""

import pytest
from program import PYTHON
from rows import run_row

NO_RANK = 'raise ValueError("environment variable RANK expected, but not set")'
WARNS = 'import atexit, warnings; atexit.register(warnings.warn, "leaked"); raise ValueError("no data")'
WARNING_LAST = 'import sys, warnings; warnings.warn("the old API is deprecated"); sys.exit(1)'
JOB = "job=$(tony submit --detach --workers 2 --executes 'sleep 99')"
ELASTIC = JOB.replace("--workers 2", "--workers 2 --conf tony.worker.min-instances=1 --framework pytorch")
CHECKPOINT = "tony submit --conf tony.application.checkpoint-dir"
KERAS = r'raise ValueError("Exception encountered when calling Dense.call().\n\nInput has shape (2, 3).")'
LIGHTGBM = 'echo "[LightGBM] [Fatal] Binding port $TONY_PORT failed" >&2; exit 1'
XML = "echo '<configuration><property><name>%s</name><value>%s</value></property></configuration>' >tony.xml"

SPACED = "printf '#!/bin/sh\\necho it ran\\n' > 'my script.sh'; chmod +x my*;"

ROWS = [
    ("3.2 verbs", "for verb in ps run stop delete info sstat resume repeat; do tony $verb x; done", 2,
     ["did you mean tony list?", "did you mean tony submit?", "did you mean tony kill?",
      "did you mean tony kill, or tony rm?", "did you mean tony status JOB?", "did you mean tony top JOB?",
      "did you mean tony rerun JOB --resume?", "did you mean tony rerun JOB?"], []),
    ("other schedulers", "for verb in sbatch srun squeue scancel qsub torchrun; do tony $verb x; done", 2,
     ["did you mean tony submit --detach?", "did you mean tony submit --follow?", "did you mean tony list?",
      "did you mean tony kill?", "did you mean tony submit --framework torchrun?"], []),
    ("other waiting", "tony submit --wait -- true", 2,
     ["unknown option --wait; did you mean to leave it out (submit waits unless --detach is given)?"], []),
    ("3.2 workers", "for word in --num-workers --np -np -n; do tony submit $word 2 -- true; done", 2,
     ["--num-workers; did you mean --workers?", " -np; did you mean --workers?", " -n; did you mean --workers?"], []),
    ("3.2 processes", "tony submit --nproc-per-node=2 -- true", 2, ["did you mean --processes?"], []),
    ("3.2 lines", "tony logs --lines 3", 2, ["did you mean --tail?"], []),
    ("2.15", "tony submit --dry-run -- true", 2, ["did you mean tony check, or tony render?"], []),
    ("3.19", f"tony submit --workers 2 -- {PYTHON} -c '{NO_RANK}'", 1,
     ["no framework is named: generic is taken", "try: add --framework pytorch"], []),
    ("3.19 file", f"{XML % ('tony.worker.instances', 2)}; tony submit --executes true", 0,
     ["no framework is named: tensorflow is taken, as in TonY; see --framework"], []),
    ("framework of --executes", "tony submit --memory 64m --workers 2 --executes true", 0,
     ["no framework is named: tensorflow is taken, as in TonY; see --framework"], []),
    ("framework of words", "tony submit --memory 64m --workers 2 -- true", 0,
     ["no framework is named: generic is taken, which gives programs no RANK, WORLD_SIZE or TF_CONFIG; see --framework"], []),
    ("framework no noise", "tony submit --memory 64m --workers 2 -- bash -c 'echo $TONY_TASK_INDEX'; "
     "tony submit --memory 64m --workers 1 -- true; tony submit --memory 64m --framework generic --workers 2 -- true", 0,
     ["no framework is named: generic is taken; see --framework"], ["RANK"]),
    ("3.27", 'tony submit -- "echo hello world"', 2,
     ["is one word", "write -- echo hello world, or --executes 'echo hello world'"], []),
    ("3.27 pipe", 'tony submit -- "a | b"', 2, ["write --executes 'a | b'"], ["-- a | b"]),
    ("3.27 quotes", """tony submit -- "echo 'a b' | wc" 2>said; grep -o "[-]-executes.*, " said | tr -d , >line; cat said
     eval "tony submit -f --memory 64m $(cat line)\"""", 0, ["write --executes ", " 1 "], []),
    ("3.27 empty", 'tony submit -- ""', 2, ["the program after -- is empty"], []),
    ("3.27 resource", f"mkdir data; {SPACED} mv my* data; tony submit -f --conf 'tony.containers.resources=data/my script.sh' "
     "-- './my script.sh'", 0, ["it ran"], ["is one word"]),
    ("3.27 archive", f"{SPACED} tar czf a.tar.gz my*; rm my*; tony submit -f --src_dir a.tar.gz -- './my script.sh'", 0, ["it ran"],
     ["is one word"]),
    ("3.27 node", "tony check --scheduler yarn -- '/opt/my tools/run'", 3, [], ["is one word"]),
    ("3.27 absent", "tony submit -- './my script.sh'", 2,
     ['after --: "./my script.sh" is not in the current directory'], ["write"]),
    ("3.27 beside", f"{SPACED} tony submit -- 'my script.sh'", 2,
     ['"my script.sh" is not in PATH, but in the working directory; write \'./my script.sh\''], ["is one word"]),
    ("3.27 program", f"{SPACED} cp my* run; tony submit -- './run --fast'", 2, ["write -- ./run --fast, or"], []),
    ("dashes", "tony submit -- --memory 64m python3 x.py", 2,
     ['"--memory" after -- would be the program; options of tony stand before --, as in tony submit --memory 4g -- py'],
     ["submitted"]),
    ("logs of nothing", "tony submit --memory 64m -- true; tony logs; tony logs --tail 0; tony submit --memory 64m -- echo hi; "
     "tony logs --grep no; tony logs >out; cat out", 0, [" has written nothing\n", "nothing of what is asked for\n", "hi\n"],
     ["so far"]),
    ("logs of silence", "tony submit -d --memory 64m -- sleep 99; tony logs", 0, [" has written nothing so far\n"], []),
    ("logs of a task", "job=$(tony submit -d --memory 64m -- sleep 99); tony logs driver:0; tony logs $job driver:0", 2,
     ['"driver:0" is a task; write tony logs --task driver:0, and the job\'s name behind it unless it is the newest'],
     ["no job"]),
    ("open of the ended", "tony submit --memory 64m -- true; tony open", 4,
     ["has ended (succeeded), and its page with it; tony portal shows ended jobs, tony status tony-"], []),
    ("open of a page", "tony submit -d --memory 64m --framework pytorch --workers 1 -- sleep 99; tony open tensorboard; "
     "tony open worker:0; tony open worker:7; test $? = 4", 0,
     ["&to=ui/tensorboard/", "&to=ui/worker:0/", 'has no task "worker:7"'], ["no job"]),
    ("open of no job", "tony open tensorbord", 4, ['no job "tensorbord"'], []),
    ("3.36", "tony submit --type Worker=1 -- true", 2, ['"Worker" is not', "write a lower-case letter"], []),
    ("3.36 reserved", "tony submit --type am=1 -- true", 2, ["keys tony.am.* are of something else"], []),
    ("3.36 number", "tony submit --type worker -- true", 2, ["write --type worker=1"], []),
    ("3.43 traceback", f"tony submit -- {PYTHON} -W always -c '{WARNS}'", 1,
     ["exited with code 1: ValueError: no data"], []),
    ("3.43 CRLF", "printf '#!/bin/sh\\r\\ntrue\\r\\n' >a.sh; tony submit --src_dir . -- ./a.sh", 1,
     ["the #! line of ./a.sh ends in a carriage return"], ["127: the command was not found"]),
    ("3.43 env", "printf '#!/usr/bin/env python3\\r\\n' >a.sh; tony submit --src_dir . -- ./a.sh", 1,
     ["ends in a carriage return"], ["127: the command was not found"]),
    ("3.43 none", "printf '#!/no/such/shell\\n' >a.sh; tony submit --src_dir . -- ./a.sh", 1,
     ["./a.sh asks for /no/such/shell in its #! line"], ["127: the command was not found"]),
    ("3.46", f"tony submit -- {PYTHON} -c '{WARNING_LAST}'", 1, ["exited with code 1\n"], ["code 1: "]),
    ("3.46 signal", "tony submit --executes 'echo warn 10 >&2; kill -9 $$'", 1, ["(SIGKILL)"], ["SIGKILL): "]),
    ("2.13", "tony submit --timeout 3s --workers 3 --executes 'test $TONY_TASK_INDEX != 1 || sleep 99'", 1,
     ["; worker:1 still ran"], []),
    ("2.6", f"{JOB}; tony scale $job worker=3", 2, ["worker: has 2 tasks and is not elastic"], []),
    ("kill by force", f"{JOB}; tony kill --force --reason 'out of credit' $job; tony status $job; tony list -a", 0,
     ["killed by the user: out of credit"], ["SIGTERM", "end: failed"]),
    ("2.6 type", f"{JOB}; tony scale $job foo=3", 4, ['has no task type "foo"'], []),
    ("2.6 range", f"{ELASTIC}; tony scale $job worker=9", 2, ["worker: may have 1 to 2 tasks"], []),
    ("2.19", f"{JOB}; tony wait --timeout 1 $job", 9, ["still runs after 1.0 s"], []),
    ("3.23", "tony submit", 2, ["tony: no command: write it after --, as in tony submit -- python3 train.py"],
     ["driver"]),
    ("3.42", f"touch file; {CHECKPOINT}=file -- true", 3, ["tony.application.checkpoint-dir: ", "is not a dir"], []),
    ("3.42 proc", f"{CHECKPOINT}=/proc/x -- true", 6, ["/proc/x: nobody can make a directory there"], []),
    ("output proc", "tony submit --output /proc/x -- true", 6, ["/proc/x: nobody can make a directory in /proc"], ["no space left"]),
    ("init file", "touch file; tony init pytorch file", 2, ["init: file is no directory; name a new one"], []),
    ("3.55", "HOME=/proc/x TONY_STATE_DIR= tony submit -- true", 6,
     ["set TONY_STATE_DIR to a directory where you may write: /proc/x: nobody can"], ["No such file"]),
    ("3.56", "for home in '' rel; do HOME=$home TONY_STATE_DIR= XDG_STATE_HOME= tony submit -- true; done", 3,
     ["none of TONY_STATE_DIR, XDG_STATE_HOME and HOME is set", 'HOME is "rel", no absolute path; set TONY_STATE_DIR'], []),
    ("3.55 file", "touch file; HOME=$PWD/file TONY_STATE_DIR= tony submit -- true", 3,
     ["set TONY_STATE_DIR", "file: is not a directory"], []),
    ("3.46 lines", f"tony submit -- {PYTHON} -c '{KERAS}'", 1,
     ["ValueError: Exception encountered when calling Dense.call(). Input has shape (2, 3)."], []),
    ("3.50", f"tony submit -- bash -c '{LIGHTGBM}'", 1, ["let one process alone bind TONY_PORT, once"], []),
    ("3.58", "cp $(command -v tony) .; export PATH=/usr/bin:/bin; ./tony submit -- true; echo $?; ./tony list -a", 0,
     ["tony-agent is neither in", "4\n", "There is no job yet"], ["killed"]),
    ("3.61 closed", "tony submit -- true >&-", 0, [], []),
    ("3.61 full", "tony submit -- true >/dev/full", 0,
     [" has ended (succeeded), but that could not be written: No space left on device"], []),
    ("3.61 failed", "tony submit -- false >/dev/full", 1, [" has ended (failed), but that could not be written"], []),
    ("3.61 json", "tony submit --json -- true >/dev/full", 0, [" has ended (succeeded), but that could not be written"], []),
    ("3.61 detached", "tony submit -d --memory 64m -- sleep 99 >/dev/full", 70,
     ["tony: tony-", " was submitted and runs, but that could not be written: No space left on device"],
     ["standard output: "]),
    ("3.61 follow", "tony submit -f -- echo hello >/dev/full", 70,
     ["standard output: No space left on device; output of the job is missing there, see tony logs tony-", "succeeded after"],
     ["could not be written"]),
    ("3.61 follow failed", "tony submit -f -- bash -c 'echo hello; exit 3' >/dev/full", 1,
     ["standard output: No space left on device"], []),
    ("3.61 logs closed", "tony submit -- echo hello >job; tony logs $(tony list -a -o name) --grep . >&-", 70,
     ["standard output: Bad file descriptor"], []),
    ("3.61 list", "tony config keys >/dev/full", 70, ["standard output: No space left on device"], []),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_row(tony, row):
    run_row(tony, row)
