"""Servers that track runs: one that stands for MLflow's, and MLflow's own. Both tell what has come to them."""

import base64
import http.server
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
import uuid

from patience import PATIENCE_S, wait_until

API = "/api/2.0/mlflow/"


class Fake:
    """The calls of MLflow's REST API that tony makes. `refuse`: a status for calls, by their name; HOLD: no answer before
    release()."""
    HOLD = "hold"

    def __init__(self, port=0, certificate=None, proof=None, refuse=None):
        self.calls, self.experiments, self.runs, self.refuse = [], {}, [], dict(refuse or {})
        self.before, self.proof = {}, proof
        self.released = threading.Event()
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.answer({})

            def do_POST(self):
                self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def answer(self, body):
                status, answer = fake.take(self.path, self.headers, body)
                text = json.dumps(answer).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text)
                except OSError:
                    pass  # its client was killed

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"{'https' if certificate else 'http'}://{self.address}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.release()
        self.server.shutdown()
        self.server.server_close()

    def release(self):
        self.released.set()

    def take(self, path, headers, body):
        path, _, query = path.partition("?")
        name = path[len(API):] if path.startswith(API) else path
        self.calls.append((name, headers.get("Authorization"), body))
        self.before.pop(name, lambda: None)()
        if self.refuse.get(name) == Fake.HOLD:
            self.released.wait(PATIENCE_S)
        elif name in self.refuse:
            return self.refuse[name], {"error_code": "REFUSED", "message": f"{name} is not for you"}
        if self.proof and headers.get("Authorization") != self.proof:
            return 401, {"error_code": "UNAUTHENTICATED", "message": "who are you?"}
        return getattr(self, name.replace("/", "_").replace("-", "_"))(body, dict(urllib.parse.parse_qsl(query)))

    def experiments_get_by_name(self, body, query):
        known = self.experiments.get(query["experiment_name"])
        return (200, {"experiment": {"experiment_id": known}}) if known else (404, {"error_code": "RESOURCE_DOES_NOT_EXIST"})

    def experiments_create(self, body, query):
        if body["name"] in self.experiments:
            return 400, {"error_code": "RESOURCE_ALREADY_EXISTS"}
        self.experiments[body["name"]] = str(len(self.experiments) + 1)
        return 200, {"experiment_id": self.experiments[body["name"]]}

    def runs_search(self, body, query):
        job = re.fullmatch("tags.tony_job = '(.*)'", body["filter"])[1]
        return 200, {"runs": [{"info": run["info"]} for run in self.runs if run["tags"]["tony_job"] == job]}

    def runs_create(self, body, query):
        tags = {tag["key"]: tag["value"] for tag in body["tags"]}
        info = {"run_id": uuid.uuid4().hex, "experiment_id": body["experiment_id"], "run_name": body["run_name"],
                "status": "RUNNING", "start_time": body["start_time"]}
        self.runs.append({"info": info, "tags": tags, "params": {}, "metrics": []})
        return 200, {"run": {"info": info}}

    def runs_log_batch(self, body, query):
        run, = [run for run in self.runs if run["info"]["run_id"] == body["run_id"]]
        assert len(body.get("metrics", [])) <= 1000 and len(body["params"]) <= 100
        for param in body["params"]:
            if run["params"].setdefault(param["key"], param["value"]) != param["value"]:
                return 400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "Changing param values is not allowed"}
        run["metrics"] += [(metric["key"], metric["step"], metric["value"]) for metric in body.get("metrics", [])]
        run["tags"].update({tag["key"]: tag["value"] for tag in body.get("tags", [])})
        return 200, {}

    def runs_update(self, body, query):
        run, = [run for run in self.runs if run["info"]["run_id"] == body["run_id"]]
        run["info"].update(status=body["status"], end_time=body["end_time"])
        return 200, {}

    # ---- what has come

    def find(self, job):
        """The only run of a job: its status, tags, params, and metrics as {key: {step: value}}."""
        run, = [run for run in self.runs if run["tags"]["tony_job"] == job.id]
        metrics = {}
        for key, step, value in run["metrics"]:
            metrics.setdefault(key, {})[step] = value
        return {"id": run["info"]["run_id"], "status": run["info"]["status"], "tags": run["tags"], "params": run["params"],
                "metrics": metrics}


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class MLflow:
    """A real one. `bin`: of the environment that has it."""

    def __init__(self, bin, directory):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = directory / "mlflow.log"
        env = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "PATH": f"{bin}:{os.environ['PATH']}"}
        with open(self.log, "w", encoding="utf-8") as log:
            self.server = subprocess.Popen(
                [bin / "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
                 "--backend-store-uri", f"sqlite:///{directory}/mlflow.db", "--artifacts-destination", directory / "artifacts"],
                cwd=directory, env=env, stdout=log, stderr=log, start_new_session=True)
        wait_until(self.is_up, "MLflow's server to answer")

    def is_up(self):
        assert self.server.poll() is None, self.log.read_text()
        try:
            self.call("experiments/search", {"max_results": 1})
        except OSError:
            return False
        return True

    def close(self):
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.wait()

    def call(self, name, body=None):
        request = urllib.request.Request(self.url + API + name, data=json.dumps(body).encode() if body is not None else None,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def find_all(self, job, filter):
        experiments = self.call("experiments/search", {"max_results": 100})["experiments"]
        return self.call("runs/search", {"experiment_ids": [one["experiment_id"] for one in experiments],
                                         "filter": filter}).get("runs", [])

    def find(self, job):
        runs = self.find_all(job, f"tags.tony_job = '{job.id}'")
        if not runs:  # a busy machine's server makes it later
            return {"status": "RUNNING", "metrics": {}}
        run, = runs
        data = {name: {pair["key"]: pair["value"] for pair in run["data"].get(name, [])} for name in ("tags", "params", "metrics")}
        for key in data["metrics"]:
            query = urllib.parse.urlencode({"run_id": run["info"]["run_id"], "metric_key": key})
            history = self.call(f"metrics/get-history?{query}")["metrics"]
            data["metrics"][key] = {int(point["step"]): point["value"] for point in history}
        return {"id": run["info"]["run_id"], "status": run["info"]["status"], **data}
