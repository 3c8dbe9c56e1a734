"""tony.data in one process: every format, shares that partition the records, resuming, what goes wrong."""

import json
import os
import random
import signal
import subprocess
import sys
import threading

import pytest
from data_files import (AVRO, libraries, masked, plain_crc, record, records, write_avro, write_jsonl, write_orc, write_parquet, write_spark,
                        write_text, write_tfrecord)
from patience import wait_until
from tony import BadSubmission, NotFound, NotInstalled, data
from tony.data import _crc, _shares
from tony.data._ahead import size_of

libraries()

WRITERS = {
    "avro": (write_avro, "avro"), "parquet": (write_parquet, "parquet"), "orc": (write_orc, "orc"), "jsonl": (write_jsonl, "jsonl"),
    "json.gz": (write_jsonl, "json.gz"), "text": (write_text, "txt"), "tfrecord": (write_tfrecord, "tfrecord"),
}


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert threading.enumerate() == [threading.main_thread()]


def id_of(row):
    return int(row["id"] if "id" in row else row.get("text", row.get("record")))


def ids(dataset):
    return [id_of(row) for row in dataset.records()]


def write_some(folder, kind, counts):
    """Files with so many records each; their ids go on from file to file."""
    write, ending = WRITERS[kind]
    folder.mkdir(exist_ok=True)
    first = 0
    for number, count in enumerate(counts):
        write(folder / f"part-{number:05}.{ending}", records(range(first, first + count)))
        first += count
    return first


@pytest.mark.promise("P8")
@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("seed", range(4))
def test_shares_have_every_record_once(tmp_path, kind, seed):
    chance = random.Random(f"{kind}/{seed}")
    total = write_some(tmp_path / "files", kind, [chance.choice([1, 2, 7, 150, 400]) for _ in range(chance.randint(1, 5))])
    for size in (1, 2, 3, chance.randint(4, 40)):
        options = {"size": size, "shuffle": chance.random() < 0.5, "seed": seed, "prefetch": chance.choice([0, 1, 3])}
        shares = [ids(data.shard(tmp_path / "files", rank=rank, **options)) for rank in range(size)]
        assert sorted(number for share in shares for number in share) == list(range(total)), options
        assert shares[0] == ids(data.shard(tmp_path / "files", rank=0, **options)), "the same rank reads the same"


@pytest.mark.parametrize("seed", range(20))
def test_any_cut_of_bytes_partitions_and_is_even(seed):
    chance = random.Random(seed)
    files = [_shares.File(f"f{i}", chance.randint(1, 1000), ()) for i in range(chance.randint(1, 30))]
    units = _shares.cut(files, lambda path: hash(path) % 3 > 0, unit_bytes=chance.randint(1, 300))
    for size in (1, 2, 7, 100):
        shares = [_shares.share(units, rank, size) for rank in range(size)]
        taken = sorted((unit.path, byte) for share in shares for unit in share for byte in range(unit.start, unit.end))
        assert taken == sorted((file.path, byte) for file in files for byte in range(file.length))
        whole = max([unit.weight for unit in units if unit.is_whole], default=0)
        weights = [sum(unit.weight for unit in share) for share in shares]
        assert max(weights) - min(weights) <= 2 * whole + 1


