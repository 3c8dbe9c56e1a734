"""What tasks use, measured, shown and kept."""

import json
import os
import re
import signal
from pathlib import Path

import pytest
import schemas
from conftest import PYTHON, wait_until
from terminal import Terminal

OFTEN = {"tony.task.metrics-interval-ms": "100"}

# Burns, allocates, writes, and sends to itself until it is ended.
BURN = f"""exec {PYTHON} -c '
import os, socket, threading
ballast = b"x" * (60 << 20)
listener = socket.create_server(("127.0.0.1", 0))
sender = socket.create_connection(listener.getsockname())
receiver, _ = listener.accept()
def receive():
    while receiver.recv(1 << 20):
        pass
threading.Thread(target=receive, daemon=True).start()
with open("out", "wb") as file:
    while True:
        sender.sendall(ballast[:1 << 20])
        file.seek(0)
        file.write(ballast[:1 << 20])
        file.flush()
        os.fsync(file.fileno())
        for _ in range(1000000):
            pass
'"""


def get(job, path):
    status, body = job.rest("GET", path)
    assert status == 200, body
    return json.loads(body)


def series(job, task="worker:0"):
    return {row["name"]: row for row in get(job, f"/v1/series?task={task}")["series"]}


def most(row):
    return max(value for value in row["v"] if value is not None)


# What is seen of that at the least.
BURNT = {"cpu_percent": 10, "rss_bytes": 60 << 20, "net_send_bytes_per_s": 100000, "net_receive_bytes_per_s": 100000}


def burning(job, task="worker:0"):
    """The task's series, once all of that was seen, and the ballast more than ten times."""
    rows = series(job, task)
    if not all(name in rows and most(rows[name]) > least for name, least in BURNT.items()):
        return None
    return rows if sum(value > BURNT["rss_bytes"] for value in rows["rss_bytes"]["v"]) > 10 else None


def test_series_show_what_a_task_uses(tony):
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.memory": "200m", **OFTEN}, "--executes", BURN)
    rows = wait_until(lambda: burning(job), "samples of all that it does")
    assert most(rows["processes"]) >= 1
    assert rows["rss_bytes"]["unit"] == "bytes" and rows["rss_bytes"]["gpu"] is None
    assert rows["rss_bytes"]["t"] == sorted(rows["rss_bytes"]["t"])
    newest = get(job, "/v1/series?all=1&name=rss_bytes")["tasks"]["worker:0"]
    assert newest["last"] > 60 << 20 and 0 < len(newest["v"]) <= 32
    assert tony.run("kill", job.id).returncode == 0


def kept(tony, job):
    place = tony.state / "history" / f"{job.id[5:9]}/{job.id[9:11]}/{job.id[11:13]}" / job.id
    wait_until(place.is_dir, f"{job.id} to be published")
    lines = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    return lines, json.loads((place / "summary.json").read_text())


def cpu_range(lines):
    """The least and the most of all tasks. The average weighs each sample with the executor's own time, where points have
    the times at which the AM heard of them: on a busy machine it differs from what the points say."""
    values = [value for line in lines for row in line["series"] if row["name"] == "cpu_percent"
              for value in row["v"] if value is not None]
    return min(values), max(values)


def test_metrics_are_kept(tony):
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.memory": "200m", **OFTEN}, "--executes", BURN)
    for task in ("worker:0", "worker:1"):
        wait_until(lambda: burning(job, task), "samples of all that it does")
    assert tony.run("kill", job.id).returncode == 0
    lines, summary = kept(tony, job)
    assert [line["task"] for line in lines] == ["worker:0", "worker:1"] and lines[0]["attempt"] == 1
    rows = {row["name"]: row for row in lines[0]["series"]}
    assert most(rows["rss_bytes"]) > 60 << 20
    worker = summary["types"][0]
    assert 60 << 20 < worker["p95_rss_bytes"] <= worker["max_rss_bytes"] < 200 << 20
    least, highest = cpu_range(lines)
    assert least - 1 < worker["average_cpu_percent"] < highest + 1  # in whole percents
    assert "average_gpu_percent" not in worker


