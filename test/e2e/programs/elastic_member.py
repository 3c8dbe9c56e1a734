"""A process of Horovod's elastic ring, without Horovod: says its place, and asks for another one whenever
there is one file more in DIRECTORY/changes. It makes one itself when it is told that others have come,
as Horovod's rank 0 tells the others. Ends with DIRECTORY/end."""
import base64
import hmac
import os
import pickle
import socket
import struct
import sys
import time
import types
import urllib.request

DIRECTORY = sys.argv[1]
CHANGES = DIRECTORY + "/changes"
KEY = os.urandom(32)
SERVER = f"http://{os.environ['HOROVOD_GLOO_RENDEZVOUS_ADDR']}:{os.environ['HOROVOD_GLOO_RENDEZVOUS_PORT']}"
NAME = os.environ["HOROVOD_HOSTNAME"]

for depth in range(4):
    name = ".".join(["horovod", "runner", "elastic", "worker"][:depth + 1])
    sys.modules[name] = types.ModuleType(name)
sys.modules["horovod.runner.elastic.worker"].HostsUpdatedRequest = type("HostsUpdatedRequest", (), {})


def call(method, path, body=None):
    with urllib.request.urlopen(urllib.request.Request(SERVER + path, data=body, method=method)) as answer:
        return answer.read()


def is_told(listener):
    try:
        connection = listener.accept()[0]
    except BlockingIOError:
        return False
    with connection, connection.makefile("rb") as stream:
        digest, length = stream.read(32), struct.unpack("i", stream.read(4))[0]
        body = stream.read(length)
    assert hmac.compare_digest(digest, hmac.new(KEY, body, "sha256").digest())
    assert pickle.loads(body).timestamp > 0
    return True


listener = socket.create_server(("127.0.0.1", 0))
listener.setblocking(False)
where = ({"lo": [listener.getsockname()]}, KEY)
call("PUT", f"/worker_addresses/{NAME}:0", base64.b64encode(pickle.dumps(where)))
seen = len(os.listdir(CHANGES))
print(f"rank {os.environ['HOROVOD_RANK']} of {os.environ['HOROVOD_SIZE']}", flush=True)
while not os.path.exists(f"{DIRECTORY}/end"):
    if is_told(listener):
        os.close(os.open(f"{CHANGES}/{NAME}-{seen}", os.O_CREAT, 0o600))
    if len(os.listdir(CHANGES)) > seen:
        seen += 1
        rank, size = call("GET", f"/rank_and_size/{NAME}:{seen}").decode().split(",")[:2]
        print(f"rank {rank} of {size}", flush=True)
        while is_told(listener):  # again, before it asked: of those that are in this ring
            pass
    time.sleep(0.02)
