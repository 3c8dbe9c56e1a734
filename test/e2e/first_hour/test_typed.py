"""tony does what a new user types, or refuses it by name, value and remedy. The ids are those of the table of inputs."""

import pytest
from program import PYTHON
from rows import run_row

XML = "<configuration>%s</configuration>"
KEY = "<property><name>%s</name><value>%s</value></property>"


def xml(**keys):
    """A command that writes tony.xml; "worker__command" is tony.worker.command, and "_" within is "-"."""
    text = "".join(KEY % ("tony." + name.replace("__", ".").replace("_", "-"), value) for name, value in keys.items())
    return f"echo '{XML % text}' >tony.xml; "


FAR = xml(worker__instances=1, worker__memory="far")
IDENTITY = "gives each process its own; leave it out, or use the framework generic"
RENDER = "tony render --framework pytorch --workers 2"
ROWS = [
    ("2.11", r"tony render --workers 1 --conf 'tony.worker.envs=LIST=1\,2\,3,B=x' -- true", 0, ["LIST=1,2,3", "B=x"],
     ["warning"]),
    ("2.11 bare", "tony render --workers 1 --conf tony.worker.envs=LIST=1,2,3 -- true", 2,
     ['"2" is not KEY=VALUE; write "\\," for a comma within a value'], []),
    ("2.11 names", "tony render --workers 1 --conf tony.worker.envs=LIST=a,b -- true", 0,
     ["b is a variable without a value; if it belongs to LIST"], []),
    ("3.4", "tony submit --conf worker.instances=3 -- true", 2, ["did you mean tony.worker.instances?"], ["succeeded"]),
    ("3.4 case", "tony submit --conf Tony.worker.instances=3 -- true", 2, ["did you mean tony.worker.instances?"],
     ["succeeded"]),
    ("3.8 job", 'tony status "$UNSET"', 2, ["the JOB is empty", "variable of the shell"], []),
    ("3.8 kill", 'tony kill "$UNSET"', 2, ["the JOB is empty"], []),
    ("3.8 option", "tony submit --workers $UNSET -- true; tony submit --name $UNSET --memory 1g -- true", 2,
     ["--workers needs a value (N), and -- stands there: is a variable of the shell not set?", "--name needs a value"], []),
    ("2.20 help", "tony -help; tony submit -help | head -1; tony -h", 0, ["tony - run distributed", "tony submit [OPTIONS]"],
     ["unknown"]),
    ("3.8 grep", "tony submit -- true; tony logs $(tony list -a -o name) --grep $(printf '%05000d' 0)", 2,
     ["--grep: longer than 4096 bytes"], []),
    ("3.8 results", "tony submit -- true; tony results $(tony list -a -o name) --output s3://jobs/x", 2,
     ["\"s3://jobs/x\" is no directory of this machine"], []),
    ("3.8 history file", "tony history --location /etc/passwd", 2, ["there is no history in /etc/passwd: it is no directory"], []),
    ("3.8 history", "tony history --location /no/such", 4, ["there is no history in /no/such: it is not there"], []),
    ("3.8 state", "TONY_STATE_DIR='~/state' tony list", 3, ['TONY_STATE_DIR is "~/state", no absolute path'], []),
    ("2.20 operand", "tony submit job.xml", 2, ["did you mean --conf_file job.xml?"], []),
    ("2.4 file", "printf 'export A=\"x y\"\\nB=1 \\n' >env; tony submit -f --env-file env --memory 64m -- sh -c 'echo =$A.$B.'", 0,
     ["=x y.1 ."], []),
    ("2.4 interpreter", "tony submit --python_binary_path bin/python3 --memory 64m -- true", 0,
     ["--python_binary_path: has no effect: it is the interpreter of --executes", "as in -- bin/python3 train.py"], []),
    ("2.13 alone", f"touch t.py; tony check --framework mpi --workers 2 -- {PYTHON} t.py", 0,
     ["t.py would run alone: framework mpi leaves it to mpirun python3", "write mpirun python3 t.py"], []),
    ("3.72 soft", "ulimit -Sn 28; tony submit --workers 12 --vcores 1 --memory 16m -- true", 0, ["succeeded"], ["Too many open files"]),
    ("3.5", "tony submit --conf X -- true", 2, ['"X" is not KEY=VALUE'], []),
    ("3.5 empty", "tony submit --conf tony.worker.gpus=$UNSET -- true", 2, ['"tony.worker.gpus=" has no value'], []),
    ("3.6", "tony submit --workers -3 -- true", 2, ['--workers: "-3" is out of range', "from 1 to 100000"],
     ["tony.worker.instances"]),
    ("3.6 much", "for n in 100001 99999999999999999999; do tony submit --workers $n -- true; "
     "tony submit --ps $n --workers 1 -- true; done", 2,
     ['--workers: "100001" is out of range; write a value from 1 to 100000', '--ps: "100001" is out of range',
      '--workers: "99999999999999999999" is out of range; write a value from 1 to 100000',
      '--ps: "99999999999999999999" is out of range; write a value from 0 to 100000'], ["whole number"]),
    ("3.6 other", "for n in 1e3 3.0; do tony submit --workers $n -- true; done", 2,
     ['--workers: "1e3" is not a whole number', '--workers: "3.0" is not a whole number'], []),
    ("3.7", "tony submit --workers 0 -- true", 2, ['--workers: "0" asks for no task; write --workers 1'], ["succeeded"]),
    ("3.7 type", "tony submit --type trainer=0 -- true", 2, ["--type: the job has no task"], ["succeeded"]),
    ("3.8", 'tony submit --workers "$UNSET" -- true', 2, ["--workers: the value is empty", "leave the option out"], []),
    ("3.8 name", 'tony submit --name "$UNSET" -- true', 2, ["--name: the value is empty"], []),
    ("3.9", 'tony submit --memory "10 gigs" -- true', 2, ['--memory: "10 gigs" is not a size; write 10g'],
     ["tony.am.memory"]),
    ("3.9 other", "tony submit --memory far -- true", 2, ['--memory: "far" is not a size; write 2g or 2048m'], []),
    ("3.9 point", "tony submit --memory .5g -- true", 2, ['".5g" is not a size; write 0.5g'], ["2g"]),
    ("3.9 good", "for m in 1g 1gb 1GiB 1Gi 1024Mi '1 GB' '1GB '; do tony check --memory \"$m\" -- true; done", 0,
     ["memory: 1.0 GiB in all"], ["warning", "problem"]),
    ("3.10", "for m in 0 99999999999g; do tony submit --memory $m -- true; done", 2,
     ['"0" is out of range', '"99999999999g" is out of range; write a value from 1 MiB to'], []),
    ("3.10 negative", "tony submit --memory=-1g -- true", 2, ['--memory: "-1g" is not a size'], []),
    ("3.11", "tony submit --memory 1k -- true", 2, ['--memory: "1k" is less than 1 MiB; write 1m or more'], []),
    ("3.12", "tony check --memory 100 -- true", 0,
     ['--memory: "100" has no unit and counts MiB; write 100m, or 100g for GiB'], []),
    ("3.13", "tony submit --memory 64m --timeout 1 -- sleep 99", 1,
     ['--timeout: "1" has no unit and counts seconds; write 1s, or 1m for minutes', "tony.application.timeout (1.0 s)"],
     ["milli"]),
    ("3.13 negative", "tony submit --timeout=-5s -- true", 2,
     ['--timeout: "-5s" is not a duration; write 90s, 10m or 1h30m'], ["milliseconds"]),
    ("3.13 good", "tony check --timeout 5min -- true && tony check --timeout 1h30m -- true", 0, [], ["warning"]),
    ("3.13 history", "tony history --prune --older-than 30", 2, ['--older-than: "30" has no unit; write 30d'], []),
    ("3.13 size", "tony history --prune --max-size 10", 2, ['--max-size: "10" has no unit; write 10g'], []),
    ("3.14", "tony check --conf tony.application.timeout=30 -- true", 0,
     ['"30" has no unit and counts milliseconds (30 ms); write 30ms, or 30s for seconds'], []),
    ("3.20", "FOO=mine tony render -e FOO -- true", 0, ["FOO=mine"], []),
    ("3.20 unset", "tony submit -e FOO -- true", 2, ["FOO is not set in tony's environment; export it"], []),
    ("3.21", f"{RENDER} -e RANK=7 -- true", 2, [f'--env: "RANK": the framework pytorch {IDENTITY}'], []),
    ("3.21 file", f"{RENDER} --conf tony.worker.envs=WORLD_SIZE=1 -- true", 2,
     [f'tony.worker.envs: "WORLD_SIZE": the framework pytorch {IDENTITY}'], []),
    ("3.21 other", "tony render --workers 2 -e RANK=7 -- true", 0, ["RANK=7"], ["warning"]),
    ("3.21 own", "tony submit -e TONY_CHECKPOINT_DIR=/x -e TONY_TASK= --workers 2 -- true", 2,
     ['--env: "TONY_CHECKPOINT_DIR": tony gives each process its own; choose another name', '"TONY_TASK"'], ["submitted"]),
    ("3.21 out", f"{RENDER} --processes 2 -e OMP_NUM_THREADS= -- true", 0, ["RANK=1"], ["OMP_NUM_THREADS"]),
    ("3.21 run", "tony submit --memory 64m -e HOME= --executes 'test -z \"${HOME+set}\"'", 0, ["succeeded"], []),
    ("3.22", "tony submit -e 'A B=1' -- true", 2, ['"A B=1" is not KEY=VALUE; write a name without blanks before'], []),
    ("3.22 comma", "tony render -e A=1,2 -- true", 0, ["A=1,2"], ["warning"]),
    ("3.26", xml(worker__instances=1, worker__command="echo theirs", worker__memory="64m")
     + "tony render -- echo mine", 0, ["echo mine"], ["theirs", "warning"]),
    ("3.26 common", xml(worker__instances=1, containers__command="echo theirs") + "tony render -- echo mine", 0,
     ["echo mine"], ["theirs", "warning"]),
    ("3.26 several", xml(worker__instances=1, worker__command="train", ps__instances=1, ps__command="serve")
     + "tony submit -- echo mine", 2,
     ["every task type has a command of its own: ", "worker (tony.xml:1)", "ps (tony.xml:1)"], []),
    ("3.41", "tony check --conf 'tony.application.checkpoint-dir=~/ck' -- true; tony config show "
     "--conf 'tony.application.checkpoint-dir=$HOME/ck' -- true", 0, ["/home/ck"], ["~", "$HOME"]),
    ("3.47", "tony render --conf tony.driver.memory=96m -- true", 0, ["96 MiB"], ["warning"]),
    ("3.48", "tony submit --conf tony.driver.gpus=1000 -- true", 7, ["driver:0 needs 1000 GPUs"], []),
    ("3.48 command", "tony render --conf tony.driver.command='echo own'", 0, ["echo own"], ["warning"]),
    ("twice", "tony submit --memory 64m --workers 3 --type worker=2 --ps 1 --type ps=2 --type a=1 --type a=2 -- true", 2,
     ['--type: "worker=2" and --workers 3 say the same thing; give one', '"ps=2" and --ps 1 say the same',
      '--type: "a=2" comes after another number of a; give one'], ["succeeded"]),
    ("servers alone", "tony submit --ps 2 --memory 64m --gpus 1 -- true", 2,
     ['tony: --ps: "2": parameter servers serve workers, and the job has none; add --workers N\n'],
     ["is for workers", "untracked", "succeeded"]),
    ("servers alone by type", "tony submit --type ps=2 --memory 64m -- true", 2,
     ["tony: --type: tasks of type ps serve others, and the job has none: it would end at once; add --workers N"],
     ["untracked", "succeeded"]),
    ("role", "tony check --framework tensorflow --type cheif=1 --workers 1 --memory 64m -- true", 0,
     ['--type: "cheif" is no role that tensorflow knows; did you mean chief?'], []),
    ("role none", "tony check --framework tensorflow --type gpuworker=1 --type monitor=1 --memory 64m -- true; "
     "tony check --type cheif=1 --memory 64m -- true", 0, [], ["warning"]),
    ("3.69", "tony submit --framework tensorflow --type chief=2 --workers 2 -- true", 2,
     ['--type: "2": TensorFlow knows one chief; set it to 1 and ask for more workers'], []),
    *((f"3.69 {framework}", f"tony check --framework {framework} --type chief=2 --workers 2 -- true", 2,
       ['--type: "2": the end of one chief ends the job', "set it to 1 and ask for more workers, or set "
        "tony.application.stop-after-chief=false"], []) for framework in ("pytorch", "torchrun", "jax", "generic")),
    ("3.69 goes on", "tony check --framework pytorch --type chief=2 --workers 2 --conf tony.application.stop-after-chief=false "
     "--memory 64m -- true", 0, [], ["chief ends"]),
    ("layer file", FAR + "tony submit -- true; echo $?; tony check -- true", 3, ['tony.xml:1: tony.worker.memory: "far"', "3\n"],
     []),
    ("layer both", FAR + "tony submit --vcores none -- true", 3,
     ['tony.xml:1: tony.worker.memory: "far"', '--vcores: "none"'], []),
    ("layer over a file", FAR + "tony submit --memory none -- true", 2, ['--memory: "none" is not a size'], ["far"]),
    ("layer list", xml(worker__instances=1, execution__envs="A B=1") + "tony submit -e C=1 -- true", 3,
     ['tony.xml:1, --env: tony.execution.envs: "A B=1"'], []),
    ("layer lacks", xml(worker__instances=1) + "tony submit", 3, ["no command"], []),
    ("layer path", "for option in src_dir python_venv conf_file; do tony submit --$option none -- true; echo $?; done", 0,
     ['--src_dir: "none": No such file', '--python_venv: "none": No such file', "none: No such file", "3\n"], ["2\n"]),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_row(tony, row):
    run_row(tony, row)