SHORT = f"""{PYTHON} -c '
import subprocess, sys, time
ballast = b"x" * (60 << 20)
subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.3: pass"])
'"""


def test_a_program_that_ends_before_it_is_measured_has_cpu_and_memory(tony):
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.memory": "200m"}, "--executes", SHORT)
    assert job.wait() == 0
    lines, summary = kept(tony, job)
    used = json.loads(tony.run("status", "--json", job.id).stdout)["tasks"][0]["used"]
    assert used["cpu_ms"] >= 300 and used["ms"] > 0, "that of a process which the program has started counts, too"
    assert 60 << 20 < used["max_rss_bytes"] < 200 << 20
    # More, where a busy machine makes it so slow that it is measured as well, with both processes at once.
    assert used["max_rss_bytes"] <= summary["types"][0]["max_rss_bytes"] < 200 << 20
    assert summary["types"][0]["average_cpu_percent"] > 0
    assert most(next(row for row in lines[0]["series"] if row["name"] == "rss_bytes")) > 0
    table = tony.run("status", job.id).stdout.splitlines()
    heading = next(line for line in table if line.startswith("TASK"))
    row = next(line for line in table if line.startswith("worker:0"))
    assert re.search(r"CPU TIME +MEMORY +PEAK", heading) and " MiB " in row, table


SHARING = f"""exec {PYTHON} -c '
import os, sys, time
ballast = b"x" * (60 << 20)
for _ in range(3):
    if os.fork() == 0:
        time.sleep(1000)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
' """


def test_memory_is_one_number_wherever_it_is_told(tony):
    """Four processes that share 60 MiB: their resident sets are 240, and no number without a name says so."""
    def is_it(size):
        return 60 << 20 < size < 120 << 20

    def mebibytes(column):
        cells = dict(zip(*(re.split(r"  +", line) for line in tony.run("status", job.id).stdout.splitlines()[-2:])))
        return float(cells[column].split()[0]) * (1 << 20)
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.memory": "500m", **OFTEN}, "--executes", SHARING + str(go))
    wait_until(lambda: job.task("worker:0").get("metrics", {}).get("rss_bytes", 0) > 240 << 20, "all to be measured")
    top = json.loads(tony.run("top", "--json", job.id).stdout)
    now = [top["tasks"][0]["use"]["memory_bytes"], job.task("worker:0")["use"]["memory_bytes"], mebibytes("MEMORY"),
           json.loads(job.rest("GET", "/v1/use")[1])["tasks"]["worker:0"]["memory_bytes"],
           json.loads(job.rest("GET", "/v1/series?all=1&name=pss_bytes")[1])["tasks"]["worker:0"]["last"]]
    assert all(map(is_it, now)), now
    go.touch()
    assert job.wait() == 0
    lines, summary = kept(tony, job)
    used = json.loads(tony.run("status", "--json", job.id).stdout)["tasks"][0]["used"]
    _, other = tony.job({"tony.worker.instances": 1}, "--executes", "true")
    rows = json.loads(tony.run("compare", "--json", job.id, other.id).stdout)["rows"]
    peaks = [used["max_pss_bytes"], mebibytes("PEAK"), summary["types"][0]["max_pss_bytes"], lines[0]["max_pss_bytes"],
             *[row["values"][0] for row in rows if row["key"] == "worker: largest memory"]]
    assert len(peaks) == 5 and all(map(is_it, peaks)), peaks
    assert used["max_rss_bytes"] > 240 << 20 and summary["types"][0]["max_rss_bytes"] > 240 << 20, "it is known by its name"


