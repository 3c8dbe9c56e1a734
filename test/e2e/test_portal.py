"""All jobs in one place: found while they go on and when they have ended, by who may see them."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import time
import urllib.parse
import urllib.request

import pytest
import schemas
from audit import audit_of
from conftest import PYTHON, wait_until, write_xml
from portal import Portal
from program import PATIENCE_S

PROXY_USER = str(os.geteuid())  # the tests call the portal as a proxy does


@pytest.fixture
def portal(tony):
    portal = Portal(tony)
    yield portal
    portal.stop()


def configure(tony, keys):
    write_xml(tony.directory / "conf/tony-site.xml", keys)


@pytest.mark.parametrize("verb", [["portal"], ["portal", "--link"]], ids=" ".join)
def test_an_address_that_is_none_is_bad_usage(tony, verb):
    for address in ("19886", "node7:19886", "127.0.0.1:70000"):
        answer = tony.run(*verb, "--listen", address)
        assert answer.returncode == 2 and f'--listen: "{address}" is not HOST:PORT with a numeric host and a port up to 65535; write' in answer.stderr


def test_the_site_says_at_which_port_it_listens(tony):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configure(tony, {"tony.http.port": port, "tony.portal.cache.max-entries": 7})
    child = tony.start("portal")
    assert child.stdout.readline() == f"The portal is at http://127.0.0.1:{port}/\n"
    assert f"http://127.0.0.1:{port}/login?" in tony.run("portal", "--link").stdout
    child.send_signal(signal.SIGTERM)
    assert child.wait(PATIENCE_S) == 0
    assert "tony.portal.cache.max-entries: is ignored: the portal's index" in child.stderr.read()


def test_a_link_leads_to_a_job_wherever_the_portal_listens(tony, portal):
    job = tony.submit({}, "--executes", "true")
    for word in (job.id, "elsewhere"):  # a job that only the portal may know
        link = tony.run("portal", "--link", word).stdout.strip()
        assert link.startswith(f"{portal.url}login?code=") and link.endswith(f"&to=%23/jobs/{word}")
        status, _, headers = portal.call(link.removeprefix(portal.url), headers={})
        assert (status, headers["Location"]) == (303, f"./#/jobs/{word}")
    other = Portal(tony)
    told = tony.run("portal", "--link")
    assert told.returncode == 2 and portal.url in told.stderr and other.url in told.stderr and "say with --listen" in told.stderr
    other.stop()
    told = tony.run("portal", job.id)
    assert told.returncode == 2 and f"{job.id}: say --link" in told.stderr


@pytest.mark.parametrize("key, value, words", [
    ("tony.http.port", "disabled", "without a certificate (tony.https.keystore.path) tony portal speaks plain HTTP alone; write a port"),
    ("tony.http.port", "http", "is not a port; write a number from 1 to 65535")])
def test_a_portal_does_not_promise_what_it_does_not_do(tony, key, value, words):
    configure(tony, {key: value})
    answer = tony.run("portal")
    assert answer.returncode == 3 and f"tony-site.xml:2: {key}: " in answer.stderr and words in answer.stderr
    run, _ = tony.job({}, "--executes", "true")
    assert run.returncode == 0 and key not in run.stderr


def test_a_portal_without_its_keytab_does_not_start(tony):
    configure(tony, {"tony.keytab.location": "/none.keytab"})
    answer = tony.run("portal")
    assert answer.returncode == 4 and "tony.keytab.location: cannot read /none.keytab: No such file or directory" in answer.stderr


def test_where_nobody_can_listen_another_address_is_asked_for(tony, portal):
    taken = portal.url.split("/")[2]
    for address, told in ((taken, f"another program of uid {os.geteuid()} has that port; choose another one"),
                          ("192.0.2.1:19886", "not an address of this machine")):
        answer = tony.run("portal", "--listen", address)
        assert answer.returncode == 2 and f"--listen: {address}: {told}" in answer.stderr


@pytest.mark.parametrize("everywhere", ["0.0.0.0", "[::]"])
def test_links_of_a_portal_that_listens_everywhere_name_the_machine(tony, everywhere):
    child = tony.start("portal", "--listen", f"{everywhere}:0")
    url = re.search(r"http://\S+", child.stdout.readline())[0]
    child.stdout.readline()
    place = urllib.parse.urlsplit(url).netloc
    name, _, port = place.rpartition(":")
    assert name == socket.gethostname()
    printed = tony.run("portal", "--link", "--listen", f"{everywhere}:{port}").stdout.strip()
    for link in (child.stdout.readline().strip(), printed):
        assert link.startswith(f"{url}login?code="), link
        browser = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE_S)
        browser.request("GET", link.removeprefix(f"http://{place}"), headers={"Host": place})
        assert browser.getresponse().status == 303
        browser.close()
    child.send_signal(signal.SIGTERM)
    assert child.wait(PATIENCE_S) == 0


@pytest.mark.promise("S50")
def test_names_and_ports_by_which_a_browser_calls_the_portal(tony):
    portal = Portal(tony, "--name", "portal.example", "--name", "10.0.0.5")
    port = portal.url.rstrip("/").rpartition(":")[2]
    ask = lambda host: portal.call("v1/server", headers={"Host": host})[0]
    for host in (f"127.0.0.1:{port}", "127.0.0.1", "localhost:1", f"10.1.1.1:{port}", f"{socket.gethostname()}:{port}",
                 "portal.example", "portal.example:8443", "10.0.0.5:8080"):
        assert ask(host) == 200, host
    for host in ("127.0.0.1:1@evil", f"127.0.0.1:{port}@evil.example", "10.1.1.1:1", f"{socket.gethostname()}:1",
                 f"evil.example:{port}", "portal.example@evil", "127.0.0.1:", "127.0.0.1/"):
        assert ask(host) == 400, host
    portal.stop()


# ---- a job that has ended -------------------------------------------------------------------------


def test_an_ended_job_is_found_and_read(tony, portal):
    answer, job = tony.job({"tony.worker.instances": 2, "tony.application.name": "mnist",
                            "tony.application.tags": "nightly"}, "--shell_env", "API_KEY=hidden", "--executes",
                           'if [ "$TASK_INDEX" = 1 ]; then seq 1000; echo "ValueError: no data" >&2; exit 3; fi; sleep 1000')
    assert answer.returncode != 0
    row = portal.wait_kept(job, "failed")
    assert row["name"] == "mnist" and row["cause_task"] == "worker:1" and row["tags"] == ["nightly"]
    for query in ("q=MNI", "name=mnist", "tag=nightly", "type=worker", "state=failed", f"q={job.id}"):
        assert job.id in portal.jobs(query), query
    for query in ("q=nothing", "state=succeeded", "tag=weekly", "type=ps", "user=nobody", "to=1", "name=%22mnis%22"):
        assert job.id not in portal.jobs(query), query
    found = portal.get("v1/jobs?name=%22mnist%22&group=name&counts=1&sort=duration")
    assert found["states"] == {"failed": 1} and found["runs"] == [{"count": 1, "failed": 1}]
    assert portal.get("v1/words?of=tag&q=NIGH") == {"values": ["nightly"]} and portal.call("v1/words?of=text")[0] == 400

    base = f"v1/jobs/{job.id}"
    wait_until(lambda: not job.processes(), "its AM to be done with the directory")
    shutil.rmtree(job.directory)
    about = portal.get(f"{base}/job")
    assert about["state"] == "failed" and about["cause"]["headline"] == "ValueError: no data"
    tasks = portal.get(f"{base}/tasks")
    assert tasks["total"] == 2 and tasks["tasks"][1]["state"] == "failed"
    assert portal.get(f"{base}/tasks?offset=1&limit=1")["tasks"] == tasks["tasks"][1:]
    assert portal.get(f"{base}/tasks/worker:1/attempts")[0]["cause"]["exit_code"] == 3
    assert portal.get(f"{base}/config")["tony.application.name"]["value"] == "mnist"
    assert portal.get(f"{base}/environment?type=worker")["API_KEY"] == "***"
    assert len(portal.get(f"{base}/cluster")["types"]["worker"]) == 2
    lines = portal.call(f"{base}/events")[1].splitlines()
    assert json.loads(lines[-1])["ev"] == "final"
    assert portal.call(f"{base}/events?since={len(lines)}")[1].splitlines() == lines[-1:]
    assert portal.get(f"{base}/series?task=worker:0")["task"] == "worker:0"
    assert isinstance(portal.get(f"{base}/advice")["advice"], list)


def test_the_end_of_a_log_is_kept(tony, portal):
    _, job = tony.job({}, "--executes", "seq 1000; echo oops >&2")
    portal.wait_kept(job, "succeeded")
    task = portal.get(f"v1/jobs/{job.id}/tasks")["tasks"][0]["task"]
    base = f"v1/jobs/{job.id}/tasks/{task}/logs"
    text = "".join(f"{i}\n" for i in range(1, 1001)).encode()
    assert {"log": "stdout", "bytes": len(text), "attempt": 1} in portal.get(base)
    assert portal.call(f"{base}/stdout")[1] == text
    assert portal.call(f"{base}/stdout?from=tail:2")[1] == b"999\n1000\n"
    assert portal.call(f"{base}/stdout?offset=-5&limit=4")[1] == b"1000"
    assert portal.call(f"{base}/stderr")[1] == b"oops\n"
    framed = portal.call(f"{base}/stderr?frames=1&follow=1")[1]
    assert re.fullmatch(rb"[1-9]\d+ \w+ 0 5\noops\n0 \w+ 0 0\n", framed), framed
    for path, status in (("nothing", 404), ("..%2Fstdout", 404), ("stdout?attempt=2", 404), ("stdout?from=here", 400)):
        assert portal.call(f"{base}/{path}")[0] == status, path


def test_a_log_is_whole_as_long_as_the_jobs_folder_is_there(tony, portal):
    """The history has its last 256 KiB."""
    _, job = tony.job({}, "--executes", "seq 100000; echo $TONY_TASK >&2")
    portal.wait_kept(job, "succeeded")
    task = portal.get(f"v1/jobs/{job.id}/tasks")["tasks"][0]["task"]
    base, text = f"v1/jobs/{job.id}/tasks/{task}/logs", "".join(f"{i}\n" for i in range(1, 100001)).encode()
    assert {"log": "stdout", "bytes": len(text), "attempt": 1} in portal.get(base)
    assert {"executor", "stdout", "stderr"} == {row["log"] for row in portal.get(base)}
    assert portal.call(f"{base}/stdout")[1] == text
    assert portal.call(f"{base}/stdout?limit=70000")[1] == text[:70000]
    assert portal.call(f"{base}/stdout?from=tail:1")[1] == b"100000\n"
    wait_until(lambda: not job.processes(), "the AM to be gone")
    job.directory.rename(tony.directory / "away")
    kept = portal.call(f"{base}/stdout")[1]
    assert len(kept) < len(text) and text.endswith(kept) and kept
    rows = {row["log"]: row for row in portal.get(base)}
    assert rows["stdout"]["cut_bytes"] == len(text) - len(kept) and "cut_bytes" not in rows["stderr"]
    assert json.loads(portal.call(f"{base}/stdout?attempt=2")[1])["error"] == {
        "code": "not-found", "message": f"stdout of {task} is not there: attempt 1 alone is kept"}


def test_the_log_of_an_earlier_container_is_gone(tony, portal):
    """Of each task the history keeps the logs of the last container."""
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.max-restarts": 0, "tony.am.retry-delay": "10ms"},
                      "--executes", f"echo here; exec ./exit_after.sh {go} 0")
    os.kill(job.wait_task("worker:0")["executor_pid"], signal.SIGKILL)
    job.wait_task("worker:0", attempt=2)
    go.touch()
    assert job.wait() == 0
    portal.wait_kept(job, "succeeded")
    wait_until(lambda: not job.processes(), "the AM to be gone")
    job.directory.rename(tony.directory / "away")
    status, text = portal.call(f"v1/jobs/{job.id}/tasks/worker:0/logs/stdout?attempt=1")[:2]
    assert json.loads(text)["error"] == {
        "code": "gone", "message": "stdout of worker:0 is not there any more: attempt 2 alone is kept"}
    assert status == 410


def test_kept_logs_know_when_they_were_written(tony, portal):
    """So that those of several tasks can be read by time."""
    job = tony.submit({}, "--executes", f"for i in 1 2 3; do echo $i; until [ -e {tony.directory}/$i ]; do sleep 0.05; done; "
                                        "sleep 1; done")
    for number in "123":
        job.wait_log("driver:0", f"{number}\n")
        (tony.directory / number).touch()
    portal.wait_kept(job, "succeeded")
    about = portal.get(f"v1/jobs/{job.id}/job")
    task = portal.get(f"v1/jobs/{job.id}/tasks")["tasks"][0]["task"]
    frames = portal.call(f"v1/jobs/{job.id}/tasks/{task}/logs/stdout?frames=1&from=offset:2")[1]
    pieces = re.findall(rb"(\d+) \w+ (\d+) 2\n(\d\n)", frames)
    assert [(int(at), text) for _, at, text in pieces] == [(2, b"2\n"), (4, b"3\n")], frames
    times = [int(time) for time, _, _ in pieces]
    assert about["submitted_ms"] < times[0] < times[1] < about["ended_ms"], times


def test_jobs_of_tonys_that_have_not_ended_are_listed(tony):
    """And change their state when TonY has moved on."""
    job = "application_1541469337545_0032"
    place = tony.directory / "tony-history/intermediate" / job
    place.mkdir(parents=True)
    begun = place / f"{job}-1542325695566-alice.jhist.inprogress"
    begun.touch()
    write_xml(place / "tony-final.xml", {"tony.application.name": "old", "tony.worker.instances": 2})
    portal = Portal(tony, "--history", tony.directory / "tony-history")
    row = wait_until(lambda: portal.jobs("state=running").get(job), "the job to be listed", PATIENCE_S)
    assert (row["name"], row["user"]) == ("old", "alice") and "TonY does not tell" in row["message"]
    assert portal.get(f"v1/jobs/{job}/job")["name"] == "old"
    begun.rename(place / f"{job}-1542325695566-1542325733637-alice-KILLED.jhist")
    wait_until(lambda: portal.jobs("state=killed").get(job), "the job's end", PATIENCE_S)
    portal.stop()


def test_the_resource_managers_page(tony, portal):
    """Of the cluster that the portal's own site files name; without one there is none."""
    job = "application_1541469337545_0031"
    assert portal.get("v1/server")["engines"] == [] and portal.call(f"engine/{job}")[0] == 404
    (tony.directory / "hadoop").mkdir()
    write_xml(tony.directory / "hadoop/core-site.xml", {"fs.defaultFS": "hdfs://127.0.0.1:9"})
    write_xml(tony.directory / "hadoop/yarn-site.xml", {"yarn.resourcemanager.hostname": "127.0.0.1",
                                                        "yarn.resourcemanager.webapp.address": "127.0.0.1:8"})
    tony.env["HADOOP_CONF_DIR"] = str(tony.directory / "hadoop")
    other = Portal(tony, "--history", tony.directory)
    assert other.get("v1/server")["engines"] == [{"name": "yarn", "id_beginning": "application_"}]
    status, _, answer = other.call(f"engine/{job}")
    assert (status, answer["Location"]) == (303, f"http://127.0.0.1:8/cluster/app/{job}")
    assert other.call(f"engine/{job}", headers={})[0] == 401 and other.call("engine/tony-1")[0] == 404
    other.stop()


