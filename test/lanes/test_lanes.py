"""The runner of the lanes: what counts as failed, what is left behind, in which order parts run."""

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import engine  # noqa: E402
import kinds  # noqa: E402
import table  # noqa: E402

TESTS = """
import pytest
def test_good(): pass
def test_bad(): assert 0
def test_skipped(): pytest.skip("no reason")
@pytest.fixture
def broken():
    yield
    assert 0
def test_broken_fixture(broken): pass
def test_lost(): __import__("os")._exit(3)
"""


def part(name, kind, what, **fields):
    return table.Part(name=name, kind=kind, what=what, promise="", minutes=1, **fields)


def run(parts, tmp_path, monkeypatch, name="", only=()):
    monkeypatch.setattr(engine, "REPORTS", tmp_path)
    runs = engine.Engine(lambda part: kinds.Selection(name, list(only))).run({row.name: row for row in parts})
    return {run.part.name: run.result for run in runs}


@pytest.fixture
def tests(tmp_path):
    path = tmp_path / "test_sample.py"
    path.write_text(TESTS, encoding="utf-8")
    return part("sample", "pytest", [str(path)])


def names(result):
    return sorted(name.rpartition("::")[2] for name in result["failed"])


def test_failed_skipped_broken_and_lost_tests_count_as_failed(tests, tmp_path, monkeypatch):
    result = run([tests], tmp_path, monkeypatch)["sample"]
    assert result["passed"] == 1
    assert names(result) == ["test_bad", "test_broken_fixture", "test_lost", "test_skipped"]


def test_a_name_and_failed_tests_choose(tests, tmp_path, monkeypatch):
    assert run([tests], tmp_path, monkeypatch, name="good")["sample"]["passed"] == 1
    failed = run([tests], tmp_path, monkeypatch, name="bad or skipped")["sample"]["failed"]
    assert len(failed) == 2
    again = run([tests], tmp_path, monkeypatch, only=failed[:1])["sample"]
    assert (again["passed"], again["failed"]) == (0, failed[:1])


def test_the_whole_part_runs_where_a_failed_test_is_gone(tests, tmp_path, monkeypatch):
    failed = run([tests], tmp_path, monkeypatch, name="bad or skipped")["sample"]["failed"]
    gone = failed[0].replace("test_bad", "test_gone")
    assert len(run([tests], tmp_path, monkeypatch, only=[gone, failed[1]])["sample"]["failed"]) == 4


def test_an_expression_that_is_none_is_a_failure(tests, tmp_path, monkeypatch):
    result = run([tests], tmp_path, monkeypatch, name="a and (")["sample"]
    assert (result["passed"], result["failed"]) == (0, [kinds.PYTEST])


def test_failed_tests_are_kept_over_a_failed_build(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "REPORTS", tmp_path)
    kept = {"late": {"lane": "fast", "tests": ["one", "two"]}}
    (tmp_path / "failed-test.json").write_text(json.dumps(kept), encoding="utf-8")
    parts = {"late": part("late", "command", "true", needs=["broken"], lane="fast"),
             "broken": part("broken", "command", "false")}
    engine.keep_failed(engine.Engine(lambda part: kinds.Selection()).run(parts), "test", is_whole=True)
    assert engine.read_failed("test")["late"] == kept["late"]


def test_a_file_that_cannot_be_read_is_a_failure(tmp_path, monkeypatch):
    (tmp_path / "test_sample.py").write_text("import nothing_of_that_name", encoding="utf-8")
    result = run([part("sample", "pytest", [str(tmp_path / "test_sample.py")])], tmp_path, monkeypatch)["sample"]
    assert (result["passed"], len(result["failed"])) == (0, 1)


def test_a_process_that_is_left_behind_is_killed_and_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(engine.part_process, "LEAVE_S", 0.2)
    command = f"setsid sleep 1000 & echo $! >{tmp_path}/pid"
    result = run([part("leaver", "command", command)], tmp_path, monkeypatch)["leaver"]
    assert result["failed"] == ["left behind"]
    assert not os.path.exists(f"/proc/{(tmp_path / 'pid').read_text().strip()}")


def test_a_part_that_hangs_is_interrupted_and_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "LEAST_LIMIT_S", 0.5)
    monkeypatch.setattr(engine, "LIMIT_BUDGETS", 0)
    command = f"trap 'echo cleaned >{tmp_path}/log; exit' INT; while :; do sleep 0.1; done"
    assert run([part("hung", "command", command)], tmp_path, monkeypatch)["hung"]["failed"] == ["hung"]
    assert (tmp_path / "log").read_text() == "cleaned\n"


def test_a_part_that_hears_no_interrupt_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "LEAST_LIMIT_S", 0.5)
    monkeypatch.setattr(engine, "LIMIT_BUDGETS", 0)
    monkeypatch.setattr(kinds, "CLEAN_UP_S", 0.5)
    monkeypatch.setattr(engine.part_process, "LEAVE_S", 0.2)
    result = run([part("deaf", "command", "trap '' INT; sleep 1000; sleep 1000")], tmp_path, monkeypatch)["deaf"]
    assert "deaf" in result["failed"]


def test_cpu_time_of_a_process_that_left_its_parent_is_counted(tmp_path, monkeypatch):
    burn = "(setsid sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done' &)"
    assert run([part("burner", "command", burn)], tmp_path, monkeypatch)["burner"]["cpu"] > 0.1


def test_parts_wait_for_their_build_and_do_not_run_without_it(tmp_path, monkeypatch):
    order = tmp_path / "order"
    parts = [part("late", "command", f"echo late >>{order}", build="early"),
             part("never", "command", f"echo never >>{order}", needs=["broken"]),
             part("early", "command", f"echo early >>{order}"),
             part("broken", "command", "exit 1")]
    results = run(parts, tmp_path, monkeypatch)
    assert order.read_text().split() == ["early", "late"]
    assert results["never"]["failed"] == ["never"] and results["never"]["broken"]


def test_the_table_is_whole():
    lanes = table.read()
    for lane in lanes.values():
        for row in lane.values():
            assert set(row.after) <= set(lane) | set(lanes["all"]), row.name
            assert row.promise and row.minutes > 0
    assert lanes["fast"].keys() <= lanes["all"].keys()


def test_the_budgets_of_a_lane_fit_its_own():
    """On two cores, with ccache empty; a build of the test lane is none after lint's."""
    lanes = table.read()
    minutes = {lane: sum(row.minutes * row.cores for row in rows.values()) / 2 for lane, rows in lanes.items()}
    again = sum(row.minutes * row.cores for name, row in lanes["fast"].items() if name in lanes["lint"]) / 2
    assert minutes["lint"] + minutes["fast"] - again <= 30
    assert minutes["all"] <= 80


def test_what_failed_is_kept_until_its_part_runs_again(tmp_path, monkeypatch):
    good, bad = part("good", "command", "true"), part("bad", "command", "false")
    run([good, bad], tmp_path, monkeypatch)
    monkeypatch.setattr(engine, "REPORTS", tmp_path)
    kept = {name: {"lane": "fast", "tests": [name]} for name in ("bad", "good")}
    (tmp_path / "failed-test.json").write_text(json.dumps(kept), encoding="utf-8")
    runs = engine.Engine(lambda part: kinds.Selection()).run({"good": good})
    engine.keep_failed(runs, "test", is_whole=False)
    assert engine.read_failed("test") == kept
    engine.keep_failed(runs, "test", is_whole=True)
    assert engine.read_failed("test") == {"bad": kept["bad"]}
