"""Pipelines: the jobs of a file, each after those that it waits for, with their results and from where they came."""

import fcntl
import json
import pathlib
import shlex
import signal
import subprocess

import pytest
import schemas
from conftest import wait_until
from patience import PATIENCE_S


def write(tony, text, name="digits"):
    """A pipeline.xml of these jobs. `text` has them as XML; [COMMAND] is a configuration with that command."""
    before, bracket, rest = text.partition("[")
    made = before
    while bracket:
        command, _, rest = rest.partition("]")
        made += keys(("tony.containers.command", command))
        before, bracket, rest = rest.partition("[")
        made += before
    memory = keys(("tony.driver.memory", "64m"))
    (tony.directory / "pipeline.xml").write_text(f'<pipeline name="{name}">\n{memory}\n{made}\n</pipeline>\n')


def keys(*pairs):
    rows = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in pairs)
    return f"<configuration>{rows}</configuration>"


CHAIN = """
<job name="evaluate" after="train">[cat ${train.output}/driver-0/model]</job>
<job name="prepare" cache="true"><input>raw.csv</input>[tr 1 2 &lt; raw.csv > $TONY_OUTPUT_DIR/data; echo ran]</job>
<job name="train" after="prepare" cache="true">[sh train.sh ${prepare.output}/driver-0/data]</job>
"""


def write_chain(tony):
    (tony.directory / "raw.csv").write_text("1,1\n")
    (tony.directory / "train.sh").write_text('(echo model of; cat "$1") > "$TONY_OUTPUT_DIR/model"\n')
    write(tony, CHAIN)


def run(tony, *options, code=0):
    answer = tony.run("run", "--json", *options)
    assert answer.returncode == code, answer.stderr
    told = schemas.check("run", json.loads(answer.stdout))
    return told, {node["node"]: node for node in told["nodes"]}


def is_held(path):
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def states(nodes):
    return {name: node["state"] for name, node in nodes.items()}


def test_jobs_run_one_after_the_other_and_find_what_those_before_them_have_written(tony):
    write_chain(tony)
    answer = tony.run("run")
    assert answer.returncode == 0, answer.stderr
    name, *lines = answer.stdout.splitlines()
    assert lines[-1].startswith(f"{name} succeeded after ")
    order = [line.split()[0] for line in lines if " succeeded as " in line]
    assert order == ["prepare", "train", "evaluate"], "whatever their order in the file"
    assert tony.run("logs", f"{name}_evaluate").stdout == "model of\n2,2\n"
    assert tony.run("wait", name).returncode == 0
    assert len(tony.run("list", "-o", "name", name).stdout.split()) == 3
    assert tony.run("status", f"{name}_train").stdout.split()[1] == "digits.train"
    assert len(tony.run("list", "-o", "name", "--all", "--tag", "digits").stdout.split()) == 3
    _, *rows = tony.run("list", "--all").stdout.splitlines()
    assert len(rows) == 1 and rows[0].startswith(name) and rows[0].endswith("digits (3 jobs: 3 succeeded)")
    assert len(tony.run("list", "--all", "--each").stdout.splitlines()) == 4


def test_a_detached_pipeline_needs_no_client(tony):
    write_chain(tony)
    told, nodes = run(tony, "--detach")
    assert told["state"] in ("running", "succeeded") and nodes["evaluate"]["after"] == ["train"]
    assert tony.run("wait", told["id"]).returncode == 0
    assert tony.run("logs", nodes["evaluate"]["id"]).stdout == "model of\n2,2\n"
    plain = tony.run("run", "-d")
    assert plain.returncode == 0 and plain.stdout.startswith("pipeline-") and tony.run("wait", plain.stdout.strip()).returncode == 0