@pytest.mark.parametrize("end", ["kill", "end of the job"])
def test_a_program_that_tony_stopped_has_cpu_and_memory(tony, end):
    """Also one that ended itself upon SIGTERM, and one that took SIGKILL."""
    go, done = tony.directory / "go", tony.directory / "done"
    burn = f"{PYTHON} -c 'import time; [0 for _ in iter(lambda: time.process_time() < 0.3, False)]'"
    spin = f"trap '{{}}' TERM; {burn}; touch {done}$TASK_INDEX; while :; do sleep 0.1; done"
    keys = {"tony.worker.instances": 1, "tony.worker.command": f"while [ ! -e {go} ]; do sleep 0.05; done",
            "tony.helper.instances": 2, "tony.application.untracked.jobtypes": "helper", "tony.helper.stop-grace": "100ms",
            "tony.helper.command": f"case $TASK_INDEX in 0) {spin.format('exit 0')};; *) {spin.format('')};; esac"}
    job = tony.submit(keys)
    for index in (0, 1):
        wait_until(Path(f"{done}{index}").exists, "the helpers to have used processor time")
    if end == "kill":
        assert tony.run("kill", job.id).returncode == 0
    else:
        go.touch()
    assert job.wait() == (8 if end == "kill" else 0)
    for name in ("helper:0", "helper:1"):
        task = job.task(name)
        assert task["state"] == "stopped"
        assert task["used"]["cpu_ms"] >= 300 and task["used"]["max_rss_bytes"] > 0 and task["used"]["ms"] > 0, task
    told = [event for event in job.events() if event["ev"] == "task" and event["task"] == "helper:0" and "used_ms" in event]
    assert len(told) == 1 and told[0]["from"] == told[0]["to"] == "stopped"
    assert re.search(r"  helper:0 used \S+ m?s of CPU and \S+ MiB of memory\n", tony.run("events", job.id).stdout)


def test_metrics_of_an_am_that_was_killed_are_kept(tony):
    job = tony.submit({"tony.worker.instances": 1, **OFTEN}, "--executes", "sleep 1000")
    so_far = job.directory / "metrics.jsonl"
    wait_until(lambda: so_far.is_file() and so_far.stat().st_size > 0, "the metrics so far")
    job.wear_out_am()
    lines, summary = kept(tony, job)
    assert summary["state"] == "failed"
    assert lines[0]["task"] == "worker:0" and most({row["name"]: row for row in lines[0]["series"]}["rss_bytes"]) > 0


def test_an_executor_that_was_silent_for_a_while_is_on_record(tony):
    job = tony.submit({"tony.worker.instances": 2, "tony.task.heartbeat-interval-ms": "500",
                       "tony.task.max-missed-heartbeats": 240, **OFTEN}, "--executes", "sleep 1000")

    def measured(task):
        return get(job, "/v1/metrics")["tasks"].get(task, {"samples": 0})

    for task in ("worker:0", "worker:1"):
        wait_until(lambda: measured(task)["samples"] > 0, "a sample")
    executor = job.wait_task("worker:1")["executor_pid"]

    def goes_on(task):
        seen = measured(task)["samples"]
        wait_until(lambda: measured(task)["samples"] > seen + 3, f"the samples of {task} to go on")

    def is_late():
        """When the other one happens to be silent as well, the AM blames the machine and counts nothing."""
        os.kill(executor, signal.SIGSTOP)
        try:
            goes_on("worker:0")
        finally:
            os.kill(executor, signal.SIGCONT)
        goes_on("worker:1")
        return measured("worker:1")["late_beats"] > 0

    wait_until(is_late, "a beat after a silence")
    silence = measured("worker:1")["longest_silence_ms"]
    assert silence > 1000
    assert tony.run("kill", job.id).returncode == 0
    lines, summary = kept(tony, job)
    line = next(line for line in lines if line["task"] == "worker:1")
    assert line["longest_silence_ms"] >= silence
    worker = summary["types"][0]
    assert worker["longest_silence_ms"] == max(line["longest_silence_ms"] for line in lines)
    assert worker["late_beats"] == sum(line["late_beats"] for line in lines) > 0


