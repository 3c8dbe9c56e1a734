"""Functions are shipped, and what they return or raise comes back."""

import importlib
import sys
import threading
import types
from pathlib import Path

import pytest
import tony
from conftest import SMALL
from tony import _function

lock = threading.Lock()


def make(body):
    """A function of a script, as a notebook has it: of no module that could be imported elsewhere."""
    namespace = {"__name__": "__main__"}
    exec(body, namespace)
    return namespace["train"]


@pytest.mark.promise("P4")
def test_a_value_comes_back_from_each_task(home):
    scale = 10

    def train(rate, *, steps):
        from tony import task

        print("trains", task.name)
        return {"rate": rate * scale, "steps": steps, "rank": task.rank, "of": task.world_size}

    job = tony.submit(train, 0.5, kwargs={"steps": 3}, workers=2, **SMALL)
    assert job.value() == {"rate": 5.0, "steps": 3, "rank": 0, "of": 2}
    assert {name: value["rank"] for name, value in job.values().items()} == {"worker:0": 0, "worker:1": 1}
    assert job.value("worker:1")["rank"] == 1 and job.status().name == "train"
    assert not list((home.state / "cache").rglob("__pycache__")), "jobs share what was shipped, and change nothing of it"
    assert len(list((home.state / "cache").glob("*/run.py"))) == 1


@pytest.mark.promise("P4")
def test_an_exception_is_raised_here_with_the_traceback_of_there(home):
    def train():
        from tony import task

        if task.index == 1:
            raise LookupError("no such column")

    job = tony.submit(train, workers=2, **SMALL)
    with pytest.raises(LookupError, match="no such column") as caught:
        job.value()
    failure = caught.value.__cause__
    assert isinstance(failure, tony.JobFailed) and "worker:1" in str(failure)
    assert "in train\n" in str(failure.__cause__) and "_shipped" not in str(failure.__cause__)


@pytest.mark.promise("P4")
def test_a_value_of_an_earlier_run_is_none_of_the_job(home):
    def train():
        import atexit
        import os

        from tony import task
        if task.restart == 1:
            os._exit(0)
        atexit.register(os._exit, 1)
        return "of the first run"

    job = tony.submit(train, max_restarts=1, **SMALL)
    with pytest.raises(tony.FunctionError, match="driver:0 has left no value: that of an earlier run is there"):
        job.value()
    assert job.status().task("driver:0").restart == 1


@pytest.mark.promise("P4")
def test_an_exception_that_cannot_come_back_is_told(home):
    odd = make("import threading\nclass Odd(Exception):\n    def __init__(self, a, b):\n        super().__init__(f'{a} and {b}')\n"
               "        self.lock = threading.Lock()\n"
               "def train():\n    raise Odd(1, 2)\n")
    with pytest.raises(tony.JobFailed, match="1 and 2"):
        tony.submit(odd, **SMALL).value()


@pytest.mark.parametrize("b", ["b", "b='none'"])
@pytest.mark.promise("P4")
def test_an_exception_whose_constructor_takes_other_arguments_keeps_its_type(home, b):
    """pickle would call it with the one text, and fail, or take that for `a`."""
    two = make(f"class Two(ValueError):\n    def __init__(self, a, {b}):\n        super().__init__(f'{{a}} and {{b}}')\n        self.b = b\n"
               "def train():\n    raise Two(1, 2)\n")
    with pytest.raises(ValueError, match=r"^1 and 2$") as caught:
        tony.submit(two, **SMALL).value()
    assert (type(caught.value).__name__, caught.value.b) == ("Two", 2) and isinstance(caught.value.__cause__, tony.JobFailed)


def test_a_program_that_a_signal_ends_and_one_that_exits_have_no_value(home):
    with pytest.raises(tony.JobFailed, match="SIGKILL"):
        tony.submit(make("import os\ndef train(): os.kill(os.getpid(), 9)"), **SMALL).value()
    with pytest.raises(tony.FunctionError, match="left no value"):
        tony.submit(make("import sys\ndef train(): sys.exit(0)"), **SMALL).value()
    with pytest.raises(tony.FunctionError, match="no function that tony.submit"):
        tony.submit(["true"], **SMALL).value()


def test_a_coroutine_is_run(home):
    assert tony.submit(make("async def train(x): return x + 1"), 4, **SMALL).value() == 5


def test_a_function_of_a_module_travels_with_it(home, monkeypatch):
    Path("src").mkdir()
    Path("src/own_module.py").write_text("FACTOR = 7\ndef train(x):\n    return x * FACTOR\n")
    monkeypatch.syspath_prepend("src")
    module = importlib.import_module("own_module")
    assert tony.submit(module.train, 6, **SMALL).value() == 42
    assert tony.submit(module.train, 6, src_dir="src", **SMALL).value() == 42
    # Without cloudpickle it is found in src_dir by its name.
    monkeypatch.setattr(_function, "_cloudpickle", lambda: None)
    assert tony.submit(module.train, 6, src_dir="src", **SMALL).value() == 42
    with pytest.raises(tony.FunctionError, match="pip install cloudpickle, or move the function into a module"):
        tony.submit(make("def train(): pass"))


@pytest.mark.parametrize(("call", "words"), [
    (lambda: tony.submit(make("import threading\nlock = threading.Lock()\ndef train():\n    with lock: pass")), "variable lock: cannot pickle"),
    (lambda: tony.submit(print, lock), "argument 1: cannot pickle"),
    (lambda: tony.submit(print, kwargs={"end": lock}), "argument end: cannot pickle"),
    (lambda: tony.submit(print, bytes(2 << 30)), "print and its arguments: over 1 GiB when pickled; leave data in a file"),
])
@pytest.mark.promise("P5")
def test_what_cannot_be_shipped_is_named(home, call, words):
    with pytest.raises(tony.FunctionError, match=words):
        call()
    assert home.ids() == []


@pytest.mark.promise("P5")
def test_a_value_that_cannot_come_back_is_told(home):
    with pytest.raises(tony.FunctionError, match="the value of driver:0: over 1 GiB when pickled; write it to a file"):
        tony.submit(make("def train(): return bytes(2 << 30)"), memory="512m").value()
    with pytest.raises(tony.FunctionError, match="the value of driver:0 cannot be pickled: cannot pickle"):
        tony.submit(make("import threading\ndef train(): return threading.Lock()"), **SMALL).value()
    assert not list(home.state.rglob("outcome-*.part"))


@pytest.mark.promise("P5")
def test_another_python_is_refused_by_name(home, monkeypatch):
    other = types.SimpleNamespace(version_info=(3, 99, 1), version="3.99.1 (main)", implementation=sys.implementation, modules=sys.modules)
    with monkeypatch.context() as patch:
        patch.setattr(_function, "sys", other)
        job = tony.submit(make("def train(): pass"), **SMALL)
    with pytest.raises(tony.JobFailed, match=r"train was pickled by Python 3\.99\.1 .*, and /usr/bin/python3 is Python 3\."):
        job.value()
    job = tony.submit(make("def train(): return 1"), **SMALL)
    job.wait()
    with monkeypatch.context() as patch:
        patch.setattr(_function, "sys", other)
        with pytest.raises(tony.FunctionError, match=r"pickled by Python 3\.\d+ and cannot be read by 3\.99"):
            job.value()


def test_kwargs_are_of_functions(home):
    with pytest.raises(TypeError, match="kwargs"):
        tony.submit(["true"], kwargs={"a": 1})
