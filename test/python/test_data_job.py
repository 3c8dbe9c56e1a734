"""tony.data in jobs: every record is read, also when a worker is lost, and what frameworks get."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import tony
from conftest import PACKAGE, venv_bin, wait_until
from data_files import libraries, records, write_avro, write_jsonl, write_parquet, write_tfrecord
from patience import PATIENCE_S

libraries()
SMALL = {"memory": "512m"}
OFTEN = {"tony.task.metrics-interval-ms": "100"}
LIBRARIES = "import sys; sys.path.append({!r})\n"


def write(program):
    Path("program.py").write_text(LIBRARIES.format(libraries()) + program)


def read_trace(folder):
    """The ids that all processes have told of, those of one file in their order."""
    return [int(line) for file in sorted(folder.iterdir()) for line in file.read_text().splitlines()]


def write_table(folder, files, rows):
    folder.mkdir()
    for number in range(files):
        write_avro(folder / f"part-{number:05}.avro", records(range(number * rows, number * rows + rows)))
    return list(range(files * rows))


# A record counts once its batch was trained on. All ranks write their checkpoint after the same step.
TRAIN = """
import json, os, pathlib, signal, time
from tony import data, task
here = pathlib.Path(os.environ["TEST_FOLDER"])
mode = os.environ["TEST_MODE"]
rows = data.shard(here / "table", mode=mode, batch_size=16, shuffle=True)
saved = sorted(task.checkpoint_dir.glob("step-*/complete"), key=lambda path: int(path.parent.name[5:]))
step, seen = 0, []
if saved:
    step = int(saved[-1].parent.name[5:])
    states = [json.loads(path.read_text()) for path in sorted(saved[-1].parent.glob("rank-*"))]
    seen = json.loads((saved[-1].parent / "seen").read_text())
    rows.resume([state["at"] for state in states] if mode == "static" else states[0]["at"])
mine = []
batches = rows.numpy()
for step in range(step, 10000):
    batch = next(batches, None)
    if batch is not None:
        mine += batch["id"].tolist()
    task.barrier()  # as gradients are added up
    if task.index == 1 and step == 4 and task.epoch == 1 and "TEST_LOSS" in os.environ:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1000)
    if step % 3 == 2:
        folder = task.checkpoint_dir / f"step-{step + 1}"
        folder.mkdir(exist_ok=True)
        rows.state()
        task.barrier()  # from here on the queue knows of all offsets
        (folder / f"rank-{task.rank}").write_text(json.dumps({"at": rows.state(), "mine": mine, "ended": batch is None}))
        task.barrier()
        ranks = [json.loads(path.read_text()) for path in sorted(folder.glob("rank-*"))]
        if task.rank == 0:
            (folder / "seen").write_text(json.dumps(seen + [number for rank in ranks for number in rank["mine"]]))
            (folder / "complete").touch()
        if all(rank["ended"] for rank in ranks):
            break
task.barrier()
if task.rank == 0:
    (here / "seen").write_text((folder / "seen").read_text())
"""


@pytest.mark.promise("P8")
@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize("is_lost", [False, True])
def test_a_training_reads_every_record(home, mode, is_lost):
    ids = write_table(home.directory / "table", 5, 120)
    write(TRAIN)
    env = {"TEST_FOLDER": str(home.directory), "TEST_MODE": mode, **({"TEST_LOSS": "1"} if is_lost else {})}
    job = tony.submit("program.py", workers=3, env=env, conf={"tony.worker.min-instances": 2}, **SMALL)
    status = job.wait()
    seen = json.loads((home.directory / "seen").read_text())
    assert status.state == "succeeded" and sorted(seen) == ids, "each record counts once in the model that is left"
    assert (status.raw["epoch"] > 1) == is_lost


def test_shares_follow_rank_and_size(home):
    ids = write_table(home.directory / "table", 3, 100)
    (home.directory / "trace").mkdir()
    write("from tony import data, task\n"
          f"for row in data.shard('{home.directory}/table', columns=['id']).records():\n"
          f"    with open(f'{home.directory}/trace/{{task.name}}-{{task.process}}', 'a') as file: print(row['id'], file=file)\n")
    tony.submit("program.py", workers=2, processes=2, **SMALL).wait()
    assert read_trace(home.directory / "trace") == ids
    assert len(list((home.directory / "trace").iterdir())) == 4


@pytest.mark.slow
def test_workers_of_a_data_loader_share(home):
    write_table(home.directory / "table", 4, 50)
    Path("program.py").write_text(LIBRARIES.format(libraries()) + f"""