def test_the_last_sample_is_of_something(tony):
    """A program that has ended uses nothing, which is no measurement of it."""
    job = tony.submit({"tony.worker.instances": 1, **OFTEN}, "--executes", "while ! [ -e go ]; do sleep 0.05; done")
    wait_until(lambda: len(series(job).get("rss_bytes", {"v": []})["v"]) > 3, "samples")
    work = next((job.directory / "containers").glob("worker-0-*/work"))
    (work / "go").touch()
    assert job.wait() == 0
    lines, _ = kept(tony, job)
    rows = {row["name"]: row["v"] for row in lines[0]["series"]}
    assert min(rows["rss_bytes"]) > 0 and min(rows["processes"]) > 0


# ---- the program's own numbers --------------------------------------------------------------------

TELL = f"""exec {PYTHON} -c '
import json, os, time
with open(os.environ["TONY_METRICS_FILE"], "a") as file:
    for step in range(1, 11):
        print(json.dumps({{"step": 10 * step, "loss": 1 / step, "accuracy": float("nan") if step == 1 else 0.5}}), file=file)
    file.flush()
    while not os.path.exists("go"):
        time.sleep(0.01)
    print(json.dumps({{"run": "eval", "loss": 0.25}}), file=file)
'"""


def own(answer):
    return {(row["name"], row["run"]): row for row in answer["user"]}


def test_programs_tell_numbers_of_their_own(tony):
    job = tony.submit({"tony.worker.instances": 1, **OFTEN}, "--executes", TELL)
    wait_until(lambda: get(job, "/v1/series?task=worker:0")["user"], "what the program told")
    rows = own(get(job, "/v1/series?task=worker:0"))
    assert rows["loss", ""]["step"] == list(range(10, 101, 10))
    assert rows["loss", ""]["v"][:2] == [1, 0.5]
    assert rows["accuracy", ""]["v"][:2] == [None, 0.5]
    work = next((job.directory / "containers").glob("worker-0-*/work"))
    (work / "go").touch()
    assert job.wait() == 0
    lines, _ = kept(tony, job)
    rows = own(lines[0])
    assert rows["loss", ""]["v"][:2] == [1, 0.5] and len(rows["loss", ""]["v"]) == 10
    assert rows["loss", "eval"]["v"] == [0.25], "what was told at the very end is kept, too"


def told(tony, job, *options):
    answer = tony.run("metrics", "--json", *options, job.id)
    assert answer.returncode == 0, answer.stderr
    return [schemas.check("metrics", json.loads(line)) for line in answer.stdout.splitlines()]


def test_a_verb_tells_the_series_of_a_live_job_and_of_an_ended_one(tony):
    job = tony.submit({"tony.worker.instances": 2, **OFTEN}, "--executes", TELL)
    wait_until(lambda: all(own(task) for task in told(tony, job)), "what the programs told")
    wait_until(lambda: all(task["series"] for task in told(tony, job)), "what was measured")
    live = told(tony, job, "--name", "loss", "--task", "worker:1")
    assert [task["task"] for task in live] == ["worker:1"] and not live[0]["series"]
    assert own(live[0])["loss", ""]["v"][:2] == [1, 0.5]
    assert tony.run("metrics", "--task", "ps:0", job.id).returncode == 4
    for work in (job.directory / "containers").glob("worker-*/work"):
        (work / "go").touch()
    assert job.wait() == 0
    ended = told(tony, job)
    assert [task["task"] for task in ended] == ["worker:0", "worker:1"]
    assert own(ended[0])["loss", "eval"]["v"] == [0.25]
    table = tony.run("metrics", "--name", "loss", job.id).stdout.splitlines()
    assert table[0].split() == ["TASK", "NAME", "LAST", "LEAST", "MOST", "MEAN"]
    assert [row.split()[:2] for row in table[1:] if "eval" not in row] == [["worker:0", "loss"], ["worker:1", "loss"]]
    nothing = tony.run("metrics", "--name", "none", job.id)
    assert nothing.returncode == 0 and not nothing.stdout and "nothing was measured" in nothing.stderr
    assert "; its numbers are " in nothing.stderr and "loss" in nothing.stderr, nothing.stderr


