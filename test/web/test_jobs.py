"""The list of all jobs, as a person looks for some of them."""

import browser
import pytest
from fake_job import Job, fill_portal
from page import Keys

SEARCH = "[aria-label='Search jobs']"


@pytest.fixture
def portal(serve):
    live = Job(tasks=6).start()
    live.lag()
    return serve(live, *fill_portal(250), is_portal=True)


def test_jobs_are_found(page, portal):
    page.open(portal)
    page.wait_for_rows(lambda rows: rows[0][2] == "mnist" and rows[0][1] == "running")
    page.wait_for_text("251 jobs", ".toolbar")
    page.type(SEARCH, "state:failed")
    page.wait_for_rows(lambda rows: {row[1] for row in rows} == {"failed"})
    page.type(SEARCH, "state:failed user:grace name:train-3")
    page.wait_for_rows(lambda rows: {(row[1], row[2], row[4]) for row in rows} == {("failed", "train-3", "grace")})
    page.driver.refresh()
    page.wait_for_rows(lambda rows: {(row[1], row[2], row[4]) for row in rows} == {("failed", "train-3", "grace")})
    assert page.wait_for(SEARCH).get_attribute("value") == "user:grace state:failed name:train-3"
    page.type(SEARCH, "tag:nightly TRAIN-2")
    page.wait_for_rows(lambda rows: {row[2] for row in rows} == {"train-2"})


def test_states_are_counted_and_chosen(page, portal):
    page.open(portal)
    page.wait_for_text("1 running 200 succeeded 50 failed", "[aria-label='Jobs by state']")
    page.button("50 failed")
    page.wait_for_rows(lambda rows: {row[1] for row in rows} == {"failed"})
    assert page.wait_for(SEARCH).get_attribute("value") == "state:failed"
    assert page.text("[aria-label='Jobs by state'] [aria-pressed=true]") == "50 failed"
    page.type(SEARCH, "user:grace state:failed")
    page.wait_for_text("16 failed", "[aria-label='Jobs by state']")
    page.button("16 failed")
    page.wait_for_rows(lambda rows: {row[1] for row in rows} == {"failed", "succeeded"})
    assert page.wait_for(SEARCH).get_attribute("value") == "user:grace"


def suggested(page):
    return page.run("return [...document.querySelectorAll('#job-words option')].map((one) => one.value)")


def test_words_are_suggested_while_somebody_types(page, portal):
    page.open(portal)
    page.focus(SEARCH)
    page.wait(lambda: suggested(page) == ["user:", "state:", "tag:", "name:", "queue:", "type:"])
    page.type(SEARCH, "big us")
    page.wait(lambda: suggested(page) == ["big user:"])
    page.type(SEARCH, "user:gr")
    page.wait(lambda: suggested(page) == ['user:"grace" '])
    page.type(SEARCH, "user:grace state:fa")
    page.wait(lambda: suggested(page) == ["user:grace state:failed "])


def test_my_jobs_and_all_again_are_a_click_away(page, serve):
    jobs = fill_portal(30)
    for job in jobs[::3]:
        job.user = "adalbert"
    page.open(serve(*jobs, *fill_portal(0), Job(tasks=4).start(), is_portal=True))
    page.wait_for_text("31 jobs", ".toolbar")
    assert not page.all("[role=search] a[href='#/']")[0].is_displayed()
    page.button("My jobs")
    page.wait_for_rows(lambda rows: {row[4] for row in rows} == {"ada"})
    assert page.wait_for(SEARCH).get_attribute("value") == 'user:"ada"'
    page.type(SEARCH, "no such name")
    page.wait_for_text("No jobs match these filters.")
    page.button("Clear filters")
    page.wait_for_text("31 jobs", ".toolbar")
    page.wait_for_rows(lambda rows: len({row[4] for row in rows}) > 1)


def test_what_is_typed_fast_is_looked_for_whole(page, portal):
    page.open(portal)
    page.wait_for_text("50 failed", "[aria-label='Jobs by state']")
    page.run("""
        const field = document.querySelector(arguments[0]);
        field.value = 'user:grace name:train-3';
        field.dispatchEvent(new Event('input'));
        [...document.querySelectorAll('.count')].find((one) => one.textContent.includes('failed')).click();""", SEARCH)
    page.wait_for_rows(lambda rows: {(row[1], row[2], row[4]) for row in rows} == {("failed", "train-3", "grace")})