def test_addresses_of_tonys_portal_lead_to_our_pages(portal):
    job = "application_1541469337545_0031"
    for path, page in (("jobs", ""), ("logs", ""), ("config", "/config")):
        for headers in (None, {}):  # the page itself asks who looks
            status, _, answer = portal.call(f"{path}/{job}", headers=headers)
            target = urllib.parse.urljoin(f"{portal.url}{path}/{job}", answer["Location"])
            assert (status, target) == (303, f"{portal.url}#/jobs/{job}{page}")
        assert portal.call(f"{path}/..%2Fx%0d%0aSet-Cookie:a")[0] == 404


def test_runs_are_compared(tony, portal):
    program = 'echo "{\\"step\\": 1, \\"loss\\": $LR}" >>"$TONY_METRICS_FILE"'

    def secret(number):
        path = tony.directory / f"weak-{number}"
        path.write_text(f"{number}\n")
        path.chmod(0o600)
        return path
    jobs = [tony.job({"tony.am.retry-count" if i else "tony.application.tags": 1}, "-e", f"LR=0.{i + 3}", "-e",
                     "API_TOKEN=t0k3n", "--secret", f"WEAK={secret(i)}", "--executes", program)[1] for i in range(2)]
    for job in jobs:
        portal.wait_kept(job, "succeeded")
    live = tony.submit({"tony.application.name": "live", "tony.worker.instances": 2}, "--executes", "exec sleep 1000")
    live.wait_task("worker:1")
    portal.wait_job(live, "running")
    ids = ",".join(job.id for job in (*jobs, live))
    answer = portal.get(f"v1/compare?jobs={ids}")
    assert [run["id"] for run in answer["runs"]] == ids.split(",")
    assert answer["runs"][2]["label"] == "live"
    rows = {(row["group"], row["key"]): row["values"] for row in answer["rows"]}
    assert rows["configuration", "tony.application.tags"] == ["1", None, None]
    assert rows["environment", "LR"] == ["0.3", "0.4", None]
    assert rows["environment", "API_TOKEN"] == ["same, hidden", "same, hidden", None]
    assert rows["environment", "WEAK"] == ["differs, hidden", "differs, hidden", None]
    assert rows["metrics", "loss"] == [0.3, 0.4, None]
    assert rows["summary", "Tasks"] == [1, 1, 2] and rows["summary", "Cluster starts"] == [1, 1, 1]
    csv = portal.call(f"v1/compare?jobs={ids}&format=csv")
    assert csv[2]["Content-Type"].startswith("text/csv") and '\r\nmetrics,"loss",,0.3,0.4,\r\n' in csv[1].decode()
    assert "t0k3n" not in csv[1].decode()
    assert portal.call(f"v1/compare?jobs={jobs[0].id},tony-nothing")[0] == 404
    assert portal.call(f"v1/compare?jobs={jobs[0].id}")[0] == 400
    assert portal.call(f"v1/compare?jobs={','.join(11 * [jobs[0].id])}")[0] == 400
    told = tony.run("compare", *ids.split(",")).stdout
    lines = {tuple(line.split()[:2]): line.split()[2:] for line in told.splitlines()}
    assert lines["environment", "LR"] == ["0.3", "0.4", "-"] and lines["metrics", "loss"] == ["0.3", "0.4", "-"]
    assert ("environment", "API_TOKEN") in lines and "t0k3n" not in told
    assert ("summary", "State") in lines and ("summary", "User") not in lines
    assert tony.run("compare", "--csv", *ids.split(",")).stdout.splitlines() == csv[1].decode().splitlines()
    as_json = schemas.check("compare", json.loads(tony.run("compare", "--json", *ids.split(",")).stdout))
    assert [run["id"] for run in as_json["runs"]] == ids.split(",")
    # By a key that no record has, so that not even a secret of one digit can be guessed by their readers.
    key = (tony.state / "marks-key").read_text()
    assert (tony.state / "marks-key").stat().st_mode & 0o777 == 0o600 and len(key) == 64
    for path in (*(tony.state / "history").rglob("*"), *(tony.state / "jobs").rglob("*")):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path
    hidden = portal.get(f"v1/jobs/{jobs[0].id}/environment?type={answer['runs'][0]['types'][0]}")
    assert hidden["WEAK"] == hidden["API_TOKEN"] == "***"
    assert {(row["group"], row["key"]): row["values"] for row in as_json["rows"]}["environment", "LR"] == ["0.3", "0.4", None]
    assert tony.run("compare", "--json", "--csv", *ids.split(",")).returncode == 2
    tony.run("kill", live.id)
    refused = tony.run("compare", live.id)
    assert refused.returncode == 2 and "name 2 to 10 jobs to compare" in refused.stderr
    assert tony.run("compare", jobs[0].id, "tony-nothing").returncode != 0