def test_a_node_whose_inputs_are_the_same_is_not_run_again(tony):
    write_chain(tony)
    _, first = run(tony)
    assert states(first) == dict.fromkeys(["prepare", "train", "evaluate"], "succeeded")
    _, plan = run(tony, "--dry-run")
    assert states(plan) == {"prepare": "cached", "train": "cached", "evaluate": "waiting"}
    _, second = run(tony)
    assert states(second) == {"prepare": "cached", "train": "cached", "evaluate": "succeeded"}, "it does not ask for it"
    for node in ("prepare", "train"):
        assert (second[node]["id"], second[node]["inputs"]) == (first[node]["id"], first[node]["inputs"])
        assert second[node]["message"] == f"the results of {first[node]['id']}"
    assert tony.run("logs", second["evaluate"]["id"]).stdout == "model of\n2,2\n"
    uses = f"uses: prepare={first['prepare']['id']}, train={first['train']['id']}\n"
    assert uses in tony.run("status", second["evaluate"]["id"]).stdout


def test_a_pipeline_of_which_nothing_runs_has_no_id(tony):
    write(tony, '<job name="a" cache="true">[echo 1 > $TONY_OUTPUT_DIR/x]</job>')
    _, first = run(tony)
    told, nodes = run(tony)
    assert told["state"] == "succeeded" and "id" not in told and states(nodes) == {"a": "cached"}
    assert tony.run("run").stdout.splitlines() == [
        f"a cached: the results of {first['a']['id']}",
        "digits: nothing runs, all results are there: tony run --dry-run names their jobs"]
    detached = tony.run("run", "--detach")
    assert (detached.returncode, detached.stdout) == (0, "") and "digits: nothing runs" in detached.stderr


@pytest.mark.promise("R64")
def test_results_that_a_live_pipeline_uses_are_not_removed(tony):
    write(tony, f"""<job name="a" cache="true">[echo 1 > $TONY_OUTPUT_DIR/x]</job>
                    <job name="b" after="a">[until test -e {tony.directory}/go; do sleep 0.05; done; cat ${{a.output}}/driver-0/x]</job>""")
    (tony.directory / "go").touch()
    _, first = run(tony)
    (tony.directory / "go").unlink()
    told, second = run(tony, "--detach")
    assert second["a"]["state"] == "cached"
    for options in [first["a"]["id"]], ["--dry-run", first["a"]["id"]]:
        refused = tony.run("rm", *options)
        assert refused.returncode == 2, refused.stderr
        assert f"{first['a']['id']} stays: {second['b']['id']}, a job of a pipeline, uses its results" in refused.stderr
    door = tony.state / "jobs" / second["b"]["id"] / "am.json"
    wait_until(door.exists, "the application master of b")
    of_b = door.read_bytes()
    (tony.directory / "go").touch()
    assert tony.run("wait", told["id"]).returncode == 0
    assert tony.run("logs", second["b"]["id"]).stdout == "1\n"
    wait_until(lambda: not door.exists(), "the application master of b to leave")
    with door.with_name("am.lock").open() as lock:   # as where it is about to leave
        fcntl.flock(lock, fcntl.LOCK_EX)
        door.write_bytes(of_b)
        child = tony.start("rm", first["a"]["id"])
        wait_until(lambda: is_held(tony.state / "jobs" / first["a"]["id"] / "am.lock"), "the removal to begin")
        door.unlink()
    assert child.wait() == 0


def tune(*pairs):
    command = '''echo {x} > $TONY_OUTPUT_DIR/x; echo '{"loss": {x}}' >> $TONY_METRICS_FILE'''
    sweep = keys(("tony.sweep.parameters", "x=3,1,2"), ("tony.containers.command", command.replace(">", "&gt;")), *pairs)
    return f'<job name="tune" cache="true">{sweep}</job><job name="use" after="tune">[cat ${{tune.output}}/driver-0/x]</job>'