def test_jobs_between_two_days(page, serve):
    """Whole days of the reader's own time zone."""
    page.open(serve(*fill_portal(300), is_portal=True))  # of more than two days
    page.choose("Submitted", "dates")
    day = page.run("""
        const date = new Date(Date.now() - 86400e3);
        return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}-${String(date.getDate()).padStart(2, '0')}`;""")
    for label in ("Submitted from", "Submitted until"):
        page.run("""
            const field = document.querySelector(`[aria-label="${arguments[0]}"]`);
            field.value = arguments[1];
            field.dispatchEvent(new Event('change'));""", label, day)
    page.wait_for_text("144 jobs", ".toolbar")  # one each ten minutes
    page.driver.refresh()
    page.wait_for_text("144 jobs", ".toolbar")
    assert page.wait_for("[aria-label='Submitted until']").get_attribute("value") == day
    page.choose("Submitted", "1h")
    page.wait_until_gone("144 jobs", ".toolbar")
    assert not page.all("[aria-label='Submitted until']")[0].is_displayed()


def test_runs_of_one_name_are_one_row(page, portal):
    page.open(portal)
    page.wait_for_text("251 jobs", ".toolbar")
    page.button("Group runs by name")
    page.wait_for_text("22 names", ".toolbar")
    rows = page.wait_for_rows(lambda rows: len(rows) > 10 and "run" in rows[1][3])
    name, runs, user = rows[1][2], rows[1][3], rows[1][5]
    page.button(runs)
    page.wait_for_text(f"{runs.split()[0]} jobs", ".toolbar")
    page.wait_for_rows(lambda rows: {(row[2], row[4]) for row in rows} == {(name, user)})


def test_pages_of_jobs(page, portal):
    page.open(portal)
    page.wait_for_text("Page 1 of 3", ".toolbar")
    first = page.wait_for_rows(lambda rows: len(rows) > 10)[0]
    page.button("Next")
    page.wait_for_text("Page 2 of 3")
    page.wait_for_rows(lambda rows: rows[0] != first)
    page.click("[data-key=submitted_ms]")
    page.wait_for_rows(lambda rows: rows[0][3] == "tony-20261101-000000-1f3a")


def test_the_largest_and_the_longest_come_first(page, portal):
    page.open(portal)
    page.wait_for_rows(lambda rows: len(rows) > 10)
    page.click("[data-key=task_count]")
    page.wait_for_rows(lambda rows: rows[0][7] == "8")
    page.click("[data-key=task_count]")
    page.wait_for_rows(lambda rows: rows[0][7] == "4")
    page.click("[data-key=duration]")
    page.wait_for_rows(lambda rows: rows[0][9] == "7 min 33 s")
    page.click("[data-key=duration]")
    page.wait_for_rows(lambda rows: rows[0][1] == "running")


def head(page, row, title):
    heads = page.run("return [...document.querySelectorAll('[role=columnheader]')].map((one) => one.textContent)")
    return dict(zip((text.rstrip(" \u2191\u2193") for text in heads), row))[title]


def test_a_row_says_what_matters(page, portal):
    browser.resize(page.driver, 1800, 900)
    page.open(portal)
    rows = page.wait_for_rows(lambda rows: len(rows) > 10)
    assert head(page, rows[0], "Message") == "31% \u00b7 step 400 of 1\u202f000" and head(page, rows[0], "Tags") == "nightly"
    page.button("50 failed")
    rows = page.wait_for_rows(lambda rows: rows[0][1] == "failed")
    assert head(page, rows[0], "Message") == "ValueError: no data in /data/mnist (worker:0)"


def test_times_can_be_exact_and_their_zone_is_told(page, portal):
    browser.resize(page.driver, 1800, 900)
    page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"})
    try:
        page.open(portal)
        page.wait_for_text("Times are those of Asia/Tokyo, UTC+9.")
        rows = page.wait_for_rows(lambda rows: len(rows) > 10)
        assert head(page, rows[0], "Submitted") == "just now" or "ago" in head(page, rows[0], "Submitted")
        page.click("p .check input")
        page.wait_for_rows(lambda rows: head(page, rows[0], "Submitted")[:2] == "20")
        page.driver.refresh()
        page.wait_for_rows(lambda rows: head(page, rows[0], "Submitted")[:2] == "20")
        page.click("p .check input")
        page.wait_for_rows(lambda rows: "ago" in head(page, rows[1], "Submitted"))
    finally:
        page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def test_an_id_is_cut_in_its_middle_and_copied(page, portal):
    page.open(portal)
    page.wait_for_rows(lambda rows: len(rows) > 10)
    assert page.run("""
        const cell = document.querySelector('.middle');
        const [cut, end] = cell.children;
        return [end.scrollWidth <= end.clientWidth + 1 || getComputedStyle(end).flexShrink === '0', end.textContent.length]""") == [True, 11]
    page.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.click(".copy")
    page.wait(lambda: page.run("return window.copied") == "tony-20261121-061400-1f3a")
    page.focus("[role=grid]")
    page.press(Keys.ARROW_DOWN)
    page.press_with(Keys.CONTROL, "c")
    page.wait(lambda: page.run("return window.copied") == "tony-20261101-000249-1f3a")


