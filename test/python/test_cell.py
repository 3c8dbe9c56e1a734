"""%%tony and tony.attach(): cells that run as jobs, in IPython, with and without the front end of a notebook."""

import os
import re
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest
import tony
from conftest import PACKAGE, PYTHON, SMALL, environment
from patience import PATIENCE_S
from program import venv_bin, wait_until
from tony import _cell, _cluster, _show
from tony._model import Point

SIZE = "--memory 64m"


@pytest.fixture
def shell(home):
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.display_pub = CapturingDisplayPublisher()
    shell.run_line_magic("load_ext", "tony")
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def notebook(shell):
    """As ipykernel's shell: a front end shows its outputs."""
    shell.kernel = object()
    return shell


def run(shell, line, *cell):
    return shell.run_cell("\n".join([f"%%tony {SIZE} {line}", *cell]) + "\n")


def shown(shell):
    """The pictures, HTML and plain."""
    outputs = shell.display_pub.outputs
    assert outputs[0]["transient"] == outputs[-1]["transient"] and all(one["update"] for one in outputs[1:])
    return outputs[-1]["data"]["text/html"], outputs[-1]["data"]["text/plain"]


def interrupt_when(path):
    """Sends this process SIGINT, as a notebook's Stop does, once the file is there."""
    return subprocess.Popen(["sh", "-c", f"until [ -e {path} ]; do sleep 0.05; done; kill -INT {os.getpid()}"])


def interrupt_once_shown(shell):
    """The same once a picture has been shown."""
    def wait():
        wait_until(lambda: shell.display_pub.outputs, "a picture")
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_cell_runs_in_this_directory_by_this_interpreter(shell, capfd):
    Path("helper.py").write_text("NAME = 'beside the notebook'\n")
    result = run(shell, "--workers 2 -- --epochs '3 4'", "import os, sys, helper", "class Model: pass", "assert f'{{{1}' == chr(123) + '1'",
                 "print(sys.argv[1:], os.getcwd(), sys.executable, helper.NAME, Model.__module__)")
    assert result.success and isinstance(result.result, tony.Job)
    said = f"['--epochs', '3 4'] {os.getcwd()} {PYTHON} beside the notebook __main__"
    assert sorted(map(str, result.result.logs(stream="stdout"))) == [said, said]
    out, err = capfd.readouterr()
    assert f"worker:1 {said}" in out and "tony: worker:0: succeeded" in err and " succeeded\n" in err
    assert result.result.status().name == "cell"


def test_a_notebook_shows_one_picture_that_lives(notebook):
    result = run(notebook, "--workers 2 --name digits --conf tony.task.metrics-interval-ms=100", "from tony import task", "import time",
                 "for step in range(20):", "    task.report(step, steps=20, loss=1 / (step + 1))", "    time.sleep(0.02)",
                 "print('<b>epoch</b> \\x1b[31m7\\x1b[0m')", "time.sleep(0.5)")
    assert result.success
    page, text = shown(notebook)
    assert "<td" in page and "worker:1" in page and "<b>loss</b> 0.05" in page and page.count("<polyline") == 2
    assert "&lt;b&gt;epoch&lt;/b&gt; 7" in page and "<script" not in page
    assert f"digits ({result.result.id}) succeeded" in text and "worker:0 <b>epoch</b> 7" in text
    assert any("running" in one["data"]["text/plain"] for one in notebook.display_pub.outputs)


def test_a_cell_that_fails_tells_its_line_and_none_of_ours(shell, capsys):
    result = run(shell, "", "def divide():", "    return 1 / 0", "divide()")
    assert isinstance(result.error_in_exec, tony.JobFailed)
    told = capsys.readouterr().out
    assert "JobFailed: cell failed: driver:0 on 127.0.0.1 exited with code 1: ZeroDivisionError" in told and "_magic.py" not in told
    log = "\n".join(map(str, tony.Job().logs()))
    assert 'File "<cell>", line 3, in <module>\n    divide()' in log and "<string>" not in log


