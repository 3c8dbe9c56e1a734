"""bench_web.py [--tasks N]: how the dashboard does with many tasks, in Chromium without a graphics
card: when a job is first seen, what an update costs the page, frames a second while the table is scrolled
and tasks change, how long a change takes until it is seen, memory, and a search of a log of 200 MiB of a
real job. Figures with a goal say whether they met it.
"""

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/web"), str(ROOT / "test/harness")]
import browser  # noqa: E402
import fake_server  # noqa: E402
from fake_job import HugeLog, Job  # noqa: E402
from page import Page  # noqa: E402
from program import Tony, wait_until  # noqa: E402

PAINT_MS, UPDATE_MS, SEARCH_MS = 300, 50, 1500  # goals
LOG_BYTES = 200 << 20

# When the page first shows what it is about: its state, its title, and tasks.
PAINTED = """
    const look = () => requestAnimationFrame(() => {
        const row = document.querySelector('.grid-item .cell');
        if (document.querySelector('h1')?.textContent && row?.textContent)
            window.paintedAt = performance.now();
        else
            look();
    });
    look();"""

SCROLL = """
    const [seconds, done] = arguments;
    const grid = document.querySelector('[role=grid]');
    const times = [];
    const step = (now) => {
        times.push(now);
        grid.scrollTop = (grid.scrollTop + 700) % (grid.scrollHeight - grid.clientHeight);
        if (now - times[0] < seconds * 1000)
            requestAnimationFrame(step);
        else
            done(times);
    };
    requestAnimationFrame(step);"""

WATCH = """
    window.seen = [];
    new MutationObserver(() => {
        const state = [...document.querySelectorAll('.grid-item')].find((row) =>
            row.firstChild.textContent === 'worker:0')?.children[1].textContent;
        if (state && state !== window.last) {
            window.last = state;
            window.seen.push(performance.timeOrigin + performance.now());
        }
    }).observe(document.querySelector('[role=grid]'), {subtree: true, childList: true, characterData: true});"""


def churn(job, stop, per_second):
    """Tasks that change while somebody scrolls."""
    workers = [task["task"] for task in job.tasks if task["task"].startswith("worker")]
    while not stop.wait(10 / per_second):
        for name in job.random.sample(workers, 10):
            job.move(name, "stopping" if job.by_name[name]["state"] == "running" else "running")


def frames(page, seconds):
    times = page.driver.execute_async_script(SCROLL, seconds)
    gaps = sorted(b - a for a, b in zip(times, times[1:]))
    return len(gaps) * 1000 / (times[-1] - times[0]), gaps[int(len(gaps) * 0.95)], gaps[-1]


def latencies(page, job, count):
    page.run("document.querySelector('[role=grid]').scrollTop = 0")
    page.run(WATCH)
    happened = []
    for number in range(count):
        happened.append(time.time() * 1000)
        job.move("worker:0", "stopping" if number % 2 == 0 else "running")
        page.wait(lambda: len(page.run("return window.seen")) == number + 1)
    return [seen - then for seen, then in zip(page.run("return window.seen"), happened)]


def heap(page):
    page.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    return page.run("return performance.memory.usedJSHeapSize") / 2 ** 20


def report(what, figure):
    print(f"  {what:<58} {figure}", flush=True)


def report_goal(what, ms, goal):
    report(what, f"{ms:.0f} ms (goal {goal} ms{'' if ms <= goal else ': MISSED'})")


def bench_paint(page, url):
    script = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": PAINTED})
    times = []
    for _ in range(9):
        page.leave()
        page.driver.get(url)
        times.append(page.wait(lambda: page.run("return window.paintedAt")))
    page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    report_goal("the job is first seen after (median of 9)", statistics.median(times), PAINT_MS)


def bench_real(driver, tasks):
    """A real application master serves a job that its user holds, and one with a long log."""
    with tempfile.TemporaryDirectory(prefix="tony-bench-") as directory:
        tony = Tony(Path(directory))
        try:
            page = Page(driver)
            keys = {"tony.worker.instances": tasks, "tony.worker.memory": "1m", "tony.application.framework": "generic"}
            page.go(tony.run("open", tony.submit(keys, "--hold", "--executes", "true").id).stdout.strip())
            bench_paint(page, page.run("return location.href"))
            bench_search(page, tony)
            page.leave()
        finally:
            tony.finish()


def task_ms(page):
    metrics = page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration") * 1000