def test_the_results_of_a_sweep_are_those_of_its_best_trial(tony):
    write(tony, tune(("tony.sweep.metric", "loss"), ("tony.task.metrics-interval-ms", "100")))
    told, first = run(tony)
    assert states(first) == {"tune": "succeeded", "use": "succeeded"}
    assert len(tony.run("list", "-o", "name", told["id"]).stdout.split()) == 2, "trials are no nodes"
    _, second = run(tony)
    assert states(second) == {"tune": "cached", "use": "succeeded"}
    for nodes in first, second:
        assert tony.run("logs", nodes["use"]["id"]).stdout == "1\n"
        assert (pathlib.Path(nodes["tune"]["output"]) / "driver-0/x").read_text() == "1\n"


def test_a_sweep_without_a_metric_has_no_results_for_others(tony):
    write(tony, tune())
    answer = tony.run("run", "--dry-run")
    assert answer.returncode == 3 and "tune is a sweep without tony.sweep.metric" in answer.stderr, answer.stderr


@pytest.mark.parametrize("change, again", [
    ("input", ["prepare", "train"]), ("script", ["train"]), ("command", ["train"]), ("key", ["prepare", "train"]),
    ("results", ["prepare", "train"]), ("name", []),
])
def test_what_changes_its_inputs_runs_a_node_again_and_those_behind_it(tony, change, again):
    write_chain(tony)
    _, first = run(tony)
    options = []
    if change == "input":
        (tony.directory / "raw.csv").write_text("1,1,1\n")
    elif change == "script":
        (tony.directory / "train.sh").write_text('cat "$1" "$1" > "$TONY_OUTPUT_DIR/model"\n')
    elif change == "command":
        write(tony, CHAIN.replace("/driver-0/data]", "/driver-0/data twice]"))
    elif change == "key":
        options = ["--conf", "tony.am.retry-count=2"]
    elif change == "results":
        assert tony.run("rm", first["prepare"]["id"]).returncode == 0
    else:
        options = ["--conf", "tony.application.priority=3"]
    _, second = run(tony, *options)
    assert [name for name in ("prepare", "train") if second[name]["state"] == "succeeded"] == again


def test_the_content_of_an_input_may_count_in_place_of_its_time(tony):
    write(tony, '<job name="a" cache="true"><input by="content">raw</input>[cp raw/x $TONY_OUTPUT_DIR]</job>')
    (tony.directory / "raw").mkdir()
    (tony.directory / "raw/x").write_text("1")
    run(tony)
    (tony.directory / "raw/x").write_text("1")
    assert states(run(tony)[1]) == {"a": "cached"}
    (tony.directory / "raw/x").write_text("2")
    assert states(run(tony)[1]) == {"a": "succeeded"}


@pytest.mark.parametrize("word", ["in.csv", "--data=in.csv"])
def test_the_content_of_files_that_a_command_names_counts(tony, word):
    write(tony, f'<job name="a" cache="true">[echo {word} | tee $TONY_OUTPUT_DIR/x]</job>')
    file = tony.directory / "in.csv"
    for content, state in [("1", "succeeded"), ("1", "cached"), ("2", "succeeded")]:
        file.write_text(content)
        assert states(run(tony)[1]) == {"a": state}


def test_a_node_that_has_left_no_results_runs_again_and_says_why(tony):
    write(tony, '<job name="a" cache="true">[true]</job>')
    _, first = run(tony)
    _, plan = run(tony, "--dry-run")
    assert plan["a"]["message"] == f"the earlier {first['a']['id']} has no results, or they are gone"
    assert "has no results" in tony.run("run", "--dry-run").stdout


def test_sources_count_by_their_content(tony):
    (tony.directory / "src").mkdir()
    (tony.directory / "src/a.sh").write_text("echo 1 > $TONY_OUTPUT_DIR/x\n")
    write(tony, f'<job name="a" cache="true">{keys(("tony.application.src-dir", "src"), ("tony.containers.command", "sh a.sh"))}</job>')
    run(tony)
    (tony.directory / "src/a.sh").touch()
    assert states(run(tony)[1]) == {"a": "cached"}
    (tony.directory / "src/a.sh").write_text("echo 2 > $TONY_OUTPUT_DIR/x\n")
    assert states(run(tony)[1]) == {"a": "succeeded"}