@pytest.mark.parametrize(("line", "cell", "words"), [
    ("--memory 2q", "1", "2q"),
    ("--nosuch 1", "1", "nosuch"),
    ("--name 'x", "1", "No closing quotation"),
    ("train.py", "1", "train.py"),
    ("--array 1-3", "1", "--array: a cell is one job"),
    ("--join --detach", "1", "--join takes part in the job"),
    ("", "1 +", "line 1 of the cell: invalid syntax: 1 +"),
    ("", "!ls", "line 1 of the cell begins with % or !"),
    ("", "x = '" + "x" * 100_000 + "'", "write it into a file by %%writefile"),
])
def test_bad_input_is_told_and_starts_nothing(shell, home, capsys, line, cell, words):
    result = run(shell, line, cell)
    assert isinstance(result.error_in_exec, tony.BadSubmission) and words in capsys.readouterr().out and home.ids() == []


def test_an_interruption_stops_the_job_of_the_cell(notebook, capsys):
    child = interrupt_when("started")
    result = run(notebook, "", "open('started', 'w').close()", "import time", "time.sleep(1000)")
    assert child.wait() == 0 and isinstance(result.error_in_exec, KeyboardInterrupt)
    job = tony.Job()
    assert job.status().state == "killed" and job.status().message == "killed by the user: the cell was interrupted"
    page, text = shown(notebook)
    assert "is asked to stop; another interruption leaves it" in page and f"{job.id}) killed" in text
    assert f"KeyboardInterrupt: the cell was interrupted, and {job.id} has ended" in capsys.readouterr().out


GROUP = """
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
shell.run_line_magic("load_ext", "tony")
result = shell.run_cell('''%%tony --memory 64m
import time
print("begun", flush=True)
time.sleep(1000)
''')
print(type(result.error_in_exec).__name__)
"""


def test_an_interruption_reaches_every_process_of_a_kernel(home):
    """As Jupyter sends it: the process that reads the log hears it, too."""
    kernel = subprocess.Popen([PYTHON, "-c", GROUP], stdout=subprocess.PIPE, text=True, start_new_session=True)
    while kernel.stdout.readline() != "begun\n":
        pass
    os.killpg(kernel.pid, signal.SIGINT)
    said, _ = kernel.communicate(timeout=PATIENCE_S)
    job = tony.Job()
    assert f"KeyboardInterrupt: the cell was interrupted, and {job.id} has ended" in said and said.endswith("\nKeyboardInterrupt\n")
    assert job.status().state == "killed"


def test_an_interruption_of_attach_leaves_the_job_alone(notebook):
    job = run(notebook, "--detach", "import time", "while not __import__('os').path.exists('go'):",
              "    time.sleep(0.02)").result
    notebook.display_pub.outputs.clear()
    thread = interrupt_once_shown(notebook)
    result = notebook.run_cell(f"tony = __import__('tony'); tony.attach({job.id!r})")
    thread.join()
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    assert f"{job.id} goes on; tony.attach({job.id!r}) shows it again" in shown(notebook)[1]
    Path("go").touch()
    assert tony.attach(job).succeeded


def test_attach_tells_how_a_job_failed(home, capfd):
    job = tony.submit(["sh", "-c", "echo no data >&2; exit 3"], **SMALL)
    with pytest.raises(tony.JobFailed, match="exited with code 3"):
        tony.attach(job)
    assert tony.attach(job.id, check=False).exit_code == 1
    out, err = capfd.readouterr()
    assert out == "no data\nno data\n" and "tony: driver:0: failed, exited with code 3: no data" in err


KILL = ["import os, signal, tony", "pid = tony.Job(os.environ['TONY_JOB_ID']).status().raw['am_pid']"]


def test_an_application_master_that_dies_in_mid_cell_is_followed_by_another(notebook):
    result = run(notebook, "", *KILL, "os.kill(pid, signal.SIGKILL)", "print('after')", "__import__('time').sleep(1)")
    assert result.success, result.error_in_exec
    assert "\nafter" in shown(notebook)[1] and result.result.status().raw["am_attempt"] == 2


