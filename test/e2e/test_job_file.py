"""Job files that are not on this machine's disk: from standard input, the web and HDFS."""

import contextlib
import http.server
import json
import ssl
import subprocess
import threading
from urllib.parse import parse_qs, urlsplit

import pytest
from certificate import make_certificate
from conftest import BUILD, write_xml
from patience import PATIENCE_S

CONFIG, USAGE = 3, 2
NAME = "tony.application.name"
XML = f"<configuration>\n<property><name>{NAME}</name><value>far</value></property>\n%s</configuration>\n"
INCLUDE = '<include href="local.xml"/>'
LARGE = 17 << 20
STATUS = {"group": "g", "modificationTime": 5, "owner": "o", "pathSuffix": "", "permission": "644", "type": "FILE"}


class Handler(http.server.BaseHTTPRequestHandler):
    """A web server; below /webhdfs/v1 it is a NameNode and a DataNode."""

    pages = {"/x.xml": XML % "", "/wrong.xml": XML % "<bad/>", "/include.xml": XML % INCLUDE, "/large.xml": " " * LARGE,
             "/login.xml": "<html/>", "/empty.xml": "",
             "/x.yaml": "tony:\n  application:\n    name: far\n  worker: {instances: 2, memory: 64m}\n"}

    def answer(self, status, text="", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        with contextlib.suppress(OSError):  # who has seen enough hangs up
            self.wfile.write(text.encode())

    def do_GET(self):
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        path = url.path.removeprefix("/webhdfs/v1/jobs")
        if query.get("op") == ["GETFILESTATUS"]:
            self.answer(200, json.dumps({"FileStatus": {**STATUS, "length": len(self.pages[path])}}))
        elif "noredirect" in query:
            self.answer(200, json.dumps({"Location": f"http://127.0.0.1:{self.server.server_port}{path}"}))
        elif "to" in query:
            self.answer(302, Location=query["to"][0])
        elif path == "/private.xml" and self.headers["Authorization"] is None:
            self.answer(401)
        else:
            text = self.pages.get("/x.xml" if path == "/private.xml" else path)
            self.answer(404 if text is None else 200, text or "")

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(context=None):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http{'s' * bool(context)}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(name="web")
def fixture_web():
    with serving() as url:
        yield url


def origin(tony, location, env=None, verb=("config", "show", "--json"), **options):
    answer = tony.run(*verb, "--conf_file", location, "--", "true", env=env, **options)
    assert answer.returncode == 0, answer.stderr
    entry = json.loads(answer.stdout)[NAME]
    assert entry["value"] == "far"
    return entry["origin"]


def refused(tony, location, *words, code=CONFIG, env=None):
    answer = tony.run("submit", "--conf_file", location, "--", "true", env=env)
    assert answer.returncode == code, answer.stdout + answer.stderr
    assert [word for word in words if word not in answer.stderr] == [], answer.stderr
    assert tony.ids() == []
    return answer.stderr


# ---- standard input


def piped(tony, text, verb, *options):
    child = tony.start(*verb, "--conf_file", *options, "--", "true", stdin=subprocess.PIPE)
    out, err = child.communicate(text, timeout=PATIENCE_S)
    return child.returncode, out, err


@pytest.mark.parametrize("location", ["-", "/dev/stdin"])
def test_standard_input(tony, location):
    code, out, err = piped(tony, XML % "", ("config", "show", "--json"), location)
    assert code == 0, err
    assert json.loads(out)[NAME] == {**json.loads(out)[NAME], "value": "far", "origin": "standard input:2"}


YAML = "tony:\n  application:\n    name: far\n  worker: {instances: 2, memory: 64m}\n"


@pytest.mark.parametrize("place", ["job.yaml", "job.yml", "-", "the web"])
def test_yaml(tony, web, place):
    """By its name, or of a stream by how it begins; its tasks run."""
    location, text = place, None
    if place == "the web":
        location = f"{web}/x.yaml"
    elif place == "-":
        text = YAML
    else:
        (tony.directory / place).write_text(YAML)
    code, out, err = piped(tony, text, ("config", "show", "--json"), location)
    assert code == 0, err
    where = {"-": "standard input", "the web": location}.get(place, place)
    assert json.loads(out)[NAME]["origin"] == f"{where}:3" and json.loads(out)[NAME]["value"] == "far"
    code, out, err = piped(tony, text, ("submit",), location)
    assert code == 0, err
    assert len(tony.found_job(out + err).status()["tasks"]) == 2


def test_yaml_tells_all_that_is_wrong(tony):
    (tony.directory / "job.yaml").write_text("tony.worker: {instances: two, memory: [1, 2]}\ntony.worker.instances: 1\n")
    refused(tony, "job.yaml", 'job.yaml:1: tony.worker.instances: "two" is not a whole number',
            "job.yaml:1: tony.worker.memory: is one value and no list", "job.yaml:2: tony.worker.instances: is set in line 1")
    (tony.directory / "job.yaml").write_text("a: &a [x]\nb: *a\n")
    refused(tony, "job.yaml", "job.yaml:2: an alias (*...) is not taken")
    answer = tony.run("submit", "job.yaml")
    assert answer.returncode == USAGE and "did you mean --conf_file job.yaml?" in answer.stderr


@pytest.mark.parametrize("verb", ["submit", "check", "render"])
def test_every_verb_of_jobs_reads_standard_input(tony, verb):
    name = XML.replace(NAME, "tony.driver.memory") % ""
    code, _, err = piped(tony, name, (verb,), "-")
    assert code == CONFIG and 'standard input:2: tony.driver.memory: "far" is not a size' in err
    assert tony.ids() == []


def test_a_pipe_of_the_shell(tony):
    """As "<(make-job)" makes one."""
    answer = subprocess.run(["bash", "-c", '"$1" submit --memory 64m --conf_file <(echo "$2") -- true', "bash", BUILD / "tony",
                             XML % ""], env=tony.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S,
                            check=False)
    assert answer.returncode == 0 and "warning" not in answer.stderr, answer.stderr
    [job] = tony.ids()
    assert json.loads(tony.run("status", job, "--json").stdout)["name"] == "far"


def test_a_job_runs_from_standard_input_without_a_warning(tony):
    code, _, err = piped(tony, XML % "", ("submit", "--memory", "64m"), "-")
    assert code == 0 and "warning" not in err, err


@pytest.mark.promise("S56")
def test_standard_input_includes_nothing(tony):
    write_xml(tony.directory / "local.xml", {NAME: "local"})
    code, _, err = piped(tony, XML % INCLUDE, ("check",), "-")
    assert code == CONFIG and "standard input:3: <include> is for files of this machine" in err


def test_standard_input_read_twice(tony):
    assert "--stdin and --conf_file - both read standard input" in refused_with_stdin(tony, "-")
    assert "--stdin and --conf_file - both read standard input" in refused_with_stdin(tony, "/dev/stdin")


def refused_with_stdin(tony, location):
    answer = tony.run("submit", "--stdin", "--conf_file", location, "--", "true")
    assert answer.returncode == USAGE
    return answer.stderr


def test_standard_input_that_is_closed_or_empty(tony):
    refused(tony, "-", "standard input: is empty")
    answer = subprocess.run(["bash", "-c", '"$@" <&-', "bash", BUILD / "tony", "check", "--conf_file", "-"],
                            env=tony.env, capture_output=True, text=True, timeout=PATIENCE_S)
    assert answer.returncode == CONFIG and "--conf_file: standard input is closed; write <FILE" in answer.stderr


# ---- the web


@pytest.mark.promise("S56")
def test_a_url_is_shown_without_its_secrets(tony, web):
    url = web.replace("//", "//ada:password@") + "/x.xml?token=secret#part"
    assert origin(tony, url) == f"{web}/x.xml:2"
    told = refused(tony, url.replace("x.xml", "none.xml"), f"{web}/none.xml: the server answers with status 404")
    told += refused(tony, url.replace("x.xml", "wrong.xml"), f"{web}/wrong.xml:3: <bad> has no place")
    assert "password" not in told and "secret" not in told


def test_a_password_in_the_url_is_used(tony, web):
    refused(tony, f"{web}/private.xml", f"{web}/private.xml: the server refuses it (status 401)",
            "pipe it into --conf_file -")
    assert origin(tony, web.replace("//", "//ada:password@") + "/private.xml") == f"{web}/private.xml:2"


@pytest.mark.promise("S56")
def test_no_local_file_is_included_or_redirected_to(tony, web):
    write_xml(tony.directory / "local.xml", {NAME: "local"})
    refused(tony, f"{web}/include.xml", f"{web}/include.xml:3: <include> is for files of this machine")
    refused(tony, f"{web}/?to=file://{tony.directory}/local.xml", f"{web}/: ", "Protocol")
    assert origin(tony, f"{web}/?to=/x.xml") == f"{web}/:2"


def test_flaws_of_servers(tony, web):
    refused(tony, f"{web}/large.xml", f"{web}/large.xml: is larger than 16 MiB")
    refused(tony, f"{web}/login.xml", f"{web}/login.xml:1: no job file; write <configuration>")
    refused(tony, f"{web}/empty.xml", f"{web}/empty.xml: is empty")
    refused(tony, f"{web}/?to=/?to=/", f"{web}/: the server answers with status 404")
    refused(tony, "http://", "--conf_file: not a URL: ", "write https://HOST/PATH")
    refused(tony, "ftp://host/x.xml", '"ftp://host/x.xml" is neither a path nor of hdfs, http or https')
    with serving() as gone:
        pass
    refused(tony, f"{gone}/x.xml", f"--conf_file: {gone}/x.xml: ", "connect to 127.0.0.1")


@pytest.mark.promise("S56")
def test_https_needs_a_certificate_that_is_trusted(tony, web):
    certificate, key = make_certificate(tony.directory, kind="rsa")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(context) as secure:
        refused(tony, f"{secure}/x.xml", "certificate", "CURL_CA_BUNDLE=FILE names the authorities to trust")
        for name in ("CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            assert origin(tony, f"{secure}/x.xml", env={name: str(certificate)}) == f"{secure}/x.xml:2"
        refused(tony, f"{secure}/?to={web}/x.xml", f"{secure}/: ", "Protocol", env={"CURL_CA_BUNDLE": str(certificate)})


# ---- HDFS; a real one is in test/yarn/test_job_file.py


def test_hdfs(tony, web):
    write_xml(tony.directory / "core-site.xml", {"fs.defaultFS": "hdfs://127.0.0.1:8020"})
    write_xml(tony.directory / "hdfs-site.xml", {"dfs.namenode.http-address": web.removeprefix("http://")})
    env = {"HADOOP_CONF_DIR": str(tony.directory)}
    for uri in ("hdfs:///jobs/x.xml", "hdfs://127.0.0.1:8020/jobs/x.xml"):
        assert origin(tony, uri, env) == f"{uri}:2"
    refused(tony, "hdfs://other:8020/x.xml", "not in the file system that the site files name, hdfs://127.0.0.1:8020",
            env=env)
    refused(tony, "hdfs:///jobs/include.xml", "hdfs:///jobs/include.xml:3: <include> is for files of this machine", env=env)
    refused(tony, "hdfs:///jobs/x.xml", "hdfs:///jobs/x.xml: ", "has no core-site.xml", "set HADOOP_CONF_DIR",
            env={"HADOOP_CONF_DIR": str(tony.home)})