@pytest.mark.parametrize("kind", ["avro", "parquet", "orc", "jsonl"])
def test_values_come_back(tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    write_some(tmp_path / "files", kind, [120])
    columns = ["id", "label", "name", "weights"]
    assert list(data.shard(tmp_path / "files", columns=columns).records()) == records(range(120))
    tables = list(data.shard(tmp_path / "files", columns=columns, batch_size=50).arrow())
    assert [table.num_rows for table in tables] == [50, 50, 20]
    assert pa.concat_tables(tables).to_pylist() == records(range(120))
    batch = next(data.shard(tmp_path / "files", columns=columns, batch_size=50).numpy())
    assert batch["id"].tolist() == list(range(50)) and batch["weights"].shape == (50, 2) and batch["name"][3] == "name 3"


def test_records_of_json_need_not_have_all_columns(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n{"id": 2}\n')
    (tmp_path / "b.jsonl").write_text('{"id": 3}\n{"id": 4, "label": null, "name": "x"}\n')
    rows = [{"id": number, "label": None, "name": "x" if number == 4 else None} for number in range(1, 5)]
    assert list(data.shard(tmp_path, columns=["id", "label", "name"]).records()) == rows
    assert list(data.shard(tmp_path, columns=["id", "label", "name"], rank=0, size=4).records()) == rows[:2]
    assert [row["id"] for row in data.shard(tmp_path, where=[("name", "=", "x")]).records()] == [4]


def test_a_column_may_be_in_later_files_of_json_alone(tmp_path, monkeypatch):
    """Which rank reads which file does not matter, nor how much the older records are."""
    monkeypatch.setattr(data._dataset, "_SEARCH_BYTES", 1 << 20)
    with open(tmp_path / "a.jsonl", "w") as file:
        file.writelines(json.dumps({"id": number, "pad": "x" * 1000}) + "\n" for number in range(2000))
    write_jsonl(tmp_path / "b.jsonl", records([2000, 2001, 2002]))
    for size in (1, 2):
        assert sum((ids(data.shard(tmp_path, rank=rank, size=size, where=[("label", "=", 2)])) for rank in range(size)), []) == [2000]
    for rank in range(2):
        with pytest.raises(data.DataError, match="there is no column labl, as far as the beginning of each file tells"):
            ids(data.shard(tmp_path, rank=rank, size=2, where=[("labl", "=", 2)]))


@pytest.mark.parametrize("kind", ["avro", "parquet", "orc", "jsonl"])
@pytest.mark.parametrize(("where", "fits"), [
    ([("label", "=", 1), ("id", "<", 500)], lambda row: row["label"] == 1 and row["id"] < 500),
    ([[("id", "in", [3, 700])], [("name", "=", "name 9")]], lambda row: row["id"] in (3, 700, 9)),
    (("id", "not in", [1, 2]), lambda row: row["id"] not in (1, 2)),
])
def test_only_what_is_asked_for_is_read(tmp_path, kind, where, fits):
    total = write_some(tmp_path / "files", kind, [400, 500])
    found = list(data.shard(tmp_path / "files", columns=["name"], where=where).records())
    assert found == [{"name": row["name"]} for row in records(range(total)) if fits(row)]


@pytest.mark.parametrize("where", [("x", "!=", 1.0), ("x", "not in", [1.0]), [[("x", "!=", 1.0)], [("id", "<", 0)]]])
def test_row_groups_do_not_decide_about_nan(tmp_path, where):
    rows = [{"id": number, "x": x} for number, x in enumerate((1.0, 1.0, float("nan"), 2.0))]
    write_jsonl(tmp_path / "a.jsonl", rows)
    for rows_of_group in (4, 3):
        write_parquet(tmp_path / "a.parquet", rows, rows_of_group)
        assert ids(data.shard(tmp_path / "a.parquet", where=where)) == ids(data.shard(tmp_path / "a.jsonl", where=where)) == [2, 3]


@pytest.mark.parametrize("kind", ["avro", "parquet", "orc", "jsonl"])
def test_a_record_without_a_value_fits_no_list(tmp_path, kind):
    WRITERS[kind][0](tmp_path / f"a.{kind}", [{**record(number), "name": (None, "a", "b")[number]} for number in range(3)])
    assert ids(data.shard(tmp_path / f"a.{kind}", where=("name", "in", ["a", None]))) == [1]
    assert ids(data.shard(tmp_path / f"a.{kind}", where=("name", "not in", ["a", None]))) == [2]
    assert ids(data.shard(tmp_path / f"a.{kind}", where=("name", "in", [None]))) == []


def test_row_groups_that_cannot_fit_are_not_decoded(tmp_path, monkeypatch):
    pq = pytest.importorskip("pyarrow.parquet")
    write_parquet(tmp_path / "a.parquet", records(range(1000)), rows_of_group=100)
    asked = []
    read = pq.ParquetFile.iter_batches
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda self, **rest: asked.append(rest) or read(self, **rest))
    assert ids(data.shard(tmp_path / "a.parquet", columns=["id"], where=[("id", ">=", 750)])) == list(range(750, 1000))
    assert [(each["row_groups"], each["columns"]) for each in asked] == [([7], ["id"]), ([8], ["id"]), ([9], ["id"])]


@pytest.mark.parametrize(("ending", "write"), [
    ("snappy.parquet", write_parquet), ("orc", write_orc), ("json.gz", write_jsonl), ("deflate.avro", None), ("snappy.avro", None)])
def test_tables_of_spark(tmp_path, ending, write):
    import fastavro

    def write_without_label(path, rows):
        schema = {**AVRO, "fields": [field for field in AVRO["fields"] if field["name"] != "label"]}
        with open(path, "wb") as file:
            fastavro.writer(file, schema, rows, codec=ending.split(".")[0])

    write_spark(tmp_path / "table", range(60), ending, write or write_without_label)
    columns = ["id", "label", "name", "weights"]
    found = list(data.shard(tmp_path / "table", columns=columns).records())
    assert sorted(found, key=id_of) == records(range(60))
    assert {table.schema.field("label").type == "int64" for table in data.shard(tmp_path / "table").arrow()} == {True}
    assert sorted(ids(data.shard(tmp_path / "table", where=[("label", "=", 2)]))) == [n for n in range(60) if n % 3 == 2]
    assert sorted(ids(data.shard(str(tmp_path / "table/label={0,1}/*")))) == [n for n in range(60) if n % 3 < 2]
    assert sorted(ids(data.shard(tmp_path / "table", where=[[("label", "=", 2), ("id", "<", 9)], [("label", "<", 1)]]))) == [
        n for n in range(60) if n % 3 == 0 or (n % 3 == 2 and n < 9)]


@pytest.mark.parametrize("kind", ["avro", "parquet", "jsonl"])
def test_directories_may_have_numbers_with_zeros_before_them(tmp_path, kind):
    for number, name in enumerate(("month=01", "month=2", "month=011")):
        (tmp_path / name).mkdir()
        WRITERS[kind][0](tmp_path / name / f"a.{kind}", [record(number)])
    assert sorted((row["id"], row["month"]) for row in data.shard(tmp_path).records()) == [(0, 1), (1, 2), (2, 11)]
    assert ids(data.shard(tmp_path, where=[("month", "=", 1)])) == [0]


@pytest.mark.parametrize("kind", ["avro", "parquet", "orc", "jsonl"])
def test_a_directory_without_a_value_beside_numbers(tmp_path, kind):
    for number, name in enumerate(("k=1", "k=__HIVE_DEFAULT_PARTITION__")):
        (tmp_path / name).mkdir()
        WRITERS[kind][0](tmp_path / name / f"a.{kind}", [record(number)])
    table, = data.shard(tmp_path).arrow()
    assert sorted(zip(*table.select(["id", "k"]).to_pydict().values())) == [(0, 1), (1, None)]
    assert table.schema.field("k").type == "int64"
    batch, = data.shard(tmp_path, columns=["k"]).numpy()
    assert batch["k"].dtype == "float64"
    units = [_shares.of_item(json.loads(json.dumps(_shares.to_item(unit))), 0) for unit in data.shard(tmp_path)._queue_units()]
    assert [unit.numbers for unit in units] == [("k",)] * 2


@pytest.mark.parametrize(("where", "words"), [
    (("day", "=", 2), "day is '2026-01-02' in the name of a directory, which cannot be compared with 2"),
    (("day", "in", ["2026-01-02", 3]), "cannot be compared with 3"), (("month", "=", "1"), "month is 1 in the name of a directory, which")])
def test_columns_of_directories_are_compared_with_their_type(tmp_path, where, words):
    (tmp_path / "month=01/day=2026-01-02").mkdir(parents=True)
    write_jsonl(tmp_path / "month=01/day=2026-01-02/a.jsonl", records(range(3)))
    with pytest.raises(BadSubmission, match=words):
        data.shard(tmp_path, where=[where])


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "bzip2", "xz", "zstandard"])
def test_codecs_of_avro(tmp_path, codec):
    write_avro(tmp_path / "a.avro", records(range(300)), codec)
    shares = [ids(data.shard(tmp_path / "a.avro", rank=rank, size=5)) for rank in range(5)]
    assert sum(shares, []) == list(range(300)) and all(shares)