DIVERGE = f"""{PYTHON} -c '
import json, os, time
with open(os.environ["TONY_METRICS_FILE"], "a") as file:
    for step in range(2000):
        gain = float("nan") if step % 500 == 99 else 9 if step == 1001 else 0.5
        print(json.dumps({{"step": step, "loss": 1 / (step + 1) if step < 60 else float("inf"), "gain": gain, "skipped": None}}), file=file)
    file.flush()
    while not os.path.exists("go"):
        time.sleep(0.01)
'"""


def test_nan_is_told_and_the_extremes_are_the_programs(tony):
    """Of 2000 steps there are 512 points at most."""
    jobs = [tony.submit({"tony.worker.instances": 1, **OFTEN}, "--executes", DIVERGE) for _ in range(2)]
    work = [next((job.directory / "containers").glob("worker-0-*/work")) for job in jobs if job.wait_task("worker:0")]
    wait_until(lambda: all(own(told(tony, job)[0]).get(("loss", ""), {}).get("exact", {}).get("nans") == 1940 for job in jobs),
               "what the programs told")
    top = tony.run("top", "--once", jobs[0].id).stdout
    assert re.search(r"^worker:0 .* NaN  ", top, re.MULTILINE), top
    use = get(jobs[0], "/v1/use?number=loss")["tasks"]["worker:0"]
    assert use["number"] is None and use["nan"] is True
    for is_over in (False, True):
        for path in work if is_over else []:
            (path / "go").touch()
        assert not is_over or all(job.wait() == 0 for job in jobs)
        rows = own(told(tony, jobs[0])[0])
        assert ("skipped", "") not in rows
        exact = rows["loss", ""]["exact"]
        assert (exact["first"]["step"], exact["first"]["v"]) == (0, 1) and (exact["most"]["step"], exact["most"]["v"]) == (0, 1)
        assert exact["last"]["step"] == 1999 and exact["last"]["v"] is None and exact["last"]["nan"]
        assert exact["nan_since"]["step"] == 60 and exact["least"]["step"] == 59
        gain = rows["gain", ""]
        assert max(gain["most"]) == 9 == gain["exact"]["most"]["v"] and gain["exact"]["most"]["step"] == 1001
        assert len(gain["v"]) <= 512 and sum(gain["nan"]) == 4 == gain["exact"]["nans"]
        table = tony.run("metrics", jobs[0].id).stdout
        assert re.search(r" loss +NaN since step 60 +0.0166667 +1 ", table), table
        assert re.search(r" gain +0.5 \(4 NaN, the first at step 99\) +0.5 +9 ", table), table
    compared = tony.run("compare", "--all", *[job.id for job in jobs]).stdout
    assert re.search(r"metrics +loss +NaN since step 60 +NaN since step 60", compared), compared
    assert re.search(r"metrics +gain: NaN +4 NaN, the first at step 99 ", compared), compared


def test_scalars_for_tensorboard_are_read(tony):
    done = tony.directory / "done"
    command = (f'{PYTHON} write_scalars.py "$TONY_CHECKPOINT_DIR/logs/$TONY_TASK_INDEX" 20 && touch {done}-$TONY_TASK_INDEX'
               f' && until [ -e {done}-1 ]; do sleep 0.05; done')
    answer, job = tony.job({"tony.worker.instances": 2, **OFTEN}, "--executes", command)
    assert answer.returncode == 0, answer.stderr
    lines, _ = kept(tony, job)
    rows = own(lines[0])
    assert rows["Loss/train", "logs/0"]["step"] == list(range(20))
    assert rows["Loss/train", "logs/0"]["v"][1] == 0.5
    assert rows["Loss/train", "logs/1"]["step"][:3] == [0, 1, 2], "the chief reads what the others write, too"
    assert all(0 < value < 20 for value in rows["steps_per_s", "logs/0"]["v"])
    assert not [line for line in lines[1:] if line["user"]]


GPU = """#!/bin/sh
echo "0, GPU-0, 90, 30720, 81920, 250"
echo "1, GPU-1, 96, 10240, 81920, 250"
"""