def test_advice_knows_past_runs_that_the_same_people_may_see(tony):
    _, job = tony.job({"tony.worker.instances": 1, "tony.worker.memory": "4g"}, "--executes", "true")
    place = wait_until(lambda: next((tony.state / "history").glob(f"*/*/*/{job.id}"), None), f"{job.id} to be kept")
    said = json.loads((place / "summary.json").read_text())
    for number, change in enumerate(({}, {}, {"view_acl": "eve"}, {"name": "another"}, {"user": "another"})):
        submitted = said["submitted_ms"] - (number + 1) * 86400000
        run = place.parents[3] / time.strftime("%Y/%m/%d", time.gmtime(submitted / 1000)) / f"tony-past-{number}"
        run.mkdir(parents=True)
        types = [{**said["types"][0], "max_rss_bytes": 300 << 20, "max_pss_bytes": 300 << 20}]
        (run / "summary.json").write_text(json.dumps({**said, "id": run.name, "submitted_ms": submitted,
                                                      "types": types, **change}))
    begin = said["submitted_ms"]
    (place / "metrics.jsonl").write_text(json.dumps({
        "task": "worker:0", "attempt": 1, "samples": 1000, "max_rss_bytes": 200 << 20, "series": [
            {"name": "rss_bytes", "t": [begin, begin + 7200000], "v": [1 << 20, 1 << 20]}]}, separators=(",", ":")) + "\n")
    portal = Portal(tony)
    wait_until(lambda: len(portal.jobs()) == 6, "all runs to be listed")
    advice = {one["rule"]: one for one in portal.get(f"v1/jobs/{job.id}/advice")["advice"]}
    assert "the most in 2 past runs: 300 MiB" in advice["memory-oversized"]["evidence"], advice
    portal.stop()


