"""`tony open` on one machine: the rows of each scheduler, and where a program is told its place."""

import json
import os

import pytest
from audit import audit_of
from conftest import PYTHON, wait_until
from open_rows import *  # noqa: F401,F403
from open_rows import Browser, open_job, root_of


def test_a_program_may_be_told_where_it_is(tony):
    job = tony.submit({"tony.application.ui-path": "keep"}, "--executes",
                      f"echo at $TONY_UI_PATH; touch {tony.directory}/go; "
                      f"exec {PYTHON} web_program.py {tony.directory}/go")
    browser = Browser()
    wait_until(lambda: "at /ui/notebook/" in job.logs("driver:0"), "the program's path")
    wait_until(lambda: json.loads(job.rest("GET", "/v1/job")[1])["links"], "the web interface")
    link = open_job(tony, job.id, "notebook")  # good for a minute
    status, body, _ = browser.ask(link)
    assert status == 200 and json.loads(body)["path"] == "/ui/notebook/"


@pytest.mark.promise("S54")
def test_no_argument_of_a_browser_holds_a_link(tony, tmp_path):
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin/xdg-open"
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/told\n')
    fake.chmod(0o755)
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "exec sleep 1000")
    env = {"DISPLAY": ":0", "HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    link = tony.run("open", "--browser", job.id, env=env).stdout.split()[0]
    page = tmp_path / ".tony/link.html"
    assert (tmp_path / "told").read_text() == f"file://{page}\n" and page.stat().st_mode & 0o777 == 0o600
    assert f'<a href="{link}">' in page.read_text() and link.startswith("http://127.0.0.1:")


def test_orders_of_a_page_leave_an_audit_line(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "exec sleep 1000")
    job.wait_task("worker:0")
    link, browser = open_job(tony, "--control", job.id), Browser()
    secret = browser.ask(link)[2].partition("#/?control=")[2]
    kill = f"{root_of(link)}/v1/job/kill"
    assert browser.ask(kill, b"{}", Origin=root_of(link))[0] == 401
    assert browser.ask(kill, b"{}", Origin=root_of(link), X_Tony_Control=secret)[0] == 200
    job.wait()
    lines = [line for line in audit_of((job.directory / "am.log").read_text()) if line["action"] == "kill"]
    assert [(line["proof"], line["outcome"]) for line in lines] == [("session", "refused"), ("control", "done")]


@pytest.mark.promise("R91")
def test_a_session_goes_on_with_the_next_am(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "exec sleep 1000")
    job.wait_task("worker:0")
    looker, controller = Browser(), Browser()
    link = open_job(tony, job.id)
    assert looker.ask(link)[0] == 200
    controlling = open_job(tony, "--control", job.id)
    secret = controller.ask(controlling)[2].partition("#/?control=")[2]
    unused = open_job(tony, job.id)
    job.kill_am()
    root = root_of(link)
    assert looker.ask(f"{root}/v1/job")[0] == 200 and looker.ask(unused)[0] == 403
    kill = f"{root}/v1/job/kill"
    assert looker.ask(kill, b"{}", Origin=root, X_Tony_Control=secret)[0] == 401
    assert controller.ask(kill, b"{}", Origin=root, X_Tony_Control=secret)[0] == 200


def test_ended_job_is_found_in_the_portal(tony):
    done, job = tony.job({"tony.worker.instances": 1, "tony.portal.url": "https://portal.example:8443/tony/"},
                         "--executes", "true")
    page = f"https://portal.example:8443/tony/#/jobs/{job.id}"
    assert f"portal: {page}\n" in done.stdout
    assert tony.run("open", job.id).stdout == page + "\n"
    assert f"portal: {page}\n" in tony.run("status", job.id).stdout
    assert job.status()["portal_url"] == page


def test_portal_that_is_no_address_is_refused(tony):
    for address in ("portal.example:8443", "ftp://portal", "http://", "https:///x"):
        done = tony.run("check", "--conf", "tony.worker.instances=1", "--conf", f"tony.portal.url={address}",
                        "--executes", "true")
        assert done.returncode != 0 and f'"{address}" is no address; write http://HOST:PORT/' in done.stderr + done.stdout


def test_portal_with_a_password_is_refused_and_the_password_not_shown(tony):
    for address in ("http://ann:pass-word@portal:1/", "https://pass-word@portal", "ftp://ann:pass-word@portal", "ann:pass-word@portal:1"):
        done = tony.run("check", "--conf", "tony.worker.instances=1", "--conf", f"tony.portal.url={address}",
                        "--executes", "true")
        assert done.returncode != 0 and "tony.portal.url: holds a user's name or password" in done.stderr + done.stdout
        assert "pass-word" not in done.stderr + done.stdout