def test_a_column_of_avro_may_have_the_type_of_another(tmp_path):
    import fastavro

    point = {"type": "record", "name": "P", "fields": [{"name": "v", "type": "long"}]}
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": point}, {"name": "b", "type": "P"}]}
    with open(tmp_path / "a.avro", "wb") as file:
        fastavro.writer(file, schema, [{"a": {"v": 1}, "b": {"v": 2}}])
    assert list(data.shard(tmp_path / "a.avro", columns=["b"]).records()) == [{"b": {"v": 2}}]


def test_compressed_text(tmp_path):
    import bz2
    import lzma

    from backports import zstd

    text = "".join(f"{number}\n" for number in range(50)).encode()
    frames = zstd.compress(text[:40]) + zstd.compress(text[40:])
    for ending, packed in (("bz2", bz2.compress(text)), ("xz", lzma.compress(text)), ("zst", frames)):
        path = tmp_path / f"a.txt.{ending}"
        path.write_bytes(packed)
        assert ids(data.shard(path)) == list(range(50)), ending


def test_ends_of_lines(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\r\n\n\ntwo\nthree \xc3\xa4\n\n")
    lines = [row["text"] for row in data.shard(tmp_path / "a.txt").records()]
    assert lines == ["one", "", "", "two", "three \u00e4", ""]
    for size in range(2, 30):
        assert [row["text"] for rank in range(size) for row in data.shard(tmp_path / "a.txt", rank=rank, size=size).records()] == lines, size


def test_checksums_of_tfrecord(tmp_path):
    for length in (0, 1, 3, 4, 5, 1023, 1024, 1025, 3000):
        text = random.Random(length).randbytes(length)
        assert _crc.crc32c(text) == plain_crc(text), length
    assert _crc.crc32c(b"123456789") == 0xE3069283 and masked(b"x")
    write_tfrecord(tmp_path / "a.tfrecord", records(range(5)))
    whole = (tmp_path / "a.tfrecord").read_bytes()
    for at in range(len(whole)):
        (tmp_path / "a.tfrecord").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        with pytest.raises(data.DataError, match=r"a.tfrecord: the (checksum|file ends)"):
            ids(data.shard(tmp_path / "a.tfrecord", prefetch=0))
    (tmp_path / "a.tfrecord").write_bytes(whole[:-1])
    with pytest.raises(data.DataError, match=r"a.tfrecord: the file ends within a record"):
        ids(data.shard(tmp_path / "a.tfrecord"))


def test_passes_are_shuffled_anew(tmp_path):
    write_some(tmp_path / "files", "parquet", [100] * 5)
    both = ids(data.shard(tmp_path / "files", shuffle=True, seed=3, passes=2))
    assert sorted(both[:500]) == sorted(both[500:]) == list(range(500)) and both[:500] != both[500:] != list(range(500))
    assert ids(data.shard(tmp_path / "files", shuffle=True, seed=3, epoch=1)) == both[500:], "a pass by its number"
    assert ids(data.shard(tmp_path / "files", shuffle=True, seed=4)) != both[:500]


@pytest.mark.parametrize("kind", ["avro", "parquet", "orc", "jsonl"])
def test_a_chunk_without_a_record_that_fits_can_be_shuffled(tmp_path, kind):
    write_some(tmp_path / "files", kind, [100, 100])
    assert sorted(ids(data.shard(tmp_path / "files", shuffle=True, where=[("name", "in", ["name 120", "name 199"])]))) == [120, 199]


@pytest.mark.parametrize("kind", WRITERS)
def test_goes_on_behind_the_last_batch(tmp_path, kind):
    total = write_some(tmp_path / "files", kind, [130, 1, 90])
    options = {"rank": 1, "size": 2, "shuffle": True, "passes": 2, "batch_size": 16}
    whole = ids(data.shard(tmp_path / "files", **options))
    for stop in (0, 1, 3, 5, 200):
        first = data.shard(tmp_path / "files", **options)
        batches = first.batches()
        seen = [row for _ in range(stop) for rows in [next(batches, [])] for row in (rows if isinstance(rows, list) else rows.to_pylist())]
        state = json.loads(json.dumps(first.state()))
        batches.close()
        assert [id_of(row) for row in seen] + ids(data.shard(tmp_path / "files", **options).resume(state)) == whole, stop
    assert total == 221


def test_goes_on_in_another_directory(tmp_path, monkeypatch):
    """As the next container of a task does."""
    states, seen = [], []
    for name in ("one", "two"):
        write_some(tmp_path / name, "jsonl", [100, 50])
        monkeypatch.chdir(tmp_path / name)
        dataset = data.shard("part-*.jsonl", shuffle=True)
        rows = (dataset.resume(states[0]) if states else dataset).records()
        seen += [row["id"] for _, row in zip(range(70 if name == "one" else 100), rows)]
        states.append(dataset.state())
        rows.close()
    assert sorted(seen) == list(range(150))


def test_a_file_of_several_names_is_read_once(tmp_path, monkeypatch):
    write_some(tmp_path / "files", "jsonl", [3])
    monkeypatch.chdir(tmp_path)
    name = "files/part-00000.jsonl"
    assert ids(data.shard([name, f"./{name}", tmp_path / name, f"file://{tmp_path / name}", "files", "files/*"])) == [0, 1, 2]


@pytest.mark.promise("P8")
@pytest.mark.parametrize("seed", range(12))
def test_another_number_of_ranks_reads_the_rest(tmp_path, seed):
    chance = random.Random(seed)
    total = write_some(tmp_path / "files", chance.choice(list(WRITERS)), [chance.randint(1, 90) for _ in range(4)])
    options = {"passes": 2, "shuffle": chance.random() < 0.5}
    seen, states = [], []
    for size in (3, 5, 2, 4):
        sets = [data.shard(tmp_path / "files", rank=rank, size=size, **options) for rank in range(size)]
        for each in sets:
            if states:
                each.resume(states)
            rows = each.records()
            seen += [id_of(row) for _, row in zip(range(chance.randint(0, total // 3)), rows)]
            rows.close()
        states = json.loads(json.dumps([each.state() for each in sets]))
        chance.shuffle(states)
    for rank in range(6):
        seen += ids(data.shard(tmp_path / "files", rank=rank, size=6, **options).resume(states))
    assert sorted(seen) == sorted([*range(total), *range(total)])


def test_memory_is_bounded(tmp_path):
    """Chunks that wait have no more bytes than are allowed, beside one of each thread."""
    from tony.data._ahead import Ahead, Ticket
    from tony.data._formats import Chunk

    held = threading.Semaphore(0)
    made = []

    def read(unit, of_pass):
        for number in range(20):
            made.append(unit)
            held.release()
            yield Chunk([{"id": number}], 10)

    units = [_shares.Unit(f"u{i}", 0, 1, 0, True, ()) for i in range(6)]
    ahead = Ahead(iter([Ticket((0, i), unit) for i, unit in enumerate(units)]), read, 3, 40)
    taken = 0
    for piece in ahead:
        assert len(made) - taken <= 40 // 10 + 3 + 1
        taken += piece[1] is not None
    assert taken == len(made) == 120
    assert [size_of(text) for text in ("256m", "1g", "64k", 7, "7", "2q", "m")] == [256 << 20, 1 << 30, 64 << 10, 7, 7, -1, -1]


def test_an_iterator_that_is_left_leaves_no_thread(tmp_path):
    write_some(tmp_path / "files", "jsonl", [2000] * 4)
    rows = data.shard(tmp_path / "files", prefetch=4, memory=1).records()
    assert next(rows)["id"] == 0
    rows.close()


def test_a_reader_that_leaves_does_not_wait_for_a_ticket(monkeypatch):
    """As at Ctrl-C, while another task lists the files of a queue."""
    from tony.data import _ahead

    monkeypatch.setattr(_ahead, "_LEAVE_S", 0)
    answer = threading.Event()

    def tickets():
        yield _ahead.Ticket((0, 0), _shares.Unit("u", 0, 1, 0, True, ()))
        answer.wait()

    ahead = _ahead.Ahead(tickets(), lambda unit, of_pass: iter(()), 2, 40)
    pieces = iter(ahead)
    next(pieces)
    wait_until(lambda: ahead._is_asking, "a thread to ask for the second")
    leaving = threading.Thread(target=pieces.close, daemon=True)
    leaving.start()
    try:
        wait_until(lambda: not leaving.is_alive(), "the reader to leave")
    finally:
        answer.set()
        for thread in ahead._threads:
            thread.join()


def test_a_forked_process_does_not_wait_for_threads_that_it_lacks(tmp_path):
    """As a worker of a DataLoader that has an iterator of the program that began it."""
    write_some(tmp_path / "files", "jsonl", [2000] * 4)
    rows = data.shard(tmp_path / "files", memory=1).records()
    assert next(rows)["id"] == 0
    child = os.fork()
    if child == 0:
        try:
            list(rows)
        except data.DataError as error:
            os._exit(7 if "begin one here" in str(error) else 1)
        finally:
            os._exit(2)
    try:
        ended = wait_until(lambda: os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG), "the child to be told")
        assert ended.si_status == 7
    except pytest.fail.Exception:
        os.kill(child, signal.SIGKILL)
        raise
    rows.close()


def test_a_queue_has_no_ranks(monkeypatch):
    monkeypatch.setattr("tony.task.active", True)
    with pytest.raises(BadSubmission, match='rank and size: with mode="dynamic" a queue hands out the files'):
        data.shard("a.jsonl", mode="dynamic", rank=1, size=2)


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda here: data.shard(here / "none"), NotFound, "none: there is no such file or directory"),
    (lambda here: data.shard(str(here / "*.orc")), NotFound, "*.orc: there are no files; those that begin with _ or . do not count"),
    (lambda here: data.shard([]), BadSubmission, "no path was given"),
    (lambda here: data.shard(here), BadSubmission, "b.jsonl is of format jsonl"),
    (lambda here: data.shard(here / "part-0"), BadSubmission, "part-0: its name does not tell its format; say format=, one of avro, parquet"),
    (lambda here: data.shard(here / "b.jsonl", format="csv"), BadSubmission, 'format="csv": there is none of that name; it is one of avro'),
    (lambda here: data.shard(here / "b.jsonl", mode="queue"), BadSubmission, 'mode="queue": it is "static" or "dynamic"'),
    (lambda here: data.shard(here / "b.jsonl", columns="id"), BadSubmission, 'columns="id": write columns=["id"]'),
    (lambda here: data.shard(here / "b.jsonl", rank=1), BadSubmission, "rank and size: give both"),
    (lambda here: data.shard(here / "b.jsonl", rank=2, size=2), BadSubmission, "rank=2: with size=2 it is 0 to 1"),
    (lambda here: data.shard(here / "b.jsonl", memory="2q"), BadSubmission, 'memory="2q": it is no size; write "256m" or "1g"'),
    (lambda here: data.shard(here / "b.jsonl", batch_size=0), BadSubmission, "batch_size=0: it is 1 at least"),
    (lambda here: data.shard(here / "b.jsonl", where=[("id", "~", 3)]), BadSubmission, "there is no operator '~'; it is one of =, ==, !="),
    (lambda here: data.shard(here / "b.jsonl", where=[("id", "in", "abc")]), BadSubmission, "in needs a list of values"),
    (lambda here: data.shard(here / "b.jsonl", where=[("id", "=", None)]), BadSubmission, "compare with a value"),
    (lambda here: data.shard(here / "b.jsonl", where="id > 3"), BadSubmission, 'write [("column", "<", 3)]'),
    (lambda here: ids(data.shard(here / "one/e.jsonl", where=[("id", ">", "x")])), BadSubmission, "e.jsonl: where: id is 1 in a record, which"),
    (lambda here: ids(data.shard(here / "b.jsonl")), data.DataError, "b.jsonl: b'no json\\n' is no line of JSON"),
    (lambda here: ids(data.shard(here / "one/e.jsonl", columns=["idd"])), data.DataError, "e.jsonl: there is no column idd, as far as the"),
    (lambda here: ids(data.shard(here / "one/e.jsonl", where=[("idd", "=", 1)])), data.DataError, "e.jsonl: there is no column idd, as far"),
    (lambda here: ids(data.shard(here / "b.jsonl", format="text", columns=["id"])), data.DataError, "each file tells; there are text. If"),
    (lambda here: ids(data.shard(here / "f.tfrecord", columns=["id"])), data.DataError, "each file tells; there are record. If"),
    (lambda here: ids(data.shard(here / "c.avro", columns=["idd"])), data.DataError, "c.avro: there is no column idd; there are id, label"),
    (lambda here: ids(data.shard(here / "d.parquet", columns=["idd"])), data.DataError, "d.parquet: there is no column idd; there are id"),
    (lambda here: ids(data.shard(here / "b.jsonl", format="avro")), data.DataError, "b.jsonl: this is no file of Avro"),
    (lambda here: ids(data.shard(here / "b.jsonl", format="parquet")), data.DataError, "b.jsonl, bytes 0 to 19: ArrowInvalid: "),
    (lambda here: ids(data.shard(here / "d.parquet", format="avro")), data.DataError, "this is no file of Avro"),
    (lambda here: data.shard(None), BadSubmission, "shard(None): give a path"),
    (lambda here: data.shard(here / "b.jsonl", batch_size="a"), BadSubmission, "batch_size='a': it is a whole number"),
    (lambda here: data.shard(here / "b.jsonl", passes=1.5), BadSubmission, "passes=1.5: it is a whole number"),
    (lambda here: data.shard(here / "b.jsonl", columns=[]), BadSubmission, "columns=[]: name one at least"),
    (lambda here: data.shard(here / "b.jsonl", name="a b"), BadSubmission, "name='a b': up to 64 of A-Z a-z 0-9"),
    (lambda here: data.shard(here / "d.parquet").resume("text"), BadSubmission, "resume: 'text' is no state, and no list of states"),
    (lambda here: data.shard(here / "d.parquet").resume(None), BadSubmission, "resume: None is no state"),
    (lambda here: data.shard(here / "d.parquet").resume({"version": 1, "mode": "static"}), BadSubmission,
     "the state is damaged: it lacks at, fingerprint, layers, rank, size"),
    (lambda here: data.shard(here / "d.parquet").resume({**data.shard(here / "d.parquet").state(), "at": 3}), BadSubmission,
     "the state is damaged: a place in it is none"),
    (lambda here: data.shard(here / "d.parquet").resume({"version": 1, "mode": "dynamic"}), BadSubmission,
     'the state is of mode="dynamic", and this data set has mode="static"'),
    (lambda here: data.shard(here / "d.parquet").resume({"id": 1}), BadSubmission, "resume: this is no state of a tony.data.Dataset"),
    (lambda here: data.shard(here / "d.parquet").resume(data.shard(here / "c.avro").state()), BadSubmission, "the state is of other files"),
    (lambda here: data.shard(here / "d.parquet", rank=0, size=3).resume(data.shard(here / "d.parquet", rank=0, size=2).state()),
     BadSubmission, "resume: there are 3 ranks now and there were 2: give the states of all of these"),
])
def test_what_goes_wrong_is_told(tmp_path, call, error, words):
    (tmp_path / "b.jsonl").write_text('{"id": 1}\nno json\n\n')
    (tmp_path / "part-0").write_text("x")
    (tmp_path / "one").mkdir()
    (tmp_path / "one/e.jsonl").write_text('{"id": 1}')
    write_avro(tmp_path / "c.avro", records(range(3)))
    write_parquet(tmp_path / "d.parquet", records(range(3)))
    write_tfrecord(tmp_path / "f.tfrecord", records(range(3)))
    with pytest.raises(error) as caught:
        call(tmp_path)
    assert words in str(caught.value)


def test_libraries_that_are_missing_are_named(tmp_path):
    write_some(tmp_path / "files", "avro", [3])
    program = ("import sys\nfor name in ('fsspec', 'fastavro'):\n    if name == sys.argv[1]: sys.modules[name] = None\nfrom tony import data\n"
               "try: list(data.shard(sys.argv[2]).records())\nexcept data._dataset.TonyError as error: print(type(error).__name__, error)")
    for module, words in (("fsspec", "NotInstalled tony.data needs the Python package fsspec, which is not there: pip install fsspec\n"),
                          ("fastavro", "needs the Python package fastavro, which is not there: pip install fastavro cramjam\n")):
        done = subprocess.run([sys.executable, "-c", program, module, tmp_path / "files"], capture_output=True, text=True, check=True,
                              env={"PYTHONPATH": ":".join(sys.path)})
        assert done.stdout.endswith(words), done.stdout + done.stderr
    assert issubclass(NotInstalled, Exception) and record(1)["id"] == 1