# ---- a job that goes on ---------------------------------------------------------------------------


def test_a_live_job_is_asked_of_its_am(tony, portal):
    job = tony.submit({"tony.worker.instances": 1, "tony.task.metrics-interval-ms": 100, "tony.application.tags": "nightly"}, "--executes",
                      "echo 30/120 >$TONY_PROGRESS_FILE; echo here; exec sleep 1000")
    job.wait_task("worker:0")
    job.wait_log("worker:0", "here\n")
    portal.wait_job(job, "running", "state=running")
    work = {"done": 0.25, "least_step": 30, "most_step": 30, "steps": 120, "stragglers": {}}
    wait_until(lambda: portal.get(f"v1/jobs/{job.id}/work") == work, "how far it is")
    row = wait_until(lambda: (row := portal.jobs("tag=nightly").get(job.id)) and "work" in row and row, "how far it is, in the list")
    assert row["work"] == {"done": 0.25, "least_step": 30, "most_step": 30, "steps": 120}
    assert row["task_count"] == 1 and row["scheduler"] == "local"
    tasks = portal.get(f"v1/jobs/{job.id}/tasks")["tasks"]
    assert tasks[0]["state"] == "running" and tasks[0]["pids"]  # which only the AM knows
    assert portal.call(f"v1/jobs/{job.id}/tasks/worker:0/logs/stdout")[1] == b"here\n"
    assert portal.call(f"v1/jobs/{job.id}/job/kill", "POST")[0] == 403
    assert job.rest("PUT", "/v1/kv/secret", "of the tasks")[0] == 200
    assert portal.call(f"v1/jobs/{job.id}/kv/secret")[0] == 404  # to look is not enough for it
    tony.run("kill", job.id)
    portal.wait_kept(job, "killed")
    assert portal.get(f"v1/jobs/{job.id}/job")["state"] == "killed"


