"""A program's page in a real browser, beside the dashboard and another program's page: what its scripts can read."""

import pytest
from conftest import PYTHON, wait_until
from dashboard_rows import chromium, open_by, page  # noqa: F401
from portal import Portal
from test_portal import TENSORBOARD

# Each way in which a script may ask for `url`: "got TEXT" of what it could read, or why it could not.
WAYS = {
    "fetch": "fetch(url, {credentials: 'include'}).then((answer) => answer.text()).then(got, failed);",
    "fetch without CORS": "fetch(url, {credentials: 'include', mode: 'no-cors'}).then((answer) => answer.text()).then(got, failed);",
    "XMLHttpRequest": """const request = new XMLHttpRequest();
        request.withCredentials = true;
        request.onload = () => got(request.responseText);
        request.onerror = failed;
        request.open('GET', url);
        request.send();""",
    "EventSource": """const source = new EventSource(url, {withCredentials: true});
        source.onmessage = (event) => { source.close(); got(event.data); };
        source.onerror = () => { source.close(); failed('closed'); };""",
    "WebSocket": """const socket = new WebSocket(url.replace('http', 'ws'));
        socket.onopen = () => got('it opened');
        socket.onerror = () => failed('closed');""",
    "script": """const script = document.createElement('script');
        script.onload = () => got('it ran');
        script.onerror = () => failed('blocked');
        script.src = url;
        document.head.append(script);""",
    "frame": """const frame = document.createElement('iframe');
        frame.onload = () => {
            try { got(frame.contentDocument.body.textContent); } catch (error) { failed(error); }
        };
        frame.src = url;
        document.body.append(frame);""",
    "window": """const other = window.open(url);
        const look = () => {
            let text;
            try { text = other.location.href === 'about:blank' ? null : other.document.body.textContent; }
            catch (error) { other.close(); failed(error); return; }
            if (text)
                got(text);
            else
                setTimeout(look, 20);
        };
        look();""",
}
ASK = """const url = arguments[0], done = arguments[1];
const got = (text) => done('got ' + text), failed = (error) => done('failed: ' + error);
"""


# The console complains about all that.
BLOCKED = ["favicon.ico", "status of 40", "ERR_FAILED", "blocked by CORS", "WebSocket connection", "frame", "MIME type"]


def assert_unread(page, url, *but):  # noqa: F811
    """No way shows the page anything of it; `but` leaves some out."""
    answers = {way: ask(page, way, url) for way in WAYS if way not in but}
    assert {way: answer for way, answer in answers.items() if answer.startswith("got") and answer != "got "} == {}, url


def ask(page, way, url):  # noqa: F811
    return page.driver.execute_async_script(ASK + WAYS[way], url)


ECHO = """const done = arguments[1], socket = new WebSocket(arguments[0].replace('http', 'ws'));
socket.onopen = () => socket.send('hello');
socket.onmessage = (event) => done(event.data);
socket.onerror = () => done('closed');"""

POST = """const form = document.createElement('form');
form.action = arguments[0], form.method = 'post', form.target = arguments[1];
document.body.append(form);
form.submit();"""


def post_form(page, url):  # noqa: F811
    """The text of the page that answers a form."""
    before = page.driver.current_window_handle
    page.run(POST, url, "_blank")
    other = wait_until(lambda: next((h for h in page.driver.window_handles if h != before), None), "the form's window")
    page.driver.switch_to.window(other)
    text = wait_until(lambda: page.run("return location.href !== 'about:blank' && document.body.textContent"), "an answer")
    page.driver.close()
    page.driver.switch_to.window(before)
    return text


def lead_back(page, url, root):
    """The page of a failure has a way back to the dashboard."""
    page.driver.get(url)
    page.click("a[href]")
    page.wait(lambda: page.run("return location.href").partition("#")[0] == root, "the dashboard")
    page.leave()