def bench_update(page, server, job):
    """Of 100 tasks that change at once: the page draws them in one frame."""
    page.open(server)
    page.wait_for_text("Live", ".connection")
    page.settle()
    page.driver.execute_cdp_cmd("Performance.enable", {})
    time.sleep(2)  # patience: what the page does when it was opened is not an update
    costs = []
    for number in range(20):
        before = task_ms(page)
        for index in range(100):
            job.move(f"worker:{index}", "stopping" if number % 2 == 0 else "running")
        page.wait(lambda: page.run("return [...document.querySelectorAll('.legend .count')].some((one) => "
                                   "/100 stopping/.test(one.textContent))") == (number % 2 == 0))
        page.draw()
        costs.append(task_ms(page) - before)
    report_goal("an update of 100 tasks takes of the main thread (median)", statistics.median(costs), UPDATE_MS)


def bench_search(page, tony):
    """The application master looks through a log, which the kernel has in its cache."""
    command = f"yes 'step 000000000 loss=0.123456789 {'.' * 60}' | head -c {LOG_BYTES}; echo; echo NEEDLE; exec sleep 1000"
    job = tony.submit({"tony.worker.instances": 1}, "--executes", command)
    wait_until(lambda: "NEEDLE" in tony.run("logs", "--tail", "1", job.id).stdout, "the log", 300)
    page.go(tony.run("open", job.id).stdout.strip())
    page.turn_to("#/tasks/worker:0?log=stdout")
    page.wait_for_text("NEEDLE", ".log")
    page.type("[aria-label='Search the log']", "NEEDLE")
    report_goal("a search of 200 MiB of a log takes (median of 5)", statistics.median(search(page) for _ in range(5)), SEARCH_MS)


ONLY = """
    [...document.querySelectorAll('.search label')].find((one) => one.textContent === 'Only matches')
        .querySelector('input').click();"""


def search(page):
    """From the click on "Only matches" until the log's last line, the only one that matches, is there alone."""
    begun = time.time()
    page.run(ONLY)
    page.wait(lambda: page.run("return document.querySelectorAll('.log .line').length === 1 && "
                               "document.querySelector('.log .line').textContent === 'NEEDLE'"))
    took = (time.time() - begun) * 1000
    page.run(ONLY)
    page.wait(lambda: page.run("return document.querySelectorAll('.log .line').length > 100"))
    return took


def bench_table(page, server, job):
    begun = time.time()
    page.open(server)
    page.wait_for_rows(lambda rows: len(rows) > 10)
    report(f"{len(job.tasks)} tasks are on the page after", f"{time.time() - begun:.1f} s")
    page.wait_for_text("Live", ".connection")
    for rate in (0, 500):
        stop = threading.Event()
        if rate:
            threading.Thread(target=churn, args=(job, stop, rate), daemon=True).start()
        rate_is, p95, worst = frames(page, 8)
        stop.set()
        report(f"scrolling, {rate} changes of tasks a second",
               f"{rate_is:.0f} frames/s, p95 {p95:.0f} ms, longest {worst:.0f} ms")
    times = sorted(latencies(page, job, 40))
    report("a change is seen after (median, p95, longest)",
           f"{statistics.median(times):.0f} ms, {times[int(len(times) * 0.95)]:.0f} ms, {times[-1]:.0f} ms")
    report("memory of the page", f"{heap(page):.0f} MiB")


def bench_timeline(page, server):
    page.open(server, "#/events")
    page.wait_for("canvas")
    page.wait(lambda: "Loading" not in page.text())
    times = page.driver.execute_async_script(SCROLL.replace("[role=grid]", ".gantt"), 5)
    report("scrolling the timeline", f"{(len(times) - 1) * 1000 / (times[-1] - times[0]):.0f} frames/s")


def bench_log(page, server):
    page.open(server, "#/tasks/worker:0?log=stdout")
    page.wait_for_text("step 009999999", ".log .line:last-child")
    before = heap(page)
    for _ in range(60):
        first = page.text(".log .line:first-child")
        page.run("document.querySelector('.log').scrollTop = 0")
        page.wait(lambda: page.text(".log .line:first-child") != first)
    report("a log of 1 GB: memory of the page, and after scrolling far",
           f"{before:.0f} MiB, {heap(page):.0f} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10000)
    options = parser.parse_args()
    job = Job(tasks=options.tasks).start()
    job.set_log("worker:0", "stdout", HugeLog(10_000_000))
    server = fake_server.serve([job])
    driver = browser.start(1600, 1000)
    driver.set_script_timeout(300)
    try:
        page = Page(driver)
        print("dashboard:")
        bench_real(driver, options.tasks)
        bench_update(page, server, job)
        bench_table(page, server, job)
        bench_timeline(page, server)
        bench_log(page, server)
    finally:
        driver.quit()
        server.stop()


if __name__ == "__main__":
    main()
