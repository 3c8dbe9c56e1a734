"""The job's page: its curves, what it uses, what it survived, and what can be copied from it."""

import browser
import pytest
from selenium.webdriver.common.action_chains import ActionChains

from fake_job import Job, Log, fill_portal

CRASH = {"kind": "exit", "exit_code": 1, "text": "exited with code 1", "headline": "OSError: port in use"}


def copied(page, label, within="main"):
    """The text that a copy button puts into the clipboard."""
    page.run("""
        window.copied = null;
        Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {
            writeText: async (text) => { window.copied = text; }}});""")
    page.button(label, within)
    return page.wait(lambda: page.run("return window.copied"))


@pytest.fixture
def crashed(job):
    """worker:0 has failed once and trains again; the chief began anew with it."""
    job.move("worker:0", "failed", up=False, cause=CRASH)
    for name in ("worker:0", "chief:0"):
        job.form([name])
    job.run()
    return job


def test_curves_of_the_program(page, serve, crashed):
    page.open(serve(crashed))
    page.wait_for_text("loss", "[aria-labelledby=curves] figcaption")
    page.wait(lambda: len(page.all("[aria-labelledby=curves] canvas")) == 1)
    page.wait_for_text("1 restart, the last one at", ".chart-marks")
    page.choose("Whose curves", "1")
    page.wait_for_text("worker:3", "[aria-labelledby=curves] .chart-numbers")
    names = [one.text for one in page.all("[aria-labelledby=curves] .name")]
    assert names == ["worker:0", "worker:1", "worker:2", "worker:3"]


def test_a_loss_that_became_nan_says_so(page, serve, job):
    """Beside the extremes of its samples, which its points do not have."""
    job.series = lambda task, points: {"task": task, "series": [], "user": [
        {"name": "loss", "run": "", "t": [1000, 2000, 3000, 4000], "step": [20, 40, 60, 80], "v": [2, 1, None, None],
         "least": [0.5, 1, None, None], "most": [9, 1.5, None, None], "nan": [False, False, True, True],
         "exact": {"nans": 40, "first": {"t": 10, "step": 0, "v": 9}, "last": {"t": 4000, "step": 80, "v": None, "nan": True},
                   "least": {"t": 11, "step": 3, "v": 0.5}, "most": {"t": 10, "step": 0, "v": 9},
                   "nan_since": {"t": 2500, "step": 51, "v": None, "nan": True}}},
        {"name": "score", "run": "", "t": [1000], "step": [20], "v": [7]}]}
    page.open(serve(job))
    page.wait_for_text("NaN since step 51", "[aria-labelledby=curves] .nan")
    numbers = page.text("[aria-labelledby=curves] .chart-numbers")
    assert "0.5 (step 3) to 9 (step 0)" in numbers and "mean 1.5" in numbers
    page.wait(lambda: len(page.all("[aria-labelledby=curves] canvas")) == 2)
    # One sample is a point: something is drawn in its curve's colour.
    assert page.run("""
        const canvas = document.querySelectorAll('[aria-labelledby=curves] canvas')[1];
        const probe = document.createElement('canvas').getContext('2d');
        probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--curve-1').trim();
        probe.fillRect(0, 0, 1, 1);
        const [red, green, blue] = probe.getImageData(0, 0, 1, 1).data;
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        for (let i = 0; i < data.length; i += 4)
            if (data[i] === red && data[i + 1] === green && data[i + 2] === blue && data[i + 3] === 255)
                return true;
        return false;""")


def test_curves_are_smoothed_and_seen_by_their_logarithm(page, serve, job):
    page.open(serve(job))
    page.wait_for_text("mean", "[aria-labelledby=curves] .chart-numbers")
    before = page.text("[aria-labelledby=curves] .chart-numbers")
    page.run("""
        const range = document.querySelector('[aria-labelledby=curves] input[type=range]');
        range.value = '0.9';
        range.dispatchEvent(new Event('input'));""")
    page.wait(lambda: page.text("[aria-labelledby=curves] .chart-numbers") != before)
    ink = "return document.querySelector('[aria-labelledby=curves] canvas').toDataURL()"
    plain = page.run(ink)
    page.click("[aria-labelledby=curves] input[type=checkbox]")
    page.wait(lambda: page.run(ink) != plain)


def test_zoom_can_be_reset(page, serve, job):
    page.open(serve(job))
    page.wait_for("[aria-labelledby=curves] canvas")
    page.draw()
    assert not page.all("[aria-labelledby=curves] figcaption button")[0].is_displayed()
    over = page.wait_for("[aria-labelledby=curves] .u-over")
    ActionChains(page.driver).move_to_element_with_offset(over, -60, 0).click_and_hold().move_by_offset(90, 0).release().perform()
    page.button("Reset zoom", "[aria-labelledby=curves]")
    page.wait(lambda: not page.all("[aria-labelledby=curves] figcaption button")[0].is_displayed())


