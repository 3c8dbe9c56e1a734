"""Meets the other ranks as Horovod's processes do, without Horovod: says that it is there, and asks for each of the
others until it is. A server that is away, or goes away before it answers, is asked again. Rank 1 waits for the file
FILE first."""
import http.client
import os
import sys
import time
import urllib.request

SERVER = f"http://{os.environ['HOROVOD_GLOO_RENDEZVOUS_ADDR']}:{os.environ['HOROVOD_GLOO_RENDEZVOUS_PORT']}"
RANK, SIZE = int(os.environ["HOROVOD_RANK"]), int(os.environ["HOROVOD_SIZE"])


def call(method, path, body=None):
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(SERVER + path, data=body, method=method)) as answer:
                return answer.read().decode()
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)


while RANK == 1 and not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
call("PUT", f"/global/{RANK}", f"from {RANK}".encode())
print("here", flush=True)
print(*(call("GET", f"/global/{rank}") for rank in range(SIZE)), sep="\n", flush=True)