def test_a_job_whose_am_died_is_closed(tony, portal):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "exec sleep 1000")
    job.wait_task("worker:0")
    portal.wait_job(job, "running")
    while pids := job.processes():
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    wait_until(lambda: portal.jobs().get(job.id, {}).get("state") in ("killed", "failed"), f"{job.id} to be closed",
               PATIENCE_S)


# ---- who may look ---------------------------------------------------------------------------------


def test_nobody_gets_in_uninvited(tony, portal):
    for headers in ({}, {"Authorization": "Bearer " + "0" * 64}, {"Cookie": "tony-portal=" + "0" * 64},
                    {"X-Forwarded-User": "tester"}):
        assert portal.call("v1/jobs", headers=headers)[0] == 401
        assert portal.get("v1/server", headers) == {"kind": "portal"}
    assert portal.call("", headers={})[0] == 200
    assert portal.call("v1/links", "POST", headers={})[0] == 401
    assert (tony.state / "portal/token").stat().st_mode & 0o777 == 0o600


def test_a_browser_that_goes_astray_gets_a_page_with_a_way_back(portal):
    page = portal.headers | {"Accept": "text/html,*/*"}
    for path, way in (("nothing", "./"), ("ui/tony-none/tensorboard/?a=/", "./../../../"), ("engine/tony-none", "./../")):
        status, body, headers = portal.call(path, headers=page)
        assert status == 404 and headers["Content-Type"].startswith("text/html"), path
        assert f'<a href="{way}">To the dashboard</a>' in body.decode(), path
        assert "error" in json.loads(portal.call(path)[1])


def test_a_link_lets_one_browser_look(tony, portal):
    status, _, headers = portal.call(portal.link, headers={})
    assert status == 303 and portal.call(portal.link, headers={})[0] == 403
    cookie = {"Cookie": headers["Set-Cookie"].partition(";")[0]}
    assert cookie["Cookie"].startswith("tony-portal=") and "HttpOnly" in headers["Set-Cookie"]
    assert portal.get("v1/jobs", cookie)["total"] == 0
    assert portal.call("v1/links", "POST", cookie)[0] == 401
    assert portal.call("metrics", headers=cookie)[0] == 401
    assert portal.call("v1/jobs", headers={**cookie, "Sec-Fetch-Site": "cross-site"})[0] == 401
    assert portal.call(portal.ask_link(), headers={})[0] == 303


@pytest.mark.promise("S9", "S103")
def test_a_session_outlives_the_portal_until_its_user_signs_out(tony, portal):
    browser = {"Cookie": portal.call(portal.link, headers={})[2]["Set-Cookie"].partition(";")[0]}
    key = tony.state / "portal/session-key"
    assert key.stat().st_mode & 0o777 == 0o600
    portal.stop()
    after = Portal(tony, listen=portal.place)
    assert after.get("v1/server", browser)["viewer"] == after.get("v1/server")["viewer"]
    assert after.call("v1/jobs", headers={"Cookie": browser["Cookie"][:-1] + "."})[0] == 401
    link = after.ask_link()
    answer = tony.run("portal", "--sign-out", "--listen", after.place)
    assert answer.returncode == 0 and "All sessions of browsers have ended." in answer.stdout, answer.stderr
    assert after.call("v1/jobs", headers=browser)[0] == 401
    assert after.call(link, headers={})[0] == 403
    assert after.call(after.ask_link(), headers={})[0] == 303
    after.stop()
    portal.child = tony.start("portal", "--listen", portal.place)
    portal.child.stdout.readline()
    assert portal.call("v1/jobs", headers=browser)[0] == 401


def test_signing_out_ends_what_a_browser_follows(tony, portal):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "exec sleep 1000")
    job.wait_task("worker:0")
    portal.wait_job(job, "running")
    browser = {"Cookie": portal.call(portal.link, headers={})[2]["Set-Cookie"].partition(";")[0],
               "Accept": "text/event-stream"}
    stream = urllib.request.urlopen(urllib.request.Request(f"{portal.url}v1/jobs/{job.id}/events?since=1", headers=browser),
                                    timeout=PATIENCE_S)
    assert stream.readline() == b"event: pulse\n"
    assert tony.run("portal", "--sign-out", "--listen", portal.place).returncode == 0
    with contextlib.suppress(http.client.IncompleteRead, ConnectionError):
        while stream.readline():
            pass
    tony.run("kill", job.id)