@pytest.mark.promise("S40", "S41", "S42")
def test_a_programs_page_reads_nothing_of_the_dashboard(tony, page):  # noqa: F811
    go = tony.directory / "go"
    go.touch()
    job = tony.submit({"tony.worker.instances": 1}, "--executes", f"exec {PYTHON} web_program.py {go}")
    wait_until(lambda: job.task("worker:0").get("ui_url"), "the web interface")
    open_by(page, tony.run("open", job.id).stdout.strip())
    root = page.run("return location.href").split("#")[0]
    assert job.id in ask(page, "fetch", f"{root}v1/job")   # so the browser has a cookie
    page.expected_errors = BLOCKED
    page.driver.get(f"{root}ui/tensorboard/")
    own = page.run("return location.href")
    assert not own.startswith(root) and own.endswith("/ui/tensorboard/")
    for path in ("", "v1/job"):
        assert_unread(page, root + path)
    assert_unread(page, f"{root}v1/events", "window")   # where it would be a download
    assert ask(page, "WebSocket", f"{root}ui/tensorboard/ws") == "failed: closed"
    for path in ("v1/job/kill", "v1/links"):
        assert "send the token of the job" in post_form(page, root + path)
    # At the program's own address is the program.
    assert "no such path" in ask(page, "fetch", own.replace("ui/tensorboard/", "v1/job"))
    assert '"path": "/a"' in ask(page, "fetch", own + "a")
    assert page.driver.execute_async_script(ECHO, own + "ws") == "hello"
    assert job.status()["state"] == "running"
    page.expected_errors = [*BLOCKED, "404"]
    lead_back(page, own.replace("ui/tensorboard/", "nothing"), root)
    tony.run("kill", job.id)


@pytest.fixture
def kept(tony, page):  # noqa: F811
    """A portal, and two jobs of which it has started a TensorBoard each."""
    program = tony.directory / "tensorboard"
    program.write_text(TENSORBOARD.format(python=PYTHON))
    program.chmod(0o755)
    portal = Portal(tony, "--tensorboard", program)
    jobs = []
    for name in ("one", "other"):
        (tony.directory / name).mkdir()
        _, job = tony.job({"tony.application.tensorboard-log-dir": tony.directory / name}, "--executes", "true")
        portal.wait_kept(job, "succeeded")
        board = f"v1/jobs/{job.id}/tensorboard"
        assert portal.call(board, "PUT")[0] == 200
        wait_until(lambda at=board: portal.get(at)["state"] == "running", "TensorBoard")
        jobs.append(job)
    yield portal, jobs
    page.leave()
    portal.stop()


@pytest.mark.promise("S40", "S41", "S42")
def test_a_programs_page_reads_nothing_of_the_portal_or_of_other_jobs(page, kept):  # noqa: F811
    portal, (one, other) = kept
    open_by(page, portal.link)
    assert other.id in ask(page, "fetch", f"{portal.url}v1/jobs")
    page.expected_errors = BLOCKED
    pages = {}
    for job in (other, one):
        page.driver.get(f"{portal.url}ui/{job.id}/tensorboard/")
        assert page.text("body").endswith(" /")
        pages[job.id] = page.run("return location.href")
    assert len({url.partition("/ui/")[0] for url in (*pages.values(), portal.url)}) == 3
    for url in (f"{portal.url}v1/jobs", f"{portal.url}v1/jobs/{one.id}/job", f"{portal.url}ui/{other.id}/tensorboard/",
                pages[other.id]):
        assert_unread(page, url)
    assert "another job's pages" in ask(page, "fetch", pages[one.id].replace(one.id, other.id))
    assert "one /data" in ask(page, "fetch", pages[one.id] + "data")
    page.expected_errors = [*BLOCKED, "404"]
    lead_back(page, pages[one.id].replace(f"ui/{one.id}/tensorboard/", "nothing"), portal.url)
    page.driver.get(pages[one.id].replace(f"{one.id}/tensorboard/", ""))
    page.wait(lambda: page.run("return location.href").partition("#")[0] == portal.url, "all jobs")