def test_use_against_what_was_asked(page, serve, job):
    page.open(serve(job))
    page.wait_for_text("16 of 32 cores, 50 %", "[aria-labelledby=use]")
    page.wait_for_text("32 GiB of 64 GiB, 50 %", "[aria-labelledby=use]")
    page.wait_for_text("4.7 of 5 GPUs, 93 %", "[aria-labelledby=use]")
    page.wait_for_text("now, by 8 of 8 tasks", "[aria-labelledby=use]")


def test_use_of_a_job_that_has_ended(page, serve, job):
    for task in job.tasks:
        task["used"] = {"ms": 100_000, "cpu_ms": 200_000, "max_rss_bytes": 2 << 30}
    job.end()
    page.open(serve(job))
    page.wait_for_text("16 of 32 cores, 50 % on average, 26 min 40 s of CPU time", "[aria-labelledby=use]")
    page.wait_for_text("16 GiB of 64 GiB, 25 % at the peak", "[aria-labelledby=use]")
    page.wait_for_text("Memory, last", "[data-key=memory]")
    assert "the job waits for it" in page.text()


def test_last_lines_of_the_chief(page, serve, job):
    log = job.set_log("chief:0", "stdout", Log(b"step 1\n"))
    job.set_log("chief:0", "stderr", Log(b"W slow\n"))
    page.open(serve(job))
    page.wait_for_text("step 1", "[aria-labelledby=tail] .tail")
    page.wait_for_text("W slow", "[aria-labelledby=tail] .stderr")
    log.append("".join(f"step {number}\n" for number in range(2, 30)))
    page.wait_for_text("step 29", "[aria-labelledby=tail]")
    assert len(page.all("[aria-labelledby=tail] .line")) == 10


def test_what_it_survived(page, serve, crashed):
    server = serve(crashed)
    page.open(server)
    page.wait_for_text("Recovered from 1 failure", ".repairs")
    page.wait_for_text("worker:0, run 1: exited with code 1 OSError: port in use", ".repairs")
    crashed.set_log("worker:0", "stderr", Log(b"a\nOSError: port in use\nb\n"))
    page.button("log", ".repairs")
    page.wait_for_text("worker:0", "h1")
    assert page.run("return location.hash").endswith("?log=stderr&attempt=1&q=OSError%3A+port+in+use")
    page.wait_for_text("run 2", ".chart-marks") if page.all(".chart-marks") else None
    page.wait(lambda: [row.text.split()[0] for row in page.all("[aria-label=Runs] tbody tr")] == ["1", "2"])


def test_nothing_is_asked_of_tasks_that_never_failed(page, serve, job):
    server = serve(job)
    page.open(server)
    page.settle()
    assert [path for path in server.requests if "/attempts" in path and "chief:0" not in path] == []


def test_a_kill_is_no_fault(page, serve, job):
    job.cause = {"kind": "killed-by-user", "text": "killed by the user: out of credit"}
    job.end("killed", "killed by the user: out of credit")
    page.open(serve(job))
    page.wait_for_text("Killed by the user: out of credit", ".notice")
    assert page.all(".notice.bad") == [] and "Root cause" not in page.text()
    assert page.text().count("out of credit") == 1
    grey = page.run("return getComputedStyle(document.documentElement).getPropertyValue('--s-stopped').trim()")
    assert page.run("return getComputedStyle(document.querySelector('.title .badge')).getPropertyValue('--state').trim()") == grey


@pytest.mark.parametrize(("address", "href"), [
    ("https://mlflow.example.com/#/runs/5f1c", "https://mlflow.example.com/#/runs/5f1c"), ("javascript:alert(1)", None)])
def test_the_run_of_a_tracking_server_is_linked(page, serve, job, address, href):
    page.open(serve(job))
    page.wait_for_text("worker:0", "main")
    job.emit(ev="tracking", run="5f1c", page=address)
    page.wait_for_text("its run", "main")
    assert [link.get_dom_attribute("href") for link in page.all("main a") if link.text == "its run"] == [href]