def test_behind_a_proxy_each_sees_what_the_acl_allows(tony):
    portal = Portal(tony, "--auth-header", "X-Forwarded-User", "--auth-from", "127.0.0.1", "--auth-user", PROXY_USER)
    _, own = tony.job({}, "--executes", "true")
    _, shared = tony.job({"tony.application.view-acl": "ada,bob"}, "--executes", "true")
    owner = portal.wait_kept(own, "succeeded")["user"]
    portal.wait_kept(shared, "succeeded")
    for user, seen in (("ada", {shared.id}), ("eve", set()), (owner, {own.id, shared.id})):
        headers = {"X-Forwarded-User": user}
        answer = portal.get("v1/jobs", headers)
        assert ({job["id"] for job in answer["jobs"]}, answer["total"]) == (seen, len(seen))
        for job in (own, shared):
            expected = 200 if job.id in seen else 404
            assert portal.call(f"v1/jobs/{job.id}/job", headers=headers)[0] == expected
        assert portal.get("v1/server", headers)["viewer"] == user
    assert portal.call(f"v1/compare?jobs={own.id},{shared.id}", headers={"X-Forwarded-User": "ada"})[0] == 404
    assert portal.call("v1/jobs", headers={})[0] == 401
    for users in ((owner, "ada"), ("ada", owner), (owner, owner)):
        assert portal.status_of_two("v1/jobs", "X-Forwarded-User", users) == 401
    portal.stop()


@pytest.mark.promise("S75")
def test_a_live_job_is_for_those_who_may_view_it(tony):
    """They look at it, and use no program of it, as a notebook is one. daemon is in the group daemon."""
    portal = Portal(tony, "--auth-header", "X-Forwarded-User", "--auth-from", "127.0.0.1", "--auth-user", PROXY_USER, "--ui-origin", "shared-origin")
    serve = f"echo here; exec {PYTHON} web_program.py /"
    own, shared = (tony.submit(acl, "--executes", serve) for acl in ({}, {"tony.application.acl.view": "ada daemon"}))
    for job in (own, shared):
        portal.wait_job(job, "running")
    header = lambda user: {"X-Forwarded-User": user}
    wait_until(lambda: portal.jobs(headers=header("ada")), "the job in ada's list")
    owner = portal.get("v1/server")["viewer"]
    for user, seen in (("ada", {shared.id}), ("daemon", {shared.id}), ("eve", set()), (owner, {own.id, shared.id})):
        assert set(portal.jobs(headers=header(user))) == seen, user
        for job in (own, shared):
            for path in ("job", "tasks", "config", "events"):
                assert portal.call(f"v1/jobs/{job.id}/{path}", headers=header(user))[0] == (200 if job.id in seen else 404)
    shared.wait_log("driver:0", "here\n")
    assert portal.call(f"v1/jobs/{shared.id}/tasks/driver:0/logs/stdout", headers=header("ada"))[1] == b"here\n"
    page = f"ui/{shared.id}/notebook/"
    wait_until(lambda: portal.call(page, headers=header(owner))[0] == 200, "the program's page")
    status, body, _ = portal.call(page, headers=header("ada") | {"Accept": "text/html"})
    assert status == 403 and b"are for its owner alone" in body
    assert portal.call(page, headers=header("eve"))[0] == 404
    for job in (own, shared):
        tony.run("kill", job.id)
    portal.stop()
    lines = audit_of(portal.child.stderr.read())
    assert [line["detail"] for line in lines if line["user"] == "ada" and line["job"] == shared.id] == [f"GET /{page}"]


@pytest.mark.promise("S76", "S104")
def test_who_may_change_a_job_gives_orders_in_the_portal(tony):
    """A page shows the secret that its user alone is told; the job and the portal's log say who it was."""
    portal = Portal(tony, "--auth-header", "X-Forwarded-User", "--auth-from", "127.0.0.1", "--auth-user", PROXY_USER)
    job = tony.submit({"tony.application.acl.view": "ada,bob", "tony.application.acl.modify": "ada"}, "--executes", "sleep 1000")
    portal.wait_job(job, "running")
    header = lambda user: {"X-Forwarded-User": user}
    orders = f"v1/jobs/{job.id}/orders"
    wait_until(lambda: portal.jobs(headers=header("ada")), "the job in ada's list")
    assert portal.get(orders, header("bob")) == {"actions": []}
    assert portal.get(orders) == {"actions": []}, "of a link, and of the token"
    assert portal.call(orders, headers=header("eve"))[0] == 404
    answer = portal.get(orders, header("ada"))
    assert answer["actions"] == ["kill", "restart", "scale"]
    owner = portal.get("v1/server")["viewer"]
    secrets = {user: portal.get(orders, header(user))["control"] for user in ("ada", owner)}
    assert secrets["ada"] == answer["control"] != secrets[owner]

    def order(user, what, secret, origin=portal.url, more=None):
        headers = header(user) | {"X-Tony-Control": secret, "Origin": origin.rstrip("/")} | (more or {})
        return portal.call(f"v1/jobs/{job.id}/{what}", method="POST", body=b"{}", headers=headers)[0]

    assert order("bob", "job/kill", secrets["ada"]) == 403
    assert order("ada", "job/kill", secrets[owner]) == 403
    assert order("eve", "job/kill", secrets["ada"]) == 404
    assert order("ada", "job/kill", secrets["ada"], "http://elsewhere.example") == 401
    assert order("ada", "job/tokens", secrets["ada"]) in (404, 405)
    assert order("ada", "tasks/driver:9/restart", secrets["ada"]) == 404
    assert order("ada", "tasks/driver:0/exec", secrets["ada"]) in (404, 405)
    job.wait_state("running")
    assert order("ada", "tasks/driver:0/restart", secrets["ada"]) == 200
    assert any("restarted by ada" in json.dumps(event) for event in job.events()), job.events()
    assert order("ada", "job/kill", secrets["ada"], more={"X-Tony-Orderer": "carol"}) == 200
    job.wait_state("killed")
    assert job.status()["cause"]["text"] == "killed by ada"
    portal.stop()
    lines = audit_of(portal.child.stderr.read())
    assert [(line["user"], line["action"], line["outcome"]) for line in lines if line["action"] == "kill"] == [
        ("bob", "kill", "refused"), ("ada", "kill", "refused"), ("ada", "kill", "done")]