@pytest.fixture(params=["plain", "tls"])
def burner(request, tony, tmp_path):
    """A job of which worker:0 burns with two GPUs, and worker:1 sleeps and has none."""
    (tmp_path / "nvidia-smi").write_text(GPU)
    (tmp_path / "nvidia-smi").chmod(0o755)
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.memory": "200m", "tony.worker.gpus": 2, "tony.local.gpus": 2,
                       "tony.sleeper.instances": 1, "tony.sleeper.memory": "1g", "tony.sleeper.command": "exec sleep 1000",
                       "tony.task.gpu-command": tmp_path / "nvidia-smi", "tony.application.tls": request.param == "tls", **OFTEN},
                      "--executes", f"""echo 30/120 >"$TONY_PROGRESS_FILE"; echo '{{"loss": 0.25}}' >"$TONY_METRICS_FILE"; {BURN}""")
    for task in ("worker:0", "sleeper:0"):
        wait_until(lambda: (use := job.task(task).get("use")) and "cpu_percent" in use and ("gpus" in use or task != "worker:0"),
                   f"what {task} uses to be known")
    return job


def test_status_shows_what_a_task_uses_now(tony, burner):
    told = schemas.check("status", json.loads(tony.run("status", "--json", burner.id).stdout))
    use = {task["task"]: task["use"] for task in told["tasks"]}
    assert use["worker:0"]["memory_bytes"] > 60 << 20 > use["sleeper:0"]["memory_bytes"]
    assert {name: use["worker:0"][name] for name in ("gpus", "gpu_percent", "gpu_memory_used_mib", "gpu_memory_total_mib", "step",
                                                     "steps")} == {
        "gpus": 2, "gpu_percent": 93, "gpu_memory_used_mib": 40960, "gpu_memory_total_mib": 163840, "step": 30, "steps": 120}
    assert "gpus" not in use["sleeper:0"] and "step" not in use["sleeper:0"]
    heading, *rows = tony.run("status", burner.id).stdout.partition("TASK ")[2].splitlines()
    assert re.search(r"DURATION +CPU +CPU TIME +MEMORY +PEAK +GPU +GPU MEMORY +STEP", heading)
    assert re.search(r" \d+\.\d  .* \d+ of 200 MiB  .* 93 %  40.0 of 160.0 GiB  30/120 ", rows[0]), rows
    assert re.search(r" \d+\.\d  .* MiB of 1.0 GiB  .* MiB  -  +-  ", rows[1]), rows
    narrow = Terminal(tony, "status", burner.id)
    assert narrow.finish() == 0
    lines = narrow.text.partition("worker:0")[2].splitlines()
    assert all(len(line) <= 80 for line in lines) and any("GPU MEMORY 40.0 of 160.0 GiB" in line for line in lines), narrow.text


def test_a_live_table_shows_what_tasks_use(tony, burner):
    table = Terminal(tony, "status", "--watch", burner.id, columns=120)
    table.wait_text("GPU 93 %, 40.0 of 160.0 GiB")
    table.type("\x03")
    assert table.finish() == 130
    assert re.search(r"sleeper:0 +running .* CPU \d\.\d, \S+ MiB of 1.0 GiB  127", table.text)


def test_what_a_task_uses_is_forgotten_with_its_process(tony):
    """The next process does not show the use of the last one."""
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.max-restarts": 1, "tony.task.metrics-interval-ms": 60000},
                      "--executes", f"exec {PYTHON} -c 'import time; ballast = b\"x\" * (60 << 20); time.sleep(1000)'")
    wait_until(lambda: "use" in job.task("worker:0"), "the first sample")
    assert "cpu_percent" not in job.task("worker:0")["use"], "a rate needs two samples"
    assert tony.run("restart", job.id, "worker:0").returncode == 0
    job.wait_task("worker:0", restart=1)
    task = job.task("worker:0")
    assert "metrics" in task and ("use" not in task or "cpu_percent" not in task["use"])