def test_those_behind_a_failed_node_are_skipped_and_told_why(tony):
    all_are_submitted = f"test $(ls {tony.state}/jobs | wc -l) -ge 4"
    write(tony, f"""<job name="a">[until {all_are_submitted}; do sleep 0.05; done; exit 3]</job> <job name="b" after="a">[true]</job>
                   <job name="c" after="b">[true]</job> <job name="d" after="a:any">[echo clean up ${{day:-}} ${{other:-1}}]</job>""")
    told, nodes = run(tony, code=1)
    assert told["state"] == "failed"
    assert states(nodes) == {"a": "failed", "b": "skipped", "c": "skipped", "d": "succeeded"}
    assert nodes["b"]["message"].startswith(f"canceled: job {nodes['a']['id']}, after which it was to begin, failed")
    answer = tony.run("run", "--conf", "day=a day", "--conf", "other=1")
    assert answer.returncode == 1 and "warning" not in answer.stderr, answer.stderr
    assert answer.stdout.count("\nc skipped") == 1  # once it is known why
    hint = "tony run --conf 'day=a day' --conf other=1 --from a pipeline.xml"
    assert f"try: {hint}\nsee: tony logs tony-" in answer.stdout
    assert f"try: {hint}\n" in tony.run(*shlex.split(hint)[1:]).stdout


def test_a_node_whose_submission_waited_for_a_failed_one_names_it(tony):
    take = keys(("tony.containers.resources", "${a.output}/driver-0/x"), ("tony.containers.command", "cat x"))
    write(tony, f'<job name="a">[exit 3]</job> <job name="b" after="a">{take}</job>')
    _, nodes = run(tony, code=1)
    assert states(nodes) == {"a": "failed", "b": "skipped"} and nodes["b"]["message"] == "a has not succeeded"


def test_a_pipeline_goes_on_from_a_node(tony):
    write_chain(tony)
    refused = tony.run("run", "--from", "train")
    assert refused.returncode == 4 and "no job digits.prepare has succeeded" in refused.stderr
    _, first = run(tony)
    _, second = run(tony, "--from", "train")
    assert states(second) == {"prepare": "cached", "train": "succeeded", "evaluate": "succeeded"}
    assert second["prepare"]["id"] == first["prepare"]["id"]
    for path in tony.state.glob(f"jobs/{first['prepare']['id']}/output/driver-0/*"):
        path.unlink()
    gone = tony.run("run", "--from", "train")
    assert gone.returncode == 4 and f"the earlier {first['prepare']['id']} has no results, or they are gone" in gone.stderr
    assert "--from: there is no job nothing in pipeline.xml" in tony.run("run", "--from", "nothing").stderr


def test_a_node_takes_files_of_those_before_it(tony):
    take = keys(("tony.containers.resources", "${a.output}/driver-0/x"), ("tony.containers.command", "cat x"))
    write(tony, f'<job name="a">[echo here > $TONY_OUTPUT_DIR/x]</job><job name="b" after="a">{take}</job>')
    _, nodes = run(tony)
    assert tony.run("logs", nodes["b"]["id"]).stdout == "here\n"
    refused = tony.run("run", "--detach")
    assert refused.returncode == 2 and "b is submitted once the jobs before it have ended" in refused.stderr