@pytest.mark.promise("S104")
def test_where_programs_share_its_origin_the_portal_takes_no_orders(tony):
    portal = Portal(tony, "--auth-header", "X-Forwarded-User", "--auth-from", "127.0.0.1", "--auth-user", PROXY_USER, "--ui-origin", "shared-origin")
    job = tony.submit({}, "--executes", "sleep 1000")
    portal.wait_job(job, "running")
    owner = portal.get("v1/server")["viewer"]
    assert portal.get(f"v1/jobs/{job.id}/orders", {"X-Forwarded-User": owner}) == {"actions": []}
    tony.run("kill", job.id)
    portal.stop()


@pytest.mark.promise("S75", "S76")
def test_a_site_names_its_proxy_and_its_administrators(tony):
    """daemon is in the group daemon."""
    configure(tony, {"tony.portal.trusted-proxies": "192.0.2.1,127.0.0.1", "tony.portal.proxy-users": PROXY_USER,
                     "tony.portal.user-header": "Remote-User",
                     "tony.admin.acl": "carol"})
    portal = Portal(tony)
    _, job = tony.job({"tony.application.acl.view": "ada root"}, "--executes", "true")
    portal.wait_kept(job, "succeeded")
    for user, expected in (("ada", 200), ("root", 200), ("carol", 200), ("eve", 404)):
        assert portal.call(f"v1/jobs/{job.id}/job", headers={"Remote-User": user})[0] == expected, user
    assert portal.call("v1/jobs", headers={"X-Forwarded-User": "ada"})[0] == 401
    portal.stop()
    refused, stranger = audit_of(portal.child.stderr.read())
    assert refused == {"user": "eve", "address": "127.0.0.1", "proof": "proxy", "action": "view", "job": job.id,
                       "outcome": "refused", "detail": f"GET /v1/jobs/{job.id}/job"}
    assert (stranger["user"], stranger["proof"], stranger["outcome"]) == ("-", "none", "refused")
    configure(tony, {"tony.portal.trusted-proxies": "proxy.example"})
    bad = tony.run("portal")
    assert bad.returncode == 3 and '"proxy.example" is not a numeric address; write one as 10.0.0.5' in bad.stderr


def test_a_probe_needs_no_token_and_leaves_no_audit_line(tony):
    portal = Portal(tony)
    for method in ("GET", "HEAD"):
        status, body, _ = portal.call("healthz", headers={}, method=method)
        assert (status, body) == (200, b"ok\n" if method == "GET" else b"")
    assert portal.call("health", headers={})[0] == 401
    portal.stop()
    line, = audit_of(portal.child.stderr.read())
    assert line["detail"] == "GET /health"


@pytest.mark.promise("S76")
def test_a_header_from_elsewhere_is_refused_and_told(tony):
    configure(tony, {"tony.portal.trusted-proxies": "192.0.2.1"})
    portal = Portal(tony)
    assert portal.call("v1/jobs?q=secret", headers={"X-Forwarded-User": "tester"})[0] == 401
    portal.stop()
    line, = audit_of(portal.child.stderr.read())
    assert line["user"] == "-"
    assert line["detail"] == "GET /v1/jobs, with X-Forwarded-User from an address that is no trusted proxy's"


def test_only_the_named_proxy_is_believed(tony):
    portal = Portal(tony, "--auth-header", "X-Forwarded-User", "--auth-from", "192.0.2.1")
    assert portal.call("v1/jobs", headers={"X-Forwarded-User": "tester"})[0] == 401
    portal.stop()
    for options, said in ((["--auth-header", "User"], "--auth-from"), (["--auth-user", "root"], "--auth-header"),
                          (["--auth-header", "User", "--auth-from", "node7"], '"node7" is not a numeric address')):
        refused = tony.run("portal", *options)
        assert refused.returncode == 2 and said in refused.stderr
    for name in ("1.2.3.4:99", "ev il", "http://x.y/"):
        refused = tony.run("portal", "--name", name)
        assert refused.returncode == 2 and f'--name: "{name}" is no HOST' in refused.stderr


# ---- the index, and what is kept ------------------------------------------------------------------


def test_a_flawed_index_is_made_anew(tony):
    portal = Portal(tony)
    _, job = tony.job({}, "--executes", "true")
    portal.wait_kept(job, "succeeded")
    portal.stop()
    (tony.state / "portal/index.sqlite").write_bytes(b"this is no index" * 1000)
    again = Portal(tony)
    again.wait_kept(job, "succeeded")
    again.stop()
    assert "made anew" in again.child.stderr.read()


def test_an_indexer_that_was_killed_is_followed_by_another(tony, portal):
    pid = portal.child.pid
    indexer = wait_until(lambda: children(pid), "the indexer")[0]
    os.kill(indexer, signal.SIGKILL)
    _, job = tony.job({}, "--executes", "true")
    portal.wait_kept(job, "succeeded")


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(child) for child in file.read().split()]