import json, torch
from torch.utils.data import DataLoader
from tony import data
def rows(**options): return data.shard('{home.directory}/table', batch_size=16, **options)
batch = next(iter(DataLoader(rows().torch(), batch_size=None)))
print(batch["id"].dtype, tuple(batch["weights"].shape), batch["name"][:2])
print(json.dumps([sorted(int(n) for batch in DataLoader(rows().torch(), batch_size=None, num_workers=count) for n in batch["id"])
                  == list(range(200)) for count in (0, 1, 3)]))
print(json.dumps([sorted(int(n) for rank in range(2) for batch in
                         DataLoader(rows(rank=rank, size=2).torch(records=True), batch_size=8, num_workers=2) for n in batch["id"])
                  == list(range(200))]))
first = rows()
stream = iter(first.torch())
seen = [int(n) for _ in range(3) for n in next(stream)["id"]]
rest = rows().torch()
rest.load_state_dict(first.torch().state_dict())
print(seen + [int(n) for batch in rest for n in batch["id"]] == list(range(200)))
try: list(DataLoader(rows().resume(first.state()).torch(), batch_size=None, num_workers=1))
except Exception as error: print("torchdata's StatefulDataLoader" in str(error))
""")
    # Processes of a loader meet at sockets in its folder for temporary files, and the path of a socket has 107 bytes.
    done = subprocess.run([venv_bin("data") / "python3", "program.py"], capture_output=True, text=True, timeout=PATIENCE_S,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE), "TMPDIR": "/tmp"})
    assert done.stdout.splitlines() == ["torch.int64 (16, 2) ['name 0', 'name 1']", "[true, true, true]", "[true]", "True", "True"], (
        done.stdout + done.stderr)


@pytest.mark.slow
def test_tensorflow_gets_tensors(home):
    write_jsonl(home.directory / "a.jsonl", records(range(100)))
    write_parquet(home.directory / "a.parquet", records(range(100)))
    Path("program.py").write_text(LIBRARIES.format(libraries()) + f"""
import tensorflow as tf
from tony import data
for batch in data.shard('{home.directory}/a.jsonl', batch_size=64).tf().take(1):
    print(batch["id"].dtype.name, batch["weights"].shape, batch["name"][1].numpy())
with tf.io.TFRecordWriter('{home.directory}/a.tfrecord') as writer:
    for number in range(100):
        writer.write(tf.train.Example(features=tf.train.Features(
            feature={{"id": tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))}})).SerializeToString())