def test_a_pipeline_goes_on_when_its_terminal_is_closed(tony):
    take = keys(("tony.containers.resources", "${a.output}/driver-0/x"), ("tony.containers.command", "cat x"))
    write(tony, f"""<job name="a">[until [ -e {tony.directory}/go ]; do sleep 0.05; done; echo here > $TONY_OUTPUT_DIR/x]</job>
                    <job name="b" after="a">{take}</job>""".replace("[ -e", "test -e").replace("go ]", "go"))
    client = subprocess.Popen(["nohup", tony.build / "tony", "run"], cwd=tony.directory, env=tony.env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tony.children.append(client)
    wait_until(lambda: any(job["state"] == "running" for job in json.loads(tony.run("list", "--json").stdout)), "a to run")
    client.send_signal(signal.SIGHUP)
    (tony.directory / "go").touch()
    out, err = client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 0 and "b succeeded as " in out, out + err


@pytest.mark.promise("R88")
def test_jobs_begin_in_their_order_when_the_client_is_killed(tony):
    write(tony, f"""<job name="a">[until test -e {tony.directory}/go; do sleep 0.05; done; echo a >> {tony.directory}/order]</job>
                    <job name="b" after="a">[echo b >> {tony.directory}/order]</job>""")
    client = tony.start("run")
    wait_until(lambda: "waiting: waits for job" in tony.run("status", "digits.b").stdout, "b to wait")
    client.kill()
    client.communicate()
    (tony.directory / "go").touch()
    wait_until(lambda: json.loads(tony.run("list", "--json").stdout) == [], "both to end")
    assert (tony.directory / "order").read_text() == "a\nb\n"


@pytest.mark.promise("R89")
def test_ctrl_c_ends_all_of_it(tony):
    write(tony, '<job name="a">[while true; do sleep 0.1; done]</job><job name="b" after="a">[true]</job>')
    client = tony.start("run")
    wait_until(lambda: len(json.loads(tony.run("list", "--json").stdout)) == 2, "both to be submitted")
    client.send_signal(signal.SIGINT)
    out, err = client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 8 and "are asked to stop" in err
    assert "a killed as " in out and "b killed as " in out
    assert json.loads(tony.run("list", "--json").stdout) == []


def test_an_interrupted_pipeline_is_told_as_json(tony):
    write(tony, '<job name="a">[while true; do sleep 0.1; done]</job><job name="b" after="a">[true]</job>')
    client = tony.start("run", "--json")
    wait_until(lambda: len(json.loads(tony.run("list", "--json").stdout)) == 2, "both to be submitted")
    client.send_signal(signal.SIGINT)
    out, _ = client.communicate(timeout=PATIENCE_S)
    told = schemas.check("run", json.loads(out))
    assert client.returncode == 8 and [node["state"] for node in told["nodes"]] == ["killed", "killed"]


@pytest.mark.promise("R89")
def test_an_interruption_of_a_submission_stops_the_jobs_before_it(tony):
    """The client asks the second job's interpreter for JAX, before the first submission and at the second one."""
    python = tony.directory / "bin" / "python3"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\n[ -e state/jobs ] && kill -INT $(cat client)\nexit 9\n")
    python.chmod(0o755)
    (tony.directory / "b.py").write_text("import jax\n")
    pairs = keys(("tony.application.framework", "jax"), ("tony.containers.command", "python3 b.py"))
    write(tony, f'<job name="a">[while true; do sleep 0.1; done]</job><job name="b" after="a">{pairs}</job>')
    client = tony.start("run", "--json", env={"PATH": f"{python.parent}:{tony.env['PATH']}"})
    (tony.directory / "client").write_text(str(client.pid))
    out, err = client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 8 and [node["state"] for node in json.loads(out)["nodes"]] == ["killed", "skipped"], err


def test_kill_takes_the_pipeline(tony):
    write(tony, '<job name="a">[while true; do sleep 0.1; done]</job><job name="b" after="a">[true]</job>')
    told, _ = run(tony, "--detach")
    assert tony.run("kill", told["id"]).returncode == 0
    assert tony.run("wait", told["id"]).returncode == 8


def test_a_job_file_and_keys_of_all_jobs_are_parts_of_a_node(tony):
    (tony.directory / "node.xml").write_text(keys(("tony.containers.envs", "A=file"), ("tony.containers.command", "echo $A $B")))
    own = keys(("tony.driver.envs", "B=own"))
    write(tony, f'{keys(("tony.containers.envs", "A=all"))}<job name="a" file="node.xml">{own}</job>')
    answer = tony.run("run")
    assert answer.returncode == 0 and "warning" not in answer.stderr, answer.stderr
    assert tony.run("logs", "digits.a").stdout == "file own\n"


@pytest.mark.parametrize("text, error", [
    ('<job name="a" after="b">[true]</job>\n<job name="b" after="a">[true]</job>',
     "pipeline.xml:3: jobs wait for each other in a circle: a after b after a"),
    ('<job name="train">[true]</job>\n<job name="b" after="trian">[true]</job>',
     "pipeline.xml:4: after: there is no job trian; did you mean train?"),
    ('<job name="a"/>', "pipeline.xml:3: job a: no command: write it as tony.containers.command"),
    ('<job name="a">[true]</job>\n<job name="a">[true]</job>', "pipeline.xml:4: a job a is in line 3 already"),
    ('<job name="A">[true]</job>', 'pipeline.xml:3: name: "A": write small letters, digits, - and _'),
    ('<job>[true]</job>', 'pipeline.xml:3: <job> has no name; write <job name="train">'),
    ('<job name="a" cachee="true">[true]</job>', 'pipeline.xml:3: <job> has no attribute "cachee"; did you mean "cache"?'),
    ('<job name="a" cache="maybe">[true]</job>', 'pipeline.xml:3: cache: "maybe" is neither true nor false'),
    ('<job name="a" after="b:sometimes">[true]</job>\n<job name="b">[true]</job>',
     'pipeline.xml:3: after: "b:sometimes" is not JOB, JOB:success or JOB:any'),
    ('<node name="a">[true]</node>', "pipeline.xml:3: <node> has no place in <pipeline>; write <job> or <configuration>"),
    ('<job name="a"><command>true</command></job>', "pipeline.xml:3: <command> has no place in <job>"),
    ('<job name="a">[echo ${b.output}]</job>\n<job name="b">[true]</job>', '"echo ${b.output}": a does not wait for b; write after="b"'),
    ('<job name="a">[echo ${bb.id}]</job>', '"echo ${bb.id}": there is no job bb in pipeline.xml'),
    ('<job name="a">[true]</job>\n<job name="b" after="a">[python3 nothing.py]</job>', "pipeline.xml:4: job b: "),
    ('<job name="a">[true]</job>\n<job name="b" after="a">[cat ${a.outptu}/x]</job>',
     "pipeline.xml:4: job b: pipeline.xml:4: tony.containers.command: ${a.outptu} is not set; did you mean ${a.output}?"),
    ('<job name="a">[true]</job>\n<job name="b" after="a">[sh day.sh ${day}]</job>',
     "tony.containers.command: ${day} is not set; give it by --conf day=VALUE; one of the shell's is $day"),
    ("", "there is no job; write <job name="),
    ('<job name="a" file="nothing.xml"/>', "pipeline.xml:3: file: nothing.xml: No such file or directory"),
    ("<job", "not XML"),
])
def test_a_mistake_is_told_with_its_place_before_anything_runs(tony, text, error):
    write(tony, text)
    answer = tony.run("run")
    assert answer.returncode == 3 and error in answer.stderr, answer.stderr
    assert json.loads(tony.run("list", "--all", "--json").stdout) == []


def test_variables_of_the_shell_stay(tony):
    envs = keys(("tony.containers.envs", "own=1"))
    write(tony, f"""<job name="a">{envs}[for i in 1; do echo ${{i}}${{own}}; done; b=2; echo ${{b}} ${{HOME:+3}} ${{c:-4}} ${{TONY_TASK_INDEX}}]</job>""")
    assert tony.run("run").returncode == 0
    assert tony.run("logs", "digits.a").stdout == "11\n2 3 4 0\n"


def test_a_variable_that_is_given_stands_before_its_default(tony):
    write(tony, '<job name="a">[echo ${day:-none} ${day-none} ${day:-no day} ${c:-4}]</job>')
    for options, lines, told in ((["--conf", "day=4"], "4 4 4 4\n", ""), ([], "none none no day 4\n", ""),
                                 (["--conf", "day=${x}", "--conf", "x=7"], "7 7 7 4\n", ""),
                                 (["--conf", "dya=4"], "none none no day 4\n",
                                  "--conf: dya: no job of pipeline.xml has ${dya}; did you mean day?")):
        answer = tony.run("run", *options)
        assert answer.returncode == 0 and told in answer.stderr and ("no job of" in answer.stderr) == bool(told), answer.stderr
        assert tony.run("logs", "digits.a").stdout == lines
    write(tony, '<job name="a">[echo ${my-key} ${my-key:-none} ${my-key-none}]</job>')
    answer = tony.run("run", "--conf", "my-key=5")
    assert answer.returncode == 0 and "no job of" not in answer.stderr, answer.stderr
    assert tony.run("logs", "digits.a").stdout == "5 5 5\n"


def test_a_job_that_is_not_there_is_told_once(tony):
    write(tony, '<job name="a">[echo ${b.output}]</job>')
    answer = tony.run("run")
    assert answer.returncode == 3 and "there is no job b in" in answer.stderr and "is not set" not in answer.stderr, answer.stderr
    answer = tony.run("submit", "--conf_file", "pipeline.xml")
    assert answer.returncode == 3 and "a pipeline, which is not one job: tony run FILE" in answer.stderr, answer.stderr


def test_words_that_are_for_other_verbs(tony):
    for options, code, words in [
        ([], 3, "there is no pipeline.xml here; name a file"),
        (["--", "python3", "train.py"], 2, "a command is for tony submit -- python3"),
        (["a.xml", "b.xml"], 2, "one file of a pipeline at a time"),
        (["--detach", "--dry-run"], 2, "contradict"),
    ]:
        answer = tony.run("run", *options)
        assert answer.returncode == code and words in answer.stderr, answer.stderr
    (tony.directory / "tony.xml").write_text("<configuration/>")
    assert "a job file is for tony submit --conf_file tony.xml" in tony.run("run", "tony.xml").stderr


def test_the_example_trains_a_model_and_hands_it_over(tony):
    folder, serving = tony.directory / "digits", tony.directory / "serving"
    assert tony.run("init", "pipeline", folder).returncode == 0
    answer = tony.run("run", cwd=folder, env={"SERVING": str(serving)})
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "accuracy 0.88" in tony.run("logs", "digits.evaluate").stdout
    assert len(json.loads((serving / "model.json").read_text())) == 10
    for options in ["--dry-run"], ["--from", "publish"]:  # evaluate has no results, and needs none
        assert tony.run("run", *options, cwd=folder, env={"SERVING": str(serving)}).returncode == 0


@pytest.mark.parametrize("command", [
    "for day in 1 2; do echo ${day}; done", "day=1; echo ${day}",
    "while read -r name day; do echo ${day}; done &lt; days",
    "mapfile -t day; echo ${day}", "printf -v day %s 1; echo ${day}", "while getopts ab day; do echo ${day}; done", "local other day; echo ${day}"])
def test_a_variable_that_a_command_sets_is_its_own(tony, command):
    write(tony, f'<job name="a">[{command}]</job>')
    answer = tony.run("run", "--dry-run")
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("command", ["for days in 1; do echo ${day}; done", "today=1; echo ${day}", "read -r name; echo day ${day}"])
def test_a_variable_that_is_not_set_is_told_though_others_are(tony, command):
    write(tony, f'<job name="a">[{command}]</job>')
    answer = tony.run("run", "--dry-run")
    assert answer.returncode == 3 and "${day} is not set" in answer.stderr, answer.stderr


def test_an_environment_of_cron_is_enough_for_a_day_of_its_own(tony):
    write(tony, '<job name="a" cache="true">[echo ${day} | tee $TONY_OUTPUT_DIR/day]</job>')
    for day in ("monday", "tuesday"):
        _, nodes = run(tony, "--conf", f"day={day}")
        assert tony.run("logs", nodes["a"]["id"]).stdout.strip() == day
    assert states(run(tony, "--conf", "day=monday")[1]) == {"a": "cached"}