def test_commands_to_copy(page, serve, job):
    job.give_advice()
    page.open(serve(job))
    assert copied(page, "Copy", ".facts") == job.id
    assert copied(page, "follow logs") == f"tony logs -f {job.id}"
    assert copied(page, "kill") == f"tony kill {job.id}"
    assert copied(page, "run again") == f"tony rerun {job.id}"
    assert copied(page, "Copy as --conf", ".suggestion") == "--conf tony.worker.memory=4g"
    assert copied(page, "Copy as XML", ".suggestion").startswith("<property>")
    assert "python3 train.py --task worker" in page.text(".command")


def test_phone_shows_the_line_that_matters_first(page, serve, job):
    job.fail("worker:1", lines=["noise"] * 30 + ["ValueError: no data"], headline="ValueError: no data")
    job.end("failed", "worker:1 exited with code 1")
    browser.resize(page.driver, 390, 844)
    page.open(serve(job))
    line = page.wait_for(".first-line")
    assert line.text == "ValueError: no data"
    assert line.rect["y"] + line.rect["height"] < page.wait_for(".notice .tail").rect["y"]
    assert line.rect["y"] < 500


def test_phone_compares(page, serve):
    jobs = fill_portal(2)
    browser.resize(page.driver, 390, 844)
    page.open(serve(*jobs, is_portal=True), f"#/compare?jobs={jobs[0].id},{jobs[1].id}&all=1")
    page.wait_for_text("train-1", ".compare thead")
    heads = page.run("return [...document.querySelectorAll('.compare thead th')].map((one) => one.getBoundingClientRect().right)")
    assert len(heads) == 2 and max(heads) <= 390


def test_a_type_of_one_kind_has_no_plural_of_its_own(page, serve):
    page.open(serve(Job(tasks=12).start()))
    page.wait_for_text("1 chief, 8 workers, 2 ps, 1 tensorboard")


def test_the_configuration_is_copied_to_be_given_again(page, serve, job):
    job.config["tony.admin.acl"] = {"value": "bob", "origin": "tony-site.xml:9"}
    job.config["tony.execution.envs"] = {"value": "KEY=***", "origin": "--conf"}
    page.open(serve(job), "#/config")
    page.wait_for_text("tony.worker.memory", ".config")
    xml = copied(page, "Copy as XML")
    assert "<name>tony.worker.memory</name>\n    <value>8g</value>" in xml and "hidden: tony.execution.envs" in xml
    assert "tony.admin.acl" not in xml and "tony.example.key-007" not in xml
    assert "--conf tony.worker.memory=8g" in copied(page, "Copy as command line")


def trial(number, state, lr, loss=None, **members):
    found = {"trial": number, "state": state, "parameters": {"lr": lr, "kind": "ab"[number % 2]}, "job": f"tony-trial-{number}",
             "started_ms": 1795000000000, **members}
    return found | ({"value": loss, "step": 9} if loss is not None else {})


@pytest.fixture
def sweep(job):
    job.sweep = {"metric": "loss", "goal": "minimize", "planned": 9, "parameters": ["lr", "kind"], "best": 1, "trials": [
        trial(0, "completed", "0.1", 0.7, ended_ms=1795000009000), trial(1, "completed", "0.001", 0.2, ended_ms=1795000009000),
        trial(2, "stopped", "0.5", 0.9, text="its loss of 0.9 at step 3 is not among the best 1/3"), trial(3, "running", "0.01")]}
    job.run()
    return job


def test_trials_of_a_sweep_are_lines_and_rows(page, serve, sweep):
    page.open(serve(sweep))
    page.wait_for_text("Best so far: trial 1 with lr=0.001, kind=b, loss 0.2.", "[aria-labelledby=trials] [role=status]")
    assert len(page.all("[aria-labelledby=trials] polyline")) == 4
    assert len(page.all("[aria-labelledby=trials] polyline.best")) == 1
    rows = [row.text for row in page.all("[aria-labelledby=trials] tbody tr")]
    assert "1 (best)" in rows[1] and "not among the best 1/3" in rows[2], rows
    assert page.violations() == []


def test_trials_of_a_sweep_are_live(page, serve, sweep):
    page.open(serve(sweep))
    page.wait_for_text("4 trials of 9", "[aria-labelledby=trials] [role=status]")
    with sweep.lock:
        sweep.sweep["trials"].append(trial(4, "completed", "0.002", 0.1))
        sweep.sweep["best"] = 4
    page.wait_for_text("5 trials of 9", "[aria-labelledby=trials] [role=status]")
    page.wait_for_text("trial 4 with lr=0.002", "[aria-labelledby=trials] [role=status]")


def test_a_job_that_is_no_sweep_asks_for_no_trials(page, serve, job):
    page.open(serve(job))
    page.wait_for_text("mean", "[aria-labelledby=curves] .chart-numbers")
    assert page.all("[aria-labelledby=trials][hidden]")