def test_a_job_whose_application_master_is_gone_for_good_ends_the_cell(notebook, capsys):
    result = run(notebook, "", *KILL, "guardian = int(open(f'/proc/{pid}/stat').read().split()[3])", "os.kill(guardian, signal.SIGSTOP)",
                 "os.kill(pid, signal.SIGKILL)", "os.kill(guardian, signal.SIGKILL)", "__import__('time').sleep(1000)")
    assert isinstance(result.error_in_exec, tony.JobFailed)
    assert "JobFailed: cell failed: every process of its application master was killed" in capsys.readouterr().out


def test_a_job_that_cannot_be_shown_any_more_is_named(shell, capsys, monkeypatch):
    monkeypatch.setattr("tony._live.Live._look", lambda live: (_ for _ in ()).throw(tony.Denied("no ticket", 6)))
    result = run(shell, "", "1")
    job = tony.Job()
    assert isinstance(result.error_in_exec, tony.TonyError) and f"no ticket; {job.id} may go on" in capsys.readouterr().out
    job.wait()


JOIN = """import os, socket
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    with socket.create_server(place) as server:
        seen = sorted(server.accept()[0].makefile().read() for _ in range(world - 1))
else:
    while True:
        try:
            socket.create_connection(place).sendall(str(rank).encode())
            break
        except ConnectionRefusedError:
            pass
"""


def test_the_notebook_joins_its_job_as_rank_0(shell):
    assert run(shell, "--join --workers 2", JOIN).success
    assert shell.user_ns["seen"] == ["1", "2"] and "RANK" not in os.environ


def test_a_cell_that_fails_in_the_notebook_ends_the_job_that_it_joined(shell, capsys):
    result = run(shell, "--join --workers 1", "import os, time", "time.sleep(1000) if os.environ['RANK'] != '0' else 1 / 0")
    job = tony.Job()
    assert isinstance(result.error_in_exec, ZeroDivisionError) and job.status().state == "killed"
    assert f"the cell failed in the notebook, and {job.id} has ended" in capsys.readouterr().out


def test_a_task_that_fails_before_the_notebook_joins_is_told(shell):
    result = run(shell, "--join --workers 1 --python /nowhere/python3", "joined = True")
    assert isinstance(result.error_in_exec, (tony.JobFailed, tony.BadSubmission)) and "joined" not in shell.user_ns


def test_curves_keep_their_peaks_and_are_few():
    points = [Point(f"worker:{task}", "loss", "", None, step, step, 9.0 if step == 777 else 1.0, True)
              for task in range(12) for step in range(5000)]
    found = _show.curves(points)["loss"]
    assert len(found) == 8
    thin = _show._thin(found["worker:0"])
    assert len(thin) <= 400 and max(point.value for point in thin) == 9.0
    assert not _show.curves([Point("worker:0", "rss_bytes", "", None, 1.0, 1, 1.0)])
    means = _show._thin([Point("worker:0", "loss", "", None, step, step, 2.0, True, 1.0, 50.0 if step == 3 else 2.0) for step in range(500)])
    assert max(point.value for point in means) == 50.0 and min(point.value for point in means) == 1.0


def test_a_curve_that_became_nan_says_so():
    points = [Point("worker:0", "loss", "", None, step, step, float("nan") if step in (3, 8, 9) else 1.0, True) for step in range(10)]
    chart = _show._charts(points)
    assert "NaN since step 8" in chart and chart.count("<polyline") == 2 and "nan" not in chart
    assert "NaN since step 0" in _show._charts([Point("worker:0", "loss", "", None, 1.0, 0, float("nan"), True)])
    assert [len(line) for line in _show._lines(points)] == [3, 4]