def test_bad_entries_hurt_no_other(tony, portal):
    _, job = tony.job({}, "--executes", "true")
    portal.wait_kept(job, "succeeded")
    place = next((tony.state / "history").glob(f"*/*/*/{job.id}"))
    broken = place.with_name("tony-20261121-000000-bad0")
    broken.mkdir()
    said = json.loads((place / "summary.json").read_text())
    (broken / "summary.json").write_text(json.dumps({**said, "id": broken.name, "name": "<script>alert(1)</script>"}))
    (broken / "job.json").write_text("{")
    wait_until(lambda: broken.name in portal.jobs(), "the broken job to be listed")
    assert portal.call(f"v1/jobs/{broken.name}/job")[0] == 500
    assert portal.get(f"v1/jobs/{job.id}/job")["state"] == "succeeded"


def test_what_is_no_job_is_listed_as_damaged(tony):
    _, job = tony.job({}, "--executes", "true")
    place = wait_until(lambda: next((tony.state / "history").glob(f"*/*/*/{job.id}"), None), f"{job.id} to be kept")
    whole = (place / "summary.json").read_bytes()
    for name, content in (("cut", whole[:99]), ("bytes", b"\xff\xfe\x00"), ("other", whole), ("nested", b"[" * 99999)):
        entry = place.with_name(f"tony-20261121-000000-{name}")
        entry.mkdir()
        (entry / "summary.json").write_bytes(content)
    place.with_name("tony-20261121-000000-half").mkdir()
    place.with_name("tony-20261121-000000-link").symlink_to("/etc")
    place.with_name("notes.txt").write_text("of whom?")
    portal = Portal(tony)
    portal.wait_kept(job, "succeeded")
    damaged = wait_until(lambda: len(rows := portal.jobs("state=damaged")) == 7 and rows, "the damaged ones to be listed")
    for name, reason in (("cut", "summary.json: line 1"), ("other", f"the job in it is another, {job.id}"),
                         ("half", "there is no job in it"), ("link", "is no directory")):
        row = damaged[f"tony-20261121-000000-{name}"]
        assert reason in row["message"], row
        assert row["id"] in portal.jobs(f"q={row['id']}") and portal.call(f"v1/jobs/{row['id']}/job")[0] in (404, 500)
    assert damaged["notes.txt"]["state"] == "damaged" and list(portal.jobs("state=succeeded")) == [job.id]
    portal.stop()


def test_what_is_too_old_is_removed(tony):
    _, job = tony.job({}, "--executes", "true")
    place = wait_until(lambda: next((tony.state / "history").glob(f"*/*/*/{job.id}"), None), f"{job.id} to be kept")
    old = tony.state / "history/2020/01/02/tony-20200102-000000-0001"
    shutil.copytree(place, old)
    (old / "summary.json").write_text((old / "summary.json").read_text().replace(job.id, old.name))
    portal = Portal(tony)
    portal.wait_kept(job, "succeeded")
    portal.stop()
    assert old.exists(), "nobody has asked for its removal"
    configure(tony, {"tony.history.retention-sec": 86400})
    portal = Portal(tony)
    wait_until(lambda: not old.exists(), "the old job to be removed")
    portal.wait_kept(job, "succeeded")
    portal.stop()


def test_prometheus(tony, portal):
    _, job = tony.job({}, "--executes", "true")
    user = portal.wait_kept(job, "succeeded")["user"]
    text = portal.call("metrics")[1].decode()
    assert 'tony_portal_jobs{state="succeeded"} 1\n' in text
    assert re.search(r"^tony_portal_resident_bytes [1-9]", text, re.MULTILINE)
    assert "tony_portal_live_jobs{" not in text, "nothing goes on"
    tony.submit({"tony.worker.instances": 1, "tony.application.queue": 'm"l'}, "--executes", "sleep 1000")
    row = f'tony_portal_live_jobs{{state="running",user="{user}",queue="m\\"l"}} 1\n'
    wait_until(lambda: row in portal.call("metrics")[1].decode(), "the job to be counted by user and queue")


# ---- TensorBoard ----------------------------------------------------------------------------------

TENSORBOARD = """#!{python}
import http.server, socket, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
try:
    socket.socket().bind((options["--host"], int(options["--port"])))
    sys.exit("the port is anybody's")
except OSError:
    pass
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = (options["--logdir"] + " " + self.path).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer((options["--host"], int(options["--port"])), Handler).serve_forever()
"""


def test_tensorboard_of_an_ended_job(tony):
    program = tony.directory / "tensorboard"
    program.write_text(TENSORBOARD.format(python=PYTHON))
    program.chmod(0o755)
    logs = tony.directory / "summaries"
    logs.mkdir()
    portal = Portal(tony, "--tensorboard", program)
    _, job = tony.job({"tony.application.tensorboard-log-dir": logs}, "--executes", "true")
    portal.wait_kept(job, "succeeded")
    base = f"v1/jobs/{job.id}/tensorboard"
    assert portal.get(base)["state"] == "nothing"
    (logs / "run").mkdir()
    (logs / "run/events.out.tfevents.1").touch()
    assert portal.get(base)["state"] == "stopped"
    assert portal.call(f"ui/{job.id}/tensorboard/")[0] == 404
    assert portal.call(base, "PUT")[0] == 200
    there = wait_until(lambda: (said := portal.get(base))["state"] == "running" and said, "TensorBoard")
    assert portal.call(there["path"] + "data?x=1")[1].decode() == f"{logs} /data?x=1"
    portal.stop()
