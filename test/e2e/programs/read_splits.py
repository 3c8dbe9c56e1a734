"""Reads a data set that its job shares: an item is a number of records. Each record that is read is a line, "PASS SPLIT RECORD", of
the file READ, or of the output, the last of which is lost with an executor. The pace is PAUSE seconds a record; a lease is renewed
after each one.
"""

import http.client
import json
import os
import time
import urllib.error
import urllib.request

ITEMS, PASSES, RECORDS = (int(os.environ[name]) for name in ("ITEMS", "PASSES", "RECORDS"))
PAUSE = float(os.environ["PAUSE"])
READ = os.open(os.environ.get("READ", "/dev/stdout"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
WHO = {
    "holder": os.environ["TONY_TASK"],
    "attempt": int(os.environ["TONY_TASK_ATTEMPT"]),
    "epoch": int(os.environ["TONY_EPOCH"]),
    "restart": int(os.environ["TONY_RESTART"]),
}


def call(method, verb, **body):
    """An application master that was killed is asked again."""
    path = os.environ["TONY_AM_URL"] + "/v1/splits/numbers" + verb
    with open(os.environ["TONY_TOKEN_FILE"], encoding="ascii") as file:
        headers = {"Authorization": "Bearer " + file.read().strip()}
    while True:
        try:
            request = urllib.request.Request(path, json.dumps({**WHO, **body}).encode(), headers, method=method)
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{verb}: {error.code} {error.read().decode()}") from None
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)


def list_items():
    at = 0
    while at < ITEMS:
        items = [{"records": RECORDS} for _ in range(at, min(at + 7, ITEMS))]
        at = call("PUT", "", fingerprint="ab", passes=PASSES, seed=1, first=at, items=items, complete=at + 7 >= ITEMS)["items"]


def read(lease):
    split = {"pass": lease["pass"], "split": lease["split"]}
    for record in range(lease["from"], lease["item"]["records"]):
        os.write(READ, f"{lease['pass']} {lease['split']} {record}\n".encode())
        time.sleep(PAUSE)
        call("POST", "/renew", leases=[{**split, "offset": record + 1}])
    call("POST", "/done", leases=[split])


while not (claim := call("POST", "/claim", fingerprint="ab"))["complete"]:
    if claim["you_list"]:
        list_items()
while not (answer := call("POST", "/lease", held=[]))["ended"]:
    for given in answer["leases"]:
        read(given)