found = data.shard('{home.directory}/a.tfrecord', batch_size=64).tf().unbatch()
found = found.map(lambda row: tf.io.parse_single_example(row["record"], {{"id": tf.io.FixedLenFeature([], tf.int64)}}))
print([int(row["id"]) for row in found] == list(range(100)))
""")
    done = subprocess.run([venv_bin("tensorflow") / "python3", "program.py"], capture_output=True, text=True, timeout=PATIENCE_S,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    assert done.stdout.splitlines() == ["int64 (64, 2) b'name 1'", "True"], done.stdout + done.stderr[-3000:]


def test_waiting_for_input_is_a_metric(home):
    write_jsonl(home.directory / "a.jsonl", records(range(3000)))
    write("import time\nfrom tony import data\nfrom tony.data import _dataset, _meter\n_meter._EVERY_S = 0.3\n_meter._LEAST_S = 0.1\n"
          "read = _dataset.JsonLines.read\n"
          "def slowly(self, unit, query):\n    for chunk in read(self, unit, query):\n        time.sleep(0.5); yield chunk\n"
          "_dataset.JsonLines.read = slowly\n"
          f"for batch in data.shard('{home.directory}/a.jsonl', passes=10).batches(): pass\n")
    job = tony.submit("program.py", conf=OFTEN, **SMALL)
    job.wait()
    assert all(point.value > 60 for point in job.metrics("input_wait_percent")) and len(job.metrics("input_wait_percent")) >= 3
    assert sum(point.value for point in job.metrics("input_rows_per_s")) > 100


INDEPENDENT = """
import os, signal, time
from tony import data, task
for batch in data.shard("HERE/table", mode="dynamic", name="table", batch_size=7, columns=["id"]).numpy():
    with open(f"HERE/trace/{task.name}", "a") as file: print(*batch["id"].tolist(), sep="\\n", file=file, flush=True)
    if task.index == 1 and not os.path.exists("HERE/lost"):
        open("HERE/lost", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_queue_hands_on_what_a_lost_program_had(home):
    ids = write_table(home.directory / "table", 40, 30)
    (home.directory / "trace").mkdir()
    write(INDEPENDENT.replace("HERE", str(home.directory)))
    job = tony.submit("program.py", workers=2, max_restarts=1, **SMALL)
    job.wait()
    read = read_trace(home.directory / "trace")
    assert (home.directory / "lost").exists() and sorted(set(read)) == ids, "never lost"
    assert len(read) <= len(ids) + 7, "read again is what was not told as done"


def test_a_queue_whose_application_master_dies(home):
    """No record is read twice."""
    ids = write_table(home.directory / "table", 40, 30)
    (home.directory / "trace").mkdir()
    go = home.directory / "go"
    write(INDEPENDENT.replace("HERE", str(home.directory)).partition("    if task")[0]
          + f"    while not os.path.exists('{go}'): time.sleep(0.01)\n")
    job = tony.submit("program.py", workers=2, **SMALL)
    wait_until(lambda: len(list((home.directory / "trace").iterdir())) == 2, "both to have begun")
    home.job_class(home, job.id).kill_am()
    go.touch()
    job.wait()
    assert sorted(read_trace(home.directory / "trace")) == ids


# One item a message: after the first one HOOK happens.
LISTS = """
import os, signal, time
from tony import data, task
from tony.data import _sources
_sources._ITEMS, _sources._HOLD_MS = 1, 200
ask = _sources.ask
def hooked(method, path, *rest, **fine):
    answer = ask(method, path, *rest, **fine)
    if method == "PUT" and not os.path.exists("HERE/begun"):
        open("HERE/begun", "w").close()
        HOOK
    return answer
_sources.ask = hooked
with open(f"HERE/trace/{task.name}", "a") as file:
    for row in data.shard("HERE/table", mode="dynamic", name="table", columns=["id"]).records(): print(row["id"], file=file)
"""


def submit_lists(home, hook):
    write_table(home.directory / "table", 6, 10)
    (home.directory / "trace").mkdir()
    write(LISTS.replace("HOOK", hook).replace("HERE", str(home.directory)))
    return tony.submit("program.py", workers=2, max_restarts=1, **SMALL)


def test_a_lost_lister_leaves_nothing_of_its_list(home):
    """The list is of the files that its second lister sees."""
    submit_lists(home, "os.remove('HERE/table/part-00000.avro'); os.kill(os.getpid(), signal.SIGKILL)").wait()
    assert sorted(read_trace(home.directory / "trace")) == list(range(10, 60))


def test_a_list_whose_application_master_dies(home):
    job = submit_lists(home, "while not os.path.exists('HERE/go'): time.sleep(0.01)")
    wait_until(lambda: (home.directory / "begun").exists(), "the list to have begun")
    write_avro(home.directory / "table/before.avro", records(range(60, 70)))
    home.job_class(home, job.id).kill_am()
    (home.directory / "go").touch()
    job.wait()
    assert sorted(read_trace(home.directory / "trace")) in ([*range(60)], [*range(70)]), "by its first lister, or by another one"


def test_a_list_that_never_comes_is_an_error_in_words(home):
    write_table(home.directory / "table", 2, 5)
    write("import os, time\nfrom tony import data, task\nfrom tony.data import _dataset, _sources\n_sources._HOLD_MS, _sources._LIST_S = 100, 0\n"
          f"done = '{home.directory}/done'\n"
          "def stand(*paths):\n    while not os.path.exists(done): time.sleep(0.01)\n    return []\n"
          "_dataset.find_files = stand\n"
          f"try: list(data.shard('{home.directory}/table', mode='dynamic', format='avro').records())\n"
          "except Exception as error: print(str(error), flush=True); open(done, 'w').close()\n")
    job = tony.submit("program.py", workers=2, **SMALL)
    job.wait()
    told = [str(line) for line in job.logs(stream="stdout")]
    assert len(told) == 1 and "has no complete list after 0 minutes: worker:" in told[0] and "lists its files" in told[0], told


def test_a_program_that_outlives_a_failed_list_leaves_it_to_another(home):
    """The first lister fails and lives until the other one has read all."""
    write_table(home.directory / "table", 2, 5)
    write("import os, time\nfrom tony import data\nfrom tony.data import _dataset\n"
          f"here, find_files = '{home.directory}/', _dataset.find_files\n"
          "def fail(*paths):\n"
          "    try: os.close(os.open(here + 'failed', os.O_CREAT | os.O_EXCL))\n"
          "    except FileExistsError: return find_files(*paths)\n"
          "    raise OSError('a cut network')\n"
          "_dataset.find_files = fail\n"
          "try: print(len(list(data.shard(here + 'table', mode='dynamic', format='avro').records()))); open(here + 'read', 'w').close()\n"
          "except OSError as error: print(error)\n"
          "while not os.path.exists(here + 'read'): time.sleep(0.01)\n")
    job = tony.submit("program.py", workers=2, **SMALL)
    job.wait()
    assert sorted(str(line) for line in job.logs(stream="stdout")) == ["10", "a cut network"]


def test_names_of_other_data_are_refused(home):
    write_table(home.directory / "table", 2, 5)
    write("from tony import data\n"
          f"for columns in (['id'], ['label']):\n    try: print(len(list(data.shard('{home.directory}/table', mode='dynamic', name='x', columns=columns).records())))\n"
          "    except Exception as error: print(str(error))\n")
    job = tony.submit("program.py", **SMALL)
    job.wait()
    told = [str(line) for line in job.logs(stream="stdout")]
    assert told[0] == "10" and "x is another data set, with the fingerprint" in told[1] and told[1].endswith("use another name"), told


def test_a_state_of_a_queue_is_of_its_files(home):
    write_table(home.directory / "table", 3, 5)
    write("import os\nfrom tony import data\n"
          f"def rows(name): return data.shard('{home.directory}/table', mode='dynamic', name=name, columns=['id'])\n"
          "first = rows('a'); stream = first.records(); seen = [next(stream)['id'] for _ in range(7)]; state = first.state()\n"
          "print(sorted(seen + [row['id'] for row in rows('b').resume(state).records()]) == list(range(15)))\n"
          f"os.rename('{home.directory}/table/part-00000.avro', '{home.directory}/table/part-9.avro')\n"
          "try: rows('c').resume(state)\nexcept Exception as error: print(type(error).__name__, error)\n"
          "for queue in (None, {}):\n    try: rows('d').resume({**rows('d').state(), 'queue': queue})\n"
          "    except Exception as error: print(type(error).__name__, error)\n")
    job = tony.submit("program.py", **SMALL)
    job.wait()
    damaged = "BadSubmission resume: the state is damaged: its queue is none"
    assert [str(line) for line in job.logs(stream="stdout")] == [
        "True", "BadSubmission resume: the state is of other files: some have come, gone or changed in length since", damaged, damaged]


def test_a_queue_of_nothing_ends(home):
    (home.directory / "table/day=1").mkdir(parents=True)
    write_jsonl(home.directory / "table/day=1/a.jsonl", records(range(5)))
    write(f"from tony import data\nprint(list(data.shard('{home.directory}/table', mode='dynamic', where=[('day', '=', 2)]).records()))\n")
    job = tony.submit("program.py", workers=2, **SMALL)
    job.wait()
    assert [str(line) for line in job.logs(stream="stdout")] == ["[]", "[]"]


def test_an_iterator_goes_on_where_the_one_before_was_left(home):
    write_jsonl(home.directory / "a.jsonl", records(range(1000)))
    write("from tony import data\n"
          "for form, prefetch in (('numpy', 0), ('numpy', 2), ('records', 2)):\n"
          f"    rows = data.shard('{home.directory}/a.jsonl', mode='dynamic', name=f'{{form}}{{prefetch}}', prefetch=prefetch, batch_size=100)\n"
          "    seen = []\n"
          "    for enough in (400, 800, 2000):\n"
          "        for batch in getattr(rows, form)():\n"
          "            seen += batch['id'].tolist() if form == 'numpy' else [batch['id']]\n"
          "            if len(seen) >= enough: break\n"
          "    print(sorted(seen) == list(range(1000)))\n")
    job = tony.submit("program.py", **SMALL)
    job.wait()
    assert [str(line) for line in job.logs(stream="stdout")] == ["True", "True", "True"]


def test_a_slow_reader_of_records_keeps_its_lease(home):
    """It tells its offsets within a chunk, too."""
    write_jsonl(home.directory / "a.jsonl", records(range(20)))
    write("from tony import data\nfrom tony.data import _dataset, _sources\n_dataset.SETTLE_S = _sources.SETTLE_S = -1\n"
          "told = []\nask = _sources.Queue._ask\n"
          "def hooked(self, verb, message, *rest):\n"
          "    if verb == '/renew': told.append(message['leases'][0]['offset'])\n    return ask(self, verb, message, *rest)\n"
          "_sources.Queue._ask = hooked\n"
          f"rows = data.shard('{home.directory}/a.jsonl', mode='dynamic', prefetch=0).records()\n"
          "for _ in range(10): next(rows)\nprint(told)\n")
    job = tony.submit("program.py", **SMALL)
    job.wait()
    assert [str(line) for line in job.logs(stream="stdout")] == [str([*range(1, 10)])]