def test_before_anybody_has_submitted_a_job(page, serve):
    server = serve(is_portal=True)
    page.open(server)
    page.wait_for_text("No jobs yet.")
    assert "tony submit" in page.text("pre")
    page.type(SEARCH, "state:failed")
    page.wait_for_text("No jobs match these filters.")
    job = Job(tasks=4).start()
    server.jobs[job.id] = job
    page.type(SEARCH, "")
    page.wait_for_rows(lambda rows: len(rows) == 1)
    assert "No jobs yet" not in page.text()


def test_on_a_phone(page, portal):
    """Times stand under names, and filters behind a button."""
    browser.resize(page.driver, 390, 800)
    page.open(portal)
    rows = page.wait_for_rows(lambda rows: len(rows) > 5)
    assert "min" in page.text(".grid-item .under") and page.all(".under")[0].is_displayed()
    failed = next(under for under in page.run("return [...document.querySelectorAll('.under')].map((one) => one.textContent)")
                  if "ValueError" in under)
    assert failed.startswith("ValueError: no data"), "what went wrong comes first"
    assert len(rows[0]) >= 3
    assert not page.all("[aria-label=Submitted]")[0].is_displayed()
    page.button("Filters")
    page.wait_for("[aria-label=Submitted]")
    assert page.wait_for(".filters-open").get_attribute("aria-expanded") == "true"
    assert page.run("return document.documentElement.scrollWidth") <= 390
    browser.resize(page.driver, 1280, 800)
    page.wait(lambda: page.all(".under") == [])


def family(*members):
    """Jobs of these names and tags, which have ended."""
    jobs = []
    for number, (name, tag) in enumerate(members):
        job = Job(tasks=1, name=name, identity=f"tony-20261102-00000{number}-1f3a")
        job.tags = [tag] if tag else []
        job.start()
        job.end("killed" if number == 1 else "succeeded", "it was too slow" if number == 1 else None)
        jobs.append(job)
    return jobs


def test_trials_of_a_sweep_are_one_row_that_leads_to_them(page, serve):
    tag = "sweep=tony-20261102-000000-1f3a"
    page.open(serve(*family(("tune", None), ("tune_0", tag), ("tune_1", tag)), is_portal=True))
    [row] = page.wait_for_rows(lambda rows: len(rows) == 1)
    assert "tune" in row and "2 trials: 1 killed, 1 succeeded" in row
    page.all(".grid-item a")[1].click()
    rows = page.wait_for_rows(lambda rows: len(rows) == 2)
    assert {"tune_0", "tune_1"} <= {cell for row in rows for cell in row}


def test_a_pipeline_is_one_row_without_a_page(page, serve):
    tag = "pipeline-20261102-000000-0000000a"
    page.open(serve(*family(("digits.a", tag), ("digits.b", tag)), is_portal=True))
    [row] = page.wait_for_rows(lambda rows: len(rows) == 1)
    assert {"killed", "digits", "2 jobs: 1 killed, 1 succeeded", "it was too slow"} <= set(row)
    page.wait_for_text("1 row, 2 jobs", ".toolbar")
    cells = page.run("return [...document.querySelectorAll('.grid-item > *')].map((one) => "
                     "[one.textContent, one.scrollWidth, one.clientWidth])")
    assert "Message" in [one.text for one in page.all("[role=columnheader]")]
    assert [cell for cell in cells if cell[1] > cell[2]] == []
    assert not page.all(".grid-item input")[0].is_displayed()
    page.all(".grid-item a")[0].click()
    page.wait_for_rows(lambda rows: len(rows) == 2)
    page.wait_for_text("2 jobs", ".toolbar")