def test_a_picture_that_is_not_up_to_date_says_so(home):
    status = tony.submit(["true"], **SMALL).wait()
    picture = _show.Picture(status, (), 0, tony.Metrics([]), "the application master <does> not answer")
    assert "not up to date: the application master <does> not answer" in _show.as_text(picture)
    assert "<b>not up to date:</b> the application master &lt;does&gt; not answer" in _show.as_html(picture)


def test_many_tasks_are_counted_behind_the_table(home):
    status = tony.submit(["true"], workers=2, **SMALL).wait()
    tasks = [tony.Task.read({**status.tasks[0].raw, "task": f"worker:{number}"}) for number in range(100)]
    assert len(_show.rows(tasks)) == 20 and _show._rest(tasks) == "80 more worker succeeded"


def test_words_of_the_line():
    words = _cell.read_line("--join --python=/opt/python -d --python_venv env.zip -- -d 'a b'")
    assert words.join and words.detach and words.python == "/opt/python" and words.arguments == ["-d", "a b"]
    assert words.options == ["--python_venv", "env.zip"] and words.has("python-venv") and not words.has("name")


TRAIN = """import datetime, torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=2))
total = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(total)
dist.destroy_process_group()"""


@pytest.mark.slow
def test_a_notebook_trains_as_rank_0(shell):
    """PyTorch itself."""
    assert run(shell, "--join --workers 2 --memory 1g", TRAIN).success
    assert shell.user_ns["total"].item() == 6


SUM = """import distributed, tony
with tony.DaskCluster(workers=2, memory="512m", conf={"tony.scheduler.memory": "512m", "tony.driver.memory": "256m"}) as cluster:
    client = distributed.Client(cluster.address)
    print(client.gather(client.map(lambda x: x * x, range(4))))
print(cluster.job.status().state)
"""


@pytest.fixture(scope="session")
def dask():
    return venv_bin("dask") / "python3"


@pytest.mark.slow
def test_a_program_connects_to_a_cluster_of_dask(dask, home):
    script = home.directory / "connect.py"
    script.write_text(SUM)
    env = {**environment(home), "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([dask, script], env=env, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0 and done.stdout.splitlines() == ["[0, 1, 4, 9]", "killed"], done.stdout + done.stderr


# An interpreter whose scheduler does as it is told once somebody has looked for it in vain, beside workers that are none.
SCHEDULER = """#!/bin/sh
case "$*" in *dask_scheduler*) until [ -e {directory}/go ]; do sleep 0.05; done; {then} ;; esac
exec sleep 1000
"""
LISTEN = "import signal, socket, sys; server = socket.create_server((sys.argv[1], int(sys.argv[2]))); signal.pause()"


@pytest.fixture
def start_cluster(home, monkeypatch):
    answers = _cluster._answers

    def look(place):
        answer = answers(place)
        (home.directory / "go").touch()
        return answer

    def start(then):
        python = home.directory / "python"
        python.write_text(SCHEDULER.format(directory=home.directory, then=then))
        python.chmod(0o700)
        return tony.DaskCluster(workers=1, python=str(python), conf={f"tony.{name}.memory": "64m" for name in ("scheduler", "driver")}, **SMALL)

    monkeypatch.setattr(_cluster, "_answers", look)
    return start


def test_a_cluster_is_there_when_its_scheduler_answers(start_cluster):
    with start_cluster(f"exec {PYTHON} -c '{LISTEN}' $TONY_HOST $TONY_PORT") as cluster:
        host, port = cluster.address.removeprefix("tcp://").split(":")
        socket.create_connection((host, int(port))).close()
    assert cluster.job.status().state == "killed"


def test_a_cluster_whose_scheduler_ends_is_told(start_cluster):
    with pytest.raises(tony.JobFailed, match="scheduler:0 .*exited with code 1: No module named distributed"):
        start_cluster("echo No module named distributed >&2; exit 1")


def test_a_cluster_that_cannot_be_is_told_and_leaves_nothing(home):
    with pytest.raises(tony.BadSubmission, match="2q"):
        tony.DaskCluster(workers=1, memory="2q")
    assert home.ids() == []