# ---- tony top -------------------------------------------------------------------------------------


def test_top_sorts_tasks_by_what_they_use(tony, burner):
    told = schemas.check("top", json.loads(tony.run("top", "--json", "--number", "loss", burner.id).stdout))
    assert [task["task"] for task in told["tasks"]] == ["worker:0", "sleeper:0"] and told["state"] == "running"
    assert told["tasks"][0]["use"]["number"] == 0.25 and told["tasks"][0]["memory_mib"] == 200
    assert "number" not in told["tasks"][1]["use"]
    for order, first in [("cpu", "worker:0"), ("memory", "worker:0"), ("gpu", "worker:0"), ("name", "worker:0")]:
        answer = tony.run("top", "--once", "--sort", order, burner.id)
        assert answer.returncode == 0, answer.stderr
        table = answer.stdout.splitlines()
        assert table[0].split()[:2] == [burner.id, "running"] and table[1].startswith("2 tasks: 2 running; in all CPU "), table
        assert table[2].split() == ["TASK", "STATE", "CPU", "MEMORY", "GPU", "GPU", "MEMORY", "STEP", "RATE", "LOSS", "NODE"]
        assert table[3].startswith(f"{first} ") and len(table) == 5, order
    assert re.search(r" \d\.\d  \d+ of 200 MiB +93 %  40.0 of 160.0 GiB  30/120  +\S+ +0.25  127.0.0.1", table[3]), table


def test_top_draws_a_table_in_a_terminal_until_the_job_ends(tony, burner):
    terminal = Terminal(tony, "top", burner.id, columns=120)
    terminal.wait_text("40.0 of 160.0 GiB")
    old = burner.kill_am()
    assert old
    terminal.wait_text("; in all CPU")
    before = len(terminal.text)
    wait_until(lambda: terminal.read() and "40.0 of 160.0 GiB" in terminal.text[before:], "figures of the next AM")
    assert tony.run("kill", burner.id).returncode == 0
    assert terminal.finish() == 0
    assert "killed" in terminal.text


@pytest.mark.parametrize("columns", [40, 80])
def test_top_is_left_by_ctrl_c(tony, columns):
    job = tony.submit({"tony.worker.instances": 1, **OFTEN}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    terminal = Terminal(tony, "top", job.id, columns=columns)
    terminal.wait_text("worker:0  running")
    terminal.wait_text("; in all")
    terminal.type("\x03")
    assert terminal.finish() == 130 and job.status()["state"] == "running"
    lines = re.sub(r"\x1b\[\d*[A-Z]", "", terminal.text).splitlines()
    assert max(map(len, lines)) <= columns, "none is folded by the terminal, where it is two rows"


def test_top_counts_the_tasks_that_do_not_fit_the_window(tony):
    """It has 24 lines, of which one is the cursor's, three are the head and one counts."""
    job = tony.submit({"tony.worker.instances": 30, "tony.worker.memory": "20m", **OFTEN}, "--executes", "sleep 1000")
    wait_until(lambda: job.status()["progress"] == {"running": 30}, "all to run")
    terminal = Terminal(tony, "top", job.id, columns=120)  # so that no row needs a second line
    counted = wait_until(lambda: not terminal.read() or re.search(r"\.\.\. and (\d+) tasks more\n", terminal.text), "the count")
    assert counted is not True, terminal.text
    assert terminal.text[:counted.start()].count("worker:") + int(counted[1]) == 30
    assert len(terminal.text[:counted.end()].splitlines()) <= 23
    assert tony.run("top", "--once", job.id).stdout.count("worker:") == 30


@pytest.mark.parametrize("words, code, text", [(["--sort", "size"], 2, "--sort"), (["--number", ""], 2, "option --number: the value is empty"),
                                               (["no-such-job"], 4, "no-such-job"), (["a", "b"], 2, "too many arguments")])
def test_top_refuses_what_it_does_not_know(tony, words, code, text):
    answer = tony.run("top", *words)
    assert answer.returncode == code and text in answer.stderr, answer.stderr