def test_the_id_of_a_pipeline_leads_to_its_jobs(page, serve):
    tag = "pipeline-20261102-000000-0000000a"
    page.open(serve(*family(("digits.a", tag), ("digits.b", tag), ("other", None)), is_portal=True), f"#/jobs/{tag}")
    page.wait_for_rows(lambda rows: {row[2] for row in rows} == {"digits.a", "digits.b"})
    assert page.run("return location.hash") == f"#/?tag=%22{tag}%22"


def test_the_page_of_a_pipelines_job_leads_to_those_that_it_uses(page, serve):
    before, job = family(("digits.a", "pipeline-20261102-000000-0000000a"), ("digits.b", "pipeline-20261102-000000-0000000a"))
    job.uses = [f"a={before.id}"]
    page.open(serve(before, job, is_portal=True), f"#/jobs/{job.id}")
    page.wait_for_text(f"a of {before.id}")
    page.wait_for(f"a[href='#/jobs/{before.id}']").click()
    page.wait_for_text("digits.a", ".job-name")


def test_jobs_are_compared(page, portal):
    page.open(portal, "#/?name=train-3")
    page.wait_for_rows(lambda rows: len(rows) > 5)
    tick = lambda number: page.run("document.querySelectorAll('.grid-item input')[arguments[0]].click()", number)
    tick(1)
    page.wait_for_text("Compare: tick another job", ".toolbar")
    tick(2)
    tick(3)
    page.button("Compare 3 jobs")
    page.wait_for_text("Environment variables LR 0.0 0.1 0.2", ".compare")
    heads = page.text(".compare thead")
    assert heads.count("train-3") == 3
    assert "Last values of metrics loss 0.25 1.25 2.25" in page.text(".compare")
    assert "Name" not in page.text(".compare tbody th")  # the same in all
    page.run("document.querySelector('.toolbar input[type=checkbox]').click()")
    page.wait_for_text("tony.application.framework", ".compare")
    assert page.run("return location.hash").endswith("all=1")
    assert len(page.all(".compare .differs")) > 2
    page.wait(lambda: len(page.all(".chart canvas")) > 5)
    colors = page.run("""return [...document.querySelectorAll('.chart-numbers')].map((one) =>
        [...one.children].map((row) => [row.querySelector('.name').textContent.split(' ')[1],
                                        row.querySelector('.key').className]))""")
    assert len({key for _, key in sum(colors, [])}) == 3 and len({tuple(row) for row in sum(colors, [])}) == 3
    assert "format=csv" in page.wait_for("a[download]").get_attribute("href")


def test_rows_are_ticked_by_keyboard(page, portal):
    page.open(portal)
    page.wait_for_rows(lambda rows: len(rows) > 10)
    page.focus("[role=grid]")
    page.press(Keys.ARROW_DOWN, Keys.SPACE, Keys.ARROW_DOWN, Keys.SPACE)
    page.wait_for_text("Compare 2 jobs", ".toolbar")
    page.wait(lambda: page.run("return document.querySelectorAll('.grid-item input:checked').length") == 2)
    page.press(Keys.SPACE)
    page.wait_for_text("Compare: tick another job", ".toolbar")


@pytest.mark.parametrize("freezes", [True, False], ids=["frozen", "gone"])
def test_a_list_that_is_old_says_so(fast_page, portal, freezes):
    page = fast_page
    page.expected_errors = ["ERR_", "Failed to load"]
    page.open(portal)
    page.wait_for_text("updated 0 s ago", ".toolbar")
    (portal.moves.clear if freezes else portal.go_away)()
    page.wait_for_text("Cannot reach the portal. Showing data from ", ".unreachable")
    assert page.all(".stale [role=grid]")
    (portal.moves.set if freezes else portal.come_back)()
    page.wait(lambda: not page.all(".stale"))
    assert not page.all(".unreachable")[0].is_displayed()


def test_a_list_of_a_portal_that_knows_its_reader_no_more(page, portal):
    page.expected_errors = ["401"]
    page.open(portal)
    page.wait_for_text("updated", ".toolbar")
    portal.denies = True
    page.wait_for_text("tony portal --link", "main pre")


KEEPS_NOTHING = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('nothing is kept'); }});"


def test_a_browser_that_keeps_nothing_shows_the_pages(page, portal):
    script = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": KEEPS_NOTHING})
    try:
        page.open(portal)
        page.wait_for_rows(lambda rows: len(rows) > 10)
        page.click("p .check input")
        page.wait_for_rows(lambda rows: "ago" not in " ".join(rows[1]))
        page.open(portal, "#/jobs/tony-20261101-000001-1f3a/logs")
        page.wait_for_text("5 tasks", "main")
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
